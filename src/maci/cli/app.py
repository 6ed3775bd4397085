"""``maci``: the front door. Each command has a file of its name, imported when it is called; heavy imports wait until it runs.

Exit codes: 0 done · 1 a check failed · 2 wrong use or input · 3 provider or environment · 4 the budget ended the work before a
first answer · 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from maci import __version__
from maci.cli.options import complete
from maci.errors import (
    ConfigError,
    EnvironmentError_,
    InputError,
    MaciError,
    Undecidable,
    exit_code,
    install,
    is_output_lost,
)
from maci.llm.offline import heed_environment
from maci.render.markup import clean

COMMANDS = {
    "init": "Find the models this machine can use, propose a panel, and write it to maci.toml.",
    "debate": "Debate one case.",
    "ask": "Answer a case by one agent, a vote or a debate: as far as it pays.",
    "batch": "Debate many cases, or ask about them, under one budget.",
    "panels": "List the panels: built-in ones and those of your panels files.",
    "plugins": "List the plugins of installed packages: name, kind, package, version, and whether each loads.",
    "doctor": "Check what a debate needs: keys, endpoints, weights, structured output; each with its fix.",
    "show": "Read a debate: rounds, dials, signals, arguments, and why it stopped.",
    "report": "Write a debate as a page: the verdict first, then its story, evidence, charts and audit.",
    "replay": "Recompute every number of a debate; with other settings, ask when they would have stopped it.",
    "plan": "What to find out next: questions, tests and queries, by what each is expected to bring.",
    "config": "Show every setting, or one: its value, symbol, range and meaning.",
    "cases": "List the built-in cases, or print one as a YAML file.",
    "index": "Turn documents into an evidence index for --corpus.",
    "calibrate": "Learn thresholds, the temperature of reported probabilities, and prediction sets from cases with known answers.",
    "verify": "Check what is claimed of the rules by simulation: claim, measured, pass or fail; exits 1 where one fails.",
    "serve": "Serve the web app: start debates, watch and steer them, compare, replay, export.",
    "mcp": "Serve debates to MCP clients over standard input and output.",
    "models": "List, pull, verify and remove model weights.",
    "data": "List, describe and verify data sets.",
    "scheduler": "What learned schedules (ucb, linucb) learned: show, test, move.",
    "study": "Compare methods on data sets: run, resume, report, export.",
    "lab": "When does a debate pay? A map for simulated agents with estimated habits.",
    "export": "Turn debates into training data: conversations, preference pairs, tables.",
    "sign": "Sign a finished transcript with a secret key: who has the key can check that nobody else wrote it.",
    "verify-signature": "Check who signed a transcript; exits 1 if nobody did with this key.",
    "outcome": "Record how a decision turned out, beside the run, for later calibration.",
    "prune": "Delete old runs and cached replies and embeddings; shows what it would delete first.",
    "audit": "Check what a debate rests on: its judges, its behaviour dial.",
}
"""The first line of each command's help, so that `maci --help` need not import them."""
EXITS = (
    "Exit codes: 0 done, 1 a check failed, 2 wrong use or input, 3 provider or environment, "
    "4 budget ended the work before a first answer, 130 interrupted."
)


class Door(TyperGroup):
    """Imports the command that is called, and no other."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Replace the placeholder of a command by the command itself."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else opened(name), rest


def opened(name: str) -> Any:
    """The command of a name: the function or the group of that name in the file of that name (`verify-signature`: beside `sign`)."""
    own = name.replace("-", "_")
    found = vars(import_module("maci.cli.sign" if name == "verify-signature" else f"maci.cli.{own}"))[own]
    alone = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.callback = each.callback and complete(each.callback)
        alone.add_typer(found, name=name, help=COMMANDS[name])
    else:
        alone.command(name)(complete(found))
    return typer.main.get_group(alone).commands[name]


app = typer.Typer(
    name="maci",
    cls=Door,
    help="Make several agents debate a case and end with a calibrated probability for each outcome.\n\n" + EXITS,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"maci {__version__}")
        raise typer.Exit


for _name, _about in COMMANDS.items():
    app.command(_name, help=_about)(lambda: None)


def main() -> None:
    """Entry point: the one place where errors become exit codes."""
    gc.set_threshold(50_000, 20, 20)  # nearly all of a debate goes by reference count; fewer passes over the rest
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show τ gets a stand-in, not a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if sys.stdout is None:  # closed by whoever started us (`>&-`); the next file opened would take its place
        _give_up(
            "standard output is closed: nothing can be printed; leave it open, or send it to a file",
            EnvironmentError_.exit,
        )
    if not os.environ.get("COLUMNS", "1").strip("0 "):  # a terminal of no width: nothing at all would be printed
        del os.environ["COLUMNS"]
    signal.signal(signal.SIGTERM, _stop)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # ignored: `nohup`
        signal.signal(signal.SIGHUP, _stop)
    heed_environment()
    try:
        _export()
        app()
    except Undecidable as error:
        from maci.cli.ending import unfit

        _give_up(unfit(error), exit_code(error))
    except MaciError as error:
        _give_up(str(error), exit_code(error))
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            name = str(error.filename)[:60]
            _give_up(f"{name}… is longer than the name of a file can be: correct it", InputError.exit)
        if not is_output_lost(error):
            raise
        why = f"standard output cannot be written to: {error.strerror}"
        _give_up(f"{why}; free some space there, or send it elsewhere", EnvironmentError_.exit)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(130)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        _silence(sys.stdout)  # the reader went away: `maci show … | head`
        sys.exit(0)


def _export() -> None:
    """Traces and metrics, where the standard variables name somebody who takes them."""
    named = [name for name in os.environ if name.startswith("OTEL_EXPORTER_OTLP_") and name.endswith("ENDPOINT")]
    if not named or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    try:
        from maci.integrations import otel

        otel.configure()
    except ImportError:
        _complain(f"maci: {named[0]} is set and nothing is exported: {install('otel')}; or set OTEL_SDK_DISABLED=true")
    except ConfigError as error:  # the variables are often set for every program of a machine
        _complain(f"maci: nothing is exported: {error}")


def _stop(*_: object) -> None:
    """SIGTERM, and SIGHUP of a terminal that is closed, end work as Ctrl-C does: through the one orderly way out.

    Also where Ctrl-C is ignored, as in a job in the background.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


def _give_up(why: str, code: int) -> NoReturn:
    _complain(f"maci: {why}")
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # said already: what cannot be written is not tried again at exit
        _silence(sys.stdout)
    sys.exit(code)


def _complain(text: str) -> None:
    """Say it where somebody may still read it; the exit code says it in any case."""
    try:
        typer.echo(clean(text), err=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
