r"""How far beliefs are apart.

.. math::
   \mathrm{JSD} = H(\bar p) - \tfrac1M \sum_u H(p_u),\qquad D = \mathrm{JSD} / \log_2 M \in [0, 1]

======================  ==========================================
symbol                  name
======================  ==========================================
:math:`D`               :func:`jsd`, or :func:`wasserstein` (mean over pairs) on a scale
:math:`D_{KL}`          :func:`dispersion` = JSD before the division by log₂M
:math:`\tilde W_1`      :func:`wasserstein`, :func:`transport`
D6                      :func:`shared_information`
======================  ==========================================

Rows of ``p`` are agents. The paper's dengue case, round 2, as printed:

>>> import numpy as np
>>> round(jsd(np.array([[.60, .25, .15, 0], [.50, .30, 0, .20]])), 3)
0.18
"""

from __future__ import annotations

from itertools import combinations
from typing import cast

import numpy as np

from maci.errors import MissingExtra
from maci.moderator.belief import Vector, entropy, smooth


def row_entropies(p: Vector) -> Vector:
    """H of every row, in bits."""
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    return cast(Vector, -np.einsum("ij,ij->i", p, logs))


def dispersion(p: Vector, delta: float = 0.0) -> float:
    """D_KL = (1/M) Σ_u KL(p_u ‖ p̄), in bits."""
    p = smooth(p, delta)
    return max(0.0, entropy(np.add.reduce(p) / len(p)) - float(np.add.reduce(row_entropies(p))) / len(p))


def jsd(p: Vector, delta: float = 0.0) -> float:
    """Jensen–Shannon divergence of M ≥ 2 beliefs, normalised to [0, 1]."""
    return min(1.0, dispersion(p, delta) / float(np.log2(len(p))))


def weighted_jsd(p: Vector, weights: Vector, delta: float = 0.0) -> float:
    """JSD under weights ω, divided by H(ω); undefined (nan) when one agent has all the weight."""
    p = smooth(p, delta)
    scale = entropy(weights)
    if scale == 0:
        return float("nan")
    return min(1.0, max(0.0, entropy(weights @ p) - float(weights @ row_entropies(p))) / scale)


def wasserstein(p: Vector, q: Vector, positions: Vector) -> float:
    """W̃₁ = ∫|F_p − F_q| / (x_max − x_min) on a scale.

    >>> wasserstein(np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([-2.0, 0, 2]))
    1.0
    """
    gaps = np.diff(positions)
    return min(1.0, float(np.abs(np.cumsum(p - q)[:-1]) @ gaps) / float(positions[-1] - positions[0]))


def transport(p: Vector, q: Vector, metric: Vector) -> float:
    """W̃₁ under a user's ground metric, by linear programming, divided by the metric's diameter."""
    try:
        from scipy.optimize import linprog
    except ImportError as error:
        raise MissingExtra("scipy", "eval", "a ground metric of your own") from error
    n = len(p)
    rows = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    solved = linprog(metric.ravel(), A_eq=rows, b_eq=np.concatenate([p, q]), method="highs")
    return min(1.0, float(solved.fun) / float(metric.max()))


def disagreement(p: Vector, positions: Vector | None, delta: float = 0.0) -> float:
    """D: JSD of the agents' beliefs, or on a scale the mean W̃₁ over pairs."""
    if positions is None:
        return jsd(p, delta)
    return float(np.mean([wasserstein(a, b, positions) for a, b in combinations(p, 2)]))


def kl(p: Vector, q: Vector, delta: float = 0.0) -> float:
    """KL(p ‖ q) in bits; infinite where q lacks support and nothing is smoothed."""
    p, q = smooth(p, delta), smooth(q, delta)
    support = p > 0
    if np.any(q[support] == 0):
        return float("inf")
    return max(0.0, float(p[support] @ np.log2(p[support] / q[support])))


def shared_information(p: Vector, q: Vector) -> float:
    """Σ min(p,q)·log₂(1/max(p,q)) / max(H_p, H_q): 1 iff equal, 0 if disjoint (D6).

    >>> shared_information(np.array([0.5, 0.5, 0]), np.array([0, 0, 1.0]))
    0.0
    >>> shared_information(np.array([1.0, 0]), np.array([1.0, 0]))
    1.0
    """
    scale = max(entropy(p), entropy(q))
    if scale == 0:
        return 1.0 if np.array_equal(p, q) else 0.0
    both = (p > 0) & (q > 0)
    low, high = np.minimum(p, q)[both], np.maximum(p, q)[both]
    return min(1.0, max(0.0, float(low @ -np.log2(high)) / scale))


def cross_entropy(p: Vector, q: Vector, size: int, delta: float) -> float:
    """−Σ p log₂ q / log₂|𝒴|, with q smoothed; infinite where q lacks support and nothing is smoothed."""
    q, support = smooth(q, delta), p > 0
    if size < 2:
        return 0.0
    if np.any(q[support] == 0):
        return float("inf")
    return float(-(p[support] @ np.log2(q[support]))) / float(np.log2(size))
