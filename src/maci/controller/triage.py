r"""Decides whether a case is worth more than one agent's answer: a vote, or a debate (SPEC 6).

:func:`regime` advises, after the opening and before any round is paid for, whether a debate is worth it for this case. Triage
(:class:`Triaged`) decides whether the next step is worth its tokens.

For an answer that is right with probability c, going one step further

    gains  G = ρ (1 − c) − χ c        ρ: wrong answers the step puts right; χ: right answers it turns wrong
    costs  C tokens                   expected, from what was spent so far

and is taken while 100 G W > C, W being the tokens that one percentage point of accuracy is worth (``triage.worth``). c comes from
the leading probability p as fitted on a development split, logit c = a + b · logit p. ρ, χ, a and b come from ``maci calibrate``
(section ``triage``) or, without it, from :data:`BY_REGIME`.

=======  ==================================================================
c        :func:`chance_right`
ρ, χ     :class:`Rates`
G, C     :attr:`Prospect.gain`, :attr:`Prospect.tokens`
W        ``config.triage.worth``
=======  ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from maci.config import Config
from maci.controller.dials import RoundEvent, RoundNumber


@dataclass(frozen=True, slots=True)
class RegimeAdvice:
    """Advice, with the tests behind it."""

    kind: Literal["debate", "vote", "depends"]
    why: tuple[str, ...]


def regime(
    size: int, q0: float | None, d0: float | None, o0: float | None, sources: int, config: Config
) -> RegimeAdvice:
    """Which regime a case is in, and why.

    >>> regime(120, 0.3, 0.7, 0.0, 5, Config()).kind
    'debate'
    >>> regime(4, 0.8, 0.1, 0.9, 1, Config()).kind
    'vote'
    """
    few, many, collapse, weak, apart, several, little, *off = checks(size, q0, d0, o0, sources, config)
    limits = config.regime
    why: list[str] = []
    if many.holds and weak.holds and apart.holds:
        why.append(
            f"{size} outcomes (≥ {limits.tau_y}), weak evidence (Q₀ {q0:.2f}) and strong disagreement (D₀ {d0:.2f})"
        )
    if several.holds and little.holds:
        why.append(f"{sources} sources and little shared evidence (O₀ {o0:.2f} < {config.stop.tau_o:g})")
    if any(check.holds for check in off):
        why.append(f"a vote is badly calibrated here (ECE {limits.vote_ece:.3f} ≥ {limits.ece_delta:g})")
    if why:
        return RegimeAdvice("debate", tuple(why))
    if few.holds:
        return RegimeAdvice("vote", (f"{size} outcomes (≤ {few.threshold}): a vote usually suffices",))
    if collapse.holds:
        return RegimeAdvice("debate", (f"{size} outcomes (≥ {limits.collapse_y}): agreement of voters collapses",))
    if size > limits.tau_y:
        return RegimeAdvice("debate", (f"{size} outcomes (> {limits.tau_y}): debate is likely to pay",))
    return RegimeAdvice(
        "depends", (f"{size} outcomes: between voting and debate; the crossover lies at about 10 to {limits.tau_y}",)
    )


_FEW = 5
"""Outcomes up to which a vote suffices that is known to be calibrated."""

Stage = Literal["single", "vote", "debate"]


class Rates(NamedTuple):
    """What a step does to answers."""

    rescue: float
    """ρ: share of wrong answers that it puts right."""
    harm: float
    """χ: share of right answers that it turns wrong."""


class Ladder(NamedTuple):
    """The rates of every step."""

    vote: Rates
    """From one agent to the vote."""
    debate: Rates
    """From a divided vote to the debate."""
    united: Rates
    """From a vote in which all lead with one outcome to the debate."""
    whole: Rates
    """From one agent through the vote to the debate."""


BY_REGIME: Mapping[str, Ladder] = {
    "vote": Ladder(Rates(0.40, 0.20), Rates(0.15, 0.20), Rates(0.03, 0.02), Rates(0.40, 0.25)),
    "depends": Ladder(Rates(0.40, 0.12), Rates(0.20, 0.15), Rates(0.02, 0.02), Rates(0.42, 0.17)),
    "debate": Ladder(Rates(0.40, 0.07), Rates(0.23, 0.10), Rates(0.02, 0.01), Rates(0.45, 0.10)),
}
"""Rates where nothing was learnt (docs/decisions/016-triage.md says from which development texts)."""


@dataclass(frozen=True, slots=True)
class Check:
    """One figure that was looked at, with what it is compared with."""

    name: str
    value: float | None
    relation: Literal["≤", "≥", "<", ">"]
    threshold: float | None
    holds: bool
    why: str = ""
    """What it means if it holds."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What going further is expected to bring, from where the case stands."""

    to: Stage
    gain: float
    """G, a probability: 0.05 is five percentage points."""
    tokens: int
    """C"""
    worth: float
    """Tokens the gain is worth: 100 G W."""
    pays: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Triaged(RoundEvent):
    """Whether to stop here or go a step further, and why."""

    type: Literal["triaged"] = "triaged"
    round: RoundNumber = 0
    stage: Stage
    """Whose answer stands so far."""
    answer: str | None
    """``None``: nobody has given one."""
    confidence: float | None
    """c: the chance that it is right."""
    margin: float | None
    """Between the two leading outcomes."""
    regime: RegimeAdvice
    """As far as it can be known at this stage."""
    checks: tuple[Check, ...]
    steps: tuple[Prospect, ...]
    tokens: int
    """Spent so far."""
    escalate: bool
    why: tuple[str, ...]


