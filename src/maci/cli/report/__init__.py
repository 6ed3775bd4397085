"""``maci report``: its options. Reports are written in :mod:`maci.cli.report.write`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, Quiet
from maci.cli.output import echo, emit
from maci.cli.show import locate
from maci.errors import InputError, TranscriptError

FORMATS = ("html", "md")


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
    from maci.cli.report.write import write_index, write_report

    if format not in FORMATS:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    if out is not None and out.suffix == ".jsonl":
        raise InputError(f"--out {out} would look like a transcript: name a .{format} file")
    several = [] if path.is_file() or (path / "transcript.jsonl").exists() else sorted(path.rglob("transcript.jsonl"))
    if path.is_dir() and not several and not (path / "transcript.jsonl").exists():
        raise InputError(f"{path} holds no transcript.jsonl: name a debate's folder (--out of `maci debate`)")
    if several:
        written, failed = write_index(path, several, out, format)
    else:
        written, failed = [write_report(locate(path), out, format)], {}
    shown = [file for file in written if file is not None]
    if json:
        emit({"written": [str(f) for f in shown], "failed": failed})
    elif not quiet:
        for file in shown[:1]:
            more = f" and {len(shown) - 1} more" if len(shown) > 1 else ""
            echo(f"{file}{more}: {file.stat().st_size:,} bytes", err=True)
        for name, why in failed.items():
            echo(f"{name}: {why}", err=True)
    if open and shown:
        webbrowser.open(shown[0].resolve().as_uri())
    if failed:
        raise TranscriptError(f"{len(failed)} of {len(several)} transcripts cannot be read; the index names them")
