"""The linear pool: the mean of all openings (Stone 1961, *The Opinion Pool*)."""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.session import Session

__all__ = ["Average"]


@dataclass(frozen=True, slots=True)
class Average:
    """Every agent once, nobody hears the others."""

    name: str = "average"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """As many calls as agents."""
        session = Session(case, bench, seed)
        voices = await session.openings()
        if not voices:
            return session.answer(None, "no agent answered")
        return session.answer(session.pool(voices.values()), "pooled", course=[session.step(voices)])
