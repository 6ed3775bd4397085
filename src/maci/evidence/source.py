"""Where a debate's evidence comes from: the case itself, the documents given with it, and a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from maci.case.case import Case
from maci.evidence.span import Span, estimate_tokens, sentences

__all__ = ["ACQUIRED", "CASE", "CaseEvidence", "EvidenceSource", "Retrieval", "case_spans", "document_spans"]

CASE = "case"
"""The source of spans cut from the case's own text."""
ACQUIRED = "acquired"
"""The source of spans that answer a question of the plan."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a case."""

    spans: tuple[Span, ...]
    """For agents to read, best first."""
    core: tuple[str, ...] = ()
    """Ids of those that fit about as well as the best: Q₀ is measured on these."""


class EvidenceSource(Protocol):
    """Anything spans can be had from."""

    def retrieve(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """What to start with: ℰ⁽⁰⁾."""

    def get(self, span_id: str) -> Span | None:
        """The span with this id, or ``None`` if there is none: what agents cite is looked up here."""


def case_spans(case: Case) -> tuple[Span, ...]:
    """The case's own text, sentence by sentence."""
    return tuple(Span.of(text, CASE, start) for start, text in sentences(case.context or case.question))


def document_spans(case: Case) -> tuple[Span, ...]:
    """The documents given with the case: whole where they carry an id of their own, else sentence by sentence."""
    spans: dict[str, Span] = {}
    for number, document in enumerate(case.evidence, 1):
        source = document.source or f"evidence {number}"
        if document.id is not None:
            spans[document.id] = Span(document.id, document.text, source, 0, document.label)
        else:
            for start, text in sentences(document.text):
                span = Span.of(text, source, start, document.label)
                spans.setdefault(span.id, span)
    return tuple(spans.values())


class CaseEvidence:
    """The case's text and documents, and whatever ``search`` finds for the rest of the k places.

    Also answers for spans that only some agents hold (``held``), so that what they cite can be verified.
    """

    def __init__(
        self,
        case: Case,
        search: Callable[[str, int, int], Retrieval] | None = None,
        held: Sequence[Span] = (),
    ) -> None:
        self._case, self._documents, self._search = case_spans(case), document_spans(case), search
        self._known = {span.id: span for span in (*held, *self._documents, *self._case)}

    def retrieve(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """The case's own spans first, then documents, then search results, at most k in all.

        Documents and search results keep within ``max_tokens`` together; the case's own text is given whole.
        """
        found, left = {span.id: span for span in self._case[:k]}, max_tokens
        for span in self._documents:
            cost = estimate_tokens(span.text)
            if span.id in found or len(found) >= k or cost > left:
                continue
            found[span.id] = span
            left -= cost
        core = tuple(span.id for span in self._documents if span.id in found)
        if self._search is not None and len(found) < k and left > 0:
            searched = self._search(query, k - len(found), left)
            found |= {span.id: span for span in searched.spans}
            core = searched.core or core
        self._known |= found
        return Retrieval(tuple(found.values()), core)

    def get(self, span_id: str) -> Span | None:
        """A span of the case, its documents, the search results or an agent's own."""
        return self._known.get(span_id)
