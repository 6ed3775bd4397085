"""Methods without debate: one agent, the linear pool, votes.

Each class has its source and where it differs from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maci.cases.case import Case
from maci.lab.methods.method import Answer, Bench, Method, Step, redrawn, seat_of
from maci.lab.methods.session import Session


@dataclass(frozen=True, slots=True)
class Single(Method):
    """The opening of one agent, as it is: the baseline that every other method is measured against."""

    agent: str | int = 0
    """Its name, or its place at the table."""
    name: str = "single"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """One call."""
        session = Session(case, bench, seed)
        voices = await session.hear(session.opening(seat_of(session.agents, self.agent)))
        return session.answer(session.pool(voices) if voices else None, "one answer")


@dataclass(frozen=True, slots=True)
class Average(Method):
    """The linear pool: the mean of all openings (Stone 1961, *The Opinion Pool*). No agent hears the others."""

    name: str = "average"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """As many calls as agents."""
        session = Session(case, bench, seed)
        voices = await session.openings()
        if not voices:
            return session.answer(None, "no agent answered")
        return session.answer(session.pool(voices.values()), "pooled", course=[session.step(voices)])


@dataclass(frozen=True, slots=True)
class WeightedAverage(Method):
    """The linear pool with weights: each opening counts according to the agent's record on a development split.

    Weights are the setting ``reliability.prior`` (:mod:`maci.calibration.weights`); without it this is the plain average. It is also
    a debate's mixture before the first turn, so a debate has to beat it to be worth its turns.
    """

    name: str = "weighted_average"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """As many calls as agents."""
        session = Session(case, bench, seed)
        voices = await session.openings()
        if not voices:
            return session.answer(None, "no agent answered")
        prior = bench.config.reliability.prior
        weights = [prior.get(agent, 1.0) for agent in voices]
        mixture = np.average([session.vector(voice.belief) for voice in voices.values()], axis=0, weights=weights)
        belief = dict(zip(session.labels, mixture.tolist(), strict=True))
        course = [Step(belief=belief, beliefs={agent: voice.belief for agent, voice in voices.items()})]
        return session.answer(belief, "pooled by weight", course=course)


@dataclass(frozen=True, slots=True)
class MajorityVote(Method):
    """Majority vote of N independent answers, the agents taken in turn.

    (Condorcet 1785; Li et al. 2024, *More Agents Is All You Need*.) The belief is the share of votes. Unlike in the source, ties are
    visible in it; the answer is the first of the leading outcomes.
    """

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


@dataclass(frozen=True, slots=True)
class SelfConsistency(Method):
    """Self-consistency: N sampled chains of one agent, and the answer most of them reach (Wang et al. 2023).

    The belief is the share of the samples. The source samples chains of thought of one language model; so does this: a language model
    writes its reasoning before its answer (``agents.think_first``, or its own thinking), and draws after the first have their own
    seed and a temperature of at least 0.7. A reader reads a bootstrap resample of its evidence instead.
    """

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
