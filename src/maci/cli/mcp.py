"""``maci mcp``: debates for MCP clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Redact
from maci.cli.output import emit
from maci.errors import installed
from maci.paths import RUNS, check_folder, writing


def mcp(
    dir: Annotated[
        Path, typer.Option("--dir", help="Folder of the debates, one folder each.", file_okay=False, metavar="RUNS")
    ] = RUNS,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens while it runs, all requests together.", min=1, metavar="N")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Most dollars while it runs, all requests together.", min=0, metavar="USD")
    ] = None,
    redact: Redact = None,
    json: Annotated[
        bool, typer.Option("--json", help="Serve nothing: print the entry for the configuration of a client.")
    ] = False,
) -> None:
    """Serve debates to MCP clients over standard input and output.

    Tools: debate, ask, plan, audit, search_runs. Resources: transcripts and reports. Clients choose among your panels; a request can
    set a smaller budget than --budget-tokens and --budget-usd. `maci mcp --json` prints what a client's configuration needs.
    """
    installed("mcp", "mcp", "maci mcp")
    check_folder(dir, "--dir")
    if json:
        given = {"--dir": dir.absolute(), "--budget-tokens": budget_tokens, "--budget-usd": budget_usd}
        options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        options += [word for field in redact or () for word in ("--redact", field)]
        words = ["-P", "-m", "maci", "mcp", *options]  # -P: no module of the folder that the client happens to work in
        emit({"mcpServers": {"maci": {"command": sys.executable, "args": words}}})
        return
    from maci.integrations.mcp import Ceilings, DebateService, serve

    with writing(dir, "name another with --dir"):
        dir.mkdir(parents=True, exist_ok=True)
    serve(DebateService(dir, Ceilings(tokens=budget_tokens, usd=budget_usd), tuple(redact or ())))
