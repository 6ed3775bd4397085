"""Figures that are logged and never steer: how beliefs relate, pair by pair and round by round (SPEC 4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maci.belief import Vector, entropy, smooth, total_variation
from maci.moderator.divergence import cross_entropy, transport, wasserstein

__all__ = ["Analysis", "analyse"]


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
        left, right = (np.array(side) for side in zip(*combinations(range(len(beliefs)), 2), strict=True))
        soft = smooth(beliefs, delta)
        logs = np.log2(soft) if delta else np.log2(np.maximum(soft, np.finfo(float).tiny))
        gap = logs[left] - logs[right]
        forward = float(np.einsum("ij,ij->", soft[left], gap)) / len(left)
        backward = float(-np.einsum("ij,ij->", soft[right], gap)) / len(left)
        entropies = np.array([entropy(p) for p in beliefs])
        shared = _shared(beliefs, entropies, left, right)
        between = _between(beliefs, left, right, positions, metric)
        spread = entropy(weights)
        weighted = max(0.0, entropy(mixture) - float(weights @ entropies)) / spread if spread else None
    if gold is not None:
        truth = np.zeros_like(mixture)
        truth[gold] = 1.0
        crossed = cross_entropy(truth, mixture, size, delta)
    else:
        crossed = cross_entropy(beliefs.mean(axis=0), mixture, size, delta)
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


def _shared(p: Vector, entropies: Vector, left: Vector, right: Vector) -> float:
    low, high = np.minimum(p[left], p[right]), np.maximum(p[left], p[right])
    bits = -np.log2(high, out=np.zeros_like(high), where=high > 0)
    scale = np.maximum(entropies[left], entropies[right])
    raw = np.einsum("ij,ij->i", low, bits)
    same = (p[left] == p[right]).all(axis=1)
    return float(np.where(scale > 0, np.clip(raw / np.where(scale > 0, scale, 1), 0, 1), same).mean())


def _between(p: Vector, left: Vector, right: Vector, positions: Vector | None, metric: Vector | None) -> float:
    if positions is None and metric is None:
        return float(0.5 * np.abs(p[left] - p[right]).sum()) / len(left)
    return float(np.mean([_distance(p[i], p[j], positions, metric) for i, j in zip(left, right, strict=True)]))


def _distance(p: Vector, q: Vector, positions: Vector | None, metric: Vector | None) -> float:
    if positions is not None:
        return wasserstein(p, q, positions)
    return transport(p, q, metric) if metric is not None else total_variation(p, q)
