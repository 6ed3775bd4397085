r"""Krippendorff's α for interval data, from sums over arguments: one formula for audits and for study reports.

.. math:: \alpha = 1 - \frac{D_o}{D_e},\quad
          D_o = \frac1n \sum_u \frac{1}{m_u - 1}\sum_{i\ne j}(x_{ui}-x_{uj})^2,\quad
          D_e = \frac{1}{n(n-1)}\sum_{a \ne b}(x_a-x_b)^2

over arguments u with m_u ≥ 2 scores, n = Σ m_u (Krippendorff 2004, *Content Analysis*, ch. 11). A score that was not given is nan.

>>> scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.5, np.nan]])  # two judges, three arguments
>>> round(float(alpha(parts(scores).sum(axis=0))), 4)
0.9412
"""

from __future__ import annotations

import numpy as np

from maci.belief import Vector

__all__ = ["FLAT", "alpha", "parts"]

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
