"""Debate between different ways to reason (Liu et al. 2025, *Breaking Mental Set to Improve Reasoning …*, "Diverse MAD").

Language models are each told to reason in a manner of their own; readers are three ways to weigh evidence as they are. Rounds and
pooling as in :mod:`maci.methods.du_debate`; the source picks the last answer by vote.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.case.case import Case
from maci.methods.method import Answer, Bench
from maci.methods.seats import styled
from maci.methods.session import Session
from maci.methods.sharing import share

__all__ = ["MANNERS", "Dmad"]

MANNERS = (
    "Reason step by step from the findings to the outcome.",
    "Step back first: state the general principle that decides cases like this one, then apply it.",
    "Work by exclusion: list the outcomes, and strike out those the findings contradict.",
    "Reason by comparison: recall the nearest similar cases in the evidence, and say how this one differs.",
)


@dataclass(frozen=True, slots=True)
class Dmad:
    """Each agent in a manner of its own, R rounds."""

    rounds: int = 2
    name: str = "dmad"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)
        voices, course = await share(session, styled(session.agents, MANNERS), rounds=self.rounds, cl=0.5)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)
