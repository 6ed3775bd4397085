"""The two dials, where they start (SPEC 6, D5), and what is kept of each closed round.

========  ========  ======
Q₀        D₀        CL⁽¹⁾
========  ========  ======
high      low       0.7
low       high      0.9
otherwise           0.8
========  ========  ======

A :class:`ClosedRound` holds what the round measured; stop rules and schedules look back on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, Literal

from pydantic import Field

from maci.config import Config, Dials
from maci.controller.bandit import Choice
from maci.llm.usage import Bound
from maci.moderator.divergence import Analysis
from maci.moderator.gate import Candidate
from maci.moderator.signals import Progress


@dataclass(frozen=True, slots=True)
class RoundDials:
    """CL and τ in force for one round."""

    cl: float
    tau_q: float
    tau_crit: float


def first_cl(q0: float | None, d0: float | None, config: Dials) -> float:
    """CL⁽¹⁾ from the opening's evidence quality and disagreement.

    >>> first_cl(0.8, 0.2, Dials()), first_cl(0.4, 0.6, Dials()), first_cl(None, 0.6, Dials())
    (0.7, 0.9, 0.8)
    """
    if q0 is None or d0 is None:
        return 0.8
    if q0 >= config.q_hi and d0 <= config.d_lo:
        return 0.7
    if q0 <= config.q_lo and d0 >= config.d_hi:
        return 0.9
    return 0.8


def first_tau_q(cosines: Sequence[float], config: Config) -> tuple[float, str | None]:
    """τ_Q⁽¹⁾, and what to tell the user where it was fitted to the evidence instead of learnt or set.

    >>> first_tau_q([0.2, 0.3, 0.4], Config())[0]
    0.3
    """
    tau = config.gate.tau_q
    fitted = fitted_tau_q(tau, cosines, config)
    if fitted is None:
        return tau, None
    why = "the calibration holds no τ_Q" if config.calibration.made_for else "no calibration profile"
    return fitted, (
        f"{why}: τ_Q starts at {fitted:.3f}, the smaller of {tau:g} and the median cosine of the "
        f"{len(cosines)} retrieved spans"
    )


def fitted_tau_q(tau: float, cosines: Sequence[float], config: Config) -> float | None:
    """The smaller of a τ_Q and the median of what there is to admit; ``None`` where it must not be fitted.

    A τ_Q that was learnt or set turns `gate.fit_tau_q` off; a calibration that holds only a temperature does not.
    """
    if not config.gate.fit_tau_q or not cosines:
        return None
    return max(0.0, min(tau, median(cosines)))


RoundNumber = Annotated[int, Field(ge=0, le=10_000)]
"""No debate has more rounds (`stop.max_rounds`); a record that says otherwise is refused before anything is made for each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEvent:
    """An event that belongs to one round."""

    type: str
    round: RoundNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured(RoundEvent):
    """The four signals, gain, ratios and flags of a round."""

    type: Literal["measured"] = "measured"
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
    dials: RoundDials
    admitted: int
    candidates: tuple[Candidate, ...]
    same_top: bool
    """Every agent's belief has the same leading outcome; one that leads with nothing shares none (D19)."""
    tied: tuple[str, ...] = ()
    """Outcomes that share the mixture's lead (D19); empty where one leads alone."""
    evidence: bool = True
    """There is evidence beside the case; else the gate and the stop clauses of Q and O are out of force (D15)."""
    new_evidence: bool = False
    """A span of evidence was admitted that had not been before."""
    cost: Bound = field(default_factory=Bound)
    """Of the round's calls."""
    spent: Bound = field(default_factory=Bound)
    """By its end, on all calls."""
    choice: Choice | None = None
    """Under which the round was played, where the schedule learns."""

    @property
    def agreed(self) -> bool:
        """Whether every agent leads with the same outcome, and no other shares its lead."""
        return self.same_top and not self.tied
