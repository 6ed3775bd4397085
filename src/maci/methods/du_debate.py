"""Debate of copies of one model (Du et al. 2024, *Improving Factuality and Reasoning through Multiagent Debate*).

Every copy answers, then for some rounds reads all other answers and answers again. As in the source there is no judge and no gate,
and the agents are copies of one model; readers keep the evidence they were dealt, which is what makes the copies differ. The
source takes the majority of the last answers; here the last beliefs are pooled, which breaks its ties and gives it probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.seats import copies_of
from maci.methods.session import Session
from maci.methods.sharing import share

__all__ = ["DuDebate"]


@dataclass(frozen=True, slots=True)
class DuDebate:
    """M copies, R rounds."""

    rounds: int = 2
    agent: str | int = 0
    """Whose copies debate."""
    name: str = "du_debate"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)
        voices, course = await share(session, copies_of(session.agents, self.agent), rounds=self.rounds, cl=0.5)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)
