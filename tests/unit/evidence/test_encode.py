from __future__ import annotations

import hashlib
import logging
import multiprocessing
import pickle
import runpy
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from maci.errors import ConfigError, EnvironmentError_, MissingExtra, ModelError
from maci.evidence.encode import AdaptedEncoder, Encoder, as_query, load_encoder, unit
from maci.evidence.retrieve import CachedEncoder, Retriever
from maci.evidence.shipped import WORDLLAMA, WordLlamaEncoder, _wordllama
from maci.evidence.span import Span
from maci.llm.local import weights

ROOT = Path(__file__).parents[3]
TEXTS = ["High fever and a rash.", "", "The court ruled on Tuesday.", "Fever with a rash.", "x " * 900]


class Counting:
    """Two numbers per text, and a record of what was asked."""

    def __init__(self, name: str = "counting/1") -> None:
        self.name = name
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float32).reshape(len(texts), 2)


def load_or_skip(name: str) -> Encoder:
    if name in (dense := {"minilm": "minilm-l6-v2-int8", "arctic": "arctic-embed-s-int8"}):
        pytest.importorskip("onnxruntime", reason="extra `dense` is not installed")
        if not weights.status(dense[name]).present:
            pytest.skip(f"weights of the encoder {name} are not on this machine: maci models pull {dense[name]}")
    return load_encoder(name, offline=True)


@pytest.mark.parametrize("name", ["wordllama", "minilm", "arctic"])
def test_rows_are_unit_length_in_order_and_zero_for_empty_text(name: str) -> None:
    encoder = load_or_skip(name)
    rows = encoder.encode(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1, 1, 1], atol=1e-5)
    assert rows[0] @ rows[3] > 0.7 > rows[0] @ rows[2] or name == "arctic"  # whose cosines are all high
    assert rows[0] @ rows[3] > rows[0] @ rows[2]
    assert encoder.encode([]).shape == (0, rows.shape[1])


@pytest.mark.parametrize("name", ["wordllama", "minilm", "arctic"])
def test_a_row_does_not_depend_on_its_batch(name: str) -> None:
    encoder = load_or_skip(name)
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_names_hold_model_and_version() -> None:
    assert load_encoder("wordllama").name == "wordllama-l2-supercat-256/0.4"
    assert load_or_skip("minilm").name == "minilm-l6-v2-int8/1"
    assert load_or_skip("arctic").name == "arctic-embed-s-int8/1"


def test_the_static_table_is_mapped_and_not_read() -> None:
    assert isinstance(load_encoder("wordllama")._table.base, np.memmap)  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def library() -> Any:
    wordllama = pytest.importorskip("wordllama")
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return model


def test_static_encoder_agrees_with_its_library(library: Any) -> None:
    own = load_encoder("wordllama").encode(TEXTS[2:])
    vectors = np.concatenate([library.embed([text], norm=True) for text in TEXTS[2:]])
    np.testing.assert_allclose(own, vectors, atol=1e-6)


AWKWARD = (
    "<s>",
    "</s>",
    "<unk>",
    "<s",
    " ",
    "  ",
    "▁",
    "the",
    "ing",
    "\n",
    "\t",
    "\x00",
    "é",
    "e\u0301",
    "日本",
    "🙂",
    "👩‍🔬",
    "\ufeff",
)


@given(st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(alphabet="aeinrst ", max_size=40), st.text(max_size=8))))
def test_a_text_has_the_tokens_of_the_library_and_the_same_vector_to_the_last_bit(
    library: Any, parts: list[str]
) -> None:
    text = "".join(parts)
    encoder = load_encoder("wordllama")
    assert isinstance(encoder, WordLlamaEncoder)
    library.tokenizer.no_padding()
    ids = library.tokenizer.encode(text, add_special_tokens=False).ids
    assert encoder._pieces.ids(text) == ids
    if text.strip():
        assert np.array_equal(encoder.encode([text])[0], unit(library.embedding[ids].mean(axis=0, keepdims=True))[0])


