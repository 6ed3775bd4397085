"""An estimate as it is reported: a number with n and an interval, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import RESAMPLES, Interval, Statistic, bootstrap, wilson
from maci.moderator.belief import Vector

Indices = NDArray[np.signedinteger]
"""Numbers of items."""
_FEW = 10
"""Fewer clusters than this say nothing about how clusters vary: then items are resampled, and it is said."""
_EDGE = 1 - 1e-12
"""Fisher's z of 1 is infinite; this near to it counts as 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with where it may lie and what it rests on; ``value`` is ``None`` where it is undefined, and ``how`` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    unit: str
    """What ``n`` counts."""
    how: str
    """How the interval was found, or why there is no value."""

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def undefined(why: str, n: int = 0, unit: str = "arguments") -> Estimate:
    """No number.

    >>> undefined("one judge only").value is None
    True
    """
    return Estimate(value=None, n=n, unit=unit, how=why)


def _reported(found: Interval, unit: str, note: str, back: Callable[[float], float] = float) -> Estimate:
    if not math.isfinite(found.value):
        return undefined(found.how, found.n, unit)
    low, high = back(found.low), back(found.high)
    return Estimate(value=back(found.value), low=low, high=high, n=found.n, unit=unit, how=found.how + note)


def share(hits: int, n: int, unit: str) -> Estimate:
    """A proportion with Wilson's interval.

    >>> found = share(2, 100, "debates")
    >>> f"{found.low:.4f} {found.high:.4f}"
    '0.0055 0.0700'
    """
    return _reported(wilson(hits, n), unit, "") if n else undefined(f"no {unit}", 0, unit)


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

        def z(i: NDArray[np.int64]) -> Vector:
            found: Vector = np.arctanh(np.clip(statistic(i), -_EDGE, _EDGE))
            return found

        found = bootstrap(
            z if fisher else statistic, len(rows), rng, groups=groups if whole else None, resamples=self.resamples
        )
        return _reported(found, unit, note, _tanh if fisher else float)

    def mean(self, values: Vector, unit: str = "arguments") -> Estimate:
        """The mean of the values that are defined; ``values`` has one for every item."""
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return undefined("no item has a value", 0, unit)
        return self.estimate(lambda i: values[known][i].mean(axis=1), known, unit)


def _tanh(z: float) -> float:
    r = math.tanh(z)
    return math.copysign(1.0, r) if abs(r) >= _EDGE else r
