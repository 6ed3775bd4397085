"""``maci data``: its commands and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from maci.cli.options import DataDir, Json, Plain

data = typer.Typer(help="List, describe and verify data sets.", no_args_is_help=False)
DataName = Annotated[str, typer.Argument(help="`maci data` lists the names.", metavar="NAME")]


@data.callback(invoke_without_command=True)
def _data(context: typer.Context, data: DataDir = None, json: Json = False, plain: Plain = False) -> None:
    """List, describe and verify data sets: what each is for, its traps, its options, whether it is here."""
    context.obj = data
    if context.invoked_subcommand is None:
        from maci.cli.data import listing

        listing(data=data, json=json, plain=plain)


@data.command("show")
def data_show(
    context: typer.Context, name: DataName, data: DataDir = None, json: Json = False, plain: Plain = False
) -> None:
    """Describe a data set: traps, options, files, licence, where to get it, and the shape of an item."""
    from maci.cli.data import showing

    showing(name, data=data or context.obj, json=json, plain=plain)


@data.command("verify")
def data_verify(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only this one.", metavar="NAME")] = None,
    data: DataDir = None,
    json: Json = False,
) -> None:
    """Read every file that is here and compare its SHA-256; exits 1 where one differs."""
    from maci.cli.data import verifying

    verifying(name, data=data or context.obj, json=json)
