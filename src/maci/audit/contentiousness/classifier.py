r"""A linear classifier: multinomial logistic regression with an L2 penalty, in NumPy.

.. math::
   \min_{W,b}\ \tfrac{1}{2C}\lVert W\rVert^2 - \sum_i \log \mathrm{softmax}(W x_i + b)_{y_i}

The same objective as scikit-learn's ``LogisticRegression(C=C)``, minimised by L-BFGS (Liu & Nocedal 1989, *Math. Program.* 45); the
intercepts b are not penalised. Convex, so that the start does not matter and nothing is random. Where there are more features than
rows, the minimum lies in the space the rows span (the representer theorem), and is looked for there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maci.belief import Vector

__all__ = ["Linear", "fit"]

_MEMORY, _STEPS, _SMALL = 10, 500, 1e-5


@dataclass(frozen=True, slots=True)
class Linear:
    """A fitted classifier."""

    weights: Vector
    """(classes, features)"""
    intercepts: Vector

    def probabilities(self, x: Vector) -> Vector:
        """(rows, classes), each row summing to 1."""
        return _softmax(x @ self.weights.T + self.intercepts)


def fit(x: Vector, y: Vector, classes: int, *, c: float = 1.0) -> Linear:
    """Learn to tell ``classes`` numbered from 0 by their rows.

    >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> fit(x, np.array([0, 0, 1, 1]), 2, c=100.0).probabilities(np.array([[0.5], [4.5]])).argmax(axis=1).tolist()
    [0, 1]
    """
    if x.shape[1] > len(x):
        squares, turned = np.linalg.eigh(x @ x.T)
        kept = squares > 1e-10 * squares[-1]
        sizes, turned = np.sqrt(squares[kept]), turned[:, kept]
        small = fit(turned * sizes, y, classes, c=c)
        return Linear((small.weights / sizes) @ turned.T @ x, small.intercepts)
    truth = np.eye(classes)[y]
    width = x.shape[1]

    def objective(flat: Vector) -> tuple[float, Vector]:
        both = flat.reshape(classes, width + 1)
        weights, intercepts = both[:, :width], both[:, width]
        scores = x @ weights.T + intercepts
        top = scores.max(axis=1, keepdims=True)
        log_sum = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
        loss = float((log_sum - (scores * truth).sum(axis=1)).sum() + (weights**2).sum() / (2 * c))
        error = _softmax(scores) - truth
        gradient = np.hstack([error.T @ x + weights / c, error.sum(axis=0)[:, None]])
        return loss, gradient.ravel()

    found = _minimised(objective, np.zeros(classes * (width + 1))).reshape(classes, width + 1)
    return Linear(found[:, :width], found[:, width] - found[:, width].mean())


def _softmax(scores: Vector) -> Vector:
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    share: Vector = grown / grown.sum(axis=1, keepdims=True)
    return share


def _minimised(objective: Callable[[Vector], tuple[float, Vector]], start: Vector) -> Vector:
    """L-BFGS with backtracking: of a smooth convex function it finds the minimum."""
    at = start
    value, slope = objective(at)
    past: deque[tuple[Vector, Vector, float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        if float(np.abs(slope).max()) < _SMALL:
            break
        direction = -_scaled(slope, past)
        fall, step = float(slope @ direction), 1.0 if past else 1.0 / max(1.0, float(np.abs(slope).sum()))
        while True:
            new = at + step * direction
            new_value, new_slope = objective(new)
            if new_value <= value + 1e-4 * step * fall or step < 1e-12:
                break
            step /= 2
        moved, turned = new - at, new_slope - slope
        curvature = float(moved @ turned)
        if curvature > 1e-12:
            past.append((moved, turned, curvature))
        if value - new_value <= 1e-12 * max(1.0, abs(value)):
            return new
        at, value, slope = new, new_value, new_slope
    return at


def _scaled(slope: Vector, past: deque[tuple[Vector, Vector, float]]) -> Vector:
    """The two loops of L-BFGS: the slope times an estimate of the inverse curvature."""
    result, used = slope.copy(), []
    for moved, turned, curvature in reversed(past):
        a = float(moved @ result) / curvature
        result -= a * turned
        used.append(a)
    if past:
        _, turned, curvature = past[-1]
        result *= curvature / float(turned @ turned)
    for (moved, turned, curvature), a in zip(past, reversed(used), strict=True):
        result += moved * (a - float(turned @ result) / curvature)
    return result
