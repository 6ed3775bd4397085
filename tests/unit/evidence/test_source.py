"""What a debate starts with: the case whole, documents and search results within the limit of tokens."""

from __future__ import annotations

from maci.case.case import Case, Document
from maci.case.outcomes import OutcomeSpace
from maci.evidence.source import CASE, CaseEvidence, Retrieval
from maci.evidence.span import Span, estimate_tokens


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
    assert asked == [200 - estimate_tokens("word " * 60) - estimate_tokens("short one")]
    assert evidence.get("d1") is not None  # it can still be cited
    assert sum(span.source == CASE for span in found.spans) == 2
