r"""Bootstrap intervals of functions of sums over cases, θ̂ = f(Σᵢ xᵢ): means, ratios, calibration errors, differences of them.

Such a statistic need not be computed from a resample's cases. With w_bi, how often case i is in resample b,

    Σ of resample b = Σᵢ w_bi xᵢ = (W X)_b      and without case i   Σ₍₋ᵢ₎ = Σⱼ xⱼ − xᵢ,

so all resamples of all columns are one product of matrices, and the jackknife is a subtraction. W depends only on the number of
cases, B and the seed: :class:`Draws` makes it once for all figures of a report. The resamples are those of
:func:`~maci.calibration.stats.resampling.bootstrap` with a fresh generator of the same seed, and so are the intervals.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.stats import resampling
from maci.calibration.stats.estimate import Estimate, undefined
from maci.calibration.stats.resampling import RESAMPLES, interval_from
from maci.moderator.belief import Vector

_KEPT = 2**27
"""Cells of W that are kept, a byte each: 128 MB. What is beyond is drawn again each time."""
_BLOCK = 2**16
"""Cells of W that are drawn, counted and multiplied at once: they stay in the processor's cache."""
_READY = 2**24
"""Cells that are also kept as the numbers that are multiplied: 128 MB, and half as much in single precision."""
_ALONE = 2**18
"""Multiplications of one product up to which OpenBLAS stays in one thread."""
_FEWEST = 8
"""Rows of a piece: where fewer would be left, threads are worth what they cost."""


@dataclass(frozen=True, slots=True)
class Summed:
    """θ̂ = f(Σᵢ xᵢ)."""

    cases: Vector
    """(n, k): row i is xᵢ, what case i adds to each of k sums."""
    of: Callable[[Vector], Vector]
    """f: (m, k) sums → (m,) values; nan where it is undefined."""

    @property
    def value(self) -> float:
        """θ̂."""
        return float(self.of(self.cases.sum(axis=0)[None])[0])

    def left_out(self) -> Vector:
        """θ̂₍₋ᵢ₎ of every case; nan where nothing is left."""
        if len(self.cases) < 2:
            return np.array([np.nan])
        return self.of(self.cases.sum(axis=0) - self.cases)

    def less(self, other: Summed) -> Summed:
        """The difference of two statistics of the same cases.

        >>> a, b = ratio_sums([1.0, 3.0], [1, 1]), ratio_sums([0.0, 1.0], [1, 1])
        >>> a.less(b).value
        1.5
        """
        k = self.cases.shape[1]
        first, second = self.of, other.of
        return Summed(np.hstack([self.cases, other.cases]), lambda s: first(s[:, :k]) - second(s[:, k:]))


def ratio_sums(above: ArrayLike, below: ArrayLike) -> Summed:
    """θ̂ = Σ above / Σ below; nan where the latter is 0.

    >>> ratio_sums(np.array([1.0, 2.0]), np.array([2.0, 2.0])).value
    0.75
    """

    def ratio(s: Vector) -> Vector:
        found: Vector = np.divide(s[:, 0], s[:, 1], out=np.full(len(s), np.nan), where=s[:, 1] != 0)
        return found

    return Summed(np.column_stack([above, below]).astype(float), ratio)


