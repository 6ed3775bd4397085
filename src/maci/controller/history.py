"""The closed rounds: what each measured, and what stop rules and schedules look back on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from maci.controller.dials import Dials
from maci.controller.policies.bandit import Choice
from maci.llm.usage import Bound
from maci.moderator.analysis import Analysis
from maci.moderator.gate import Candidate
from maci.moderator.plateau import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The four signals, gain, ratios and flags of a round."""

    type: Literal["measured"] = "measured"
    round: int
    q: float | None
    d: float | None
    o: float | None
    crit: float | None
    crit_variance: float | None
    entropy: float
    """H(p⁽ᵗ⁾) in bits."""
    gain: float
    """Î⁽ᵗ⁾"""
    shift: float
    """TV(p⁽ᵗ⁾, p⁽ᵗ⁻¹⁾)"""
    r_i: float
    r_d: float | None
    pi_i: bool
    pi_d: bool
    analysis: Analysis

    @property
    def correct(self) -> bool | None:
        """Whether the mixture's top outcome is the gold one."""
        return self.analysis.correct


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRound:
    """What stop rules and schedules may know of a closed round t ≥ 1."""

    signals: Measured
    progress: Progress
    """What it added, as the plateau test sees it."""
    dials: Dials
    admitted: int
    candidates: tuple[Candidate, ...]
    same_top: bool
    """Every agent's belief has the same leading outcome."""
    cost: Bound = field(default_factory=Bound)
    """Of the round's calls."""
    spent: Bound = field(default_factory=Bound)
    """By its end, on all calls."""
    choice: Choice | None = None
    """Under which the round was played, where the schedule learns."""
