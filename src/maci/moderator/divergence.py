r"""How far apart beliefs are: the disagreement D, and the figures about pairs and rounds that are only logged.

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

:class:`Analysis` says how beliefs relate, pair by pair and round by round (SPEC 4); it never steers the debate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from maci.errors import installed
from maci.moderator.belief import Vector, entropy, smooth, total_variation


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


def weighted_jsd(p: Vector, weights: Vector) -> float | None:
    """JSD under weights ω, divided by H(ω); undefined when one agent has all the weight."""
    scale = entropy(weights)
    if scale == 0:
        return None
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
    linprog = installed("scipy.optimize", "eval", "a ground metric of your own").linprog
    n = len(p)
    rows = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    solved = linprog(metric.ravel(), A_eq=rows, b_eq=np.concatenate([p, q]), method="highs")
    return min(1.0, float(solved.fun) / float(metric.max()))


def disagreement(p: Vector, positions: Vector | None, delta: float = 0.0) -> float:
    """D: JSD of the agents' beliefs, or on a scale the mean W̃₁ over pairs."""
    if positions is None:
        return jsd(p, delta)
    return float(np.mean([wasserstein(a, b, positions) for a, b in combinations(p, 2)]))


def shared_information(p: Vector, q: Vector) -> float:
    """Σ min(p,q)·log₂(1/max(p,q)) / max(H_p, H_q): 1 iff equal, 0 if disjoint (D6).

    >>> shared_information(np.array([0.5, 0.5, 0]), np.array([0, 0, 1.0]))
    0.0
    >>> shared_information(np.array([1.0, 0]), np.array([1.0, 0]))
    1.0
    """
    return _shared(p[None], q[None], np.array([max(entropy(p), entropy(q))]))


def cross_entropy(p: Vector, q: Vector, size: int, delta: float) -> float:
    """−Σ p log₂ q / log₂|𝒴|, with q smoothed; infinite where q lacks support and nothing is smoothed."""
    q, support = smooth(q, delta), p > 0
    if size < 2:
        return 0.0
    if np.any(q[support] == 0):
        return float("inf")
    return float(-(p[support] @ np.log2(q[support]))) / float(np.log2(size))


@dataclass(frozen=True, slots=True)
class Analysis:
    """Means over pairs of agents (in seat order), unless said otherwise; ``None`` is undefined."""

    kl_forward: float | None
    """KL(p_u ‖ p_v), u before v, in bits on smoothed beliefs."""
    kl_backward: float | None
    shared_information: float | None
    """D6."""
    w1_agents: float | None
    """W̃₁ between agents: on the scale, under the user's metric, or under the 0/1 metric."""
    w1_mixture: float
    """W̃₁ between this mixture and the one before."""
    cross_entropy: float
    """Normalised; of the mixture against gold where it is known, else of the agents against the mixture."""
    weighted_jsd: float | None
    correct: bool | None
    """Whether the mixture's top outcome is the gold one."""


def analyse(
    beliefs: Vector,
    weights: Vector,
    mixture: Vector,
    before: Vector,
    *,
    size: int,
    delta: float,
    gold: int | None,
    positions: Vector | None,
    metric: Vector | None,
) -> Analysis:
    """All analysis figures of one round; ``beliefs`` has one row per agent that has a belief."""
    forward = backward = shared = between = weighted = None
    if len(beliefs) > 1:
        left, right = _pairs(len(beliefs))
        ours, theirs = beliefs[left], beliefs[right]
        soft = smooth(beliefs, delta)
        logs = np.log2(soft) if delta else np.log2(np.maximum(soft, np.finfo(float).tiny))
        gap = logs[left] - logs[right]
        forward = float(np.einsum("ij,ij->", soft[left], gap)) / len(left)
        backward = float(-np.einsum("ij,ij->", soft[right], gap)) / len(left)
        entropies = row_entropies(beliefs)
        shared = _shared(ours, theirs, np.maximum(entropies[left], entropies[right]))
        between = _between(ours, theirs, positions, metric)
        weighted = weighted_jsd(beliefs, weights)
    if gold is not None:
        truth = np.zeros_like(mixture)
        truth[gold] = 1.0
        crossed = cross_entropy(truth, mixture, size, delta)
    else:
        crossed = cross_entropy(np.add.reduce(beliefs) / len(beliefs), mixture, size, delta)
    return Analysis(
        kl_forward=forward,
        kl_backward=backward,
        shared_information=shared,
        w1_agents=between,
        w1_mixture=_distance(mixture, before, positions, metric),
        cross_entropy=crossed,
        weighted_jsd=weighted,
        correct=None if gold is None else int(mixture.argmax()) == gold,
    )


@cache
def _pairs(agents: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Seats of all pairs, earlier and later."""
    first, second = np.triu_indices(agents, 1)
    return first, second


def _shared(ours: Vector, theirs: Vector, scale: Vector) -> float:
    """D6, mean over pairs."""
    high = np.maximum(ours, theirs)
    bits = np.log2(high, out=np.zeros_like(high), where=high > 0)
    raw = -np.einsum("ij,ij->i", np.minimum(ours, theirs), bits)
    if scale.min() > 0:
        return float(np.add.reduce(np.minimum(np.maximum(raw / scale, 0), 1))) / len(raw)
    same = (ours == theirs).all(axis=1)
    return float(np.where(scale > 0, np.clip(raw / np.where(scale > 0, scale, 1), 0, 1), same).mean())


def _between(ours: Vector, theirs: Vector, positions: Vector | None, metric: Vector | None) -> float:
    if positions is None and metric is None:
        return float(0.5 * np.abs(ours - theirs).sum()) / len(ours)
    return float(np.mean([_distance(p, q, positions, metric) for p, q in zip(ours, theirs, strict=True)]))


def _distance(p: Vector, q: Vector, positions: Vector | None, metric: Vector | None) -> float:
    if positions is not None:
        return wasserstein(p, q, positions)
    return transport(p, q, metric) if metric is not None else total_variation(p, q)
