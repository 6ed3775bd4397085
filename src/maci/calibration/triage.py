r"""What a development split teaches about escalation: when one agent, a vote or a debate is right, and what each step changes.

From whole debates of cases with known answers, which show all three stages at once (the first agent's opening, the mixture of all
openings, the end):

* **a, b** of one agent and of the vote: P(right) = σ(a + b · logit p), p the probability it leads with, fitted by likelihood with
  ½λ (a² + (b − 1)²), λ = 1, and b ≥ 0, so that doubt never rises with p (Platt 1999);
* **ρ, χ** of every step: the share of wrong answers it put right and of right answers it turned wrong, each drawn by
  :data:`PRIOR` pseudo-cases to what is assumed without a profile;
* **C_d**: tokens of the rounds over tokens of the openings.

They become the settings of the section ``triage``; the rule that uses them is :mod:`maci.controller.triage`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maci.calibration.temperature import fit_logistic
from maci.config import Triage
from maci.controller.state import first_agent
from maci.controller.triage import BY_REGIME
from maci.story import Story

PRIOR = 5.0
"""Pseudo-cases by which rates are drawn to those assumed without a profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One case with a known answer, as one agent, the vote and the debate answered it."""

    single_p: float
    """The probability the first agent led with."""
    single_right: bool
    vote_p: float
    vote_right: bool
    united: bool
    """All agents led with the same outcome."""
    debate_right: bool
    openings: int
    """Tokens."""
    rounds: int
    """Tokens after the openings."""


def trial(story: Story, gold: str) -> Trial | None:
    """What a whole debate teaches; ``None`` where it was none, or the first agent had no opening."""
    opened, result, start = story.opened, story.result, story.rounds[0]
    if result is None or result.answer is None or not start.closed:
        return None
    first = first_agent(story.agents, opened.config)
    if first not in start.beliefs or result.stop_reason in {"error", "budget", "triage", "stopped_by_user"}:
        return None
    truth = replace(opened.case, gold=gold).gold_among(result.raw, story.naming)
    alone, mixture = start.beliefs[first], start.mixture
    leads = {max(p, key=lambda y: p[y]) for p in start.beliefs.values()}
    openings = start.usage.tokens
    return Trial(
        single_p=max(alone.values()),
        single_right=max(alone, key=lambda y: alone[y]) == truth,
        vote_p=max(mixture.values()),
        vote_right=max(mixture, key=lambda y: mixture[y]) == truth,
        united=len(leads) == 1,
        debate_right=result.answer == truth,
        openings=openings,
        rounds=result.tokens - openings,
    )


@dataclass(frozen=True, slots=True)
class Count:
    """So many of so many."""

    k: int
    n: int

    def __str__(self) -> str:
        return f"{self.k} of {self.n}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageLessons:
    """The settings, and the counts behind them."""

    settings: dict[str, float]
    counts: dict[str, tuple[Count, Count]]
    """Step → (put right of wrong, turned wrong of right)."""
    accuracy: dict[str, float]
    """Of one agent, the vote, the debate."""

    def lines(self) -> list[str]:
        """For people."""
        right = ", ".join(f"{stage} {value:.3f}" for stage, value in self.accuracy.items())
        return [
            f"right on these cases: {right}",
            *(f"{step}: put right {good}, turned wrong {bad}" for step, (good, bad) in self.counts.items()),
        ]


def fit_chance(p: Sequence[float], right: Sequence[bool], penalty: float = 1.0) -> tuple[float, float]:
    """(a, b) of P(right) = σ(a + b · logit p); (0, 1) of nothing.

    >>> a, b = fit_chance([0.9] * 50 + [0.6] * 50, [True] * 45 + [False] * 5 + [True] * 30 + [False] * 20)
    >>> abs(a) < 0.1, abs(b - 1) < 0.1
    (True, True)
    """
    if not len(p):
        return 0.0, 1.0
    clipped = np.clip(np.asarray(p, dtype=float), 1e-6, 1 - 1e-6)
    x = np.stack([np.ones(len(clipped)), np.log(clipped / (1 - clipped))], axis=1)
    y, centre = np.asarray(right, dtype=float), np.array([0.0, 1.0])
    theta = fit_logistic(x, y, centre, penalty)
    if theta[1] < 0:  # the constraint binds: the best flat one
        shift = fit_logistic(x[:, :1], y, centre[:1], penalty)
        return float(shift[0]), 0.0
    return float(theta[0]), float(theta[1])


def learn_triage(trials: Sequence[Trial]) -> TriageLessons:
    """Rates, chances and costs from whole debates; the settings of nothing are the defaults."""
    assumed = BY_REGIME["depends"]
    divided, united = [t for t in trials if not t.united], [t for t in trials if t.united]
    steps = {
        "vote": ([(t.single_right, t.vote_right) for t in trials], assumed.vote),
        "debate": ([(t.vote_right, t.debate_right) for t in divided], assumed.debate),
        "united": ([(t.vote_right, t.debate_right) for t in united], assumed.united),
        "whole": ([(t.single_right, t.debate_right) for t in trials], assumed.whole),
    }
    settings: dict[str, float] = {"triage.learned_from": len(trials)}
    counts = {}
    for step, (pairs, prior) in steps.items():
        good, bad = _counted(pairs)
        settings[f"triage.{step}_rescue"] = (good.k + PRIOR * prior.rescue) / (good.n + PRIOR)
        settings[f"triage.{step}_harm"] = (bad.k + PRIOR * prior.harm) / (bad.n + PRIOR)
        counts[_SAID[step]] = good, bad
    single = fit_chance([t.single_p for t in trials], [t.single_right for t in trials])
    vote = fit_chance([t.vote_p for t in trials], [t.vote_right for t in trials])
    settings |= {"triage.single_shift": single[0], "triage.single_slope": single[1]}
    settings |= {"triage.vote_shift": vote[0], "triage.vote_slope": vote[1]}
    openings = sum(t.openings for t in trials)
    settings["triage.debate_cost"] = sum(t.rounds for t in trials) / openings if openings else Triage().debate_cost
    limits = {"shift": (-100.0, 100.0), "slope": (0.0, 100.0), "cost": (0.0, 1000.0)}
    for key, value in settings.items():
        if (limit := limits.get(key.rpartition("_")[2])) is not None:
            settings[key] = min(max(value, limit[0]), limit[1])
    stages = {"one agent": "single_right", "vote": "vote_right", "debate": "debate_right"}
    accuracy = {
        name: float(np.mean([getattr(t, field) for t in trials])) if trials else math.nan
        for name, field in stages.items()
    }
    return TriageLessons(
        settings={k: v if k.endswith("from") else round(v, 6) for k, v in settings.items()},
        counts=counts,
        accuracy=accuracy,
    )


_SAID = {
    "vote": "vote after one agent",
    "debate": "debate after a divided vote",
    "united": "debate after a united vote",
    "whole": "vote and debate after one agent",
}


def _counted(pairs: Sequence[tuple[bool, bool]]) -> tuple[Count, Count]:
    wrong, right = [after for before, after in pairs if not before], [after for before, after in pairs if before]
    return Count(sum(wrong), len(wrong)), Count(len(right) - sum(right), len(right))
