"""Estimates from items that hang together (arguments about one case), with what their n counts."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from maci.calibration.stats import RESAMPLES, Estimate, Statistic, bootstrap, wilson
from maci.calibration.stats.estimate import Indices, undefined
from maci.moderator.belief import Vector

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
            found: Vector = np.arctanh(np.clip(statistic(i), -_EDGE, _EDGE))
            return found

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
