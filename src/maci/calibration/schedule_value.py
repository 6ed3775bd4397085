r"""What another schedule would have earned, from records alone (SPEC 9).

Inverse propensity weighting is not possible here: the schedules that made the records never act at random, so an action they did not
take had probability 0, and no weight makes up for what was never tried. What is left:

- **replay** (Li et al. 2011): the candidate walks through the rounds on record; where it chooses what was done, it is given the reward
  and learns from it, everywhere else the round is passed over. With a logger that acts at random the mean over matching rounds is
  unbiased. With ours it is the mean *over rounds on which both agree*, no more.
- **direct**: a ridge regression of the reward on the context for each action, fitted without the debate it forecasts for, and
  asked about the action the candidate chooses. Right as far as rewards are linear in the context and contexts do not depend on
  earlier actions. Its interval is of the mean over debates; how wrong the regression may be is not in it.

Both intervals are 95 %, from resampled debates (rounds of a debate are not independent). Where too little was seen there is no
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from maci.config import LEARNED, Config, build
from maci.controller.bandit import ACTIONS, Arms, Context, choose, estimates, feasible, reward
from maci.controller.dials import ClosedRound
from maci.controller.events import Event
from maci.controller.policies import CourseSchedule, PlateauSchedule, context, indices
from maci.moderator.belief import Vector
from maci.record.replay import replay

ENOUGH = 30
"""Fewer matching rounds than this are not enough for a number."""
SEEN = 10
"""An action that was rewarded less often than this on record cannot be forecast."""
FEW_DEBATES = 10
CANDIDATES = ("course", "stay", *LEARNED)
"""``course`` is the default schedule; ``stay`` moves no step, as the plateau's does."""
_COURSE = len(ACTIONS)
"""What ``course`` does, beside the actions that move the plateau's steps."""
_NAMES = (*map(str, ACTIONS), "course")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """One round on record with the action that led to it."""

    debate: str
    action: int | None
    """``None``: no action of the plateau's would have set these dials."""
    course: bool
    """`course` set these dials, or would have."""
    context: Context
    gain: tuple[float | None, float | None]
    d: tuple[float | None, float | None]
    cost: float
    dearest: float
    """Of the debate's rounds before."""
    left: float
    """Tokens, when the action was chosen."""

    def did(self, choice: int | None) -> bool:
        """Whether a candidate's choice is what was done."""
        return self.course if choice == _COURSE else choice is not None and choice == self.action


def logged(events: Sequence[Event], debate: str) -> tuple[list[Logged], str]:
    """The rounds of one debate that an action or the course led to; or none, and why.

    The plateau's schedule does what ``stay`` does where α_I = α_D. In many rounds `course` sets the same dials as it: such a round
    counts for both. `ladder` and `fixed` are no candidates, and their rounds are of no action.
    """
    state = replay(events).state
    config, history, kept = state.config, state.history, state.opened.set_aside.tokens
    kind = config.dials.schedule
    if kind not in {*LEARNED, "plateau", "course"}:
        return [], f"schedule {kind}: neither the course nor steps of the plateau's"
    if kind == "plateau" and config.dials.alpha_i != config.dials.alpha_d:
        return [], "α_I and α_D differ: no action does this"
    return [
        row for i in range(1, len(history)) if (row := _row(history[: i + 1], config, debate, kept)) is not None
    ], ""


def _row(history: Sequence[ClosedRound], config: Config, debate: str, kept: int) -> Logged | None:
    before, after = history[-2], history[-1]
    kind, action = config.dials.schedule, cast(int | None, 0)
    if kind in LEARNED:
        action = after.choice.action if after.choice is not None and after.choice.counts else None
        if action is None:
            return None
    elif kind == "course" and after.dials != PlateauSchedule(config).next(history[:-1]):
        action = None
    return Logged(
        debate=debate,
        action=action,
        course=after.dials == CourseSchedule(config).next(history[:-1]),
        context=context(history[:-1], config),
        gain=(before.signals.gain, after.signals.gain),
        d=(before.signals.d, after.signals.d),
        cost=after.cost.tokens,
        dearest=max(s.cost.tokens for s in history[:-1]),
        left=config.budget.tokens - before.spent.tokens - kept,
    )


@dataclass(frozen=True, slots=True)
class Forecast:
    """A mean reward; undefined where too little was seen, and then ``why`` says so."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleValue:
    """A candidate."""

    name: str
    replay: Forecast
    direct: Forecast
    infeasible: int
    """Rounds before which it would have stopped, since no action fitted its budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """All candidates on the same records."""

    rounds: int
    debates: int
    undefined: int
    """Rounds whose reward is undefined; they are left out."""
    actions: tuple[int, ...]
    """How often each action is on record."""
    course: int
    """How many rounds on record `course` led to, or would have."""
    c_max: float
    logger: Forecast
    """What was earned on record."""
    candidates: tuple[ScheduleValue, ...]


