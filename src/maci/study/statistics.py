"""Intervals and tests for studies: NumPy and the standard library, no global state, nothing undefined that reads as a number.

An estimate is an :class:`Interval`, a test a :class:`Significance`. What a bootstrap estimates is a :data:`Statistic`: a function of
rows of case numbers, so that a mean, a ratio of sums and a calibration error are resampled in the same way.

| symbol | here |
|---|---|
| θ̂, θ̂*_b | the statistic of the cases, and of the b-th resample |
| B | ``resamples``: 10,000 (the paper's 20 can be asked for; SPEC 13, D7) |
| z₀, a | bias correction and acceleration of BCa |
| 1 − α | ``level``: 0.95 |
| q | :data:`FDR`: 0.05 |

A case that was answered under several seeds gives several rows that are not independent. ``groups`` says which rows belong to one
case; then cases are resampled, left out and flipped whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.belief import Vector
from maci.errors import InputError

__all__ = [
    "FDR",
    "RESAMPLES",
    "Interval",
    "Significance",
    "Statistic",
    "benjamini_hochberg",
    "bootstrap",
    "bootstrap_mean",
    "mcnemar",
    "mean_of",
    "paired_difference",
    "ratio_of",
    "wilcoxon",
    "wilson",
]

Indices: TypeAlias = NDArray[np.int64]
Statistic: TypeAlias = Callable[[Indices], Vector]
"""(b, n) case numbers, one resample a row → (b,) values; nan where a resample has none."""
Groups: TypeAlias = Sequence[Hashable]

RESAMPLES = 10_000
"""B (D7)."""
FDR = 0.05
"""q of Benjamini–Hochberg."""

_NORMAL = NormalDist()
_CELLS = 2_000_000
"""How many case numbers are drawn at once: bounds memory."""
_EXACT_FLIPS = 1000
"""Above so many discordant cases McNemar's test is approximate unless asked otherwise."""
_EXACT_RANKS = 50
"""Up to so many differences Wilcoxon's test is exact where it can be."""


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


@dataclass(frozen=True, slots=True)
class Significance:
    """A two-sided test.

    >>> Significance(3.0, 0.25, 8, "exact").p
    0.25
    """

    statistic: float
    p: float
    """nan where there was nothing to test; not adjusted for other tests."""
    n: int
    """Cases compared."""
    how: str


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
        return _undefined(0, "no cases")
    z = _NORMAL.inv_cdf(0.5 + _checked(level) / 2)
    p = successes / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (middle - half) / scale  # exact at the ends, where rounding would leave 1e-18
    high = 1.0 if successes == n else (middle + half) / scale
    return Interval(p, low, high, n, "Wilson")


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
) -> Interval:
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
    alpha = (1 - _checked(level)) / 2
    if n == 0:
        return _undefined(0, "no cases")
    value = float(statistic(np.arange(n)[None])[0])
    if not math.isfinite(value):
        return _undefined(n, "the statistic is undefined")
    units = _units(groups, n)
    size = n if units is None else len(units)
    drawn = _resampled(statistic, n, units, rng, resamples)
    known = drawn[np.isfinite(drawn)]
    left_out = "" if len(known) == resamples else f"; {resamples - len(known)} of {resamples} resamples undefined"
    clusters = "" if units is None or size == n else f", {size} clusters"
    if len(known) < 2 or np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
        return Interval(value, value, value, n, f"point: no resample differs{left_out}")
    how, ends = "percentile", (alpha, 1 - alpha)
    if method == "bca":
        below = float(np.mean(known < value) + np.mean(known <= value)) / 2
        left = _left_out(statistic, n, units)
        if not 0 < below < 1:
            how = "percentile: no resample on one side, BCa undefined"
        elif not np.isfinite(left).all():
            how = "percentile: undefined without some case, BCa undefined"
        else:
            how, ends = "BCa", _bca(below, left, alpha)
    low, high = np.quantile(known, ends)
    return Interval(value, float(low), float(high), n, f"{how}{clusters}{left_out}")


