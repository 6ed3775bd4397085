"""What a debate starts with: the case whole, documents and search results within the limit of tokens."""

from __future__ import annotations

from dataclasses import replace

from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.evidence.span import CASE, CaseEvidence, Retrieval, Span, estimate_tokens


def make(*texts: str) -> Case:
    documents = tuple(Document(text, id=f"d{n}") for n, text in enumerate(texts))
    return Case(
        question="Which?",
        context="One thing. Another thing.",
        outcomes=OutcomeSpace(labels=("a", "b")),
        evidence=documents,
    )


def test_long_documents_do_not_fill_the_prompt_beyond_its_limit() -> None:
    asked: list[int] = []

    def search(query: str, k: int, max_tokens: int) -> Retrieval:
        asked.append(max_tokens)
        return Retrieval((Span.of("found"),))

    evidence = CaseEvidence(make("word " * 60, "word " * 5000, "short one"), search)
    found = evidence.retrieve("q", 10, 200)
    assert [span.id for span in found.spans if span.source != CASE] == ["d0", "d2", Span.of("found").id]
    assert asked[-1:] == [200 - estimate_tokens("word " * 60) - estimate_tokens("short one")]
    assert evidence.get("d1") is not None  # it can still be cited
    assert sum(span.source == CASE for span in found.spans) == 2


def test_the_case_is_given_whole_however_few_places_there_are() -> None:
    case = replace(make("first", "second", "third"), context=" ".join(f"Sentence number {n}." for n in range(9)))
    found = CaseEvidence(case).retrieve("q", 4, 1000).spans
    assert [span.text for span in found if span.source == CASE] == [f"Sentence number {n}." for n in range(9)]
    assert [span.id for span in found if span.source != CASE] == ["d0", "d1"]  # half of the places


def test_where_not_all_documents_fit_the_best_are_taken_in_their_own_order() -> None:
    case = make(*(f"document {n}" for n in range(12)))
    ranking = [Span(f"d{n}", f"document {n}", "") for n in (11, 3, 7, 0, 1)]

    def search(query: str, k: int, max_tokens: int) -> Retrieval:
        return Retrieval(tuple(ranking[:k]))

    found = CaseEvidence(case, search).retrieve("q", 5, 1000).spans
    assert [span.id for span in found if span.source != CASE] == ["d3", "d7", "d11"]
