"""The gates: the dual gate on arguments and the dispersion gate on beliefs.

An argument is admitted iff q_i ≥ τ_Q and CRIT_i ≥ τ_CRIT. What is undefined passes no gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

_ROUNDING = 1e-9
"""A value this close below a gate is at the gate: τ_Q may have been fitted to that very value."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The information dial τ; ``None`` is a gate that is switched off."""

    tau_q: float | None
    tau_crit: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An argument before the gate."""

    id: str
    agent: str
    q: float | None
    """Cosine of the argument's own verified spans with θ; undefined without any."""
    crit: float | None
    """Mean of the panel's scores; undefined where all abstained."""


def rejection(candidate: Candidate, gate: Thresholds) -> str | None:
    """Why a candidate is not admitted, or ``None`` if it is.

    >>> rejection(Candidate("1A1", "x", q=0.42, crit=0.9), Thresholds(0.5, 0.3))
    'q 0.420 < τ_Q 0.500'
    """
    if passes(candidate, gate):
        return None
    reasons = []
    if gate.tau_q is not None:
        if candidate.q is None:
            reasons.append("no verified citation")
        elif not reaches(candidate.q, gate.tau_q):
            reasons.append(f"q {candidate.q:.3f} < τ_Q {gate.tau_q:.3f}")
    if gate.tau_crit is not None:
        if candidate.crit is None:
            reasons.append("every judge abstained")
        elif not reaches(candidate.crit, gate.tau_crit):
            reasons.append(f"CRIT {candidate.crit:.3f} < τ_CRIT {gate.tau_crit:.3f}")
    return "; ".join(reasons)


def passes(candidate: Candidate, gate: Thresholds) -> bool:
    """Whether the dual gate admits a candidate: what :func:`rejection` says, without the words."""
    return reaches(candidate.q, gate.tau_q) and reaches(candidate.crit, gate.tau_crit)


def reaches(value: float | None, tau: float | None) -> bool:
    """Whether a value passes a gate; undefined passes none, a gate that is off lets all pass. Rounding does not decide.

    >>> reaches(0.1 + 0.2, 0.3), reaches(0.3, 0.1 + 0.2), reaches(0.29, 0.3), reaches(None, 0.0), reaches(None, None)
    (True, True, False, False, True)
    """
    return tau is None or (value is not None and value >= tau - _ROUNDING)


def rises(recent: Sequence[Candidate], admitted_now: int, raised: Thresholds, *, share: float) -> bool:
    """D4: may the gates rise to ``raised``? Only if enough recent candidates, and one of each agent, would still pass."""
    if not admitted_now or not recent:
        return False
    passing = [candidate.agent for candidate in recent if passes(candidate, raised)]
    return len(passing) >= share * len(recent) and {c.agent for c in recent} == set(passing)


def reverts(
    agents: AbstractSet[str],
    backed: AbstractSet[str],
    *,
    before: float,
    after: float,
    nu: float,
    mode: Literal["backed", "all", "off"],
) -> AbstractSet[str]:
    """D9: whose beliefs go back to the round before, because the round raised D by more than ν.

    >>> sorted(reverts({"x", "y"}, {"x"}, before=0.2, after=0.5, nu=0.0, mode="backed"))
    ['y']
    """
    if mode == "off" or after <= before + nu + 1e-12:
        return frozenset()
    return agents if mode == "all" else agents - backed
