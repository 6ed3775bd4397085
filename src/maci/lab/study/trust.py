r"""How far the answers of a study can be trusted: prediction sets, and accuracy when only the surest answers are given.

*Prediction sets* are learnt on dev and tried on test. The dev answers of a data set, seed and method are halved by their ids. One half
teaches T, ε and which nonconformity score makes the smaller sets; the other gives the thresholds (:mod:`maci.moderator.conformal`). So
nothing that a threshold rests on has been learnt from the same cases, and the promise holds for test cases that are like dev cases.

*Selective answers* are ranked by confidence. At coverage c the ⌈c·n⌉ surest are given, and their share of errors is the selective risk;
the area under the risk–coverage curve is

.. math::
   \mathrm{AURC} = \frac1n \sum_{k=1}^{n} \frac{\text{errors among the } k \text{ surest}}{k}

(Geifman & El-Yaniv 2017, *NeurIPS*; Geifman et al. 2019, *ICLR*). An uninformative confidence gives the plain share of errors,
a perfect one nearly none of it. Equally sure answers have no order: they count by their mean, the expectation over their orders.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.stats import Statistic
from maci.calibration.temperature import Softening, fit_softening
from maci.errors import InputError
from maci.lab.study.rows import Row
from maci.moderator.belief import Vector
from maci.moderator.conformal import Score, nonconformity, prediction_set, quantile, smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class Sets:
    """What makes the sets of one method on one data set under one seed."""

    calibration: Softening
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
    calibration = fit_softening([row.belief or {} for row in first], [row.gold or "" for row in first])
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


def chosen(confidence: ArrayLike, coverage: float) -> Vector:
    """How much of each answer is among the ⌈coverage·n⌉ surest: 1, 0, or a part where equally sure answers share the last places.

    >>> chosen([0.9, 0.5, 0.5, 0.2], 0.5).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    if not 0 < coverage <= 1:
        raise InputError(f"coverage is {coverage}: give a share above 0 and at most 1")
    c = np.asarray(confidence, dtype=float)
    k = math.ceil(coverage * len(c) - 1e-9)
    if k >= len(c):
        return np.ones(len(c))
    last = np.sort(c)[::-1][k - 1]
    surer, equal = c > last, c == last
    part: Vector = surer + equal * ((k - surer.sum()) / equal.sum())
    return part


def curve(confidence: ArrayLike, correct: ArrayLike, coverages: Sequence[float]) -> list[float]:
    """Accuracy of the surest answers at each coverage.

    >>> curve([0.9, 0.8, 0.6, 0.5], [1, 1, 0, 1], [0.5, 1.0])
    [1.0, 0.75]
    """
    right = np.asarray(correct, dtype=float)
    weights = [chosen(confidence, coverage) for coverage in coverages]
    return [float((w * right).sum() / w.sum()) for w in weights]


def aurc_of(confidence: ArrayLike, correct: ArrayLike) -> Statistic:
    """The area as a statistic that can be bootstrapped.

    Among c equally sure answers with e errors, after N surer ones with E errors, the j-th is expected to see E + j·e/c errors among
    N + j; the sum over j is e + (E − N·e/c)(H(N+c) − H(N)), H the harmonic numbers.

    >>> aurc_of([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 0])(np.arange(4)[None]).round(4).tolist()
    [0.2083]
    """
    sure, wrong = np.asarray(confidence, dtype=float), 1 - np.asarray(correct, dtype=float)
    if sure.shape != wrong.shape:
        raise InputError(f"confidence has {sure.size} values and correct {wrong.size}: give one of each per case")
    distinct, code = np.unique(-sure, return_inverse=True)
    m = len(distinct)

    def area(i: NDArray[np.int64]) -> Vector:
        rows, n = i.shape
        flat = (code[i] + m * np.arange(rows)[:, None]).ravel()
        c = np.bincount(flat, minlength=rows * m).reshape(rows, m)
        e = np.bincount(flat, weights=wrong[i].ravel(), minlength=rows * m).reshape(rows, m)
        upto = np.cumsum(c, axis=1)
        before, errors = upto - c, np.cumsum(e, axis=1) - e
        harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
        share = e / np.maximum(c, 1)
        found: Vector = (e + (errors - before * share) * (harmonic[upto] - harmonic[before])).sum(axis=1) / n
        return found

    return area
