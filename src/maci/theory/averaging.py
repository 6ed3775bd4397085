r"""Gated averaging: every agent moves some way to the mean, noise pushes it about, the dispersion gate takes bad rounds back.

.. math::
   p_u \leftarrow (1-\beta)\,p_u + \beta\,\bar p + \xi_u,\qquad
   D_{KL} = \tfrac1M \sum_u \mathrm{KL}(p_u \,\Vert\, \bar p)

======================  ==========================================
symbol                  name
======================  ==========================================
:math:`D_{KL}`          :func:`dispersions`, of many tables at once; the product's own is ``dispersion``
:math:`\beta`           ``beta``
:math:`\xi`             :func:`noise`: mean 0, ‖ξ‖₁ ≤ σ, and the belief stays on the simplex
:math:`\nu`             what the gate tolerates: 0
======================  ==========================================

Without noise D_KL(t+1) ≤ (1−β) D_KL(t): KL is convex and p̄ stays. With this noise E D_KL(t+1) ≤ (1−β) D_KL(t) + σ, so the paper's
constant c is 1 bit; docs/theory.md has the proof. Tables are arrays of (trajectory, agent, outcome).
"""

from __future__ import annotations

import numpy as np

from maci.belief import Vector

__all__ = ["averaged", "dispersions", "noise", "openings"]


def dispersions(p: Vector) -> Vector:
    """D_KL of every table, in bits.

    >>> dispersions(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(np.maximum(0.0, _entropies(p.mean(axis=1)) - _entropies(p).mean(axis=1)))


def _entropies(p: Vector) -> Vector:
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    found: Vector = -np.einsum("...y,...y->...", p, logs)
    return found


def openings(rng: np.random.Generator, n: int, agents: int, outcomes: int) -> Vector:
    """Tables of beliefs from nearly uniform to nearly certain; in every eighth all are certain."""
    sharpness = np.exp(rng.uniform(np.log(0.05), np.log(5.0), size=(n, 1, 1)))
    p = rng.standard_gamma(np.broadcast_to(sharpness, (n, agents, outcomes))) + 1e-300
    p /= p.sum(axis=-1, keepdims=True)
    p[::8] = np.eye(outcomes)[rng.integers(outcomes, size=(len(p[::8]), agents))]
    return np.asarray(p)


def averaged(p: Vector, beta: Vector) -> Vector:
    """(1−β)p + βp̄, with one β for every table."""
    b = beta[:, None, None]
    return np.asarray((1 - b) * p + b * p.mean(axis=1, keepdims=True))


def noise(x: Vector, sigma: Vector, rng: np.random.Generator) -> Vector:
    """ξ with mean 0 and ‖ξ_u‖₁ ≤ σ for every agent, such that x + ξ is a belief.

    Outcomes are paired off at random; within a pair mass goes one way or the other with equal chance, never more than the
    smaller of the two has.

    >>> rng = np.random.default_rng(0)
    >>> x = np.array([[[0.7, 0.2, 0.1, 0.0]]])
    >>> xi = noise(x, np.array([0.1]), rng)
    >>> bool(abs(xi).sum() <= 0.1 + 1e-12 and abs(xi.sum()) < 1e-12 and (x + xi).min() >= 0)
    True
    """
    outcomes = x.shape[-1]
    half = outcomes // 2
    order = rng.permuted(np.broadcast_to(np.arange(outcomes), x.shape), axis=-1)
    one, other = order[..., :half], order[..., half : 2 * half]
    most = np.minimum(np.take_along_axis(x, one, -1), np.take_along_axis(x, other, -1))
    room = 2 * most.sum(axis=-1, keepdims=True)
    share = np.minimum(1.0, sigma[:, None, None] / np.maximum(room, 1e-300))
    moved = most * share * rng.choice((-1.0, 1.0), size=most.shape)
    xi = np.zeros_like(x)
    np.put_along_axis(xi, one, moved, -1)
    np.put_along_axis(xi, other, -moved, -1)
    return xi
