"""``maci outcome``: how a decision turned out, for later calibration."""

from __future__ import annotations

from typing import Annotated

import typer

from maci.cli.options import Json, Quiet, TranscriptPath
from maci.cli.output import echo, emit
from maci.errors import InputError


def outcome(
    transcript: TranscriptPath,
    was: Annotated[
        str | None, typer.Option(help="The outcome that turned out to be true; left out: show it.", metavar="LABEL")
    ] = None,
    note: Annotated[str, typer.Option(help="Where this is known from.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace an outcome that is recorded.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Record how a decision turned out, beside the run, for later calibration.

    Writes outcome.json into the folder of the run. The transcript is not changed.
    """
    from maci.cli.show import locate
    from maci.record.outcome import judge_outcome, read_outcome, write_outcome
    from maci.record.replay import telling
    from maci.record.transcript import read

    path, gold = locate(transcript), None
    before = read_outcome(path.parent)
    if was is None:
        if before is None:
            raise InputError(f"nothing is recorded for {path.parent}: add --was LABEL")
        known, where = before, path.parent / "outcome.json"
    else:
        recording = read(path)
        with telling(recording.events):
            known = judge_outcome(recording, was, note)
        gold = recording.opened.case.gold
        if before is not None and before.was != known.was and not force:
            raise InputError(f"{path.parent} turned out as {before.was!r} on record: add --force to replace that")
        where = write_outcome(path.parent, known)
    if json:
        emit({**known.model_dump(), "file": str(where)})
    elif not quiet:
        said = {
            True: "the debate was right",
            False: f"the debate answered {known.answer}",
            None: "the debate gave no answer",
        }
        echo(f"It was {known.was}: {said[known.right]}. ({where})")
        if gold is not None and gold != known.was:
            echo(f"The case itself names {gold} as the known answer, and `maci show` and `maci report` go by the case.")
