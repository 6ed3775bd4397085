from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from maci.errors import EvidenceError, InputError
from maci.evidence.corpus import Corpus, update_index
from maci.evidence.encode import load_encoder
from maci.evidence.lexical import Lexical, normal_text, terms
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span, estimate_tokens

WORDS = ["fever", "rash", "cough", "nausea", "pain", "chills", "fatigue", "jaundice", "itch", "thirst"]


class Bag:
    """Counts of ten words, made unit length: cosine is easy to derive by hand."""

    name = "bag/1"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        rows = np.array([[text.casefold().count(word) for word in WORDS] for text in texts], dtype=np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(lengths > 0, lengths, 1)


def spans(*texts: str) -> list[Span]:
    return [Span.of(text) for text in texts]


def many(count: int, seed: int = 0) -> list[Span]:
    rng = random.Random(seed)
    return spans(*(f"{' '.join(rng.choices(WORDS, k=6))} case {n}" for n in range(count)))


def test_the_encoder_ranks_what_bm25_finds() -> None:
    retriever = Retriever(spans("fever fever rash", "fever rash", "rash thirst", "a quiet day"), Bag())
    found = retriever.retrieve("fever and rash", k=2)
    assert [span.text for span, _ in found] == ["fever rash", "fever fever rash"]
    # cos((1,1), (1,1)) = 1;  cos((1,1), (2,1)) = 3 / √10
    assert [score for _, score in found] == [1.0, pytest.approx(3 / 10**0.5, abs=1e-6)]


def test_equal_and_nearly_equal_texts_are_retrieved_once() -> None:
    retriever = Retriever(spans("Fever, rash.", "fever,  rash.", "Fever - rash!", "fever and rash"), Bag())
    assert len(retriever.spans) == 2
    assert len(retriever.retrieve("fever rash")) == 2


def test_result_does_not_depend_on_the_order_of_the_corpus() -> None:
    corpus = many(300)
    shuffled = corpus[:]
    random.Random(1).shuffle(shuffled)
    for query in ("fever rash", "jaundice itch pain", "nothing known"):
        one, other = Retriever(corpus, Bag()), Retriever(shuffled, Bag())
        assert one.retrieve(query, k=20) == other.retrieve(query, k=20)


def test_ties_go_by_span_id() -> None:
    retriever = Retriever(many(200), Bag())
    found = retriever.retrieve("fever", k=50)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0].id))


def test_every_span_is_considered_when_bm25_finds_too_few() -> None:
    corpus = spans("Fieber und Ausschlag", "fever rash", "cough", "itch")
    found = Retriever(corpus, Bag()).retrieve("FEVER!", k=3)
    assert [score for _, score in found] == [pytest.approx(0.5**0.5, abs=1e-6), 0.0, 0.0]
    assert len(Retriever(corpus, Bag()).retrieve("熱と発疹", k=4)) == 4


def test_only_candidates_are_encoded_and_only_once() -> None:
    encoder = Bag()
    retriever = Retriever([*many(500), *spans("zoster alone", "zoster again")], encoder, depth=2)
    retriever.retrieve("zoster", k=2)
    assert sorted(encoder.asked) == ["zoster", "zoster again", "zoster alone"]
    retriever.retrieve("zoster", k=2)
    assert len(encoder.asked) == 4
    retriever.retrieve("fever", k=10)
    assert len(encoder.asked) == 4 + 1 + 20


def test_warm_encodes_everything_ahead_with_progress() -> None:
    encoder, steps = Bag(), []
    retriever = Retriever(many(1500), encoder)
    retriever.warm(lambda done, total: steps.append((done, total)))
    assert len(encoder.asked) == 1500
    assert steps == [(1024, 1500), (1500, 1500)]
    retriever.retrieve("fever")
    assert len(encoder.asked) == 1501


def test_depth_bounds_the_candidates_exactly_even_among_ties() -> None:
    encoder = Bag()
    Retriever(spans(*(f"fever n{n:03d}" for n in range(100))), encoder, depth=3).retrieve("fever", k=4)
    assert len(encoder.asked) == 1 + 12


