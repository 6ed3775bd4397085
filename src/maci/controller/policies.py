r"""Schedules: how the dials move from round to round (SPEC 4, 9).

.. math::
   CL^{(t+1)} = CL^{(t)} - \alpha_I \pi_I - \alpha_D \pi_D \in [CL_{min}, CL_{max}],\qquad
   \tau^{(t+1)} = \min(\tau^{(t)} + \gamma\,\pi_I,\ \tau_{max})

That is `plateau`, the paper's rule; `course`, the default, lowers CL every round (D17). The gates move alike under every schedule,
subject to D4; what differs is contentiousness. The learned schedules `ucb` and `linucb`
are the plateau's with their own steps α and γ, which :mod:`maci.controller.bandit` moves after every round.

For the bandit, this file turns closed rounds into contexts and lessons and chooses the next action, with the figures behind the choice.
All of it follows from the debate's starting state and its own rounds, so a replay computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from maci.config import LEARNED, Config, plugins
from maci.controller.bandit import (
    ACTIONS,
    Arm,
    Arms,
    Choice,
    Context,
    Learned,
    Lesson,
    Steps,
    choose,
    estimates,
    feasible,
    linucb,
    moved,
    reward,
    ucb,
)
from maci.controller.dials import ClosedRound, RoundDials, first_cl
from maci.llm.usage import Bound
from maci.moderator.belief import Vector
from maci.moderator.gate import Thresholds, rises

LADDER = (0.9, 0.7, 0.5, 0.3)
_ROUNDING = 1e-9
"""A rise of D that is only rounding."""


def next_gates(history: Sequence[ClosedRound], config: Config, gamma: float | None = None) -> tuple[float, float]:
    """τ_Q and τ_CRIT of the next round: up by γ while information gain has stalled, unless that would starve the debate."""
    gate, last = config.gate, history[-1]
    gamma = gate.gamma if gamma is None else gamma
    held = (last.dials.tau_q, last.dials.tau_crit)
    if not last.signals.pi_i:
        return held
    raised_q, raised_crit = (max(tau, min(tau + gamma, gate.tau_max)) for tau in held)
    with_q = gate.q_gate and last.evidence
    if not last.evidence:
        raised_q = last.dials.tau_q
    if gate.guard:
        recent = [candidate for each in history[-gate.guard_rounds :] for candidate in each.candidates]
        with_crit = gate.crit_gate and config.crit.enabled
        wanted = Thresholds(raised_q if with_q else None, raised_crit if with_crit else None)
        if not rises(recent, last.admitted, wanted, share=gate.guard_share):
            return held
    return raised_q, raised_crit


@dataclass(frozen=True, slots=True)
class PlateauSchedule:
    """Contentiousness falls while progress stalls; the other schedules differ in how it starts, or how it moves."""

    config: Config

    def first(self, q0: float | None, d0: float | None) -> float:
        """CL⁽¹⁾ from the opening, by the bins of SPEC 6."""
        dials = self.config.dials
        start = first_cl(q0, d0, dials) if dials.cl_first is None else dials.cl_first
        return min(dials.cl_max, max(dials.cl_min, start))

    def cl(self, last: ClosedRound) -> float:
        """CL after a round: CL − α_I π_I − α_D π_D."""
        signals, dials = last.signals, self.config.dials
        return _lowered(last, dials.alpha_i * signals.pi_i + dials.alpha_d * signals.pi_d, self.config)

    def next(self, history: Sequence[ClosedRound]) -> RoundDials:
        """The dials of the next round, from all closed rounds."""
        return RoundDials(self.cl(history[-1]), *next_gates(history, self.config))


def _lowered(last: ClosedRound, by: float, config: Config) -> float:
    """CL after a round, within its range."""
    fallen = min(round(last.dials.cl - by, 12), last.dials.cl)  # rounding lifts nothing
    return min(config.dials.cl_max, max(config.dials.cl_min, fallen))


class CourseSchedule(PlateauSchedule):
    """From exploring to consolidating: down by α every round, by one step more while both flags are up (D17).

    A round in which D rose on newly admitted evidence has opened something: the level is held for the next one.
    """

    def cl(self, last: ClosedRound) -> float:
        """The next lower level, or the same again."""
        signals, before = last.signals, last.progress.d_before
        rose = signals.d is not None and before is not None and signals.d > before + _ROUNDING
        if rose and last.new_evidence:
            return _lowered(last, 0.0, self.config)
        return _lowered(last, self.config.dials.alpha * (2 if signals.pi_i and signals.pi_d else 1), self.config)


@dataclass(frozen=True, slots=True)
class Learning(PlateauSchedule):
    """The plateau's schedule with steps that a bandit moves after every round; rests on what was learned before and on this debate."""

    learned: Learned | None = None

    def follow(self, history: Sequence[ClosedRound], choice: Choice) -> RoundDials:
        """The dials an action leads to."""
        steps: Steps = choice.steps
        signals = history[-1].signals
        cl = _lowered(history[-1], steps.alpha * signals.pi_i + steps.alpha * signals.pi_d, self.config)
        return RoundDials(cl, *next_gates(history, self.config, steps.gamma))

    def next(self, history: Sequence[ClosedRound]) -> RoundDials:
        """The dials of the chosen action."""
        return self.follow(history, decide(history, self.config, self.learned))


