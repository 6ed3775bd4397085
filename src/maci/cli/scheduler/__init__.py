"""``maci scheduler``: what learned schedules learned. It is shown by :mod:`maci.cli.scheduler.tables`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maci.cli.options import Json, Seed, Sets
from maci.cli.output import publish
from maci.cli.show import locate
from maci.errors import InputError, MaciError
from maci.paths import save

if TYPE_CHECKING:
    from maci.calibration.schedule_value import Logged
    from maci.calibration.schedules import Schedules
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
    from maci.cli.scheduler.tables import arms_rows, arms_table

    with _schedules(store, task) as known:
        tasks = [(name, kind) for name, kind, _ in known.tasks() if task in (None, name)]
        states = [known.state(name, kind) for name, kind in tasks]
        where = known.path
    found = [{"task": s.task, "rewards": s.terms, "debates": s.debates, "arms": arms_rows(s)} for s in states]
    nothing = f"Nothing was learned yet ({where}). A debate with --set schedule=ucb or linucb begins it."
    publish(found, ["\n\n".join(map(arms_table, states)) or nothing], json=json)


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
    from maci.cli.scheduler.tables import evaluation_text
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
    verdicts = evaluation_text(result, left_out, terms(config), task)
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
