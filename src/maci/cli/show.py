"""``maci show``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maci.cli.options import OutputOptions, grouped
from maci.cli.output import echo, emit
from maci.errors import InputError, ReplayMismatch

if TYPE_CHECKING:
    from maci.controller.events import Event
    from maci.record.transcript import Recording


@grouped
def show(
    *,
    transcript: Annotated[
        Path | None, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a transcript's events.")] = False,
    round: Annotated[int | None, typer.Option(help="Only this round.", min=0)] = None,
    calls: Annotated[
        bool, typer.Option("--calls", help="What models were asked, word for word, and how each request went.")
    ] = False,
    output: OutputOptions,
) -> None:
    """Read a debate: rounds, dials, signals, arguments, and why it stopped."""
    from maci.controller.events import schema as events_schema
    from maci.controller.events import tree
    from maci.record.replay import differs, telling
    from maci.record.transcript import read

    if schema:
        typer.echo(jsonlib.dumps(events_schema(), indent=2, ensure_ascii=False))
        return
    if transcript is None:
        raise InputError("which debate? Give a TRANSCRIPT (a transcript.jsonl or its folder)")
    path = locate(transcript)
    recording = read(path)
    if output.json and not calls:
        emit([tree(event) for event in recording.events])
    else:
        with telling(recording.events):
            if calls:
                _show_calls(recording.events, round, output)
            else:
                _show(recording, path, round, output)
    if why := differs(recording.events):
        raise ReplayMismatch(f"{path} was made or changed by hand, by another version of MACI or with a plugin: {why}")


def _show(recording: Recording, path: Path, round: int | None, output: OutputOptions) -> None:
    """The debate as it went, and its result."""
    from maci.cli.view import DebateView
    from maci.record.replay import replay
    from maci.seating.seating import unpriced
    from maci.story import Story

    if round is not None and round > (last_round := Story.of(recording.events).current.number):
        raise InputError(f"--round {round}: this debate has the rounds 0 to {last_round}")
    view = DebateView(plain=output.plain, silent=output.quiet, only=round, full=True)
    for event in recording.events:
        view.show(event)
    last = recording.finished
    if last is None:
        echo(
            f"The debate is unfinished: {replay(recording.events).where()}. Continue it with: maci debate --resume --out {path.parent}"
        )
    elif round is None:
        view.result(last, path, priced=not unpriced(recording.opened))


def _show_calls(events: Sequence[Event], round: int | None, output: OutputOptions) -> None:
    """Each request with its prompt; a prompt that was shown before is named only."""
    from maci.render.markup import clean
    from maci.story.log import requests_of

    asked = [each for each in requests_of(events) if round is None or each.round == round]
    if output.json:
        emit([each.tree() for each in asked])
        return
    if not asked:
        typer.echo(
            "No model was asked anything." if round is None else f"No model was asked anything in round {round}."
        )
    shown = set[str]()
    for each in asked:
        typer.echo(f"{clean(each.heading())}\n  {clean(each.facts())}")
        if each.request.prompt in shown:
            typer.echo("  (the same prompt as above)")
        for role, text in () if each.request.prompt in shown else each.messages:
            typer.echo(f"  {clean(role)}:")
            typer.echo("\n".join(f"    {clean(line)}" for line in text.splitlines()))
        shown.add(each.request.prompt)
        if each.reply:
            typer.echo("  reply:")
            typer.echo("\n".join(f"    {clean(line)}" for line in each.reply.splitlines()))
        typer.echo()


def locate(path: Path) -> Path:
    """The transcript file a path stands for."""
    return path / "transcript.jsonl" if path.is_dir() else path
