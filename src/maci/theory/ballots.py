r"""N voters on one case: two models of how they vote, and what becomes of their votes.

Two models of N voters. In the first each is right with chance p, independently (Condorcet); over two outcomes a majority is right with

.. math::
   P_N = \sum_{k > N/2} \binom{N}{k} p^k (1-p)^{N-k}

In the second a voter sees a score for every outcome and votes for the highest; the true outcome's has a lead ``a``, and a part ρ of the
noise is the same for all, as when they read the same evidence:

.. math::
   s_{vy} = a\,[y = y^\star] + \sqrt\rho\, g_y + \sqrt{1-\rho}\, e_{vy}

There a voter's chance falls as |𝒴| grows, as it does for diagnoses and unlike what the first model allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

__all__ = ["SHARED", "VOTERS", "Ballots", "ballots", "exact"]

VOTERS = 20
SHARED = 0.3


def exact(voters: int, p: float) -> float:
    """P_N, for an odd number of voters.

    >>> round(exact(3, 0.6), 3)  # 0.6³ + 3·0.6²·0.4
    0.648
    """
    return sum(comb(voters, k) * p**k * (1 - p) ** (voters - k) for k in range(voters // 2 + 1, voters + 1))


@dataclass(frozen=True, slots=True)
class Ballots:
    """What N voters said of n cases; the true outcome is number 0."""

    single: NDArray[np.float64]
    """Share of the voters that are right, by case."""
    plurality: NDArray[np.float64]
    """Whether the leading outcome is right; a share of it where outcomes tie."""
    majority: NDArray[np.bool_]
    """Whether more than half agree."""
    right: NDArray[np.bool_]
    """Whether more than half agree on the true outcome."""
    agreement: NDArray[np.float64]
    """Share of pairs of voters that agree; nan of one voter."""
    pooled: NDArray[np.bool_]
    """Whether the highest of the summed scores is right: what they would say who shared all they saw."""


def ballots(
    rng: np.random.Generator, cases: int, outcomes: int, lead: float, *, voters: int = VOTERS, shared: float = SHARED
) -> Ballots:
    """Votes of the second model."""
    parts = []
    left = cases
    while left:
        n = min(left, max(1, 2_000_000 // (voters * outcomes)))
        score = np.sqrt(1 - shared) * rng.standard_normal((n, voters, outcomes))
        score += np.sqrt(shared) * rng.standard_normal((n, 1, outcomes))
        score[:, :, 0] += lead
        parts.append((score.argmax(axis=2), score.sum(axis=1).argmax(axis=1)))
        left -= n
    votes, pooled = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _counted(votes, pooled == 0, outcomes)


def _counted(votes: NDArray[np.int64], pooled: NDArray[np.bool_], outcomes: int) -> Ballots:
    cases, voters = votes.shape
    flat = (np.arange(cases)[:, None] * outcomes + votes).ravel()
    counts = np.bincount(flat, minlength=cases * outcomes).reshape(cases, outcomes)
    top = counts.max(axis=1)
    ties = (counts == top[:, None]).sum(axis=1)
    return Ballots(
        single=counts[:, 0] / voters,
        plurality=(counts[:, 0] == top) / ties,
        majority=2 * top > voters,
        right=2 * counts[:, 0] > voters,
        agreement=(counts * (counts - 1)).sum(axis=1) / (voters * (voters - 1) if voters > 1 else np.nan),
        pooled=pooled,
    )
