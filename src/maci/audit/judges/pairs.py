"""Judges that compare two arguments: does it matter which is shown first?

For a pair shown both ways, p and p′ are the chances a judge gives to what is shown first. Indifferent to place, p + p′ = 1:
*position bias* is the mean of p + p′ − 1, from −1 (always the second) to 1 (always the first). *Consistent* is a judge that
prefers the same argument both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from maci.agents.argument import Usage
from maci.audit.judges.estimate import Estimate, Sampling, share, undefined
from maci.audit.judges.items import Batch, Item
from maci.judge.crit import JudgeAbstained, ScoreRequest

__all__ = ["PairJudge", "Pairs", "pairs_of", "presented_both_ways"]


@runtime_checkable
class PairJudge(Protocol):
    """A judge that can also compare."""

    async def prefer(self, first: ScoreRequest, second: ScoreRequest) -> tuple[float, Usage]:
        """The chance that the first is better, and what asking cost; raises :class:`JudgeAbstained` where it cannot say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """What place does to a comparison."""

    bias: Estimate
    consistent: Estimate


def pairs_of(batches: Sequence[Batch], most: int) -> list[tuple[Item, Item]]:
    """Arguments of different agents of one debate, two by two."""
    found = []
    for batch in batches:
        for one, two in zip(batch.items, batch.items[1:], strict=False):
            if one.agent != two.agent:
                found.append((one, two))
    return found[:most]


async def presented_both_ways(
    judge: PairJudge, pairs: Sequence[tuple[Item, Item]], *, seed: int = 0, resamples: int = 10_000
) -> Pairs:
    """Ask for every pair, both ways, one after the other."""
    bias, same, cases = [], [], []
    for one, two in pairs:
        try:
            p, _ = await judge.prefer(one.request, two.request)
            q, _ = await judge.prefer(two.request, one.request)
        except JudgeAbstained:
            continue
        bias.append(p + q - 1)
        same.append((p > 0.5) == (q < 0.5) and p != 0.5 and q != 0.5)
        cases.append(one.case)
    if not bias:
        nothing = undefined("no pair was compared both ways", 0, "pairs")
        return Pairs(bias=nothing, consistent=nothing)
    found = Sampling(tuple(cases), seed, resamples).mean(np.array(bias), "pairs")
    return Pairs(bias=found, consistent=share(sum(same), len(same), "pairs"))
