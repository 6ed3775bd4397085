"""The two dials and a closed round as the controller sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

from maci.controller.bandit import Choice
from maci.llm.usage import Bound
from maci.moderator.gate import Candidate

__all__ = ["Dials", "Summary"]


@dataclass(frozen=True, slots=True)
class Dials:
    """CL and τ in force for one round."""

    cl: float
    tau_q: float
    tau_crit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What stop rules and schedules may know of a closed round t ≥ 1."""

    round: int
    dials: Dials
    q: float | None
    d: float | None
    o: float | None
    crit: float | None
    """Mean CRIT of the round, Γ̄_t."""
    crit_variance: float | None
    """Across-judge variance, mean over arguments."""
    admitted: int
    candidates: tuple[Candidate, ...]
    pi_i: bool
    pi_d: bool
    same_top: bool
    """Every agent's belief has the same leading outcome."""
    gain: float | None = None
    """Î⁽ᵗ⁾"""
    d_before: float | None = None
    """D of the round before."""
    cost: Bound = field(default_factory=Bound)
    """Of the round's calls."""
    spent: Bound = field(default_factory=Bound)
    """By its end, on all calls."""
    choice: Choice | None = None
    """Under which the round was played, where the schedule learns."""
