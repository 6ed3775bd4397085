"""Judges against people: does a judge put arguments in the order in which people put them?

*Accuracy on pairs*: of two arguments about one case that people scored differently (or chose between), how often the judge prefers
the same; a tie of the judge counts half. *AUC*: the chance that an argument which people put above their median scores above one
that they put below. Cases (topic sides) are resampled whole: an argument is in many pairs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from maci.audit.judges.correlation import auc, spearman
from maci.audit.judges.estimate import Estimate, Indices, Sampling, undefined
from maci.belief import Vector

__all__ = ["Agreement", "against_people", "hit", "hits_by_group", "pair_accuracy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One judge, or the panel's mean, against people."""

    judge: str
    rho: Estimate
    pairs: Estimate
    auc: Estimate


def hit(ahead: float, truth: float) -> float:
    """1 where the sign of a difference of scores is that of people's, 0 where it is the other, ½ where the scores tie.

    >>> hit(0.2, 1), hit(-0.2, 1), hit(0.0, -1)
    (1.0, 0.0, 0.5)
    """
    return 0.5 if abs(ahead) < 1e-12 else float((ahead > 0) == (truth > 0))


def hits_by_group(hits: Sequence[float], groups: Sequence[Hashable]) -> dict[Hashable, tuple[float, int]]:
    """Group → (hits, pairs)."""
    found: dict[Hashable, tuple[float, int]] = {}
    for right, group in zip(hits, groups, strict=True):
        above, below = found.get(group, (0.0, 0))
        found[group] = above + right, below + 1
    return found


def pair_accuracy(
    hits: Sequence[float], groups: Sequence[Hashable], *, seed: int = 0, resamples: int = 10_000
) -> Estimate:
    """The share of hits over all pairs; groups (topic sides, cases) are resampled."""
    by = list(hits_by_group(hits, groups).values())
    if not by:
        return undefined("no pair to compare", 0, "pairs")
    above, below = np.array([a for a, _ in by]), np.array([float(b) for _, b in by])

    def statistic(i: Indices) -> Vector:
        share: Vector = above[i].sum(axis=1) / below[i].sum(axis=1)
        return share

    found = Sampling(tuple(range(len(by))), seed, resamples).estimate(statistic, np.arange(len(by)), "pairs")
    how = f"{found.how}, {len(by)} group{'s' if len(by) != 1 else ''} resampled"
    return Estimate(value=found.value, low=found.low, high=found.high, n=len(hits), unit="pairs", how=how)


def against_people(judge: str, scores: Vector, people: Vector, sampling: Sampling) -> Agreement:
    """A judge's scores of items against people's (nan where there is none)."""
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(people))
    x, y = scores[rows], people[rows]
    if len(rows) < 3:
        nothing = undefined("fewer than three arguments that both scored", len(rows))
        return Agreement(judge=judge, rho=nothing, pairs=nothing, auc=nothing)
    middle = np.median(y)
    upper = np.where(y == middle, np.nan, (y > middle).astype(float))
    hits, groups = [], []
    cases = [sampling.groups[i] for i in rows.tolist()]
    for a in range(len(rows)):
        for b in range(a + 1, len(rows)):
            if cases[a] == cases[b] and y[a] != y[b]:
                hits.append(hit(x[a] - x[b], y[a] - y[b]))
                groups.append(cases[a])
    flat = np.ptp(x) < 1e-9 or np.ptp(y) < 1e-9
    return Agreement(
        judge=judge,
        rho=undefined("the judge, or people, gave the same score throughout", len(rows))
        if flat
        else sampling.estimate(lambda i: spearman(x[i], y[i]), rows, fisher=True),
        pairs=pair_accuracy(hits, groups, seed=sampling.seed, resamples=sampling.resamples),
        auc=sampling.estimate(lambda i: auc(x[i], upper[i]), rows),
    )