def evaluate(rows: Sequence[Logged], config: Config, known: Arms | None = None, *, seed: int = 0) -> Evaluation:
    """What each candidate would have earned. ``known`` is what learners start from; it must not rest on these records.

    Rewards are computed alike for all records, under ``config`` and one C_max: its own, else the 95th percentile of the rounds on
    record.
    """
    own = config.bandit
    c_max = config.regime.c_max or (float(np.percentile([row.cost for row in rows], 95)) if rows else 0.0)
    rewards = [
        reward(r.gain, r.d, r.cost, c_max, w_gain=own.w_gain, w_drop=own.w_drop, cost_weight=own.cost_weight)
        for r in rows
    ]
    told = [(row, r) for row, r in zip(rows, rewards, strict=True) if r is not None]
    usable, y = [row for row, _ in told], np.array([r for _, r in told])
    counts = [sum(row.did(k) for row in usable) for k in range(len(_NAMES))]
    rng = np.random.default_rng(seed)
    forecast = _forecasts(usable, y, own.ridge)
    verdicts = []
    for name in CANDIDATES:
        chosen = _walk(name, usable, y, config, known or Arms.fresh())
        match = np.array([row.did(k) for k, row in zip(chosen, usable, strict=True)], dtype=bool)
        verdicts.append(
            ScheduleValue(
                name=name,
                replay=_matched(usable, y, match, rng),
                direct=_direct(usable, forecast, chosen, counts, rng),
                infeasible=sum(k is None for k in chosen),
            )
        )
    return Evaluation(
        rounds=len(usable),
        debates=len({row.debate for row in usable}),
        undefined=len(rows) - len(usable),
        actions=tuple(counts[:_COURSE]),
        course=counts[_COURSE],
        c_max=c_max,
        logger=_mean(usable, y, rng) if usable else Forecast(None, why="no rounds with a reward"),
        candidates=tuple(verdicts),
    )


def _walk(name: str, rows: Sequence[Logged], y: Vector, config: Config, arms: Arms) -> list[int | None]:
    """What a candidate chooses in every round on record; it learns where the record did the same."""
    if name in ("stay", "course"):
        return [0 if name == "stay" else _COURSE] * len(rows)
    kind = build(config.profile, {"dials.schedule": name})
    kind = config.model_copy(update={"dials": kind.dials})
    chosen: list[int | None] = []
    for row, earned in zip(rows, y.tolist(), strict=True):
        fits = feasible(estimates(arms, row.dearest, headroom=config.bandit.headroom), row.left)
        k = choose(indices(arms, row.context, kind), fits)
        chosen.append(k)
        if k is not None and row.did(k):
            growth = row.cost / row.dearest if row.dearest else None
            arms = arms.learn(k, earned, row.context.vector(), cost=row.cost, growth=growth)
    return chosen


def _matched(rows: Sequence[Logged], y: Vector, match: Vector, rng: np.random.Generator) -> Forecast:
    kept = [row for row, yes in zip(rows, match.tolist(), strict=True) if yes]
    if len(kept) < ENOUGH:
        return Forecast(None, n=len(kept), why=f"not enough matching rounds: {len(kept)}, {ENOUGH} are needed")
    return _mean(kept, y[match], rng)


def _direct(
    rows: Sequence[Logged],
    forecast: Vector,
    chosen: Sequence[int | None],
    counts: Sequence[int],
    rng: np.random.Generator,
) -> Forecast:
    asked = [(i, k) for i, k in enumerate(chosen) if k is not None]
    rare = sorted({k for _, k in asked if counts[k] < SEEN})
    if rare:
        named = ", ".join(f"{_NAMES[k]} ({counts[k]})" for k in rare[:3]) + (" …" if len(rare) > 3 else "")
        return Forecast(None, n=len(asked), why=f"it chooses what is hardly on record, {SEEN} are needed: {named}")
    if len(asked) < ENOUGH:
        return Forecast(None, n=len(asked), why=f"not enough rounds: {len(asked)}, {ENOUGH} are needed")
    return _mean([rows[i] for i, _ in asked], np.array([forecast[i, k] for i, k in asked]), rng)


def _forecasts(rows: Sequence[Logged], y: Vector, ridge: float, folds: int = 5) -> Vector:
    """Reward of every action in every round, by regressions that have not seen its debate."""
    names = sorted({row.debate for row in rows})
    fold_of = {name: i % folds for i, name in enumerate(names)}
    found = np.zeros((len(rows), len(_NAMES)))
    if not rows:
        return found
    x = np.stack([row.context.vector() for row in rows])
    fold = np.array([fold_of[row.debate] for row in rows])
    for k in range(len(_NAMES)):
        done = np.array([row.did(k) for row in rows])
        for f in range(folds):
            train, here = (fold != f) & done, fold == f
            a = x[train].T @ x[train] + ridge * np.eye(x.shape[1])
            found[here, k] = x[here] @ np.linalg.solve(a, x[train].T @ y[train])
    return np.clip(found, 0.0, 1.0)


def _mean(rows: Sequence[Logged], values: Vector, rng: np.random.Generator, draws: int = 2000) -> Forecast:
    """The mean with a percentile interval over resampled debates."""
    names = {name: i for i, name in enumerate(dict.fromkeys(row.debate for row in rows))}
    which = np.array([names[row.debate] for row in rows])
    sums, sizes = np.bincount(which, weights=values), np.bincount(which)
    mean = float(values.mean())
    if len(names) < FEW_DEBATES:
        return Forecast(mean, n=len(rows), why=f"no interval: {len(names)} debates, {FEW_DEBATES} are needed")
    picks = rng.integers(0, len(names), size=(draws, len(names)))
    low, high = np.percentile(sums[picks].sum(axis=1) / sizes[picks].sum(axis=1), [2.5, 97.5])
    return Forecast(mean, float(low), float(high), len(rows))
