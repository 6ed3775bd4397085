r"""The signals (evidence quality Q, overlap O, information gain Î), and the reliability Γ and weight ω of each agent.

.. math::
   Q = \cos(\bar e, \theta),\quad \bar e = \tfrac1{|\mathcal E|}\sum_{e\in\mathcal E} \phi(e)/\lVert\phi(e)\rVert,\qquad
   O = \frac{|\mathcal E_A \cap \mathcal E_B|}{|\mathcal E_A \cup \mathcal E_B|},\qquad
   \hat I = \frac{[H(p^{(t-1)}) - H(p^{(t)})]_+}{\log|\mathcal Y|}

Disagreement D is in :mod:`maci.moderator.divergence`. A signal with nothing to compute it from is ``None``, never 0.

.. math::
   \Gamma_u^{(t)} = \lambda\,\Gamma_u^{(t-1)} + (1-\lambda)\,\overline{\mathrm{CRIT}}_{u,t},\qquad
   \omega_u = \frac{\Gamma_u + \epsilon}{\sum_v (\Gamma_v + \epsilon)}

>>> round(update(0.5, 0.9, decay=0.8), 2)
0.58
>>> weights([0.58, 0.42], floor=1e-6).round(2).tolist()
[0.58, 0.42]
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from math import log2

import numpy as np
from numpy.typing import NDArray

from maci.moderator.belief import Vector, entropy


def evidence_quality(vectors: Sequence[NDArray[np.float32]], theta: NDArray[np.float32]) -> float | None:
    """Q: cosine of the mean unit vector of distinct spans with θ.

    >>> evidence_quality([], np.ones(2, np.float32)) is None
    True
    >>> x, y = np.eye(2, dtype=np.float32)
    >>> round(evidence_quality([x, y], x), 3)
    0.707
    """
    return evidence_qualities([vectors], theta)[0]


def evidence_qualities(
    groups: Sequence[Sequence[NDArray[np.float32]]], theta: NDArray[np.float32]
) -> list[float | None]:
    """Q of several sets of spans at once; ``None`` for an empty one, or where vectors cancel out."""
    flat = [vector for group in groups for vector in group]
    if not flat:
        return [None] * len(groups)
    rows = np.concatenate(flat).reshape(len(flat), -1).astype(np.float64)
    owner = [number for number, group in enumerate(groups) for _ in group]
    member = np.zeros((len(groups), len(flat)))
    member[owner, range(len(flat))] = 1.0
    sums = member @ rows
    target = theta.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums) * (target @ target))
    pairs = zip((sums @ target).tolist(), lengths.tolist(), strict=True)
    return [max(-1.0, min(1.0, dot / length)) if length > 0 else None for dot, length in pairs]


def jaccard(a: AbstractSet[str], b: AbstractSet[str]) -> float | None:
    """|a ∩ b| / |a ∪ b|; undefined for two empty sets."""
    return len(a & b) / len(a | b) if a or b else None


def overlap(cited: Sequence[AbstractSet[str]]) -> float | None:
    """O: mean Jaccard over the pairs of agents for which it is defined.

    >>> overlap([{"a", "b"}, {"b"}, set()])
    0.16666666666666666
    """
    defined = [value for a, b in combinations(cited, 2) if (value := jaccard(a, b)) is not None]
    return sum(defined) / len(defined) if defined else None


def normalised_entropy(p: Vector, size: int) -> float:
    """H(p) / log|𝒴|; 0 where |𝒴| < 2."""
    return entropy(p) / log2(size) if size > 1 else 0.0


def entropy_fall(before: Vector, after: Vector, size: int) -> float:
    """(H(p⁽ᵗ⁻¹⁾) − H(p⁽ᵗ⁾)) / log|𝒴|, with one |𝒴| for both terms; below 0 where the mixture grew less sure."""
    return normalised_entropy(before, size) - normalised_entropy(after, size)


def information_gain(before: Vector, after: Vector, size: int) -> float:
    """Î: the fall of entropy, 0 where it rose."""
    return max(0.0, entropy_fall(before, after, size))


def update(gamma: float, crit: float | None, *, decay: float) -> float:
    """Γ after a round; unchanged where nothing of the agent's was scored."""
    return gamma if crit is None else decay * gamma + (1 - decay) * crit


def weights(gammas: Sequence[float], *, floor: float) -> Vector:
    """ω: positive, summing to 1."""
    raised = np.asarray(gammas, dtype=np.float64) + floor
    return np.asarray(raised / raised.sum(), dtype=np.float64)
