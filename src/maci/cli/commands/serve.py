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
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the web app: start debates, watch and steer them, compare, replay, export.

    The first line of output is where. Also serves the panels as models at /v1, as OpenAI's API does.
    """
    from maci.cli.serve import run

    run(host=host, port=port, runs=dir, studies=studies, token=token, browser=open_browser, json=json, quiet=quiet)
