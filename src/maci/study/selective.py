r"""Answering only where one is sure: accuracy at a coverage, and the area under the risk–coverage curve.

Answers are ranked by confidence. At coverage c the ⌈c·n⌉ surest are given, and their share of errors is the selective risk;

.. math::
   \mathrm{AURC} = \frac1n \sum_{k=1}^{n} \frac{\text{errors among the } k \text{ surest}}{k}

(Geifman & El-Yaniv 2017, *NeurIPS*; Geifman et al. 2019, *ICLR*). A confidence that says nothing gives the plain share of errors,
a perfect one nearly none of it. Of equally sure answers none comes first: they count by their mean, the expectation over their orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.belief import Vector
from maci.errors import InputError
from maci.study.statistics import Statistic

__all__ = ["aurc_of", "chosen", "curve"]


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
