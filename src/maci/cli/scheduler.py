"""``maci scheduler``: what learned schedules learned, and what others would have earned."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import Json, Seed, Sets
from maci.cli.output import publish
from maci.cli.show import locate
from maci.errors import InputError, MaciError
from maci.paths import save

if TYPE_CHECKING:
    from maci.calibration.schedule_value import Evaluation, Forecast, Logged
    from maci.calibration.schedules import Schedules, TaskState
    from maci.record.transcript import Recording

scheduler = typer.Typer(no_args_is_help=True)
StateFile = Annotated[
    Path | None,
    typer.Option("--store", help="File of the states (default: in MACI_STATE or your state folder).", dir_okay=False),
]
Task = Annotated[str | None, typer.Argument(help="Only this task.", metavar="TASK")]
Transcripts = Annotated[
    list[Path], typer.Argument(help="transcript.jsonl files, or their folders.", metavar="TRANSCRIPT…")
]


@scheduler.command("show", short_help="How often each action was tried, what it earned and cost.")
def showing(task: Task = None, store: StateFile = None, json: Json = False) -> None:
    """The arms of every task: how often each action was tried, what it earned and cost."""
    with _schedules(store, task) as known:
        tasks = [(name, kind) for name, kind, _ in known.tasks() if task in (None, name)]
        states = [known.state(name, kind) for name, kind in tasks]
        where = known.path
    found = [{"task": s.task, "rewards": s.terms, "debates": s.debates, "arms": _arms_rows(s)} for s in states]
    nothing = f"Nothing was learned yet ({where}). A debate with --set schedule=ucb or linucb begins it."
    publish(found, ["\n\n".join(map(_arms_table, states)) or nothing], json=json)


@scheduler.command("reset")
def resetting(
    task: Annotated[str, typer.Argument(help="The task to forget.", metavar="TASK")],
    store: StateFile = None,
    json: Json = False,
) -> None:
    """Forget what was learned about a task."""
    with _schedules(store, task) as known:
        gone = known.reset(task)
    said = (
        f"{task}: forgotten, {gone} debates. Their transcripts can be read in again: maci scheduler learn TRANSCRIPT…"
    )
    publish({"task": task, "debates": gone}, [said], json=json)


@scheduler.command("export")
def exporting(
    task: Task = None,
    to: Annotated[Path | None, typer.Option(help="File to write (default: standard output).", dir_okay=False)] = None,
    store: StateFile = None,
    json: Json = False,
) -> None:
    """Write what was learned as JSON, for another machine."""
    with _schedules(store, task) as known:
        text = known.export(task)
    if to is None:
        typer.echo(text)
        return
    save(to, text + "\n", "name another with --to")
    said = f"{to} written; take it in elsewhere with: maci scheduler import {to.name}"
    publish({"file": str(to)}, [said], json=json)


@scheduler.command("import", short_help="Add what was exported; known debates count once.")
def bringing(
    file: Annotated[Path, typer.Argument(help="What `export` wrote, or `-`.", metavar="FILE")],
    store: StateFile = None,
    json: Json = False,
) -> None:
    """Add what was exported elsewhere; debates that are known already count once."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    with _schedules(store) as known:
        new, old = known.bring(text, str(file))
    publish({"new": new, "known": old}, [f"{new} debates taken in, {old} were known already"], json=json)


@scheduler.command("learn", short_help="Enter debates on record; known ones count once.")
def learning(transcripts: Transcripts, store: StateFile = None, json: Json = False) -> None:
    """Enter debates on record whose schedule learns; debates that are known already count once."""
    from maci.calibration.schedules import report

    new = 0
    with _schedules(store) as known:
        for path, recording in _recordings(transcripts):
            try:
                new += known.enter(report(recording.events))
            except InputError as error:
                raise InputError(f"{path}: {error}") from error
    old = len(transcripts) - new
    publish({"new": new, "known": old}, [f"{new} debates entered, {old} were known already"], json=json)


@scheduler.command("evaluate", short_help="What schedules would have earned on recorded debates.")
def evaluating(
    transcripts: Transcripts,
    task: Annotated[
        str | None, typer.Option(help="Learners start from this task's state, without these debates.")
    ] = None,
    sets: Sets = None,
    store: StateFile = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """What each schedule would have earned on recorded debates, with what that can and cannot tell."""
    from maci.calibration.schedule_value import evaluate, logged
    from maci.calibration.schedules import terms
    from maci.config import load

    config = load(sets=sets or ())
    rows: list[Logged] = []
    left_out: dict[str, int] = {}
    ids: list[str] = []
    for path, recording in sorted(_recordings(transcripts), key=lambda pair: (pair[1].opened.created, str(pair[0]))):
        opened = recording.opened
        name = str(path) if opened.learned is None else opened.learned.debate
        if name in ids:
            left_out["named twice"] = left_out.get("named twice", 0) + 1
            continue
        ids.append(name)
        try:
            found, why = logged(recording.events, name)
        except MaciError as error:
            raise type(error)(f"{path}: {error}") from error
        rows += found
        if why:
            left_out[why] = left_out.get(why, 0) + 1
    known = None
    if task is not None:
        with _schedules(store, task) as states:
            known = states.state(task, terms(config), without=ids).arms
    result = evaluate(rows, config, known, seed=seed)
    verdicts = _evaluation_text(result, left_out, terms(config), task)
    publish({**asdict(result), "left_out": left_out}, [verdicts], json=json)


def _recordings(paths: Sequence[Path]) -> list[tuple[Path, Recording]]:
    from maci.record.transcript import read

    return [(path, read(locate(path))) for path in paths]


@contextmanager
def _schedules(store: Path | None, task: str | None = None) -> Iterator[Schedules]:
    """What was learned; a task of which nothing is known is refused."""
    from maci.calibration.schedules import Schedules

    with Schedules(store) as known:
        names = sorted({name for name, _, _ in known.tasks()})
        if task is not None and task not in names:
            there = f"there are {', '.join(names)}" if names else "nothing was learned yet"
            raise InputError(f"no task is called {task!r}: {there}")
        yield known


def _arms_rows(state: TaskState) -> list[dict[str, Any]]:
    """What is known of each action."""
    from maci.controller.bandit import ACTIONS, bonus, ucb

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


def _arms_table(state: TaskState) -> str:
    """The same as text."""
    from maci.controller.bandit import ACTIONS

    pulls = int(state.arms.pulls.sum())
    lines = [
        f"{state.task}: {state.debates} debates, {pulls} rewarded rounds; rewards {state.terms}",
        f"{'action':<12}{'pulls':>7}{'mean reward':>13}{'bound':>8}{'mean tokens':>13}{'dearest':>10}{'growth':>8}",
    ]
    for row, action in zip(_arms_rows(state), ACTIONS, strict=True):
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


def _evaluation_text(result: Evaluation, left_out: dict[str, int], kind: str, task: str | None) -> str:
    """What each schedule would have earned, and what that can and cannot tell."""
    from maci.controller.bandit import ACTIONS

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
