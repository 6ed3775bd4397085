"""``maci serve``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, Quiet
from maci.paths import RUNS


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but this machine's own needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8642,
    dir: Annotated[
        Path, typer.Option("--dir", help="Folder of the debates, one folder each.", file_okay=False, metavar="RUNS")
    ] = RUNS,
    studies: Annotated[Path, typer.Option(help="Folder of studies' results.", file_okay=False, metavar="DIR")] = Path(
        "studies-out"
    ),
    token: Annotated[
        str | None,
        typer.Option(help="What visitors must know (default: none on this machine, else one is made and printed)."),
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens a day, all visitors together.", min=1, rich_help_panel="Spending")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most dollars a day, all visitors together.", min=0, rich_help_panel="Spending")
    ] = None,
    visitor_tokens: Annotated[
        int | None, typer.Option(help="Most tokens a day for one visitor (address).", min=1, rich_help_panel="Spending")
    ] = None,
    visitor_usd: Annotated[
        float | None, typer.Option(help="Most dollars a day for one visitor.", min=0, rich_help_panel="Spending")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the web app: start debates, watch and steer them, compare, replay, export.

    The first line of output is where. Also serves the panels as models at /v1, as OpenAI's API does.
    """
    from maci.cli.serve import run
    from maci.web.allowance import Ceilings

    ceilings = Ceilings(
        tokens=budget_tokens, usd=budget_usd, visitor_tokens=visitor_tokens, visitor_usd=visitor_usd
    )
    run(
        host=host, port=port, runs=dir, studies=studies, token=token, ceilings=ceilings, browser=open_browser, json=json,
        quiet=quiet,
    )  # fmt: skip