def test_every_text_of_the_documents_has_the_tokens_of_the_library(library: Any) -> None:
    pieces = WordLlamaEncoder()._pieces
    library.tokenizer.no_padding()
    for file in sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "src/maci/cases").rglob("*.yaml")):
        texts = file.read_text(encoding="utf-8").splitlines()
        for text, cut in zip(texts, library.tokenizer.encode_batch(texts, add_special_tokens=False), strict=True):
            assert pieces.ids(text) == cut.ids, (file.name, text)


def test_a_very_long_word_is_cut_in_a_moment() -> None:
    started = time.process_time()
    assert len(WordLlamaEncoder()._pieces.ids("ab" * 50_000)) > 1000
    assert time.process_time() - started < 10


def test_the_table_is_the_one_that_figures_were_measured_with() -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    folder = _wordllama()
    assert {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in WORDLLAMA} == hook["SHA256"]


def test_a_missing_table_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.evidence.shipped.find_spec", lambda package: None)
    with pytest.raises(ModelError, match=r"'maci_wordllama' is not beside .*pip install --force-reinstall ."):
        WordLlamaEncoder()


def test_minilm_cuts_at_256_pieces() -> None:
    rows = load_or_skip("minilm").encode(["fever " * 254, "fever " * 254 + "court ruling"])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)


class Asymmetric(Counting):
    query_prefix = "find: "


def test_a_query_has_the_encoders_words_before_it_and_a_passage_has_not() -> None:
    assert as_query(load_encoder("wordllama"), "rash") == "rash"
    assert as_query(load_or_skip("arctic"), "rash") == "Represent this sentence for searching relevant passages: rash"
    inner = Asymmetric()
    wrapped = CachedEncoder(AdaptedEncoder(inner, ["a", "b"]), None)
    assert as_query(wrapped, "rash") == "find: rash"
    Retriever([Span("s-1", "A rash."), Span("s-2", "A fever.")], wrapped).retrieve("rash", k=1)
    assert "find: rash" in inner.asked
    assert {"A rash.", "A fever."} & set(inner.asked)


def test_loading_leaves_the_root_logger_alone() -> None:
    before = logging.getLogger().handlers[:], logging.getLogger().level
    load_encoder("wordllama")
    assert (logging.getLogger().handlers, logging.getLogger().level) == before


def test_importing_the_protocol_is_light() -> None:
    code = "import sys, maci.evidence.encode; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"onnxruntime", "wordllama", "bm25s", "tokenizers"} & set(done.stdout.split())


def test_telemetry_is_off_before_onnxruntime_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    from maci.evidence import shipped

    seen: list[str | None] = []

    def stop(package: str) -> None:
        seen.append(shipped.os.environ.get("ORT_DISABLE_TELEMETRY"))
        raise ImportError(package)

    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setattr("maci.errors.import_module", stop)
    with pytest.raises(MissingExtra, match=r"pip install .*\[dense\]"):
        shipped.OnnxEncoder()
    assert seen == ["1"]


def test_default_is_the_static_encoder_of_every_install() -> None:
    assert load_encoder().name.startswith("wordllama")


def test_minilm_offline_without_weights_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="extra `dense` is not installed")
    monkeypatch.setenv("MACI_CACHE", str(tmp_path))
    monkeypatch.setattr("maci.evidence.encode._loaded", {})
    with pytest.raises(ModelError, match="maci models pull minilm-l6-v2-int8"):
        load_encoder("minilm", offline=True)


@pytest.mark.parametrize("name", ["word2vec", "st:", ":f", ""])
def test_an_unknown_name_lists_the_choices(name: str) -> None:
    with pytest.raises(ConfigError, match="wordllama, minilm, minilm-last, arctic, st:MODEL or module:function"):
        load_encoder(name)


def test_sentence_transformers_missing_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EnvironmentError_, match="pip install sentence-transformers"):
        load_encoder("st:all-MiniLM-L6-v2")


