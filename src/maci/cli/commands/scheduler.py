"""``maci scheduler``: its commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, Seed, Sets

schedulers = typer.Typer(help="What learned schedules (ucb, linucb) learned: show, test, move.", no_args_is_help=True)
StateFile = Annotated[
    Path | None,
    typer.Option("--store", help="File of the states (default: in MACI_STATE or your state folder).", dir_okay=False),
]
Transcripts = Annotated[
    list[Path], typer.Argument(help="transcript.jsonl files, or their folders.", metavar="TRANSCRIPT…")
]


@schedulers.command("show", short_help="How often each action was tried, what it earned and cost.")
def scheduler_show(
    task: Annotated[str | None, typer.Argument(help="Only this task.", metavar="TASK")] = None,
    store: StateFile = None,
    json: Json = False,
) -> None:
    """The arms of every task: how often each action was tried, what it earned and cost."""
    from maci.cli.scheduler import showing

    showing(task, store=store, json=json)


@schedulers.command("reset")
def scheduler_reset(
    task: Annotated[str, typer.Argument(help="The task to forget.", metavar="TASK")], store: StateFile = None
) -> None:
    """Forget what was learned about a task."""
    from maci.cli.scheduler import resetting

    resetting(task, store=store)


@schedulers.command("export")
def scheduler_export(
    task: Annotated[str | None, typer.Argument(help="Only this task.", metavar="TASK")] = None,
    to: Annotated[Path | None, typer.Option(help="File to write (default: standard output).", dir_okay=False)] = None,
    store: StateFile = None,
) -> None:
    """Write what was learned as JSON, for another machine."""
    from maci.cli.scheduler import exporting

    exporting(task, to=to, store=store)


@schedulers.command("import", short_help="Add what was exported; known debates count once.")
def scheduler_import(
    file: Annotated[Path, typer.Argument(help="What `export` wrote, or `-`.", metavar="FILE")], store: StateFile = None
) -> None:
    """Add what was exported elsewhere; debates that are known already count once."""
    from maci.cli.scheduler import bringing

    bringing(file, store=store)


@schedulers.command("learn", short_help="Enter debates on record; known ones count once.")
def scheduler_learn(transcripts: Transcripts, store: StateFile = None) -> None:
    """Enter debates on record whose schedule learns; debates that are known already count once."""
    from maci.cli.scheduler import learning

    learning(transcripts, store=store)


@schedulers.command("evaluate", short_help="What schedules would have earned on recorded debates.")
def scheduler_evaluate(
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
    from maci.cli.scheduler import evaluating

    evaluating(transcripts, task=task, sets=sets or (), store=store, seed=seed, json=json)
