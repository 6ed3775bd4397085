"""The embedded panel: three readers who hold different evidence, and three reader judges.

Offline, deterministic, no key, no download: what a plain install debates with.
"""

from __future__ import annotations

from collections.abc import Sequence

from maci.agents.reader.families import FAMILIES, Family
from maci.agents.reader.reader import Conduct, Reader
from maci.cases.case import Case
from maci.evidence.encode import Encoder
from maci.evidence.span import Span
from maci.seating.shelf import Bookcase, LazyProposer, Shelf, Sources
from maci.seating.table import Table


def deal(
    shelf: Shelf, families: Sequence[Family], *, seed: int = 0, conduct: Conduct | None = None
) -> tuple[Reader, ...]:
    """Readers with their hands dealt from one shelf."""
    hands = shelf.library.deal(len(families), seed)
    return tuple(Reader(f, shelf.library, hand, conduct) for f, hand in zip(families, hands, strict=True))


class ReaderPanel:
    """Sets the table for many cases over the same evidence; what depends on the outcomes alone is made once."""

    def __init__(
        self,
        spans: Sequence[Span] | Sources,
        encoder: Encoder,
        *,
        families: Sequence[Family] = FAMILIES,
        conduct: Conduct | None = None,
    ) -> None:
        self._books = Bookcase(spans if isinstance(spans, Sources) else Sources(corpus=tuple(spans)), encoder)
        self._families, self._conduct = families, conduct

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """Readers with their hands dealt, judges, and evidence to verify citations against."""
        shelf = self._books.about(case)
        return Table(
            agents=deal(shelf, self._families, seed=seed, conduct=self._conduct),
            judges=shelf.judges,
            evidence=shelf.evidence(case, held=shelf.library.spans),
            encoder=shelf.encoder,
            proposer=LazyProposer(shelf),
        )
