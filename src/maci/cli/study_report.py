"""``maci study report``: what a study found, in the format asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from maci.errors import EnvironmentError_, InputError

if TYPE_CHECKING:
    from maci.lab.study.report import Report


def reporting(
    folders: Sequence[Path],
    *,
    format: str,
    out: Path | None,
    reference: str | None,
    resamples: int | None,
    seed: int,
    store: str | None,
    plain: bool,
    quiet: bool,
    full: bool = False,
) -> None:
    """Read the rows, compute, set in type; to standard output or to a file."""
    from maci.lab.study.report import FORMATS, Settings, build_report, gather, render

    if format not in FORMATS:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    if out is not None and out.is_dir():
        raise InputError(f"--out {out} is a folder: name a file in it, such as {out / f'report.{format}'}")
    settings = Settings(reference=reference, seed=seed, resamples=resamples)
    waiting = Console(stderr=True, highlight=False)
    with waiting.status("reading rows") if waiting.is_terminal and not quiet and not plain else nullcontext() as status:

        def watch(step: str) -> None:
            if status is not None:
                status.update(step)

        found = build_report(gather(folders, store), settings, watch)
    written = _on_screen(found, plain, full) if format == "text" and out is None else render(found, format, full=full)
    if out is None:
        typer.echo(written, nl=False)
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(written, encoding="utf-8", newline="\n")
    except OSError as error:
        raise EnvironmentError_(f"cannot write {out} ({error.strerror}): choose another --out") from error
    if not quiet:
        typer.echo(f"{out}: {len(written.encode()):,} bytes", err=True)


def _on_screen(found: Report, plain: bool, full: bool) -> str:
    from maci.lab.study.report.render import on_terminal

    screen = sys.stdout.isatty()
    return on_terminal(found, width=Console().width if screen else 120, plain=plain or not screen, full=full)
