r"""Agreement and correlation: Krippendorff's α, and Pearson, Spearman and partial correlations of many resamples at once.

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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats.sums import Summed
from maci.moderator.belief import Vector

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