def chance_right(p: float, shift: float, slope: float) -> float:
    """The chance c that an answer that leads with probability p is right.

    >>> round(chance_right(0.8, 0.0, 1.0), 6), round(chance_right(0.01, 2.0, 0.5), 3)
    (0.8, 0.426)
    """
    p = min(max(p, 1e-6), 1 - 1e-6)
    z = shift + slope * math.log(p / (1 - p))
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def gain(c: float, rates: Rates) -> float:
    """G of a step.

    >>> round(gain(0.6, Rates(0.3, 0.05)), 3), round(gain(1.0, Rates(0.3, 0.05)), 3)
    (0.09, -0.05)
    """
    return rates.rescue * (1 - c) - rates.harm * c


def ladder(kind: str, config: Config) -> Ladder:
    """The rates of a regime, or those that were learnt."""
    own = config.triage
    if not own.learned_from:
        return BY_REGIME[kind]
    return Ladder(
        Rates(own.vote_rescue, own.vote_harm),
        Rates(own.debate_rescue, own.debate_harm),
        Rates(own.united_rescue, own.united_harm),
        Rates(own.whole_rescue, own.whole_harm),
    )


def prospects(
    stage: Stage, c: float, kind: str, *, united: bool, agents: int, tokens: int, config: Config
) -> tuple[Prospect, ...]:
    """Every way further from here; ``tokens`` is what the openings so far took.

    >>> [step] = prospects("vote", 0.5, "debate", united=False, agents=3, tokens=6000, config=Config())
    >>> step.to, round(step.gain, 3), step.tokens, step.pays
    ('debate', 0.065, 18000, False)
    """
    rates, own = ladder(kind, config), config.triage
    if stage == "vote":
        options = [("debate", rates.united if united else rates.debate, own.debate_cost * tokens)]
    else:
        rest = float(tokens * (agents - 1))
        options = [("vote", rates.vote, rest), ("debate", rates.whole, rest + own.debate_cost * tokens * agents)]
    found = []
    for to, rate, cost in options:
        expected = gain(c, rate)
        worth = 100 * expected * own.worth
        found.append(Prospect(to, expected, round(cost), worth, expected > 0 and worth > cost))  # type: ignore[arg-type]
    return tuple(found)


def checks(
    size: int, q0: float | None, d0: float | None, o0: float | None, sources: int, config: Config
) -> tuple[Check, ...]:
    """The tests of the regime (SPEC 6), each with its figure and its threshold; undefined never holds.

    >>> [check.name for check in checks(4, 0.8, 0.1, 0.9, 1, Config()) if check.holds]
    ['outcomes']
    """
    limits, bins = config.regime, config.dials
    sound = limits.vote_ece is not None and limits.vote_ece < limits.ece_delta
    few = max(limits.vote_y, _FEW) if sound else limits.vote_y
    found = [
        Check("outcomes", size, "≤", few, size <= few, "few enough for a vote"),
        Check("outcomes", size, "≥", limits.tau_y, size >= limits.tau_y, "so many that debate is likely to pay"),
        Check("outcomes", size, "≥", limits.collapse_y, size >= limits.collapse_y, "so many that voting collapses"),
        Check("Q₀", q0, "≤", bins.q_lo, q0 is not None and q0 <= bins.q_lo, "weak evidence"),
        Check("D₀", d0, "≥", bins.d_hi, d0 is not None and d0 >= bins.d_hi, "strong disagreement"),
        Check("sources", sources, ">", 1, sources > 1, "several sources"),
        Check("O₀", o0, "<", config.stop.tau_o, o0 is not None and o0 < config.stop.tau_o, "little shared evidence"),
    ]
    if limits.vote_ece is not None:
        bad = limits.vote_ece >= limits.ece_delta
        found.append(Check("ECE of a vote", limits.vote_ece, "≥", limits.ece_delta, bad, "a vote is badly calibrated"))
    return tuple(found)
