"""How far judges agree, as functions of sums over cases: they are bootstrapped by whole cases like everything else in a report.

Krippendorff's α is :mod:`maci.judge.alpha`'s. The mean correlation is that over all pairs of judges; by ranks, the ranks are those in
the whole sample (Spearman), which resamples keep.
`maci audit judges` asks the judges again and says more: order, length, identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from maci.belief import Vector
from maci.judge.alpha import alpha, parts
from maci.study.statistics.significance import mean_ranks
from maci.study.statistics.sums import Summed

__all__ = ["Scores", "alpha_sums", "correlation_sums", "pearson_sums"]

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
    parts = []
    for first, second in combinations(judges, 2):
        both = [i for i, one in enumerate(scores) if first in one and second in one]
        x, y = (np.array([scores[i][judge] for i in both]) for judge in (first, second))
        if len(both) > 1:
            if by_rank:
                x, y = mean_ranks(x)[0], mean_ranks(y)[0]
            parts.append(pearson_sums(x, y, case[both], cases))
    if not parts:
        return None

    def mean(s: Vector) -> Vector:
        found: Vector = np.mean([part.of(s[:, 6 * i : 6 * i + 6]) for i, part in enumerate(parts)], axis=0)
        return found

    return Summed(np.hstack([part.cases for part in parts]), mean)
