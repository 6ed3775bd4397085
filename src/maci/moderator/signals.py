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

**Has progress stalled?** The ratios r_I, r_D and the flags π_I, π_D (:func:`flags`):

.. math::
   r_I = \frac{\mathrm{MA}_w(\hat I)}{\mathrm{MA}_w(H(p^{(t-1)})/\log|\mathcal Y|) + \eta},\qquad
   r_D = \frac{\mathrm{MA}_w([D^{(t-1)} - D^{(t)}]_+)}{\mathrm{MA}_w(D^{(t-1)}) + \eta}

Three ways to read them (D2): ``relative`` and ``absolute`` are the paper's literal tests; ``default`` sees geometric convergence
(which ``relative`` does not) and is not fooled by stubborn agents, a rising D or steady gains (which ``absolute`` is). The paper's
``absolute`` test is on Î before it is clipped: a mixture that grows less sure has a negative gain there.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from math import log2

import numpy as np
from numpy.typing import NDArray

from maci.config import Plateau
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


@dataclass(frozen=True, slots=True)
class Progress:
    """What one round t ≥ 1 added, as the plateau test sees it."""

    fall: float
    """(H(p⁽ᵗ⁻¹⁾) − H(p⁽ᵗ⁾))/log|𝒴|, below 0 where the mixture grew less sure."""
    capacity: float
    """H(p⁽ᵗ⁻¹⁾)/log|𝒴|: what there was to gain."""
    d_before: float | None
    d: float | None
    shift: float
    """TV(p⁽ᵗ⁾, p⁽ᵗ⁻¹⁾)"""

    @property
    def gain(self) -> float:
        """Î⁽ᵗ⁾: the fall of entropy, 0 where it rose."""
        return max(0.0, self.fall)


@dataclass(frozen=True, slots=True)
class Flags:
    """π_I and π_D with the ratios behind them."""

    r_i: float
    r_d: float | None
    pi_i: bool
    pi_d: bool


def moving_average(values: Sequence[float], window: int) -> float:
    """MA_w: mean of the last ≤ w values; 0 of none (no round has passed).

    >>> moving_average([1.0, 2.0, 3.0, 4.0], 3)
    3.0
    """
    last = values[-window:]
    return sum(last) / len(last) if last else 0.0


def ratios(rounds: Sequence[Progress], window: int, eta: float) -> tuple[float, float | None]:
    """r_I and r_D after the last of ``rounds``; r_D is undefined while D never was defined."""
    gain = moving_average([r.gain for r in rounds], window)
    capacity = moving_average([r.capacity for r in rounds], window)
    falls = [(max(0.0, r.d_before - r.d), r.d_before) for r in rounds if r.d is not None and r.d_before is not None]
    if not falls:
        return gain / (capacity + eta), None
    fall = moving_average([f for f, _ in falls], window)
    before = moving_average([d for _, d in falls], window)
    return gain / (capacity + eta), fall / (before + eta)


def _rise(rounds: Sequence[Progress], window: int) -> float:
    """How far D stands above its lowest value of the last w rounds: slow rises add up, a wobble does not count."""
    recent = [r.d_before for r in rounds[-window:] if r.d_before is not None]
    return (rounds[-1].d or 0.0) - min(recent)


def flags(rounds: Sequence[Progress], config: Plateau, d_max: float) -> Flags:
    """The flags after the last of ``rounds``; an undefined D never counts as stalled.

    Steady gains of 0.1 are progress to the default rule and a plateau to the literal absolute one:

    >>> steady = [Progress(0.1, 1 - 0.1 * t, 1.0, 1.0, 0.2) for t in range(3)]
    >>> flags(steady, Plateau(), 0.3).pi_i, flags(steady, Plateau(mode="absolute"), 0.3).pi_i
    (False, True)
    """
    r_i, r_d = ratios(rounds, config.window, config.eta)
    now = rounds[-1]
    if now.d is None or now.d_before is None or r_d is None:
        change, d = None, None
    else:
        change, d = now.d - now.d_before, now.d
    match config.mode:
        case "relative":
            pi_i = r_i < config.epsilon_i
            pi_d = change is not None and r_d is not None and r_d < config.epsilon_d
        case "absolute":
            falls = [r.fall for r in rounds]
            rise = moving_average(falls, config.window) - moving_average(falls[:-1], config.window)
            pi_i = rise < config.epsilon_i
            pi_d = change is not None and abs(change) < config.epsilon_d
        case "default":
            early = len(rounds) < 2
            pi_i = not early and (r_i < config.epsilon_i or now.gain < config.epsilon_i) and now.shift < config.tv_max
            stalled = (
                change is not None
                and d is not None
                and r_d is not None
                and (r_d < config.epsilon_d or (abs(change) < config.epsilon_d and d <= d_max))
                and _rise(rounds, config.window) < config.epsilon_d
            )
            pi_d = not early and stalled
    return Flags(r_i, r_d, pi_i, pi_d)
