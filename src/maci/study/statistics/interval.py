"""An estimate with the interval it may lie in, and Wilson's for a proportion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from maci.errors import InputError

__all__ = ["NORMAL", "Interval", "checked", "undefined", "wilson"]

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
