"""``maci show``."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import typer

from maci.cli.view import View
from maci.controller.decisions import Finished
from maci.controller.events import schema, tree
from maci.errors import InputError
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.seating import unpriced
from maci.story import Story


def locate(path: Path) -> Path:
    """The transcript file a path stands for."""
    return path / "transcript.jsonl" if path.is_dir() else path


def run(path: Path, *, only: int | None, json: bool, plain: bool, quiet: bool) -> None:
    """Print a recorded debate."""
    path = locate(path)
    recording = read(path)
    if json:
        typer.echo(jsonlib.dumps([tree(event) for event in recording.events], ensure_ascii=False))
        return
    if only is not None and only > (last_round := Story.of(recording.events).current.number):
        raise InputError(f"--round {only}: this debate has the rounds 0 to {last_round}")
    view = View(plain=plain, silent=quiet, only=only, full=True)
    for event in recording.events:
        view.show(event)
    last = recording.events[-1]
    if isinstance(last, Finished):
        if only is None:
            view.result(last, path, priced=not unpriced(recording.opened))
    else:
        typer.echo(
            f"The debate is unfinished: {replay(recording.events).where()}. Continue it with: maci debate --resume --out {path.parent}"
        )


def schema_page() -> None:
    """Print the JSON Schema of the events."""
    typer.echo(jsonlib.dumps(schema(), indent=2, ensure_ascii=False))