def bootstrap_mean(
    values: ArrayLike,
    rng: np.random.Generator,
    *,
    groups: Groups | None = None,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """The BCa interval of a mean. Where all values are equal: Wilson for a proportion (``values`` of type bool), else the point.

    Under ``groups`` that Wilson interval counts groups, not rows, since rows of one case repeat one another.

    >>> print(bootstrap_mean([True] * 10, np.random.default_rng(0)))
    1 [0.7225, 1], n = 10, Wilson: all equal
    """
    x = np.asarray(values)
    n = len(x)
    if n and x.dtype == np.bool_ and (x.all() or not x.any()):
        units = _units(groups, n)
        size = n if units is None else len(units)
        found = wilson(size if x.all() else 0, size, level)
        how = "Wilson: all equal" + (f", {size} clusters" if size != n else "")
        return Interval(found.value, found.low, found.high, n, how)
    return bootstrap(mean_of(x), n, rng, groups=groups, resamples=resamples, level=level)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    rng: np.random.Generator,
    *,
    groups: Groups | None = None,
    method: Literal["bca", "percentile"] = "percentile",
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """The interval of mean(a − b) over the same cases: θ̂ = Σ (aᵢ − bᵢ) / n, pairs resampled together; percentile by default.

    Efron & Tibshirani (1993), 13.3. For other statistics bootstrap their difference: ``lambda i: f(i) - g(i)``.

    >>> print(paired_difference([1, 1, 1, 0], [0, 1, 0, 0], np.random.default_rng(0)))
    0.5 [0, 1], n = 4, percentile
    """
    difference = _difference(a, b)
    return bootstrap(
        mean_of(difference), len(difference), rng, groups=groups, method=method, resamples=resamples, level=level
    )


def mcnemar(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Groups | None = None,
    method: Literal["auto", "exact", "mid-p", "continuity"] = "auto",
) -> Significance:
    """Whether two methods are right on the same cases equally often.

    Only cases that one got right and the other wrong count: n₁₀ and n₀₁ of them. ``exact``: p = min(1, 2 P(X ≤ min(n₁₀, n₀₁))),
    X ~ Bin(n₁₀ + n₀₁, ½). ``mid-p``: that less P(X = min) (Fagerland, Lydersen & Laake 2013, *BMC Med. Res. Methodol.* 13:91).
    ``continuity``: χ² = (|n₁₀ − n₀₁| − 1)² / (n₁₀ + n₀₁) (McNemar 1947, *Psychometrika* 12; Edwards 1948). ``auto`` is exact up to
    1,000 discordant cases, then with continuity. No discordant case: p = 1. The statistic is n₁₀ − n₀₁.

    With ``groups`` a case's difference d = n₁₀ − n₀₁ over its rows keeps its size and, if the methods are alike, has either sign
    with equal chance (Fisher's randomisation): exact is P(|Σ ±dₖ| ≥ |Σ dₖ|), χ² has Σ dₖ² below. One row per case is McNemar's test.

    >>> mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1])
    Significance(statistic=4.0, p=0.21875, n=7, how='McNemar exact')
    >>> mcnemar([1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 1], method="mid-p").p
    0.125
    """
    if method not in ("auto", "exact", "mid-p", "continuity"):
        raise InputError(f"method is {method!r}: choose auto, exact, mid-p or continuity")
    for name, x in (("a", np.asarray(a)), ("b", np.asarray(b))):
        if not np.isin(x, (0, 1)).all():
            raise InputError(f"{name} holds values other than right (1) and wrong (0): McNemar's test compares those")
    rows = _difference(a, b)
    d = _per_group(rows, groups, np.sum).astype(np.int64)
    if not len(d):
        return Significance(math.nan, math.nan, 0, "no cases")
    d = d[d != 0]
    statistic, clusters = int(d.sum()), "" if groups is None else ", by clusters"
    if method == "auto":
        method = "exact" if len(d) <= _EXACT_FLIPS else "continuity"
    how = f"McNemar {method}{clusters}"
    if not len(d):
        return Significance(0.0, 1.0, len(rows), how)
    if method == "continuity":
        z = max(0, abs(statistic) - 1) / math.sqrt(float((d * d).sum()))
        return Significance(float(statistic), math.erfc(z / math.sqrt(2)), len(rows), how)
    chance, reach = _signed_sums(np.abs(d))
    sums = np.arange(-reach, reach + 1)
    p = float(chance[np.abs(sums) >= abs(statistic)].sum())
    if method == "mid-p":
        p -= float(chance[np.abs(sums) == abs(statistic)].sum()) / 2
    return Significance(float(statistic), min(1.0, p), len(rows), how)


def wilcoxon(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Groups | None = None,
    zeros: Literal["pratt", "wilcox"] = "pratt",
    method: Literal["auto", "exact", "normal"] = "auto",
) -> Significance:
    """The paired signed-rank test: whether the differences a − b lie evenly about 0.

    |aᵢ − bᵢ| are ranked, ties by their mean rank; W⁺ = Σ ranks of positive differences. Without ties and zeros and up to 50
    differences p is exact: 2 min(P(W ≤ W⁺), P(W ≥ W⁺)), every sign having chance ½ (Wilcoxon 1945, *Biometrics Bull.* 1). Else
    z = (W⁺ − μ)/σ with μ = (n(n+1) − m(m+1))/4, σ² = (n(n+1)(2n+1) − m(m+1)(2m+1) − ½ Σ (t³ − t))/24, ties of t, no
    continuity correction. Zeros: ``pratt`` ranks the m zeros and then drops their ranks (Pratt 1959, *JASA* 54), so that cases on
    which methods agree still weigh; ``wilcox`` drops them first (m = 0). No difference at all: p = 1.

    With ``groups`` the mean difference of each group is one difference. Differences count to 12 decimals: what rounding leaves
    between two equal beliefs is no difference, and breaks no tie.

    >>> wilcoxon([1.1, 2.2, 3.3, 4.4, 5.5], [1.0, 2.0, 3.0, 4.0, 5.0])
    Significance(statistic=15.0, p=0.0625, n=5, how='Wilcoxon exact')
    """
    if zeros not in ("pratt", "wilcox"):
        raise InputError(f"zeros is {zeros!r}: choose pratt or wilcox")
    if method not in ("auto", "exact", "normal"):
        raise InputError(f"method is {method!r}: choose auto, exact or normal")
    d = np.round(_per_group(_difference(a, b), groups, np.mean), 12)
    cases, m = len(d), int((d == 0).sum())
    if not cases:
        return Significance(math.nan, math.nan, 0, "no cases")
    if zeros == "wilcox":
        d, m = d[d != 0], 0
    if m == len(d):
        return Significance(0.0, 1.0, cases, "Wilcoxon: no differences")
    ranks, _ = _ranks(np.abs(d))
    plus = float(ranks[d > 0].sum())
    _, ties = _ranks(np.abs(d[d != 0]))
    n, plain = len(d), m == 0 and bool((ties == 1).all())
    if method == "exact" and not plain:
        raise InputError("method is exact, but there are ties or zeros among the differences: use auto or normal")
    if method == "exact" or (method == "auto" and plain and n <= _EXACT_RANKS):
        chance, reach = _signed_sums(np.arange(1, n + 1))
        signed = 2 * round(plus) - reach  # W⁺ − W⁻, symmetric about 0
        p = float(chance[np.abs(np.arange(-reach, reach + 1)) >= abs(signed)].sum())
        return Significance(plus, min(1.0, p), cases, "Wilcoxon exact")
    mean = (n * (n + 1) - m * (m + 1)) / 4
    spread = n * (n + 1) * (2 * n + 1) - m * (m + 1) * (2 * m + 1) - float((ties**3 - ties).sum()) / 2
    z = (plus - mean) / math.sqrt(spread / 24)
    return Significance(plus, math.erfc(abs(z) / math.sqrt(2)), cases, f"Wilcoxon normal, zeros by {zeros}")


def benjamini_hochberg(p: ArrayLike) -> Vector:
    """Adjusted p-values, in the order given: reject those ≤ q and at most a share q of the rejections is expected to be false.

    p̃₍ᵢ₎ = min over j ≥ i of min(1, m p₍ⱼ₎ / j), for m tests that are independent or positively dependent. An undefined p (nan)
    stays so and is not counted in m. Benjamini & Hochberg (1995), *JRSS B* 57.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    given = np.asarray(p, dtype=float)
    known = np.flatnonzero(~np.isnan(given))
    if len(known) and (given[known].min() < 0 or given[known].max() > 1):
        raise InputError(f"p holds {given[known].min():g} to {given[known].max():g}: p-values lie between 0 and 1")
    adjusted = np.full(given.shape, np.nan)
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
    return adjusted


def _undefined(n: int, how: str) -> Interval:
    return Interval(math.nan, math.nan, math.nan, n, how)


def _checked(level: float) -> float:
    if not 0 < level < 1:
        raise InputError(f"level is {level:g}: choose one between 0 and 1, such as 0.95")
    return level


def _difference(a: ArrayLike, b: ArrayLike) -> Vector:
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"a has shape {x.shape} and b {y.shape}: give one value of each per case, in the same order")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a or b holds an undefined value: compare only the cases that both methods answered")
    difference: Vector = x - y
    return difference


def _units(groups: Groups | None, n: int) -> list[Indices] | None:
    """Rows of each group, groups in the order they appear."""
    if groups is None:
        return None
    if len(groups) != n:
        raise InputError(f"groups has {len(groups)} entries for {n} rows: name the case of every row")
    rows: dict[Hashable, list[int]] = {}
    for i, name in enumerate(groups):
        rows.setdefault(name, []).append(i)
    return [np.array(r, dtype=np.int64) for r in rows.values()]


def _per_group(values: Vector, groups: Groups | None, fold: Callable[[Vector], float]) -> Vector:
    units = _units(groups, len(values))
    return values if units is None else np.array([fold(values[rows]) for rows in units], dtype=float)


def _resampled(
    statistic: Statistic, n: int, units: list[Indices] | None, rng: np.random.Generator, resamples: int
) -> Vector:
    """θ̂*: groups of unequal size make resamples of unequal length, which are evaluated length by length."""
    found = np.empty(resamples)
    blocks = _blocks(n, units)
    size = n if units is None else len(units)
    step = max(1, _CELLS // n)
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
        return np.array([statistic(np.delete(np.arange(n), rows)[None])[0] for rows in units])
    found, rest, step = np.empty(size), np.arange(size - 1), max(1, _CELLS // n)
    for first in range(0, size, step):
        gone = np.arange(first, min(size, first + step))[:, None]
        kept = rest + (rest >= gone)
        found[first : first + len(gone)] = statistic(blocks[kept].reshape(len(gone), -1))
    return found


def _blocks(n: int, units: list[Indices] | None) -> Indices | None:
    """(groups, rows of each) where all groups are of one size: they can be drawn at once."""
    if units is None:
        return np.arange(n)[:, None]
    return np.stack(units) if len({len(rows) for rows in units}) == 1 else None


def _bca(below: float, left: Vector, alpha: float) -> tuple[float, float]:
    """The two levels of θ̂* that BCa reads off."""
    z0, u = _NORMAL.inv_cdf(below), left.mean() - left
    squares = float((u * u).sum())
    a = float((u**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0

    def at(level: float) -> float:
        z = z0 + _NORMAL.inv_cdf(level)
        if a * z >= 1:  # past the pole of the formula: as far as its limit
            return float(z > 0)
        return _NORMAL.cdf(z0 + z / (1 - a * z))

    return at(alpha), at(1 - alpha)


def _signed_sums(sizes: Indices) -> tuple[Vector, int]:
    """The chances of −R … R for Σ ±sizeₖ with fair independent signs, R = Σ sizeₖ."""
    reach = int(sizes.sum())
    chance = np.zeros(2 * reach + 1)
    chance[reach] = 1.0
    for size in sizes.tolist():
        moved = np.zeros_like(chance)
        moved[size:] += chance[:-size] / 2
        moved[:-size] += chance[size:] / 2
        chance = moved
    return chance, reach


def _ranks(values: Vector) -> tuple[Vector, Indices]:
    """Ranks from 1, ties by their mean, and how many share each distinct value."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - counts + 1 + last) / 2)[inverse], counts
