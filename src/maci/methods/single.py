"""One agent, one prediction: what everything else is measured against."""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.seats import seat_of
from maci.methods.session import Session

__all__ = ["Single"]


@dataclass(frozen=True, slots=True)
class Single:
    """The opening of one agent, as it is."""

    agent: str | int = 0
    """Its name, or its place at the table."""
    name: str = "single"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """One call."""
        session = Session(case, bench, seed)
        voices = await session.hear(session.opening(seat_of(session.agents, self.agent)))
        return session.answer(session.pool(voices) if voices else None, "one answer")