class Draws:
    """How often each of n cases is in each of B resamples, for any n.

    >>> Draws(0, 100).sums(np.ones((7, 1))).ravel()[:3].tolist()
    [7.0, 7.0, 7.0]
    """

    def __init__(self, seed: int = 0, resamples: int = RESAMPLES) -> None:
        self.seed, self.resamples = seed, resamples
        self._kept: OrderedDict[int, list[NDArray[Any]]] = OrderedDict()
        self._ready: dict[type[np.floating[Any]], OrderedDict[int, list[NDArray[Any]]]] = {
            np.float32: OrderedDict(),
            np.float64: OrderedDict(),
        }

    def sums(self, cases: Vector) -> Vector:
        """(n, k) → (B, k): W X, a few resamples at a time.

        Whole numbers whose sums stay below 2²⁴ are multiplied in single precision: no figure is lost, and half as much is read.
        """
        kind = np.float32 if _whole(cases) else np.float64
        found = np.empty((self.resamples, cases.shape[1]))
        factor, first = cases.astype(kind), 0
        for counts in self._ready_blocks(len(cases), kind):
            found[first : first + len(counts)] = multiplied(counts, factor)
            first += len(counts)
        return found

    def _ready_blocks(self, n: int, kind: type[np.floating[Any]]) -> Iterator[NDArray[Any]]:
        """W as the numbers that are multiplied; kept for the latest n, since making them takes as long as multiplying."""
        ready = self._ready[kind]
        if n * self.resamples > _READY:
            yield from (counts.astype(kind) for counts in self._blocks(n))
            return
        yield from _latest(ready, n, lambda: [x.astype(kind) for x in self._blocks(n)], _READY // self.resamples)

    def _blocks(self, n: int) -> Iterator[NDArray[Any]]:
        """W in blocks of rows."""
        if n == 0:
            return
        if n * self.resamples > _KEPT:
            yield from self._drawn(n)
            return
        yield from _latest(self._kept, n, lambda: list(self._drawn(n)), _KEPT // self.resamples)

    def _drawn(self, n: int) -> Iterator[NDArray[Any]]:
        rng, step = np.random.default_rng(self.seed), max(1, min(_BLOCK, resampling.CELLS) // n)
        for first in range(0, self.resamples, step):
            rows = min(step, self.resamples - first)
            drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
            yield counts.astype(np.min_scalar_type(int(counts.max())))


def multiplied(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """A B in pieces that are each done in one thread.

    Where OpenBLAS takes several for a product, those that are done wait for the next one in a busy loop, for longer than the small
    products here last: a fifth of the CPU time of a study's report went into that.

    >>> float(multiplied(np.ones((500, 300)), np.ones((300, 5))).sum())
    750000.0
    """
    step = _ALONE // max(1, b.size)
    if not _FEWEST <= step < len(a):
        step = max(1, len(a))
    return np.concatenate([a[first : first + step] @ b for first in range(0, max(1, len(a)), step)])


def _whole(cases: Vector) -> bool:
    """Whether all sums of a resample are exact in single precision, however often it has the largest case."""
    return bool(len(cases)) and float(np.abs(cases).max()) * len(cases) < 2**24 and not np.any(cases % 1)


def _latest(
    kept: OrderedDict[int, list[NDArray[Any]]], n: int, make: Callable[[], list[NDArray[Any]]], most: int
) -> list[NDArray[Any]]:
    """What is kept for n, made where it is not; the oldest go where all n together are more than ``most``."""
    if n not in kept:
        kept[n] = make()
        while sum(kept) > most:
            kept.popitem(last=False)
    kept.move_to_end(n)
    return kept[n]


def bootstrap_all(
    statistics: Sequence[Summed],
    draws: Draws,
    *,
    rows: int | None = None,
    method: Literal["bca", "percentile"] = "bca",
    level: float = 0.95,
) -> list[Estimate]:
    """:func:`bootstrap_sums` of several statistics of the same cases, from one product."""
    sums = draws.sums(np.hstack([one.cases for one in statistics])) if statistics else np.empty((0, 0))
    found, first = [], 0
    for one in statistics:
        last = first + one.cases.shape[1]
        found.append(_interval(one, sums[:, first:last], rows, method, level))
        first = last
    return found


def bootstrap_sums(
    statistic: Summed,
    draws: Draws,
    *,
    rows: int | None = None,
    method: Literal["bca", "percentile"] = "bca",
    level: float = 0.95,
) -> Estimate:
    """What :func:`~maci.calibration.stats.resampling.bootstrap` finds, for a function of sums; ``rows`` the cases stand for.

    >>> print(bootstrap_sums(ratio_sums(np.arange(20.0), np.ones(20)), Draws()))
    9.5 [6.95, 11.95], n = 20, BCa
    """
    return bootstrap_all([statistic], draws, rows=rows, method=method, level=level)[0]


def _interval(statistic: Summed, sums: Vector, rows: int | None, method: str, level: float) -> Estimate:
    size = len(statistic.cases)
    n = size if rows is None else rows
    if size == 0:
        return undefined("no cases")
    value = statistic.value
    if not math.isfinite(value):
        return undefined("the statistic is undefined", n)
    drawn = statistic.of(sums)
    drawn[np.abs(drawn - value) <= 1e-12 * max(1.0, abs(value))] = (
        value  # what was summed in another order is no less a tie
    )
    jackknife = statistic.left_out if method == "bca" else None
    return interval_from(value, drawn, jackknife, n=n, clusters=size, level=level)
