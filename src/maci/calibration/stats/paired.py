r"""Statistics of the same cases seen twice: agreement and correlation of judges, and tests between two methods.

Agreement and correlation: Krippendorff's α, and Pearson, Spearman and partial correlations of many resamples at once.

**Krippendorff's α** for interval data, computed from sums over arguments; audits and study reports use this one formula.

.. math:: \alpha = 1 - \frac{D_o}{D_e},\quad
          D_o = \frac1n \sum_u \frac{1}{m_u - 1}\sum_{i\ne j}(x_{ui}-x_{uj})^2,\quad
          D_e = \frac{1}{n(n-1)}\sum_{a \ne b}(x_a-x_b)^2

over arguments u with m_u ≥ 2 scores, n = Σ m_u (Krippendorff 2004, *Content Analysis*, ch. 11). A missing score is nan.

>>> scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, np.nan]])  # two judges, three arguments
>>> round(float(alpha(parts(scores).sum(axis=0))), 4)
0.9412

**Correlations**, one row for each resample; undefined values are left out pair by pair. Spearman's ρ is r of ranks, where ties get
their mean rank. As functions of sums over cases (:mod:`maci.calibration.stats.sums`) α and correlations are bootstrapped by whole
cases: :func:`alpha_sums`, :func:`pearson_sums`, and :func:`correlation_sums` over all pairs of judges. By ranks, the ranks are those in
the whole sample (Spearman), which resamples keep.

.. math:: r = \frac{\sum (x-\bar x)(y-\bar y)}{\sqrt{\sum (x-\bar x)^2 \sum (y-\bar y)^2}},\qquad
          r_{xy\cdot z} = \frac{r_{xy} - r_{xz} r_{yz}}{\sqrt{(1-r_{xz}^2)(1-r_{yz}^2)}}

>>> x, y = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[1.0, 2.0, 4.0, 3.0]])
>>> pearson(x, y).round(6).tolist(), spearman(x, 10**y).round(6).tolist()
([0.8], [0.8])

**Tests** of two methods on the same cases: McNemar's and Wilcoxon's, and Benjamini and Hochberg's adjustment for many tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maci.calibration.stats.estimate import Groups, Indices, difference_of, per_group
from maci.calibration.stats.sums import Summed
from maci.errors import InputError
from maci.moderator.belief import Vector

FDR = 0.05
"""q of Benjamini–Hochberg."""
_EXACT_FLIPS = 1000
"""Above so many discordant cases McNemar's test is approximate unless asked otherwise."""
_EXACT_RANKS = 50
"""Up to so many differences Wilcoxon's test is exact where it can be."""
FLAT = 1e-3
"""A standard deviation below this, of scores from 0 to 1, is no variation: what judges differ in then is rounding."""


def parts(scores: Vector) -> Vector:
    """What each argument adds, from (judges, arguments) scores: Σ(x_i − x_j)² / (m − 1) over pairs, m, Σx, Σx²; 0 below two scores."""
    known = np.isfinite(scores)
    m = known.sum(axis=0).astype(float)
    paired = m >= 2
    middle = scores[known].mean() if known.any() else 0.0  # of no effect, but for rounding
    x = np.where(known & paired, scores - middle, 0.0)
    one, two = x.sum(axis=0), (x * x).sum(axis=0)
    within = np.where(paired, (m * two - one * one) / np.maximum(m - 1, 1), 0.0)
    return np.column_stack([within, np.where(paired, m, 0.0), one, two])


def alpha(sums: Vector) -> Vector:
    """α from summed parts, (…, 4); nan where no argument has two scores or all scores hardly differ."""
    within, n, total, squares = np.moveaxis(sums, -1, 0)
    apart = n * squares - total * total
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Vector = np.where((n >= 2) & (apart > (FLAT * n) ** 2), 1 - (n - 1) * within / apart, np.nan)
    return found


Rows = NDArray[np.float64]
"""(b, n): one resample a row."""
_FLAT = 1e-12
"""A standard deviation below this share of the values' size is rounding, not variation."""