def test_context_stays_within_the_token_budget_and_passes_over_what_does_not_fit() -> None:
    long = "fever rash " + "filler " * 500
    retriever = Retriever(spans(long, "fever rash", "fever cough"), Bag())
    found = retriever.retrieve("fever rash", k=3, max_tokens=20)
    assert [span.text for span, _ in found] == ["fever rash", "fever cough"]
    assert sum(estimate_tokens(span.text) for span, _ in found) <= 20


def test_nothing_to_retrieve_from_and_senseless_arguments_are_refused() -> None:
    with pytest.raises(EvidenceError, match="maci index"):
        Retriever([], Bag())
    with pytest.raises(InputError, match="depth is 0"):
        Retriever(spans("fever"), Bag(), depth=0)
    with pytest.raises(InputError, match="k is 0"):
        Retriever(spans("fever"), Bag()).retrieve("fever", k=0)


@pytest.mark.parametrize("text", ["the of and", "!!!", "?"])
def test_spans_and_queries_without_terms_do_no_harm(text: str) -> None:
    assert len(Retriever(spans(text), Bag()).retrieve(text)) == 1
    assert len(Retriever(spans(text, "fever"), Bag()).retrieve("fever")) == 2
    assert len(Retriever(spans("fever", "rash"), Bag()).retrieve("")) == 2


def test_lexical_scores_equal_those_of_bm25s_on_the_same_terms() -> None:
    import bm25s

    texts = [span.text for span in many(100)]
    raw = bm25s.BM25(method="lucene")
    raw.index([terms(text) for text in texts], show_progress=False)
    own = Lexical.build(texts).scores("fever with chills, case 7")
    np.testing.assert_allclose(own, raw.get_scores(["fever", "chill", "case", "7"]), rtol=1e-5)
    assert own.max() > 0


def test_plurals_meet_their_singular() -> None:
    assert terms("rashes itches fevers allergies headaches masses virus illness") == [
        "rash", "itch", "fever", "allergy", "headache", "mass", "virus", "illness",
    ]  # fmt: skip
    assert normal_text("Día  1: fiebre_alta") == "día 1 fiebre alta"


def test_a_saved_lexical_index_is_used_again_and_replaced_when_spans_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index" / "bm25"
    folder.parent.mkdir()
    first = Retriever(many(50), Bag(), folder=folder).retrieve("fever rash")
    with monkeypatch.context() as patch:
        patch.setattr(Lexical, "build", None)
        assert Retriever(many(50), Bag(), folder=folder).retrieve("fever rash") == first
    assert Retriever(many(60), Bag(), folder=folder).retrieve("fever rash") == Retriever(many(60), Bag()).retrieve(
        "fever rash"
    )
    (folder / "vocab.index.json").write_text("{")
    assert Retriever(many(60), Bag(), folder=folder).retrieve("fever rash")


def test_an_index_folder_keeps_embeddings_between_runs(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(f'"{span.text}"' for span in many(40)))
    update_index([tmp_path / "a.jsonl"], tmp_path / "index")
    corpus = Corpus.open(tmp_path / "index")
    first, second = Bag(), Bag()
    Retriever.for_corpus(corpus, first).warm()
    found = Retriever.for_corpus(corpus, second).retrieve("fever rash", k=5)
    assert len(first.asked) == 40
    assert second.asked == ["fever rash"]
    assert found == Retriever.for_corpus(Corpus(corpus), Bag()).retrieve("fever rash", k=5)


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Retriever(many(50), Bag()).retrieve("fever")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["", "fever", "high fever for three days", "高熱が三日間続く" * 9])
def test_token_estimate_is_at_least_words_and_quarter_bytes(text: str) -> None:
    estimate = estimate_tokens(text)
    assert estimate >= len(text.split()) * 4 / 3
    assert estimate >= len(text.encode()) // 4


def test_the_static_encoder_finds_the_meaning() -> None:
    corpus = Corpus(
        spans(
            "Yellow skin and dark urine point to the liver.",
            "The senate passed the budget after a long night.",
            "A mosquito bite, high fever and pain behind the eyes.",
        )
    )
    found = Retriever(corpus, load_encoder("wordllama")).retrieve("jaundice with a swollen liver", k=1)
    assert found[0][0].text.startswith("Yellow skin")
