"""``maci serve``."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path

import typer

from maci.errors import MissingExtra
from maci.web.allowance import Ceilings
from maci.web.server import Settings, address, is_loopback_host, serve, with_token


def run(
    *,
    host: str,
    port: int,
    runs: Path,
    studies: Path,
    token: str | None,
    ceilings: Ceilings,
    browser: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Serve the web app until it is interrupted."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra(error.name or "fastapi", "web", "maci serve") from error
    settings = with_token({"runs": runs, "studies": studies, "port": port, "ceilings": ceilings}, host, token)

    def ready(now: Settings) -> None:
        where = address(now)
        if json:
            typer.echo(
                jsonlib.dumps({"url": where, "host": now.host, "port": now.port, "dir": str(runs), "token": now.token})
            )
        else:
            typer.echo(where)
            if not quiet:
                typer.echo(
                    f"Debates are kept in {runs}. Ctrl-C ends the server; debates under way can be resumed.", err=True
                )
                if now.token and not is_loopback_host(now.host):
                    typer.echo(
                        "Others can reach this server. The link above lets them in; it is not encrypted.", err=True
                    )
        sys.stdout.flush()
        if browser:
            typer.launch(where)

    serve(settings, ready)