def test_own_function_in_the_current_folder_becomes_an_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_vectors.py").write_text(
        "__version__ = '7'\n"
        "def embed(texts): return [[len(t), 3.0] for t in texts]\n"
        "def broken(texts): return [[1.0]]\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    before = sys.path[:]
    encoder = load_encoder("my_vectors:embed")
    assert sys.path == before
    assert encoder.name == "my_vectors:embed/7"
    np.testing.assert_allclose(encoder.encode(["four", ""]), [[0.8, 0.6], [0, 0]], atol=1e-6)
    assert encoder.encode([]).shape[0] == 0
    with pytest.raises(ModelError, match="one finite vector per text"):
        load_encoder("my_vectors:broken").encode(["a", "b"])
    with pytest.raises(ConfigError, match="is a int"):
        load_encoder("my_vectors:number")
    with pytest.raises(ConfigError, match="cannot be imported"):
        load_encoder("my_vectors:nothing")


def test_cache_asks_for_each_text_once_across_instances(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    cached = CachedEncoder(first, tmp_path / "deep" / "c.sqlite")
    rows = cached.encode(["a", "bb", "a"])
    assert first.asked == ["a", "bb"]
    np.testing.assert_array_equal(rows[0], rows[2])
    again = CachedEncoder(second, tmp_path / "deep" / "c.sqlite")
    np.testing.assert_array_equal(again.encode(["bb", "ccc"]), [[1, 2], [1, 3]])
    assert second.asked == ["ccc"]
    assert (again.hits, again.misses) == (1, 1)
    assert again.name == "counting/1"


def test_cache_keeps_encoders_apart(tmp_path: Path) -> None:
    CachedEncoder(Counting("one/1"), tmp_path / "c.sqlite").encode(["a"])
    other = Counting("one/2")
    CachedEncoder(other, tmp_path / "c.sqlite").encode(["a"])
    assert other.asked == ["a"]


def test_cache_takes_more_texts_than_sqlite_takes_variables(tmp_path: Path) -> None:
    texts = [str(n) for n in range(40_000)]
    CachedEncoder(Counting(), tmp_path / "c.sqlite").encode(texts)
    again = CachedEncoder(Counting(), tmp_path / "c.sqlite", in_memory=10)
    assert again.encode(texts).shape == (40_000, 2)
    assert again.misses == 0


def test_cached_rows_may_be_changed_by_the_caller(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path / "c.sqlite")
    cached.encode(["a"])[:] = 9
    assert cached.encode(["a"])[0, 0] == 1


def test_a_broken_cache_file_costs_a_warning_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"this is not a database, not at all" * 100)
    cached = CachedEncoder(Counting(), path)
    with pytest.warns(RuntimeWarning, match="kept in memory"):
        rows = cached.encode(["a", "bb"])
    np.testing.assert_array_equal(rows, [[1, 1], [1, 2]])
    np.testing.assert_array_equal(cached.encode(["a"]), [[1, 1]])


def test_cache_without_a_path_stays_in_memory() -> None:
    encoder = Counting()
    cached = CachedEncoder(encoder, None)
    cached.encode(["a"])
    cached.encode(["a"])
    assert encoder.asked == ["a"]


def _fill(path: Path, start: int) -> int:
    cached = CachedEncoder(Counting(), path)
    for n in range(start, start + 40):
        cached.encode([f"shared {n % 50}", f"own {start} {n}"])
    return cached.misses


def test_processes_share_one_cache(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_fill, [(path, 0), (path, 1000)])
    connection = sqlite3.connect(path)
    own = connection.execute("SELECT count(*) FROM embedding").fetchone()[0]
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    connection.close()
    assert own == 80 + 40


def test_a_cached_encoder_can_be_sent_to_another_process(tmp_path: Path) -> None:
    cached = CachedEncoder(Counting(), tmp_path / "c.sqlite")
    cached.encode(["a"])
    copy = pickle.loads(pickle.dumps(cached))
    copy.encode(["a"])
    assert copy.hits == 1
    copy.close()
    assert copy.encode(["bb"]).tolist() == [[1.0, 2.0]]
