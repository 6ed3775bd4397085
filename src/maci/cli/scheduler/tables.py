"""What schedules learned, and what they would have earned, as text."""

from __future__ import annotations

from typing import Any

from maci.calibration.schedule_value import Evaluation, Forecast
from maci.calibration.schedules import TaskState
from maci.controller.policies.bandit import ACTIONS, bonus, ucb


def arms_rows(state: TaskState) -> list[dict[str, Any]]:
    """What is known of each action."""
    arms = state.arms
    index, extra = ucb(arms.reward, arms.pulls, arms.t), bonus(arms.pulls, arms.t)
    return [
        {
            "action": k,
            "d_alpha": action.alpha,
            "d_gamma": action.gamma,
            "pulls": int(arms.pulls[k]),
            "mean_reward": float(arms.mean[k]) if arms.pulls[k] else None,
            "bonus": float(extra[k]),
            "bound": float(index[k]),
            "rounds": int(arms.costs[k]),
            "mean_cost": float(arms.cost[k] / arms.costs[k]) if arms.costs[k] else None,
            "dearest": float(arms.dearest[k]) if arms.costs[k] else None,
            "growth": float(arms.growth[k]) if arms.growth[k] else None,
        }
        for k, action in enumerate(ACTIONS)
    ]


def arms_table(state: TaskState) -> str:
    """The same as text."""
    pulls = int(state.arms.pulls.sum())
    lines = [
        f"{state.task}: {state.debates} debates, {pulls} rewarded rounds; rewards {state.terms}",
        f"{'action':<12}{'pulls':>7}{'mean reward':>13}{'bound':>8}{'mean tokens':>13}{'dearest':>10}{'growth':>8}",
    ]
    for row, action in zip(arms_rows(state), ACTIONS, strict=True):
        lines.append(
            f"{action!s:<12}{row['pulls']:>7}{_figure(row['mean_reward'], 3):>13}{row['bound']:>8.3f}"
            f"{_figure(row['mean_cost'], 0):>13}{_figure(row['dearest'], 0):>10}{_figure(row['growth'], 2):>8}"
        )
    lines.append(
        "bound = mean + √(2 ln t / max(1, pulls)), what `ucb` compares; `linucb` weighs the round's signals too. – is undefined."
    )
    return "\n".join(lines)


def _figure(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def evaluation_text(result: Evaluation, left_out: dict[str, int], kind: str, task: str | None) -> str:
    """What each schedule would have earned, and what that can and cannot tell."""
    tried = ", ".join(f"{ACTIONS[k]} {n}" for k, n in enumerate(result.actions) if n) or "none"
    course = f"; what `course` does: {result.course}" if result.course else ""
    lines = [
        f"{result.rounds} rounds of {result.debates} debates; rewards "
        + kind.replace("=dearest", f"={result.c_max:,.0f}, the 95th percentile of the rounds on record"),
        f"on record: {tried}{course}",
        *(f"left out: {n} debate{'s' * (n != 1)} ({why})" for why, n in left_out.items()),
        *([f"left out: {result.undefined} rounds whose reward is undefined"] if result.undefined else []),
        "learners start " + ("with nothing" if task is None else f"from {task}, without these debates"),
        "",
        f"{'schedule':<10}  {'replay: mean reward where it agrees':<48}  direct: forecast mean reward",
        f"{'on record':<10}  {_say(result.logger)}",
    ]
    for one in result.candidates:
        lines.append(f"{one.name:<10}  {_say(one.replay):<48}  {_say(one.direct)}")
        if one.infeasible:
            lines.append(f"{'':<10}  it would have stopped before {one.infeasible} of these rounds: no action fits")
    lines += [
        "",
        "Inverse propensity weighting is not possible: these schedules never act at random, so what they did not do has no",
        "probability to weigh by. Replay holds for rounds like those where both agree. Direct holds as far as rewards are linear in",
        "the signals; how wrong that is, its interval does not show. Intervals: 95 %, debates resampled.",
    ]
    return "\n".join(lines)


def _say(one: Forecast) -> str:
    if one.value is None:
        return one.why
    if one.low is None or one.high is None:
        return f"{one.value:.3f}, n {one.n} ({one.why})"
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}], n {one.n}"