def ranks(rows: Rows) -> Rows:
    """Ranks from 1 within each row, ties by their mean; what is undefined stays so.

    >>> ranks(np.array([[0.3, 0.1, 0.3, np.nan]])).tolist()
    [[2.5, 1.0, 2.5, nan]]
    """
    n = rows.shape[1]
    if n == 0:
        return rows.copy()
    known = np.isfinite(rows)
    order = np.argsort(np.where(known, rows, np.inf), axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    begins = np.ones(rows.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(rows.shape, dtype=bool)
    ends[:, :-1] = begins[:, 1:]
    place = np.arange(n)
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    last = np.minimum.accumulate(np.where(ends, place, n - 1)[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(rows.shape)
    np.put_along_axis(found, order, (first + last) / 2 + 1, axis=1)
    return np.where(known, found, np.nan)


def pearson(x: Rows, y: Rows) -> Vector:
    """The correlation of each row; nan for fewer than two pairs, or where x or y never varies."""
    both = np.isfinite(x) & np.isfinite(y)
    n = both.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        dx, size_x = _centred(x, both, n)
        dy, size_y = _centred(y, both, n)
        above = (dx * dy).sum(axis=1)
        xx, yy = (dx * dx).sum(axis=1), (dy * dy).sum(axis=1)
        flat = (xx <= n * (_FLAT * size_x) ** 2) | (yy <= n * (_FLAT * size_y) ** 2)
        r = above / np.sqrt(xx * yy)
    return np.where((n < 2) | flat, np.nan, np.clip(r, -1.0, 1.0))


def _centred(x: Rows, both: NDArray[np.bool_], n: NDArray[np.int64]) -> tuple[Rows, Vector]:
    kept = np.where(both, x, 0.0)
    mean = kept.sum(axis=1) / np.maximum(n, 1)
    return np.where(both, x - mean[:, None], 0.0), np.abs(kept).max(axis=1, initial=0.0)


def spearman(x: Rows, y: Rows) -> Vector:
    """ρ of each row, over the pairs that are defined."""
    both = np.isfinite(x) & np.isfinite(y)
    return pearson(ranks(np.where(both, x, np.nan)), ranks(np.where(both, y, np.nan)))


def partial(x: Rows, y: Rows, z: Rows) -> Vector:
    """Rank correlation of x and y at equal z, in each row; nan where z alone explains one of them."""
    all_ = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    rx, ry, rz = (ranks(np.where(all_, values, np.nan)) for values in (x, y, z))
    xy, xz, yz = pearson(rx, ry), pearson(rx, rz), pearson(ry, rz)
    below = (1 - xz**2) * (1 - yz**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (xy - xz * yz) / np.sqrt(below)
    return np.where(below > _FLAT, np.clip(r, -1.0, 1.0), np.nan)


def auc(score: Rows, positive: Rows) -> Vector:
    """The chance that a positive scores above a negative, ties by half, in each row (Mann–Whitney); nan without both.

    >>> auc(np.array([[0.9, 0.4, 0.4, 0.1]]), np.array([[1.0, 1.0, 0.0, 0.0]])).tolist()
    [0.875]
    """
    both = np.isfinite(score) & np.isfinite(positive)
    up = both & (positive > 0.5)
    n, ups = both.sum(axis=1), up.sum(axis=1)
    placed = np.where(up, ranks(np.where(both, score, np.nan)), 0.0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Vector = (placed - ups * (ups + 1) / 2) / (ups * (n - ups))
    return np.where((ups > 0) & (ups < n), found, np.nan)


Scores = Sequence[Mapping[str, float]]
"""Of each argument what each judge gave it; who abstained is left out."""


def alpha_sums(scores: Scores, case: NDArray[np.int64], cases: int) -> Summed:
    """Krippendorff's α; ``case`` is the number of each argument's case.

    >>> alpha_sums([{"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}], np.array([0, 1]), 2).value
    1.0
    """
    judges = list(dict.fromkeys(judge for one in scores for judge in one))
    table = np.array([[one.get(judge, np.nan) for one in scores] for judge in judges]).reshape(len(judges), len(scores))
    added = np.zeros((cases, 4))
    np.add.at(added, case, parts(table))
    return Summed(added, alpha)


def pearson_sums(x: Vector, y: Vector, case: NDArray[np.int64], cases: int) -> Summed:
    """The correlation of two columns over all rows; nan where one does not vary.

    >>> round(pearson_sums(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]), np.arange(3), 3).value, 6)
    1.0
    """
    x, y = x - x.mean() if len(x) else x, y - y.mean() if len(y) else y  # for the sake of rounding
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    added = np.column_stack([np.bincount(case, weights=column, minlength=cases) for column in columns])

    def correlation(s: Vector) -> Vector:
        n, a, b, aa, bb, ab = s.T
        below = (n * aa - a**2) * (n * bb - b**2)
        root = np.sqrt(np.maximum(below, 0))
        found: Vector = np.divide(n * ab - a * b, root, out=np.full(len(s), np.nan), where=below > 1e-18)
        return found

    return Summed(added.astype(float), correlation)


def correlation_sums(scores: Scores, case: NDArray[np.int64], cases: int, *, by_rank: bool) -> Summed | None:
    """The mean correlation over all pairs of judges; ``None`` where no two scored the same arguments."""
    judges = list(dict.fromkeys(judge for one in scores for judge in one))
    pairs = []
    for first, second in combinations(judges, 2):
        both = [i for i, one in enumerate(scores) if first in one and second in one]
        x, y = (np.array([scores[i][judge] for i in both]) for judge in (first, second))
        if len(both) > 1:
            if by_rank:
                x, y = ranks(np.stack([x, y]))
            pairs.append(pearson_sums(x, y, case[both], cases))
    if not pairs:
        return None

    def mean(s: Vector) -> Vector:
        found: Vector = np.mean([part.of(s[:, 6 * i : 6 * i + 6]) for i, part in enumerate(pairs)], axis=0)
        return found

    return Summed(np.hstack([part.cases for part in pairs]), mean)


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
    rows = difference_of(a, b)
    d = per_group(rows, groups, np.sum).astype(np.int64)
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
    d = np.round(per_group(difference_of(a, b), groups, np.mean), 12)
    cases, m = len(d), int((d == 0).sum())
    if not cases:
        return Significance(math.nan, math.nan, 0, "no cases")
    if zeros == "wilcox":
        d, m = d[d != 0], 0
    if m == len(d):
        return Significance(0.0, 1.0, cases, "Wilcoxon: no differences")
    plus = float(ranks(np.abs(d)[None])[0][d > 0].sum())
    _, ties = np.unique(np.abs(d[d != 0]), return_counts=True)
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
