"""Self-consistency: N sampled chains of one agent, and the answer most of them reach (Wang et al. 2023).

The belief is the share of the samples. The source samples chains of thought of one language model; so does this with language
models, by seed and temperature. A reader reads a bootstrap resample of its evidence instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.seats import redrawn, seat_of
from maci.methods.session import Session

__all__ = ["SelfConsistency"]


@dataclass(frozen=True, slots=True)
class SelfConsistency:
    """One agent, N times."""

    n: int = 20
    agent: str | int = 0
    name: str = "self_consistency"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """N calls of one agent."""
        session = Session(case, bench, seed)
        one = seat_of(session.agents, self.agent)
        samples = [redrawn(one, seed, draw) for draw in range(self.n)]
        voices = await session.hear(*(session.opening(agent, draw) for draw, agent in enumerate(samples)))
        if not voices:
            return session.answer(None, "the agent never answered")
        shares = session.votes(voices)
        return session.answer(shares, f"{len(voices)} samples", agreement=max(shares.values()))
