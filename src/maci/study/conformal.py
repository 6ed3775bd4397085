"""Prediction sets for the answers of a study: learnt on dev, tried on test.

The dev answers of a data set, seed and method are halved by their ids. One half teaches T, ε and which nonconformity score makes the
smaller sets; the other gives the thresholds (:mod:`maci.moderator.conformal`). So nothing that a threshold rests on has been learnt
from the same cases, and the promise holds for test cases that are like dev cases.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maci.belief import Vector
from maci.moderator.conformal import Score, nonconformity, prediction_set, quantile, smallest
from maci.study.calibration import Calibration, fit
from maci.study.rows import Row

__all__ = ["Sets", "learn", "usual_range"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """What makes the sets of one method on one data set under one seed."""

    calibration: Calibration
    score: Score
    scores: Vector
    """Nonconformity of the true outcomes; infinite where it was not named."""

    def limit(self, coverage: float) -> float:
        """The threshold; infinite where there are too few cases for such a coverage."""
        return quantile(self.scores, coverage)

    def of(self, belief: Mapping[str, float], coverage: float) -> tuple[str, ...]:
        """The set for an answer, most probable first."""
        p = self.calibration.apply(belief)
        labels = list(p)
        return tuple(labels[i] for i in prediction_set(np.array(list(p.values())), self.limit(coverage), self.score))


def learn(rows: Iterable[Row]) -> Sets:
    """From the dev answers of one method, data set and seed; rows of the test part are not looked at."""
    halves: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        if row.part == "dev" and row.status == "done" and row.belief is not None and row.gold is not None:
            halves[_side(row.item)].append(row)
    first, second = halves
    calibration = fit([row.belief or {} for row in first], [row.gold or "" for row in first])
    named = [row for row in first if row.gold in (row.belief or {})]
    p = [_vector(calibration.apply(row.belief or {})) for row in named]
    gold = [list(row.belief or {}).index(row.gold or "") for row in named]
    score = smallest(p, gold)
    scores = [_nonconformity(calibration.apply(row.belief or {}), row.gold or "", score) for row in second]
    return Sets(calibration=calibration, score=score, scores=np.array(scores, dtype=float))


def _side(item: str) -> int:
    return hashlib.sha256(f"conformal/{item}".encode()).digest()[0] & 1


def _vector(p: Mapping[str, float]) -> Vector:
    return np.array(list(p.values()), dtype=float)


def _nonconformity(p: Mapping[str, float], gold: str, score: Score) -> float:
    if gold not in p:
        return math.inf
    return float(nonconformity(_vector(p), score)[list(p).index(gold)])


def usual_range(
    calibrated: Sequence[int], tested: Sequence[int], coverage: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Where 95 % of observed coverages lie if the promise holds exactly: (low, high); seeds (one entry each) as if independent.

    Given n calibration cases, the coverage is Beta(k, n + 1 − k) with k = ⌈(n+1)·coverage⌉ for scores without ties (Vovk 2012), and
    the hits among m test cases are binomial. Ties, and a lead that is always in the set, can only raise it.
    """
    draws, hits, total = 4000, np.zeros(4000), 0
    for n, m in zip(calibrated, tested, strict=True):
        k = math.ceil((n + 1) * coverage - 1e-9)
        true = rng.beta(k, n + 1 - k, draws) if k <= n else np.ones(draws)
        hits += rng.binomial(m, true)
        total += m
    low, high = np.quantile(hits / total, [0.025, 0.975]).tolist() if total else (math.nan, math.nan)
    return low, high
