"""``make demo``: one debate, its record, and its replay."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import typer

from maci.cli.debate import debate
from maci.cli.replay import replay
from maci.errors import MaciError, exit_code

MACI = ".venv/bin/maci"


def main() -> None:
    """Debate, then recompute everything from the transcript."""
    out = Path("maci-runs") / f"demo-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    typer.echo(f"$ {MACI} debate dengue\n")
    debate(case="dengue", panel="readers", out=out)
    typer.echo(f"\n$ {MACI} replay {out}")
    replay(transcript=out)
    typer.echo(f"\nNext: {MACI} show {out}   ·   {MACI} cases   ·   {MACI} debate --help")


if __name__ == "__main__":
    try:
        main()
    except MaciError as error:
        typer.echo(f"maci: {error}", err=True)
        sys.exit(exit_code(error))
