"""The linear pool with weights: what each agent says first counts as its record on a development split says it should.

Weights are the setting ``reliability.prior`` (see :mod:`maci.learn`); without it this is :mod:`maci.methods.average`. It is also what a
debate's mixture is before the first turn, so a debate has to beat it to be worth its turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maci.case.case import Case
from maci.methods.method import Answer, Bench, Step
from maci.methods.session import Session

__all__ = ["WeightedAverage"]


@dataclass(frozen=True, slots=True)
class WeightedAverage:
    """Every agent once, nobody hears the others."""

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
