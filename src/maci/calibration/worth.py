"""What a calibration is worth: the calibration error before and after with intervals, on cases left out of the fit, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import Estimate, bootstrap, bootstrap_mean
from maci.calibration.temperature import Answers, fit_temperature
from maci.moderator.belief import Vector, temper

FOLDS = 10
"""Parts that are left out in turn to measure a temperature on cases it was not fitted to."""


def ece(beliefs: Sequence[Vector], gold: Sequence[int], bins: int = 15) -> float:
    """Expected calibration error: 15 equal-width bins on the confidence of the top outcome; nan without cases.

    >>> round(ece([np.array([0.8, 0.2])] * 5, [0, 0, 0, 0, 1]), 6)
    0.0
    """
    if not len(beliefs):
        return math.nan
    confidence = np.array([p.max() for p in beliefs])
    right = np.array([int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)], dtype=float)
    return float(binned_gaps((confidence - right)[None], equal_width(confidence, bins)[None], bins)[0] / len(beliefs))


def ece_estimate(beliefs: Sequence[Vector], gold: Sequence[int], bins: int = 15) -> Estimate:
    """The same with its interval, which is widened to the value where resampling leaves it out, as it does to small ones.

    >>> found = ece_estimate([np.array([0.8, 0.2])] * 20, [0] * 18 + [1] * 2)
    >>> [round(x, 3) for x in (found.value, found.low, found.high)]
    [0.1, 0.0, 0.2]
    """
    confidence = np.array([p.max() for p in beliefs])
    gap = confidence - np.array([int(p.argmax()) == y for p, y in zip(beliefs, gold, strict=True)], dtype=float)
    place = equal_width(confidence, bins)

    def error(i: NDArray[np.int64]) -> Vector:
        found: Vector = binned_gaps(gap[i], place[i], bins) / i.shape[1]
        return found

    found = bootstrap(error, len(gap), np.random.default_rng(0))
    return replace(found, low=min(found.low, found.value), high=max(found.high, found.value))


def equal_width(confidence: Vector, bins: int = 15) -> NDArray[np.int64]:
    """The bin [b/bins, (b+1)/bins) of each confidence; 1 is in the last.

    >>> equal_width(np.array([0.0, 0.2, 0.99, 1.0]), 5).tolist()
    [0, 1, 4, 4]
    """
    return np.minimum((confidence * bins).astype(np.int64), bins - 1)


def binned_gaps(gap: Vector, place: NDArray[np.int64], bins: int) -> Vector:
    """Σ_b |Σ_{i∈b} gap_i| of each row: with gap = confidence − correct and divided by n, the calibration error.

    >>> binned_gaps(np.array([[0.5, -0.5, 0.25]]), np.array([[0, 1, 1]]), 2).tolist()
    [0.75]
    """
    rows = len(gap)
    flat = (place + bins * np.arange(rows)[:, None]).ravel()
    sums = np.bincount(flat, weights=gap.ravel(), minlength=rows * bins).reshape(rows, bins)
    total: Vector = np.abs(sums).sum(axis=1)
    return total


@dataclass(frozen=True, slots=True)
class Worth:
    """A temperature, and what it changes on cases it was not fitted to."""

    temperature: float
    before: Estimate
    """Calibration error."""
    after: Estimate
    """Of the same cases, each left out of the fit in turn."""
    gain: Estimate
    """ln p of the true outcome, after less before, of the same cases; above 0 is better."""

    @property
    def n(self) -> int:
        """Cases it was learnt from."""
        return self.before.n

    def lines(self) -> list[str]:
        r"""The same in plain sentences.

        >>> before, after = Estimate(0.12, 0.06, 0.2, 25, "BCa"), Estimate(0.1, 0.05, 0.18, 25, "BCa")
        >>> print(*Worth(0.9, before, after, Estimate(0.01, -0.02, 0.03, 25, "BCa")).lines(), sep="\n")
        Learnt from 25 cases: the debates were not sure enough, so probabilities are raised a little (T = 0.90).
        Calibration error on cases left out of the fit: 0.12 [0.06, 0.20] before, 0.10 [0.05, 0.18] after.
        No clear improvement: 25 cases cannot show one of this size. More cases with known answers would.
        """
        t = self.temperature
        size = "" if abs(math.log(t)) > math.log(1.25) else " a little"
        found = (
            "the debates were about as sure as they should be, so probabilities stay as they are"
            if 0.98 <= t <= 1.02
            else f"the debates were not sure enough, so probabilities are raised{size}"
            if t < 1
            else f"the debates were too sure, so probabilities are lowered{size}"
        )
        if self.gain.low > 0:
            verdict = "Probabilities are clearly better than before: the true outcome gets more of them."
        elif self.gain.high < 0:
            verdict = "Probabilities are clearly worse than before: leave it out (--set calibration.temperature=1)."
        else:
            verdict = f"No clear improvement: {self.n} cases cannot show one of this size. More cases with known answers would."
        before, after = (f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]" for e in (self.before, self.after))
        return [
            f"Learnt from {self.n} cases: {found} (T = {t:.2f}).",
            f"Calibration error on cases left out of the fit: {before} before, {after} after.",
            verdict,
        ]


def appraise(beliefs: Sequence[Vector], gold: Sequence[int]) -> Worth:
    """The temperature of all, and its worth: every belief under a temperature fitted without it, ten parts in turn."""
    n = len(beliefs)
    part = np.random.default_rng(0).permutation(n) % FOLDS
    after, gain = list(beliefs), np.zeros(n)
    for k in range(FOLDS):
        own, others = np.flatnonzero(part != k).tolist(), np.flatnonzero(part == k).tolist()
        t = fit_temperature([beliefs[i] for i in own], [gold[i] for i in own])
        if others:
            some = Answers.of([beliefs[i] for i in others], [gold[i] for i in others])
            raw, fitted = some.log_likelihood([1.0, t])
            gain[others] = fitted - raw
        for i in others:
            after[i] = temper(beliefs[i], t)
    return Worth(
        temperature=fit_temperature(beliefs, gold),
        before=ece_estimate(beliefs, gold),
        after=ece_estimate(after, gold),
        gain=bootstrap_mean(gain, np.random.default_rng(0)),
    )
