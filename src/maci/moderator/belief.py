r"""Beliefs: points of the simplex Δ(𝒴).

Inside the controller a belief is a NumPy vector aligned with the outcome labels of the debate. This file
holds what can be said of such vectors alone; all logarithms are base 2.

>>> import numpy as np
>>> entropy(np.array([0.5, 0.5, 0.0]))
1.0

**When a lead is none** (D19, :func:`contenders`): outcomes that are equally probable, or whose order rests on how finely agents were
weighed. A mixture's lead x over y is :math:`\sum_u g_u d_u / \sum_u g_u`, where g is an agent's weight before it is normalised
(prior · Γ) and :math:`d_u = p_u(x) - p_u(y)`. Γ is known no better than the scores behind it, to one standard error s_u of their mean.
The lead is gone where Γ moves by one standard error against it:

.. math::
   \sum_u g_u d_u \;\le\; \sqrt{\sum_u (s_u d_u)^2}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from maci.errors import BeliefError

Vector = NDArray[np.float64]


def read(stated: Mapping[str, float], tolerance: float, rest: str | None = None) -> tuple[dict[str, float], str | None]:
    """A distribution from stated probabilities, and a note where it had to be mended.

    A sum off by at most ``tolerance`` is mended: the shortfall goes to ``rest`` where there is one (open outcome
    spaces), else all is rescaled. Anything further off is refused, and so are negative and undefined numbers.

    >>> read({"Viral": 0.60, "Autoimmune": 0.20, "Bacterial": 0.15}, 0.1)[1]
    'probabilities sum to 0.95; rescaled to 1'
    >>> read({"a": 0.7, "b": 0.7}, 0.1)
    Traceback (most recent call last):
    maci.errors.BeliefError: probabilities sum to 1.4, not to 1 (tolerance 0.1)
    """
    if not stated:
        raise BeliefError("the belief is empty: state a probability for at least one outcome")
    total = 0.0
    for label, p in stated.items():
        if not math.isfinite(p):
            raise BeliefError(f"the probability of {label!r} is {p}, not a number")
        if p < 0:
            raise BeliefError(f"the probability of {label!r} is {p:g}, below 0")
        total += p
    if abs(total - 1) > tolerance + 1e-9:
        raise BeliefError(f"probabilities sum to {total:.4g}, not to 1 (tolerance {tolerance:g})")
    if abs(total - 1) <= 1e-9:
        return dict(stated), None
    if rest is not None and total < 1:
        mended = dict(stated)
        mended[rest] = mended.get(rest, 0.0) + 1 - total
        return mended, f"probabilities sum to {total:.4g}; the shortfall goes to {rest!r}"
    return {label: p / total for label, p in stated.items()}, f"probabilities sum to {total:.4g}; rescaled to 1"


def smooth(p: Vector, delta: float) -> Vector:
    """(1−δ)p + δ/|𝒴|: inside divergences only, never on a reported belief."""
    return p if delta == 0 else (1 - delta) * p + delta / p.shape[-1]


def entropy(p: Vector) -> float:
    """H(p) in bits."""
    positive = p[p > 0]
    return max(0.0, float(-(positive @ np.log2(positive))))


def total_variation(p: Vector, q: Vector) -> float:
    """TV(p, q) = ½‖p − q‖₁.

    >>> total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    0.5
    """
    return float(0.5 * np.abs(p - q).sum())


def softmax(scores: Vector) -> Vector:
    """The belief p ∝ exp(score).

    >>> softmax(np.log([1.0, 3.0])).round(3).tolist()
    [0.25, 0.75]
    """
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum(), dtype=np.float64)


def temper(p: Vector, temperature: float) -> Vector:
    """The calibrated belief softmax(log p / T); T = 1 leaves it as it is, zeros stay zero.

    >>> temper(np.array([0.8, 0.2]), 2.0).round(3).tolist()
    [0.667, 0.333]
    """
    if temperature == 1:
        return p
    powered = (p / p.max()) ** (1 / temperature)
    return np.asarray(powered / powered.sum(), dtype=np.float64)


def temper_to(p: Vector, most: float) -> Vector:
    """The belief tempered until its leader has probability ``most``, or as near to that as its order allows.

    >>> temper_to(np.array([0.9, 0.1]), 0.7).round(3).tolist(), temper_to(np.array([0.5, 0.5]), 0.9).tolist()
    ([0.7, 0.3], [0.5, 0.5])
    """
    ratio = np.log(np.maximum(p, 1e-9) / p.max())
    low, high = 0.0, 1e3  # of 1 / T; the leader's probability rises with it
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / np.exp(middle * ratio).sum() < most else (low, middle)
    powered = np.exp(low * ratio)
    return np.asarray(powered / powered.sum(), dtype=np.float64)


def lean(p: Vector, bias: Vector) -> Vector:
    """The belief p ∝ p · exp(-b): what its owners favour whatever the evidence says is taken off.

    >>> lean(np.array([0.8, 0.2]), np.log([4.0, 1.0])).tolist()
    [0.5, 0.5]
    """
    raised = p * np.exp(bias.min() - bias)
    return np.asarray(raised / raised.sum(), dtype=np.float64)


def settle(p: Vector, temperature: float, doubt: float, bias: Vector | None = None) -> Vector:
    """A belief as its owner's record says to take it: tempered, without its bias, then ``doubt`` of it spread over all outcomes.

    >>> settle(np.array([1.0, 0.0, 0.0, 0.0]), 1.0, 0.4).tolist()
    [0.7, 0.1, 0.1, 0.1]
    """
    p = temper(p, temperature)
    p = p if bias is None else lean(p, bias)
    return p if not doubt else (1 - doubt) * p + doubt / len(p)


def bias_of(known: Mapping[str, float], labels: Sequence[str]) -> Vector | None:
    """The bias of some outcomes as a vector over all of them; ``None`` where there is none."""
    if not any(known.get(label) for label in labels):
        return None
    return np.array([known.get(label, 0.0) for label in labels])


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
    return tuple((p >= p.max() - TIE).nonzero()[0].tolist())


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
