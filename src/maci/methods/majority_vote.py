"""Majority vote of N independent answers, the agents taken in turn (Condorcet 1785; Li et al. 2024, *More Agents Is All You Need*).

The belief is the share of votes. Unlike in the source, ties are visible in it; the answer is the first of the leading outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.seats import redrawn
from maci.methods.session import Session

__all__ = ["MajorityVote"]


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """N votes."""

    n: int = 20
    name: str = "majority_vote"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """N calls: agent after agent, then their second draws, and so on."""
        session = Session(case, bench, seed)
        seats = [divmod(k, len(session.agents)) for k in range(self.n)]
        voters = [(redrawn(session.agents[a], seed, draw), draw) for draw, a in seats]
        voices = await session.hear(*(session.opening(voter, draw) for voter, draw in voters))
        if not voices:
            return session.answer(None, "no agent answered")
        shares = session.votes(voices)
        return session.answer(shares, f"{len(voices)} votes", agreement=max(shares.values()))
