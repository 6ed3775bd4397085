"""An estimate with the interval it may lie in, and Wilson's for a proportion.

Rows that belong together: answers to one case under several seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.errors import InputError
from maci.moderator.belief import Vector

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate, where it may lie, and how that was found.

    >>> print(Interval(0.5, 0.25, 0.75, 10, "Wilson"))
    0.5 [0.25, 0.75], n = 10, Wilson
    """

    value: float
    """nan where undefined; so are the ends then."""
    low: float
    high: float
    n: int
    """Rows it rests on."""
    how: str

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}], n = {self.n}, {self.how}"


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """The score interval of a proportion.

    (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n), z = Φ⁻¹(1 − α/2). Wilson (1927), *JASA* 22.

    >>> print(wilson(0, 10))
    0 [0, 0.2775], n = 10, Wilson
    >>> wilson(0, 0).value
    nan
    """
    if not 0 <= successes <= n:
        raise InputError(f"successes is {successes}, not between 0 and n = {n}: count cases, not shares")
    if n == 0:
        return undefined(0, "no cases")
    z = NORMAL.inv_cdf(0.5 + checked(level) / 2)
    p = successes / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (middle - half) / scale  # exact at the ends, where rounding would leave 1e-18
    high = 1.0 if successes == n else (middle + half) / scale
    return Interval(p, low, high, n, "Wilson")


def undefined(n: int, how: str) -> Interval:
    """No number."""
    return Interval(math.nan, math.nan, math.nan, n, how)


def checked(level: float) -> float:
    """The level of an interval, if it is one."""
    if not 0 < level < 1:
        raise InputError(f"level is {level:g}: choose one between 0 and 1, such as 0.95")
    return level


Indices: TypeAlias = NDArray[np.int64]
Groups: TypeAlias = Sequence[Hashable]


def numbered(groups: Groups) -> tuple[Indices, int]:
    """The number of each row's group, groups in the order they appear, and how many there are.

    >>> number, n = numbered("abac")
    >>> number.tolist(), n
    ([0, 1, 0, 2], 3)
    """
    code: dict[Hashable, int] = {}
    return np.array([code.setdefault(name, len(code)) for name in groups], dtype=np.int64), len(code)


def difference_of(a: ArrayLike, b: ArrayLike) -> Vector:
    """The differences a − b of the same cases."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"a has shape {x.shape} and b {y.shape}: give one value of each per case, in the same order")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a or b holds an undefined value: compare only the cases that both methods answered")
    difference: Vector = x - y
    return difference


def units_of(groups: Groups | None, n: int) -> list[Indices] | None:
    """Rows of each group, groups in the order they appear."""
    if groups is None:
        return None
    if len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} rows: name the case of every row")
    rows: dict[Hashable, list[int]] = {}
    for i, name in enumerate(groups):
        rows.setdefault(name, []).append(i)
    return [np.array(r, dtype=np.int64) for r in rows.values()]


def per_group(values: Vector, groups: Groups | None, fold: Callable[[Vector], float]) -> Vector:
    """One value for each group."""
    units = units_of(groups, len(values))
    return values if units is None else np.array([fold(values[rows]) for rows in units], dtype=float)
