"""The report on a terminal: wide tables are cut into as many as fit, each with the methods' names."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from maci.study.report.model import Column, Line, Report, Table, show

__all__ = ["to_text"]

MOST = 20
"""Lines of a list that are shown; HTML and JSON have all."""
_STYLES = {"reference": "bold", "paper": "dim italic", "baseline": "dim", "ours": ""}


def to_text(report: Report, *, width: int = 120, plain: bool = True) -> str:
    """Lines of at most ``width`` columns; ``plain``: no colour and no boxes."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(60, width),
        force_terminal=not plain,
        no_color=plain,
        color_system=None if plain else "standard",
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    console.print(Text(report.title, style="bold"))
    for i, line in enumerate(report.verdict):
        console.print(Text(line, style="bold" if i == 0 else "") if i == 0 else Padding(Text(line), (0, 0, 0, 2)))
    _bullets(console, report.notes)
    for section in report.sections:
        console.print()
        console.print(Text(section.title, style="bold underline"))
        _bullets(console, section.notes)
        console.print()
        _bullets(console, section.verdicts)
        for table in section.tables:
            _table(console, table, plain)
    for table in report.tables:
        _table(console, table, plain)
    console.print()
    for name, what in report.facts:
        console.print(Text(f"{name}: {what}", style="dim"))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


def _bullets(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        grid = Grid.grid(padding=(0, 1))
        grid.add_row("·", Text(" ".join(line.split())))
        console.print(grid)


def _table(console: Console, table: Table, plain: bool) -> None:
    console.print()
    console.print(Text(table.title, style="bold"))
    shown = table.lines[:MOST] if table.key in ("failures", "calibrations", "lessons") else table.lines
    for columns in _cut(table, shown, console.width):
        grid = Grid(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, header_style="" if plain else "bold")
        grid.add_column(Text(table.first), overflow="fold")
        for i in columns:
            words = table.columns[i].key in ("reason", "note", "data")
            grid.add_column(Text(_head(table.columns[i])), justify="left" if words else "right", overflow="fold")
        for line in shown:
            style = "" if plain else _STYLES[line.source]
            cells = [Text(show(line.cells[i])) for i in columns]
            grid.add_row(Text(line.name), *cells, style=style)
        console.print(grid)
    if len(shown) < len(table.lines):
        console.print(Text(f"… and {len(table.lines) - len(shown)} more: --format html or json has all of them"))
    _bullets(console, table.notes)


def _head(column: Column) -> str:
    return column.title + {"more": " ↑", "less": " ↓", "": ""}[column.better]


def _cut(table: Table, lines: Sequence[Line], width: int) -> Iterator[list[int]]:
    """Columns that fit beside the names, in order."""
    name = max([cell_len(table.first), *(cell_len(line.name) for line in lines)])
    room = width - min(name, width // 3) - 1
    row: list[int] = []
    used = 0
    for i, column in enumerate(table.columns):
        widest = max([cell_len(_head(column)), *(cell_len(show(line.cells[i])) for line in lines)]) + 2
        if row and used + widest > room:
            yield row
            row, used = [], 0
        row.append(i)
        used += widest
    if row:
        yield row
