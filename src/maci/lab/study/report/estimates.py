"""Estimates of a report. All draw the same cases, so that equal answers have equal intervals, and no figure depends on others."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from maci.calibration.stats import (
    RESAMPLES,
    Draws,
    Estimate,
    Statistic,
    bootstrap,
    bootstrap_all,
    bootstrap_mean,
    bootstrap_sums,
    multiplied,
    numbered,
    ratio_sums,
    undefined,
    wilson,
)
from maci.calibration.temperature import equal_width
from maci.lab.study.metrics import BINS, ScoredAnswer, ece_of, ece_sums, per_case
from maci.moderator.belief import Vector
from maci.render.report import Point

WIDENED = "widened to its value"
"""In ``how``, where the interval that was drawn left out its own value."""

ALIKE = "alike in all cases, bounded by Wilson"
"""In ``how``, where every resample gave the same."""

_REACH = {"acc1": 1.0, "acc3": 1.0, "mrr": 1.0, "ece": 1.0, "ece_adaptive": 1.0, "brier": 2.0, "brier_top": 1.0}
"""How far two methods can differ in one case."""
_ERRORS = ("ece", "ece_adaptive")
"""Calibration errors, which are no means over answers."""
_RANKED = 1000
"""Resamples of what has to be ranked anew in each."""
_PERFECT = 1000
"""Draws for the calibration error of a calibrated method."""


def covering(found: Estimate) -> Estimate:
    """An interval that has its value in it. A calibration error is too high by nature, and that of a resample, which has cases twice,
    even more so: all resamples may lie above the value, and no choice of their quantiles would reach it.

    >>> print(covering(Estimate(0.02, 0.03, 0.06, 50, "BCa")))
    0.02 [0.02, 0.06], n = 50, BCa, widened to its value
    """
    if math.isnan(found.value) or found.low <= found.value <= found.high:
        return found
    low, high = min(found.low, found.value), max(found.high, found.value)
    return Estimate(found.value, low, high, found.n, f"{found.how}, {WIDENED}")


def bounded(found: Estimate, cases: int, reach: float) -> Estimate:
    """A difference that was the same in every resample is not known exactly: of other cases some may differ.

    Their share u is at most what Wilson's interval gives for 0 in ``cases``, and each lies between −reach and +reach:
    (1 − u) d ± u · reach.

    >>> print(bounded(Estimate(0.0, 0.0, 0.0, 10, "percentile"), 10, 1.0))
    0 [-0.2775, 0.2775], n = 10, alike in all cases, bounded by Wilson
    """
    if not cases or math.isnan(found.value) or found.high - found.low > 1e-12:
        return found
    u = wilson(0, cases).high
    middle = (1 - u) * found.value
    return Estimate(found.value, middle - u * reach, middle + u * reach, found.n, ALIKE)


def _defined(values: Sequence[float] | Vector, cases: Sequence[Hashable]) -> tuple[Vector, Sequence[Hashable]]:
    """The values that are not nan, and their cases."""
    x = np.asarray(values, dtype=float)
    gone = np.isnan(x)
    if not gone.any():
        return x, cases
    keep = np.flatnonzero(~gone)
    return x[keep], [cases[i] for i in keep.tolist()]


def point(x: float, found: Estimate) -> Point:
    """A mark at ``x`` with its interval."""
    return Point(x=float(x), y=found.value, low=found.low, high=found.high, n=found.n)


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """How figures are estimated: cases are resampled whole, whatever the number of seeds."""

    seed: int = 0
    resamples: int = RESAMPLES

    def rng(self) -> np.random.Generator:
        """A fresh generator for one figure."""
        return np.random.default_rng(self.seed)

    @cached_property
    def draws(self) -> Draws:
        """The resamples of all figures."""
        return Draws(self.seed, self.resamples)

    @cached_property
    def _uniform(self) -> dict[int, Vector]:
        """For the latest number of cases: the draws of :meth:`calibrated_ece`, which are the same for every method."""
        return {}

    @cached_property
    def _ratios(self) -> dict[tuple[bytes, bytes, int, str], Estimate]:
        return {}

    def ratio(
        self,
        above: Sequence[float] | Vector,
        below: Sequence[float] | Vector,
        cases: Sequence[Hashable],
        method: Literal["bca", "percentile"] = "bca",
    ) -> Estimate:
        """Σ above / Σ below, cases resampled. Sums within a case are taken first: the same statistic, and much less to draw.

        >>> print(Estimates(resamples=100).ratio([1, 0, 2], [1, 1, 1], "aab"))
        1 [0.5, 2], n = 3, BCa, 2 clusters
        """
        place, size = numbered(cases)
        x = np.bincount(place, weights=np.asarray(above, dtype=float), minlength=size)
        y = np.bincount(place, weights=np.asarray(below, dtype=float), minlength=size)
        same = (x.tobytes(), y.tobytes(), len(place), method)
        if same not in self._ratios:  # several tables show one figure, and the best on dev is often one of its family
            self._ratios[same] = bootstrap_sums(ratio_sums(x, y), self.draws, rows=len(place), method=method)
        return self._ratios[same]

    def mean(
        self,
        values: Sequence[float] | Vector,
        cases: Sequence[Hashable],
        method: Literal["bca", "percentile"] = "bca",
    ) -> Estimate:
        """The mean of the values that are defined."""
        x, by = _defined(values, cases)
        return self.ratio(x, np.ones(len(x)), by, method)

    def means(self, columns: Sequence[Sequence[float] | Vector], cases: Sequence[Hashable]) -> list[Estimate]:
        """The means of several values of the same answers; those that are defined throughout are drawn at once.

        >>> [x.value for x in Estimates(resamples=100).means([[1, 0, 2], [1, math.nan, 2]], "aab")]
        [1.0, 1.5]
        """
        given = [np.asarray(column, dtype=float) for column in columns]
        whole = [i for i, x in enumerate(given) if not np.isnan(x).any()]
        place, size = numbered(cases)
        answers = np.bincount(place, minlength=size)
        sums = [ratio_sums(np.bincount(place, weights=given[i], minlength=size), answers) for i in whole]
        drawn = dict(zip(whole, bootstrap_all(sums, self.draws, rows=len(place)), strict=True))
        return [drawn[i] if i in drawn else self.mean(x, cases) for i, x in enumerate(given)]

    def shares(self, columns: Sequence[Sequence[float] | Vector], cases: Sequence[Hashable]) -> list[Estimate]:
        """Several proportions of the same answers."""
        given = [np.asarray(column, dtype=float) for column in columns]
        mixed = [i for i, x in enumerate(given) if len(x) and not np.isnan(x).any() and 0 < x.mean() < 1]
        drawn = dict(zip(mixed, self.means([given[i] for i in mixed], cases), strict=True))
        return [drawn[i] if i in drawn else self.share(x, cases) for i, x in enumerate(given)]

    def share(self, right: Sequence[float] | Vector, cases: Sequence[Hashable]) -> Estimate:
        """A proportion: like :meth:`mean`, Wilson where all are equal."""
        x, by = _defined(right, cases)
        if len(x) and (x.all() or not x.any()):
            return bootstrap_mean(x.astype(bool), self.rng(), groups=by)
        return self.mean(x, by)

    def share_of(self, found: Sequence[tuple[bool | float, Hashable]]) -> Estimate:
        """A proportion of (right, case) pairs."""
        return self.share([float(right) for right, _ in found], [case for _, case in found])

    def metrics(
        self, metrics: Sequence[str], scored: Sequence[ScoredAnswer], cases: Sequence[Hashable]
    ) -> list[Estimate]:
        """Several metrics of :mod:`maci.lab.study.metrics`, of the same answers."""
        means = [m for m in metrics if m not in (*_ERRORS, "acc1", "acc3")]
        found = dict(zip(means, self.means([per_case(m, scored) for m in means], cases), strict=True))
        for metric in metrics:
            if metric in _ERRORS:
                found[metric] = covering(self._error(metric, [scored], cases))
            elif metric not in found:
                found[metric] = self.share(per_case(metric, scored), cases)
        return [found[metric] for metric in metrics]

    def metric(self, metric: str, scored: Sequence[ScoredAnswer], cases: Sequence[Hashable]) -> Estimate:
        """One of them.

        >>> from maci.lab.study.metrics import score
        >>> right = [score({"a": 0.6, "b": 0.4}, gold) for gold in "aab"]
        >>> some = Estimates(resamples=100)
        >>> round(some.metric("acc1", right, "xyz").value, 3), round(some.metric("ece", right, "xyz").value, 3)
        (0.667, 0.067)
        """
        return self.metrics([metric], scored, cases)[0]

    def difference(
        self, metric: str, a: Sequence[ScoredAnswer], b: Sequence[ScoredAnswer], cases: Sequence[Hashable]
    ) -> Estimate:
        """metric(a) − metric(b) over the same answers, drawn together; percentile. Never without width: see :func:`bounded`."""
        if metric in _ERRORS:
            found = covering(self._error(metric, [a, b], cases))
        else:
            found = self.mean_difference(per_case(metric, a) - per_case(metric, b), cases)
        reach = _REACH.get(metric)
        return found if reach is None else bounded(found, len(set(cases)), reach)

    def _error(self, metric: str, of: Sequence[Sequence[ScoredAnswer]], cases: Sequence[Hashable]) -> Estimate:
        """A calibration error, or the difference of two, over the answers whose truth is known to all."""
        known = [i for i in range(len(cases)) if all(some[i].correct is not None for some in of)]
        by = [cases[i] for i in known]
        pairs = [
            (np.array([some[i].confidence for i in known]), np.array([float(some[i].correct is True) for i in known]))
            for some in of
        ]
        method: Literal["bca", "percentile"] = "bca" if len(of) == 1 else "percentile"
        if metric == "ece":
            first, *rest = (ece_sums(*pair, *numbered(by)) for pair in pairs)
            whole = first.less(rest[0]) if rest else first
            return bootstrap_sums(whole, self.draws, rows=len(known), method=method)
        one, *other = (ece_of(*pair, adaptive=True) for pair in pairs)
        return self.ranked((lambda i: one(i) - other[0](i)) if other else one, by, method)

    def ranked(
        self, statistic: Statistic, cases: Sequence[Hashable], method: Literal["bca", "percentile"] = "bca"
    ) -> Estimate:
        """What has to be ranked anew in each resample, an area or bins of equal mass: at most 1,000 of them."""
        draws = min(_RANKED, self.resamples)
        return bootstrap(statistic, len(cases), self.rng(), groups=cases, method=method, resamples=draws)

    def mean_difference(self, d: Vector, cases: Sequence[Hashable]) -> Estimate:
        """The mean of paired differences, percentile; undefined ones are left out."""
        return self.mean(d, cases, method="percentile")

    def calibrated_ece(self, scored: Sequence[ScoredAnswer], cases: Sequence[Hashable]) -> Estimate:
        """The ECE that a perfectly calibrated method with these confidences would show: its mean and 95 % range.

        Right answers are drawn with their confidence as chance, one draw for all answers to a case (Bröcker & Smith 2007,
        *Weather and Forecasting* 22: consistency resampling). An ECE inside the range is no evidence of miscalibration.
        """
        known = [i for i, s in enumerate(scored) if s.correct is not None]
        if not known:
            return undefined("no cases")
        confidence = np.array([scored[i].confidence for i in known])
        place, size = numbered([cases[i] for i in known])
        if size not in self._uniform:
            self._uniform.clear()
            self._uniform[size] = self.rng().random((_PERFECT, size))
        right = self._uniform[size][:, place] < confidence
        inside = np.zeros((len(known), BINS))
        inside[np.arange(len(known)), equal_width(confidence, BINS)] = 1.0
        drawn = np.abs(multiplied(confidence - right, inside)).sum(axis=1) / len(known)
        low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
        return Estimate(float(drawn.mean()), low, high, len(known), "consistency resampling")
