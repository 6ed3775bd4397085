"""``maci config``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from maci.config import load, parameters


def run(*, profile: str | None, file: Path | None, sets: Sequence[str], json: bool, plain: bool) -> None:
    """Print the effective settings."""
    rows = parameters(load(profile, file=file, sets=sets))
    if json:
        typer.echo(jsonlib.dumps([row.model_dump() for row in rows], ensure_ascii=False))
        return
    if plain:
        for row in rows:
            changed = "" if row.value == row.default else f" (default {row.default})"
            typer.echo(f"{row.key} = {row.value}{changed}; {row.symbol}; {row.valid}; {row.meaning}")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("setting", "value", "symbol", "valid", "meaning"):
        table.add_column(column, overflow="fold", no_wrap=column == "setting")
    for row in rows:
        changed = row.value != row.default
        table.add_row(
            row.key,
            str(row.value) + (" *" if changed else ""),
            row.symbol,
            row.valid,
            row.meaning,
            style="bold" if changed else "",
        )
    console = Console(highlight=False)
    console.print(table)
    if any(row.value != row.default for row in rows):
        console.print("* differs from the default")
