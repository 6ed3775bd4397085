"""``maci config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from maci.cli.options import Json, Plain, SettingsOptions, grouped
from maci.cli.output import echo, publish

if TYPE_CHECKING:
    from maci.config import Parameter


@grouped
def config(
    *,
    key: Annotated[
        str | None, typer.Argument(help="Only this setting or section, such as tau_q or gate.", metavar="KEY")
    ] = None,
    settings: SettingsOptions,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Show every setting, or one: its value, symbol, range and meaning."""
    from maci.config import full_key, load, parameters
    from maci.seating.project import project_defaults
    from maci.story.words import as_sentence

    project = project_defaults()
    profile = settings.profile or (project.file.profile if settings.config is None else None)
    config = load(profile, file=settings.config, sets=settings.sets or (), base=project.settings)
    for note in config.notes:
        typer.echo(as_sentence(note), err=True)
    rows = parameters(config)
    if key is not None:
        sections = {row.key.partition(".")[0] for row in rows}
        wanted = {row.key for row in rows if row.key.startswith(f"{key}.")} if key in sections else {full_key(key)}
        rows = [row for row in rows if row.key in wanted]
        if key not in sections and not json:
            _one(rows[0], plain=plain)
            return
    if json or plain:
        lines = (
            f"{row.key} = {row.value}{'' if row.value == row.default else f' (default {row.default})'}; "
            f"{row.symbol}; {row.valid}; {row.meaning}"
            for row in rows
        )
        publish([row.model_dump() for row in rows], lines, json=json)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("setting", "value", "symbol", "valid", "meaning"):
        table.add_column(column, overflow="fold", no_wrap=column == "setting")
    for row in rows:
        mark, style = ("", "") if row.value == row.default else (" *", "bold")
        table.add_row(row.key, f"{row.value}{mark}", row.symbol, row.valid, row.meaning, style=style)
    console = Console(highlight=False)
    console.print(table)
    if any(row.value != row.default for row in rows):
        console.print("* differs from the default")


def _one(row: Parameter, *, plain: bool) -> None:
    """One setting in full."""
    changed = "" if row.value == row.default else f" (default {row.default})"
    echo(f"{row.key} = {row.value}{changed}")
    typer.echo(f"  {row.meaning}")
    typer.echo(f"  symbol {row.symbol}; {row.valid}")
    if not plain:
        typer.echo(f"  change it with --set {row.key}=VALUE or MACI_{row.key.replace('.', '_').upper()}")
