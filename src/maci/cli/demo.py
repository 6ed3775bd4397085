"""``make demo``: one debate, its record, and its replay."""

from __future__ import annotations

import sys

import typer

from maci.cli.commands.debate import debate
from maci.cli.commands.reading import replay
from maci.errors import MaciError, exit_code
from maci.paths import run_dir

MACI = ".venv/bin/maci"


def main() -> None:
    """Debate, then recompute everything from the transcript."""
    out = run_dir("demo")
    typer.echo(f"$ {MACI} debate dengue\n")
    debate(case="dengue", panel="readers", out=out)
    typer.echo(f"\n$ {MACI} replay {out}")
    replay(out)
    typer.echo(f"\nNext: {MACI} show {out}   ·   {MACI} cases   ·   {MACI} debate --help")


if __name__ == "__main__":
    try:
        main()
    except MaciError as error:
        typer.echo(f"maci: {error}", err=True)
        sys.exit(exit_code(error))
