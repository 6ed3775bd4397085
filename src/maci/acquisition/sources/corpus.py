"""A corpus as a source: runs the plan's queries and hands back passages that pass the evidence gate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply
from maci.evidence.encode import Encoder
from maci.evidence.retrieve import Retriever
from maci.evidence.span import Span

__all__ = ["CorpusSource"]


class CorpusSource:
    """Search; a passage enters only if it fits the case about as well as admitted evidence must.

    ``gate``: the least cosine of a passage with θ, the embedded case; ``None`` lets everything in. ``known``: spans that are on the
    table already.
    """

    kinds = ("retrieval",)

    def __init__(
        self,
        spans: Iterable[Span],
        encoder: Encoder,
        *,
        query: str,
        gate: float | None = None,
        k: int = 4,
        known: Iterable[str] = (),
        name: str = "corpus",
    ) -> None:
        self.name = name
        self._retriever, self._encoder = Retriever(spans, encoder), encoder
        self._theta: NDArray[np.float32] = encoder.encode([query])[0]
        self._gate, self._k, self._given = gate, k, set(known)

    async def answer(self, item: Item) -> Reply:
        """The best passages for the item's query that were not given before."""
        found = self._retriever.retrieve(item.query or item.text, 4 * self._k + len(self._given), 100_000)
        fresh = [span for span, _ in found if span.id not in self._given]
        fits = [span for span in fresh if self._gate is None or self._fit(span) >= self._gate][: self._k]
        rejected = sum(self._gate is not None and self._fit(span) < self._gate for span in fresh[: self._k])
        remarks = (
            (f"{rejected} of the best {min(self._k, len(fresh))} passages do not fit the case",) if rejected else ()
        )
        if not fits:
            return Reply(verdict="unknown", text="nothing in the corpus fits", remarks=remarks)
        self._given |= {span.id for span in fits}
        return Reply(verdict="told", text="\n".join(span.text for span in fits), spans=tuple(fits), remarks=remarks)

    def _fit(self, span: Span) -> float:
        return float(self._encoder.encode([span.text])[0] @ self._theta)
