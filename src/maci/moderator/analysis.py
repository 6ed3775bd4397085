"""Figures that are logged and never steer: how beliefs relate, pair by pair and round by round (SPEC 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from maci.moderator.belief import Vector, entropy, smooth, total_variation
from maci.moderator.divergence import cross_entropy, row_entropies, transport, wasserstein


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
        spread = entropy(weights)
        weighted = max(0.0, entropy(mixture) - float(weights @ entropies)) / spread if spread else None
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
