"""``make demo``: one debate, its record, and its replay."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import typer

from maci.cli import app as cli
from maci.errors import MaciError, exit_code


def main() -> None:
    """Debate, then recompute everything from the transcript."""
    out = Path(mkdtemp(prefix="maci-demo-")) / "run"
    typer.echo("$ maci debate dengue\n")
    cli.debate(case="dengue", panel="readers", out=out)
    typer.echo("\n$ maci replay " + str(out))
    cli.replay(out)
    typer.echo(f"\nNext: maci show {out}   ·   maci cases   ·   maci debate --help")


if __name__ == "__main__":
    try:
        main()
    except MaciError as error:
        typer.echo(f"maci: {error}", err=True)
        sys.exit(exit_code(error))
