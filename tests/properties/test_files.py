"""Whatever bytes somebody hands in, every reader gives data or an error of ours, never another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from maci.acquisition.gain import load_stakes
from maci.cases.case import load_case, read_cases
from maci.config import load
from maci.errors import MaciError
from maci.evidence.corpus import Corpus
from maci.files.parse import parse
from maci.lab.datasets.own import _rows
from maci.lab.study.spec import load_spec
from maci.llm.local.gguf import training_context
from maci.record.transcript import read
from maci.seating.file import load_panels

OFTEN = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = (
    b"question: q\noutcomes: [a, b]\nevidence:\n- text: x\n  label: a\n", b'{"question": "q", "outcomes": ["a"]}\n{"text": "x"}\n',
    b'[[data]]\nset = "x"\n[gate]\ntau_q = 0.5\n', b"text,label\n\"a\",b\n", b"<p>a</p><![--", b"%PDF-1.4\n1 0 obj\n<<>>\nendobj",
    b"GGUF" + bytes(20), b"treat: {a: 1, otherwise: -2}\nwait: {a: 0}\n", b"panels:\n  p:\n    agents: [x, y]\n",
)  # fmt: skip


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """A file of some kind, with pieces repeated, cut out and written over."""
    data = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(0, 8))
        piece = draw(st.one_of(st.binary(max_size=6), st.just(data[at : at + size]), st.sampled_from(MARKS)))
        data = data[:at] + piece * draw(st.sampled_from((1, 2, 90))) + data[at + size * draw(st.booleans()) :]
    return data


MARKS = (
    b"[",
    b"{",
    b"- ",
    b"&a ",
    b"*a ",
    b"<<: ",
    b"!!set ",
    b"\n",
    b'"',
    b"0x1",
    b"a.",
    b"\\ud800",
    b"1e999",
    b"<!",
    b"</",
    b"\0",
)
READERS: dict[str, Callable[[Path], Any]] = {
    "case.yaml": lambda path: load_case(str(path)),
    "case.toml": lambda path: load_case(str(path)),
    "case.json": lambda path: load_case(str(path)),
    "panels.yaml": load_panels,
    "stakes.yaml": load_stakes,
    "config.toml": lambda path: load(file=path, environ={}),
    "study.toml": load_spec,
    "cases.jsonl": lambda path: list(read_cases(path)),
    "own.jsonl": lambda path: list(_rows(path)),
    "own.csv": lambda path: list(_rows(path)),
    "transcript.jsonl": read,
    "a.html": Corpus.read,
    "a.jsonl": Corpus.read,
    "a.csv": Corpus.read,
    "a.pdf": Corpus.read,
    "a.gguf": training_context,
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("name", READERS)
@given(data=st.one_of(torn(), st.binary(max_size=200)))
@example(data=b"[" * 25_000)
@example(data=b"&a\nquestion: *a")
@OFTEN
def test_every_reader_raises_errors_of_ours_only(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    with suppress(MaciError):
        READERS[name](folder / name)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@OFTEN
def test_json_read_as_json_or_as_yaml_here_or_in_a_child_is_the_same(value: Any) -> None:
    text = json.dumps(value)
    assert parse(text, "JSON", "x") == value
    with suppress(MaciError):  # YAML 1.1 has other numbers and no characters beyond some
        assert parse(f"# {'-' * (1 << 16)}\n{text}", "YAML", "x") == parse(text, "YAML", "x")
