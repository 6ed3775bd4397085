"""``maci doctor`` and ``maci verify``: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Agents, Json, Judges, Panel, Plain, Quiet, Seed


def doctor(
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server; only look at this machine.")] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds a model may take (default: 30, and 180 to load a local one).", min=0.1)
    ] = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Check what a debate needs: keys, endpoints, weights, structured output; each with its fix.

    Every model named is asked twice, for a few tokens; without --panel, --agents or --judges, every service that has
    a key is asked what it serves, which costs nothing, and every local model that is here is tried.
    """
    from maci.cli.doctor import run
    from maci.seating.seating import Choice

    run(Choice(panel=panel, agents=agents, judges=judges), offline=offline, timeout=timeout, json=json, plain=plain)


def verify(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller simulations: under a minute.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this check (may be given again).", metavar="CHECK")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verify.html and plots.", file_okay=False)] = Path("maci-verify"),
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Check what is claimed of the rules by simulation: claim, measured, pass or fail; exits 1 where one fails.

    Negative findings are shown too: where a rule of the paper does not do what it is for, and what the default does.
    """
    from maci.cli.verify import run

    run(quick=quick, only=only or [], out=out, seed=seed, json=json, plain=plain, quiet=quiet)
