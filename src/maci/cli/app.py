"""``maci``: the front door. ``commands/`` holds options and help; what a command does is imported only when it runs.

Exit codes: 0 done · 1 a check failed · 2 wrong use or input · 3 provider or environment · 4 the budget ended the work before a
first answer · 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from typing import Annotated, TextIO

import typer

from maci import __version__
from maci.cli.commands.asking import ask, batch
from maci.cli.commands.audit import audits
from maci.cli.commands.checking import doctor, verify
from maci.cli.commands.data import data
from maci.cli.commands.debate import debate
from maci.cli.commands.models import models
from maci.cli.commands.preparing import calibrate, cases, config, index, panels
from maci.cli.commands.reading import plan, replay, report, show
from maci.cli.commands.scheduler import schedulers
from maci.cli.commands.serve import serve
from maci.cli.commands.study import studies
from maci.errors import InputError, MaciError, exit_code

EXITS = (
    "Exit codes: 0 done, 1 a check failed, 2 wrong use or input, 3 provider or environment, "
    "4 budget ended the work before a first answer, 130 interrupted."
)

app = typer.Typer(
    name="maci",
    help="Make several agents debate a case and end with a calibrated probability for each outcome.\n\n" + EXITS,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"maci {__version__}")
        raise typer.Exit


for command in (
    debate, ask, batch, panels, doctor, show, report, replay, plan, config, cases, index, calibrate, verify, serve,
):  # fmt: skip
    app.command()(command)
app.add_typer(models, name="models")
app.add_typer(data, name="data")
app.add_typer(schedulers, name="scheduler")
app.add_typer(studies, name="study")
app.add_typer(audits, name="audit")


def main() -> None:
    """Entry point: the one place where errors become exit codes."""
    gc.set_threshold(50_000, 20, 20)  # nearly all of a debate goes by reference count; fewer passes over the rest
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show τ gets a stand-in, not a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except MaciError as error:
        _complain(f"maci: {error}")
        sys.exit(exit_code(error))
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        _complain(f"maci: {str(error.filename)[:60]}… is longer than the name of a file can be: correct it")
        sys.exit(InputError.exit)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(130)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _silence(sys.stdout)  # the reader went away: `maci show … | head`
        sys.exit(0)


def _complain(text: str) -> None:
    """Say it where somebody may still read it; the exit code says it in any case."""
    try:
        typer.echo(text, err=True)
    except BrokenPipeError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
