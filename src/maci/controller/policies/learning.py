"""From closed rounds to the bandit and back: contexts, lessons, and the next action with all that decided it.

Everything follows from what the debate started from and its own rounds, so that a replay computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from maci.config import Config
from maci.controller.history import ClosedRound
from maci.controller.policies.bandit import (
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
from maci.moderator.belief import Vector


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


def decide(history: Sequence[ClosedRound], config: Config, learned: Learned | None) -> Choice:
    """The action after the last round: the best index among those whose round fits the budget."""
    own, budget, now = config.bandit, config.budget, history[-1]
    known = arms_of(learned)
    taught = lessons(history, config, known)
    arms = known
    for lesson in taught:
        arms = arms.taught(lesson)
    seen = context(history, config)
    index = indices(arms, seen, config)
    estimate = estimates(arms, max(s.cost.tokens for s in history), headroom=own.headroom)
    left = budget.tokens - now.spent.tokens
    fits = feasible(estimate, left)
    if budget.usd is not None:
        dollars = estimates(arms, max(s.cost.usd for s in history), headroom=own.headroom)
        fits &= feasible(dollars, budget.usd - now.spent.usd)
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
