"""The one logistic fit: P(y = 1) = σ(x · θ), penalised by ½λ |θ − centre|²."""

from __future__ import annotations

import numpy as np

from maci.moderator.belief import Vector


def fit_logistic(x: Vector, y: Vector, centre: Vector, penalty: float) -> Vector:
    """θ of the highest penalised likelihood of (n, k) rows; strictly convex, so damped Newton steps reach it.

    >>> x, y = np.array([[1.0], [1.0], [1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    >>> fit_logistic(x, y, np.zeros(1), 1e-9).round(3).tolist()  # ln 3
    [1.099]
    """

    def loss(theta: Vector) -> float:
        z = x @ theta
        return float(np.sum(np.logaddexp(0, z) - y * z) + penalty / 2 * np.sum((theta - centre) ** 2))

    theta = centre.copy()
    for _ in range(100):
        chance = 1 / (1 + np.exp(-np.clip(x @ theta, -500, 500)))
        slope = x.T @ (chance - y) + penalty * (theta - centre)
        curve = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(len(theta))
        step, size = np.linalg.solve(curve, slope), 1.0
        while size > 1e-6 and loss(theta - size * step) > loss(theta):
            size /= 2
        theta = theta - size * step
        if float(np.abs(slope).max()) < 1e-9:
            break
    return theta