class LadderSchedule(PlateauSchedule):
    """One rung down every round: 0.9, 0.7, 0.5, 0.3."""

    def first(self, q0: float | None, d0: float | None) -> float:
        """The top rung."""
        return LADDER[0]

    def cl(self, last: ClosedRound) -> float:
        """The next lower rung."""
        return next((rung for rung in LADDER if rung < last.dials.cl), LADDER[-1])


class FixedSchedule(PlateauSchedule):
    """Contentiousness is held."""

    def first(self, q0: float | None, d0: float | None) -> float:
        """The configured level."""
        return self.config.dials.cl_fixed

    def cl(self, last: ClosedRound) -> float:
        """The same level again."""
        return last.dials.cl


class Schedule(Protocol):
    """What moves the dials. The same rounds lead to the same dials: a replay asks again."""

    def first(self, q0: float | None, d0: float | None) -> float:
        """CL⁽¹⁾ from the opening."""

    def next(self, history: Sequence[ClosedRound]) -> RoundDials:
        """The dials of the next round, from all closed rounds."""


def scheduler(config: Config, learned: Learned | None = None) -> Schedule:
    """The schedule a config names; ``learned`` is what one that learns starts from."""
    if config.dials.schedule in LEARNED:
        return Learning(config, learned)
    if config.dials.schedule.startswith(plugins.SCHEDULE):
        added: Schedule = plugins.named_schedule(config.dials.schedule)(config)
        return added
    kinds = {"course": CourseSchedule, "plateau": PlateauSchedule, "ladder": LadderSchedule, "fixed": FixedSchedule}
    return kinds[config.dials.schedule](config)


def arms_of(learned: Learned | None) -> Arms:
    """The state a debate starts from."""
    return Arms.fresh() if learned is None else _arms(learned.arms)


@lru_cache(maxsize=16)
def _arms(records: tuple[Arm, ...]) -> Arms:
    return Arms.of(records)


def context(history: Sequence[ClosedRound], config: Config) -> Context:
    """What is known after the last round. Q₀ measures what was retrieved, not what was admitted, so ΔQ begins with round 2."""
    now, spent = history[-1].signals, history[-1].spent
    before = history[-2].signals if len(history) > 1 else None
    budget = config.budget
    shares = [1 - spent.tokens / budget.tokens if budget.tokens else 0.0]
    if budget.usd is not None:
        shares.append(1 - spent.usd / budget.usd if budget.usd else 0.0)
    return Context(
        d=now.d,
        d_change=_change(history[-1].progress.d_before, now.d),
        q=now.q,
        q_change=None if before is None else _change(before.q, now.q),
        gain=now.gain,
        gain_change=None if before is None else _change(before.gain, now.gain),
        budget=max(0.0, min(shares)),
    )


def _change(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def lessons(history: Sequence[ClosedRound], config: Config, known: Arms) -> tuple[Lesson, ...]:
    """What the actions of a debate taught, in order. C_max is the calibration's, else the dearest round seen until then."""
    own, found = config.bandit, []
    for i, after in enumerate(history):
        choice = after.choice
        if i == 0 or choice is None or choice.action is None or not choice.counts:
            continue
        before, cost = history[i - 1], after.cost.tokens
        dearest = max(s.cost.tokens for s in history[:i])
        c_max = config.regime.c_max or max(float(known.dearest.max()), dearest, cost)
        earned = reward(
            (before.signals.gain, after.signals.gain),
            (before.signals.d, after.signals.d),
            cost,
            c_max,
            w_gain=own.w_gain,
            w_drop=own.w_drop,
            cost_weight=own.cost_weight,
        )
        growth = cost / dearest if dearest else None
        found.append(Lesson(action=choice.action, context=choice.context, reward=earned, cost=cost, growth=growth))
    return tuple(found)


def indices(arms: Arms, seen: Context, config: Config) -> Vector:
    """The index of every action under a config's schedule."""
    own = config.bandit
    if config.dials.schedule == "linucb":
        return linucb(arms.design, arms.response, seen.vector(), exploration=own.exploration, ridge=own.ridge)
    return ucb(arms.reward, arms.pulls, arms.t, exploration=own.exploration)


def decide(
    history: Sequence[ClosedRound], config: Config, learned: Learned | None, set_aside: Bound = Bound()
) -> Choice:
    """The action after the last round, with all that decided it: the best index among those that fit the budget, if any does.

    ``set_aside``: what of the budget is kept for the end.
    """
    own, budget, now = config.bandit, config.budget, history[-1]
    known = arms_of(learned)
    taught = lessons(history, config, known)
    arms = known
    for lesson in taught:
        arms = arms.taught(lesson)
    seen = context(history, config)
    index = indices(arms, seen, config)
    estimate = estimates(arms, max(s.cost.tokens for s in history), headroom=own.headroom)
    left = budget.tokens - now.spent.tokens - set_aside.tokens
    fits = feasible(estimate, left)
    if budget.usd is not None:
        dollars = estimates(arms, max(s.cost.usd for s in history), headroom=own.headroom)
        fits &= feasible(dollars, budget.usd - now.spent.usd - set_aside.usd)
    action = choose(index, fits)
    steps = Steps(config.dials.alpha_i, config.gate.gamma) if now.choice is None else now.choice.steps
    return Choice(
        action=action,
        steps=steps if action is None else moved(steps, ACTIONS[action]),
        t=arms.t,
        context=seen,
        index=tuple(index.tolist()),
        estimate=tuple(estimate.tolist()),
        feasible=tuple(k for k, fit in enumerate(fits.tolist()) if fit),
        left=left,
        lesson=taught[-1] if taught and now.choice is not None and now.choice.counts else None,
    )
