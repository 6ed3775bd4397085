"""Do judges agree? Krippendorff's α, correlations between pairs of judges, each judge against the rest.

α (``calibration.stats.correlation``) is made of sums over arguments, so that all resamples are computed at once. Scores that were not
given (a judge abstained) are left out.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from maci.calibration.stats import Estimate, Indices, Sampling, Statistic, missing
from maci.calibration.stats.correlation import FLAT, Rows, parts, pearson, spearman
from maci.calibration.stats.correlation import alpha as alpha_from
from maci.moderator.belief import Vector


def alpha_of(scores: Rows) -> Statistic:
    """α of (judges, arguments) scores, as a statistic; nan where no argument has two scores or all scores hardly differ.

    >>> scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, np.nan]])
    >>> alpha_of(scores)(np.arange(3)[None]).round(4).tolist()
    [0.9412]
    """
    added = parts(scores)

    def statistic(i: Indices) -> Vector:
        return alpha_from(added[i].sum(axis=1))

    return statistic


def alpha(scores: Rows, sampling: Sampling) -> Estimate:
    """Krippendorff's α with its interval."""
    rows = np.flatnonzero(np.isfinite(scores).sum(axis=0) >= 2)
    if len(scores) < 2:
        return missing("there is one judge, and nobody to agree with")
    if len(rows) < 2:
        return missing("fewer than two arguments have scores of two judges", len(rows))
    found = alpha_of(scores[:, rows])
    if np.isnan(found(np.arange(len(rows))[None])[0]):
        return missing(f"all scores are nearly the same (standard deviation below {FLAT:g})", len(rows))
    return sampling.estimate(found, rows)


def levelled(scores: Rows) -> Rows:
    """The scores with every judge's mean moved to the common one.

    >>> levelled(np.array([[0.2, 0.4], [0.6, 0.8]])).round(3).tolist()
    [[0.4, 0.6], [0.4, 0.6]]
    """
    known = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / known.sum(axis=1, keepdims=True)
    return scores - own + np.nanmean(own) if known.any() else scores


def pairwise(scores: Rows, sampling: Sampling, *, by_rank: bool) -> Estimate:
    """The mean correlation over pairs of judges: Pearson's, or Spearman's with Fisher's z; pairs that have none are left out."""
    pairs = list(combinations(range(len(scores)), 2))
    rows = np.flatnonzero(np.isfinite(scores).sum(axis=0) >= 2)
    if not pairs:
        return missing("there is one judge, and nobody to agree with")
    if len(rows) < 2:
        return missing("fewer than two arguments have scores of two judges", len(rows))
    x, correlation = scores[:, rows], spearman if by_rank else pearson

    def statistic(i: Indices) -> Vector:
        found = np.stack([correlation(x[a][i], x[b][i]) for a, b in pairs])
        known = np.isfinite(found)
        with np.errstate(invalid="ignore"):
            mean: Vector = np.where(known, found, 0.0).sum(axis=0) / known.sum(axis=0)
        return mean

    return sampling.estimate(statistic, rows, fisher=by_rank)


def others(scores: Rows, judge: int, leave_out: NDArray[np.bool_] | None = None) -> Vector:
    """The mean score of the other judges, argument by argument; nan where none of them gave one.

    >>> others(np.array([[0.2, 0.4], [0.6, np.nan], [0.8, 0.5]]), 0).round(3).tolist()
    [0.7, 0.5]
    """
    rest = np.ones(len(scores), dtype=bool) if leave_out is None else ~leave_out
    rest[judge] = False
    known = np.isfinite(scores[rest])
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Vector = np.where(known, scores[rest], 0.0).sum(axis=0) / n
    return mean


def with_rest(scores: Rows, judge: int, sampling: Sampling) -> Estimate:
    """Spearman's ρ of one judge's scores with the mean of the others': near 0, it scores something else, or nothing."""
    rest = others(scores, judge)
    own = scores[judge]
    rows = np.flatnonzero(np.isfinite(own) & np.isfinite(rest))
    if len(scores) < 2:
        return missing("there is one judge, and nobody to agree with")
    if len(rows) < 3:
        return missing("fewer than three arguments that others scored too", len(rows))
    if np.ptp(own[rows]) < 1e-9:
        return missing(f"it gave every argument the same score, {own[rows][0]:.2f}", len(rows))
    return sampling.estimate(lambda i: spearman(own[rows][i], rest[rows][i]), rows, fisher=True)


def spread(scores: Vector, sampling: Sampling) -> Estimate:
    """The standard deviation of a judge's scores: near 0, it hardly tells arguments apart."""
    rows = np.flatnonzero(np.isfinite(scores))
    if len(rows) < 2:
        return missing("fewer than two scores", len(rows))
    given = scores[rows]

    def deviation(i: Indices) -> Vector:
        found: Vector = (
            given[i].std(axis=1, ddof=1) if i.shape[1] > 1 else np.full(len(i), np.nan)
        )  # one left: undefined
        return found

    return sampling.estimate(deviation, rows)


def scores_needed(r: float, reliability: float = 0.8) -> int | None:
    """K: how many scores of judges who correlate at r make a mean of this reliability (Spearman–Brown); ``None`` for r ≤ 0.

    K = R(1 − r) / (r(1 − R)).

    >>> scores_needed(0.5), scores_needed(0.71), scores_needed(-0.1)
    (4, 2, None)
    """
    if r <= 0:
        return None
    return max(1, int(np.ceil(reliability * (1 - r) / (r * (1 - reliability)) - 1e-9)))
