"""Cases by a number such as Q₀: strata, and how far votes agree in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from maci.errors import InputError

__all__ = ["Stratum", "agreement", "strata"]


def strata(values: Sequence[float | None], edges: Sequence[float] | None = None) -> tuple[str | None, ...]:
    """The stratum of each case by a number such as Q₀; ``None`` where that is undefined.

    Without ``edges`` low, middle and high are thirds, cut at the quantiles ⅓ and ⅔ of the defined values (Hyndman & Fan 1996, type
    7); a value equal to a cut is above it, so equals are never split. With edges a < b < … the strata are < a, a–b, …, ≥ last.

    >>> strata([0.1, 0.5, None, 0.9, 0.2, 0.6, 0.8])
    ('low', 'middle', None, 'high', 'low', 'middle', 'high')
    >>> strata([0.5, 0.6, 0.7], (0.6, 0.7))
    ('< 0.6', '0.6–0.7', '≥ 0.7')
    """
    known = [v for v in values if v is not None and not math.isnan(v)]
    if edges is None:
        names = ["low", "middle", "high"]
        cuts = np.quantile(known, [1 / 3, 2 / 3]).tolist() if known else [0.0, 1.0]
    else:
        cuts = list(edges)
        if not cuts or any(x >= y for x, y in pairwise(cuts)):
            raise InputError(f"edges are {cuts}: give at least one, increasing")
        between = [f"{x:g}–{y:g}" for x, y in pairwise(cuts)]
        names = [f"< {cuts[0]:g}", *between, f"≥ {cuts[-1]:g}"]
    return tuple(
        None if v is None or math.isnan(v) else names[int(np.searchsorted(cuts, v, side="right"))] for v in values
    )


@dataclass(frozen=True, slots=True)
class Stratum:
    """Vote agreement in one stratum, in per cent."""

    n: int
    mean: float
    lower: float
    """First quartile."""
    upper: float
    """Third quartile: the paper prints agreement as such a range."""


def agreement(shares: Sequence[float | None], stratum: Sequence[str | None]) -> dict[str, Stratum]:
    """Vote agreement by stratum: 100 × the mean share of the votes that the leading outcome has, with its quartiles.

    Cases without votes or without a stratum are not counted. SPEC 12 (the paper's table of votes by evidence quality).

    >>> agreement([0.6, 0.8, None, 0.25], ["high", "high", "high", "low"])["high"]
    Stratum(n=2, mean=70.0, lower=65.0, upper=75.0)
    """
    found: dict[str, list[float]] = {}
    for share, name in zip(shares, stratum, strict=True):
        if name is not None:
            found.setdefault(name, [])
            if share is not None and not math.isnan(share):
                found[name].append(100 * share)
    return {
        name: Stratum(len(x), float(np.mean(x)), *map(float, np.quantile(x, [0.25, 0.75])))
        if x
        else Stratum(0, math.nan, math.nan, math.nan)
        for name, x in found.items()
    }
