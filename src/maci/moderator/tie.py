r"""When a lead is none (D19): outcomes that are equally probable, or whose order rests on how finely agents were weighed.

A mixture's lead x over y is :math:`\sum_u g_u d_u / \sum_u g_u`, where g is an agent's weight before it is normalised (prior · Γ) and
:math:`d_u = p_u(x) - p_u(y)`. Γ is known no better than the scores behind it, to one standard error s_u of their mean. The lead is gone
where Γ moves by one standard error against it:

.. math::
   \sum_u g_u d_u \;\le\; \sqrt{\sum_u (s_u d_u)^2}
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from maci.moderator.belief import Vector

TIE = 1e-6
"""Outcomes whose probabilities differ by no more than this are equally probable."""


def lead(p: Vector) -> int | None:
    """The leading outcome; none where several are equally probable.

    >>> lead(np.array([0.2, 0.8])), lead(np.array([0.5, 0.5])) is None
    (1, True)
    """
    top = level(p)
    return top[0] if len(top) == 1 else None


def level(p: Vector) -> tuple[int, ...]:
    """The outcomes that lead together, the first one alone where nothing is level with it.

    >>> level(np.array([0.4, 0.4, 0.2])), level(np.array([0.2, 0.8]))
    ((0, 1), (1,))
    """
    return tuple(np.flatnonzero(p >= p.max() - TIE).tolist())


def standard_error(scores: Sequence[float]) -> float:
    """Of the mean of scores; 0 for fewer than two, which show no spread.

    >>> round(standard_error([0.5, 0.7]), 3), standard_error([0.5])
    (0.1, 0.0)
    """
    return float(np.std(scores, ddof=1)) / sqrt(len(scores)) if len(scores) > 1 else 0.0


def contenders(beliefs: Vector, weights: Sequence[float], errors: Sequence[float]) -> tuple[int, ...]:
    """The outcomes that share the mixture's lead, the leader first; one alone is no tie. A row of ``beliefs`` is an agent's.

    >>> apart = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> contenders(apart, [0.55, 0.50], [0.0, 0.0]), contenders(apart, [0.55, 0.50], [0.05, 0.05])
    ((0,), (0, 1))
    >>> contenders(np.array([[0.9, 0.1], [0.6, 0.4]]), [0.55, 0.50], [0.05, 0.05])
    (0,)
    """
    given = np.asarray(weights, np.float64)
    mixed = given @ beliefs
    top = int(mixed.argmax())
    gaps = beliefs[:, [top]] - beliefs
    margins = mixed[top] - mixed
    moves = np.sqrt(np.square(np.asarray(errors)[:, None] * gaps).sum(axis=0))
    near = np.flatnonzero(margins <= np.maximum(moves, TIE * given.sum())).tolist()
    return (top, *(int(y) for y in near if y != top))
