"""A corpus as a source: runs the plan's queries and hands back the best passages; the debate's evidence gate decides on them."""

from __future__ import annotations

from collections.abc import Iterable

from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply
from maci.evidence.encode import Encoder
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span

__all__ = ["CorpusSource"]


class CorpusSource:
    """Search over spans; what was handed out once is not handed out again. ``k``: passages an answer has."""

    kinds = ("retrieval",)

    def __init__(self, spans: Iterable[Span], encoder: Encoder, *, k: int = 4, name: str = "corpus") -> None:
        self.name, self._k = name, k
        self._retriever = Retriever(spans, encoder)
        self._given: set[str] = set()

    async def answer(self, item: Item) -> Reply:
        """The best passages for the item's query that were not given before."""
        found = self._retriever.retrieve(item.query or item.text, self._k + len(self._given), 100_000)
        fresh = tuple(span for span, _ in found if span.id not in self._given)[: self._k]
        if not fresh:
            return Reply(verdict="unknown", text="there is nothing more in the corpus")
        self._given |= {span.id for span in fresh}
        return Reply(verdict="told", text="\n".join(span.text for span in fresh), spans=fresh)
