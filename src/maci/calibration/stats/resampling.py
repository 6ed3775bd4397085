"""Bootstrap intervals of any statistic of cases; those of sums over cases are had much faster from :mod:`.sums`.

:class:`Sampling` is for items that hang together (arguments about one case), with what their n counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from maci.calibration.stats.estimate import (
    NORMAL,
    Estimate,
    Groups,
    Indices,
    checked,
    undefined,
    units_of,
    wilson,
)
from maci.errors import InputError
from maci.moderator.belief import Vector

Statistic: TypeAlias = Callable[[Indices], Vector]
"""(b, n) case numbers, one resample a row → (b,) values; nan where a resample has none."""
RESAMPLES = 10_000
"""B (D7)."""
CELLS = 2_000_000
"""How many case numbers are drawn at once: bounds memory."""


def mean_of(values: ArrayLike) -> Statistic:
    """θ̂ = Σ xᵢ / n, as a statistic.

    >>> mean_of([1.0, 2.0, 6.0])(np.array([[0, 1, 2], [0, 0, 0]])).tolist()
    [3.0, 1.0]
    """
    x = np.asarray(values, dtype=float)

    def mean(i: Indices) -> Vector:
        found: Vector = x[i].mean(axis=1)
        return found

    return mean


def ratio_of(numerator: ArrayLike, denominator: ArrayLike) -> Statistic:
    """θ̂ = Σ xᵢ / Σ yᵢ, such as tokens per right answer; nan where Σ yᵢ = 0. Cases are resampled, so both sums vary together.

    Efron & Tibshirani (1993), *An Introduction to the Bootstrap*, 10.3.

    >>> ratio_of([10.0, 20.0, 30.0], [1, 0, 1])(np.array([[0, 1, 2], [1, 1, 1]])).tolist()
    [30.0, nan]
    """
    x, y = np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float)
    if x.shape != y.shape:
        raise InputError(f"numerator has {x.size} values and denominator {y.size}: give one of each per case")

    def ratio(i: Indices) -> Vector:
        above, below = x[i].sum(axis=1), y[i].sum(axis=1)
        found: Vector = np.divide(above, below, out=np.full(len(i), np.nan), where=below != 0)
        return found

    return ratio


def bootstrap(
    statistic: Statistic,
    n: int,
    rng: np.random.Generator,
    *,
    groups: Groups | None = None,
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Estimate:
    """A bootstrap interval of any statistic of n cases.

    ``percentile``: the α/2 and 1 − α/2 quantiles of θ̂*. ``bca``: the quantiles at Φ(z₀ + (z₀+z)/(1 − a(z₀+z))), z = Φ⁻¹(α/2) and
    Φ⁻¹(1 − α/2), where z₀ = Φ⁻¹(share of θ̂* below θ̂, ties by half) and a = Σ Uᵢ³ / 6(Σ Uᵢ²)^{3/2} from the jackknife,
    Uᵢ = mean θ̂₍₋ⱼ₎ − θ̂₍₋ᵢ₎. Efron (1987), *JASA* 82. With ``groups`` whole groups are drawn and left out (Davison & Hinkley
    1997, 3.8), and a resample has as many rows as its groups have.

    ``how`` says what was done where BCa cannot be: no resample differs from another (then both ends are the value), θ̂ lies outside
    of all θ̂*, or a jackknife value is undefined (then percentile). Undefined resamples are left out and counted.

    >>> x = np.arange(20.0)
    >>> print(bootstrap(mean_of(x), 20, np.random.default_rng(0)))
    9.5 [6.95, 11.95], n = 20, BCa
    >>> print(bootstrap(mean_of(np.full(5, 0.3)), 5, np.random.default_rng(0)))
    0.3 [0.3, 0.3], n = 5, point: no resample differs
    """
    if method not in ("bca", "percentile"):
        raise InputError(f"method is {method!r}: choose bca or percentile")
    if resamples < 2:
        raise InputError(f"resamples is {resamples}: an interval needs at least 2, {RESAMPLES} is usual")
    checked(level)
    if n == 0:
        return undefined("no cases")
    value = float(statistic(np.arange(n)[None])[0])
    if not math.isfinite(value):
        return undefined("the statistic is undefined", n)
    units = units_of(groups, n)
    size = n if units is None else len(units)
    drawn = _resampled(statistic, n, units, rng, resamples)
    jackknife = (lambda: _left_out(statistic, n, units)) if method == "bca" else None
    return interval_from(value, drawn, jackknife, n=n, clusters=size, level=level)


def interval_from(
    value: float, drawn: Vector, jackknife: Callable[[], Vector] | None, *, n: int, clusters: int, level: float = 0.95
) -> Estimate:
    """The interval of θ̂ from its resamples: BCa with a ``jackknife``, which gives all θ̂₍₋ᵢ₎; percentile without.

    >>> print(interval_from(2.0, np.arange(5.0), None, n=9, clusters=3))
    2 [0.1, 3.9], n = 9, percentile, 3 clusters
    """
    alpha = (1 - checked(level)) / 2
    known = drawn[np.isfinite(drawn)]
    gone = len(drawn) - len(known)
    left_out = f"; {gone} of {len(drawn)} resamples undefined" if gone else ""
    if len(known) < 2 or np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
        return Estimate(value, value, value, n, f"point: no resample differs{left_out}")
    how, ends = "percentile", (alpha, 1 - alpha)
    if jackknife is not None:
        below = float(np.mean(known < value) + np.mean(known <= value)) / 2
        left = jackknife()
        if not 0 < below < 1:
            how = "percentile: no resample on one side, BCa undefined"
        elif not np.isfinite(left).all():
            how = "percentile: undefined without some case, BCa undefined"
        else:
            how, ends = "BCa", _bca(below, left, alpha)
    low, high = np.quantile(known, ends)
    together = "" if clusters == n else f", {clusters} clusters"
    return Estimate(value, float(low), float(high), n, f"{how}{together}{left_out}")


def bootstrap_mean(
    values: ArrayLike,
    rng: np.random.Generator,
    *,
    groups: Groups | None = None,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Estimate:
    """The BCa interval of a mean. Where all values are equal: Wilson for a proportion (``values`` of type bool), else the point.

    Under ``groups`` that Wilson interval counts groups, not rows, since rows of one case repeat one another.

    >>> print(bootstrap_mean([True] * 10, np.random.default_rng(0)))
    1 [0.7225, 1], n = 10, Wilson: all equal
    """
    x = np.asarray(values)
    n = len(x)
    if n and x.dtype == np.bool_ and (x.all() or not x.any()):
        units = units_of(groups, n)
        size = n if units is None else len(units)
        found = wilson(size if x.all() else 0, size, level)
        how = "Wilson: all equal" + (f", {size} clusters" if size != n else "")
        return Estimate(found.value, found.low, found.high, n, how)
    return bootstrap(mean_of(x), n, rng, groups=groups, resamples=resamples, level=level)


def _resampled(
    statistic: Statistic, n: int, units: list[Indices] | None, rng: np.random.Generator, resamples: int
) -> Vector:
    """θ̂*: groups of unequal size make resamples of unequal length, which are evaluated length by length."""
    found = np.empty(resamples)
    blocks = _blocks(n, units)
    size = n if units is None else len(units)
    step = max(1, CELLS // n)
    for first in range(0, resamples, step):
        drawn = rng.integers(0, size, (min(step, resamples - first), size))
        if blocks is not None:
            found[first : first + len(drawn)] = statistic(blocks[drawn].reshape(len(drawn), n))
            continue
        assert units is not None
        sizes = np.array([len(rows) for rows in units], dtype=np.int64)
        members, starts = np.concatenate(units), np.cumsum(sizes) - sizes
        lengths = sizes[drawn].sum(axis=1)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            picked = drawn[rows].ravel()
            ends = np.cumsum(sizes[picked])
            within = np.arange(ends[-1]) - np.repeat(ends - sizes[picked], sizes[picked])
            index = members[np.repeat(starts[picked], sizes[picked]) + within].reshape(len(rows), length)
            found[first + rows] = statistic(index)
    return found


def _left_out(statistic: Statistic, n: int, units: list[Indices] | None) -> Vector:
    """θ̂₍₋ᵢ₎: the jackknife, by groups where there are groups; nan where nothing is left."""
    blocks = _blocks(n, units)
    size = n if units is None else len(units)
    if size < 2:
        return np.array([np.nan])
    if blocks is None:
        assert units is not None
        return _left_out_unequal(statistic, n, units)
    found, rest, step = np.empty(size), np.arange(size - 1), max(1, CELLS // n)
    for first in range(0, size, step):
        gone = np.arange(first, min(size, first + step))[:, None]
        kept = rest + (rest >= gone)
        found[first : first + len(gone)] = statistic(blocks[kept].reshape(len(gone), -1))
    return found


def _left_out_unequal(statistic: Statistic, n: int, units: list[Indices]) -> Vector:
    """The jackknife by groups of unequal sizes: those of one size leave equally many rows, and are left out together."""
    found, sizes = np.empty(len(units)), np.array([len(rows) for rows in units])
    for size in np.unique(sizes).tolist():
        alike, step = np.flatnonzero(sizes == size), max(1, CELLS // n)
        for first in range(0, len(alike), step):
            some = alike[first : first + step]
            kept = np.ones((len(some), n), dtype=bool)
            kept[np.arange(len(some))[:, None], np.stack([units[i] for i in some])] = False
            found[some] = statistic(np.nonzero(kept)[1].reshape(len(some), n - size))
    return found


def _blocks(n: int, units: list[Indices] | None) -> Indices | None:
    """(groups, rows of each) where all groups are of one size: they can be drawn at once."""
    if units is None:
        return np.arange(n)[:, None]
    return np.stack(units) if len({len(rows) for rows in units}) == 1 else None


def _bca(below: float, left: Vector, alpha: float) -> tuple[float, float]:
    """The two levels of θ̂* that BCa reads off."""
    z0, u = NORMAL.inv_cdf(below), left.mean() - left
    squares = float((u * u).sum())
    a = float((u**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0

    def at(level: float) -> float:
        z = z0 + NORMAL.inv_cdf(level)
        if a * z >= 1:  # past the pole of the formula: as far as its limit
            return float(z > 0)
        return NORMAL.cdf(z0 + z / (1 - a * z))

    return at(alpha), at(1 - alpha)


_FEW = 10
"""Fewer clusters than this say nothing about how clusters vary: then items are resampled, and it is said."""
_EDGE = 1 - 1e-12
"""Fisher's z of 1 is infinite; this near to it counts as 1."""


