"""``maci config``."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from maci.cli.options import Json, Plain, SettingsOptions, grouped
from maci.cli.output import publish


@grouped
def config(*, settings: SettingsOptions, json: Json = False, plain: Plain = False) -> None:
    """Show every setting: its value, symbol, range and meaning."""
    from maci.config import load, parameters

    rows = parameters(load(settings.profile, file=settings.config, sets=settings.sets or ()))
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
