"""``maci show``, ``report``, ``replay`` and ``plan``, which read a transcript: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import ConfigFile, Json, Plain, Profile, Quiet, Sets, TranscriptPath
from maci.errors import InputError


def show(
    transcript: Annotated[
        Path | None, typer.Argument(help="A transcript.jsonl, or the folder that holds it.", metavar="TRANSCRIPT")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a transcript's events.")] = False,
    round: Annotated[int | None, typer.Option(help="Only this round.", min=0)] = None,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Read a debate: rounds, dials, signals, arguments, and why it stopped."""
    from maci.cli.show import run, schema_page

    if schema:
        schema_page()
        return
    if transcript is None:
        raise InputError("which debate? Give a TRANSCRIPT (a transcript.jsonl or its folder)")
    run(transcript, only=round, json=json, plain=plain, quiet=quiet)


def report(
    path: Annotated[
        Path, typer.Argument(help="A transcript.jsonl, its folder, or a folder of debates.", metavar="TRANSCRIPT|DIR")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: report.html beside the transcript).", dir_okay=False)
    ] = None,
    format: Annotated[str, typer.Option(help="`html`, one file that needs nothing else, or `md`, a note.")] = "html",
    open: Annotated[bool, typer.Option("--open", help="Show it in your browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a debate as a page: the verdict first, then its story, evidence, charts and audit.

    A folder of several debates becomes an index page and a report beside each transcript. Markdown goes to standard
    output unless --out names a file.
    """
    from maci.cli.report import run

    run(path, out=out, format=format, open=open, json=json, quiet=quiet)


def replay(
    transcript: TranscriptPath,
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute every number of a debate; with other settings, ask when they would have stopped it."""
    from maci.cli.replay import run

    run(transcript, profile=profile, config=config, sets=sets or [], json=json, quiet=quiet)


def plan(
    transcript: TranscriptPath,
    top: Annotated[int | None, typer.Option(help="Most items (default: as recorded, 6).", min=1, max=50)] = None,
    batch: Annotated[
        int | None, typer.Option(help="The best K to ask together, before any answer is known.", min=1, max=50)
    ] = None,
    utilities: Annotated[
        Path | None,
        typer.Option(
            help="Rank by value: a file with actions and their utility per outcome (default: the recorded ones, if any).",
            dir_okay=False,
        ),
    ] = None,
    bits: Annotated[bool, typer.Option("--bits", help="Rank by information though utilities are on record.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the queries as JSON, for a retrieval system.", dir_okay=False)
    ] = None,
    json: Json = False,
    plain: Plain = False,  # noqa: ARG001  it is plain anyway
    quiet: Quiet = False,
) -> None:
    """What to find out next: questions, tests and queries, by what each is expected to bring."""
    from maci.cli.plan import run

    run(transcript, top=top, batch=batch, utilities=utilities, bits=bits, export=export, json=json, quiet=quiet)
