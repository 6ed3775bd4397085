"""``maci serve``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, Quiet, Redact
from maci.cli.output import emit
from maci.errors import MissingExtra
from maci.llm.keys import is_loopback_host
from maci.paths import RUNS, check_folder, writing


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
    allow_models: Annotated[
        bool,
        typer.Option(
            "--allow-models", help="Visitors may name any provider's models, not only those of your panels files."
        ),
    ] = False,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens a day, all visitors together.", min=1, metavar="N")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most dollars a day, all visitors together.", min=0, metavar="USD")
    ] = None,
    visitor_tokens: Annotated[
        int | None, typer.Option(help="Most tokens a day for one visitor (an address).", min=1, metavar="N")
    ] = None,
    visitor_usd: Annotated[
        float | None, typer.Option(help="Most dollars a day for one visitor (an address).", min=0, metavar="USD")
    ] = None,
    redact: Redact = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Serve the web app: start debates, watch and steer them, compare, replay, export.

    The first line of output is where. Also serves the panels as models at /v1, as OpenAI's API does.
    """
    from maci.web import ServerSettings, address, with_token
    from maci.web.allowance import DailyCeilings

    try:
        from maci.web import server
    except ImportError as error:
        raise MissingExtra(error.name or "fastapi", "web", "maci serve") from error

    check_folder(dir, "--dir")
    with writing(dir, "name another with --dir"):
        dir.mkdir(parents=True, exist_ok=True)
    ceilings = DailyCeilings(
        tokens=budget_tokens, usd=budget_usd, visitor_tokens=visitor_tokens, visitor_usd=visitor_usd
    )
    known = {"runs": dir, "studies": studies, "port": port, "any_model": allow_models, "ceilings": ceilings}
    known["redact"] = tuple(redact or ())
    settings = with_token(known, host, token)

    def ready(now: ServerSettings) -> None:
        where = address(now)
        if json:
            emit({"url": where, "host": now.host, "port": now.port, "dir": str(dir), "token": now.token})
        else:
            typer.echo(where)
            if not quiet:
                typer.echo(
                    f"Debates are kept in {dir}. Ctrl-C ends the server; debates under way can be resumed.", err=True
                )
                if now.token and not is_loopback_host(now.host):
                    typer.echo(
                        "Others can reach this server. The link above lets them in; it is not encrypted.", err=True
                    )
        sys.stdout.flush()
        if open_browser:
            typer.launch(where)

    server.serve(settings, ready)