def missing(why: str, n: int = 0, unit: str = "arguments") -> Estimate:
    """No number, and why."""
    return undefined(why, n, unit)


def share(hits: int, n: int, unit: str) -> Estimate:
    """A proportion with Wilson's interval.

    >>> found = share(2, 100, "debates")
    >>> f"{found.low:.4f} {found.high:.4f}"
    '0.0055 0.0700'
    """
    return replace(wilson(hits, n), unit=unit) if n else missing(f"no {unit}", 0, unit)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How intervals are drawn: seed, resamples, and which items hang together (arguments about one case)."""

    groups: tuple[Hashable, ...]
    """The case of every item."""
    seed: int = 0
    resamples: int = RESAMPLES

    def estimate(
        self, statistic: Statistic, items: Indices, unit: str = "arguments", *, fisher: bool = False
    ) -> Estimate:
        """The statistic over these items, BCa; ``fisher`` resamples the z of a correlation, z = artanh r.

        ``statistic`` is given positions within ``items``.
        """
        rows = items.tolist()
        groups = [self.groups[i] for i in rows]
        several = len(set(groups))
        alone = several == len(rows)
        whole = several >= _FEW and not alone
        note = "" if whole or alone else f"; items resampled: only {several} case{'s' if several != 1 else ''}"
        rng = np.random.default_rng(self.seed)

        def z(i: Indices) -> Vector:
            return np.arctanh(np.clip(statistic(i), -_EDGE, _EDGE))

        found = bootstrap(
            z if fisher else statistic, len(rows), rng, groups=groups if whole else None, resamples=self.resamples
        )
        if not found.defined:
            return replace(found, unit=unit)
        value, low, high = (_tanh(x) if fisher else x for x in (found.value, found.low, found.high))
        return Estimate(value, low, high, found.n, found.how + note, unit)

    def mean(self, values: Vector, unit: str = "arguments") -> Estimate:
        """The mean of the values that are defined; ``values`` has one for every item."""
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return missing("no item has a value", 0, unit)
        return self.estimate(lambda i: values[known][i].mean(axis=1), known, unit)


def _tanh(z: float) -> float:
    r = math.tanh(z)
    return math.copysign(1.0, r) if abs(r) >= _EDGE else r
