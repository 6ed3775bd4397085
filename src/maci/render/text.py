"""A report on a terminal. Wide tables are cut into as many as fit, each with the names; sentences in them are wrapped."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from maci.render.markup import clean
from maci.render.report import Report, Table, show

MOST = 20
"""Lines of a list that are shown; HTML and JSON have all."""
_STYLES = {"reference": "bold", "paper": "dim italic", "baseline": "dim", "ours": ""}
_TONES = {"good": "green", "warn": "yellow", "bad": "bold red", "soft": "dim"}
_SENTENCE = 32
"""Columns that a column of sentences is sure to have."""


def to_text(report: Report, *, width: int = 120, plain: bool = True, last: str = "") -> str:
    """Lines of at most ``width`` columns; ``plain``: no colour and no boxes; ``last``: what stands below everything."""
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
    console.print(_text(report.title, style="bold"))
    for i, line in enumerate(report.verdict):
        first = _text(line, style=_TONES.get(report.tone, "bold"))
        console.print(Padding(_text(line), (0, 0, 0, 2)) if i else first)
    _bullets(console, report.notes)
    for section in report.sections:
        console.print()
        console.print(_text(section.title, style="bold underline"))
        _bullets(console, section.notes)
        if section.verdicts:
            console.print()
        _bullets(console, section.verdicts)
        for table in section.tables:
            _table(console, table, plain)
    for table in report.tables:
        _table(console, table, plain)
    for name, pairs in (("Signs", report.glossary), ("", report.facts)):
        if pairs:
            console.print(_text(f"\n{name}" if name else "", style="bold"))
        for sign, what in pairs:
            console.print(_text(f"{sign}: {what}", style="dim"))
    if last:
        console.print(_text(f"\n{last}"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def screen(*, plain: bool) -> tuple[int, bool]:
    """How wide standard output is, and whether it is to be ``plain``: without colour anywhere but on a terminal."""
    terminal = sys.stdout.isatty()
    return Console().width if terminal else 120, plain or not terminal


def _text(words: str, style: str = "") -> Text:
    """Words of anybody, without what would move the cursor."""
    return Text(clean(words), style=style)


def on_screen(report: Report, *, plain: bool) -> str:
    """A report for standard output as it is."""
    width, plain = screen(plain=plain)
    return to_text(report, width=width, plain=plain)


def _bullets(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        grid = Grid.grid(padding=(0, 1))
        grid.add_row("·", _text(" ".join(line.split())))
        console.print(grid)


def _table(console: Console, table: Table, plain: bool) -> None:
    console.print()
    console.print(_text(table.title, style="bold"))
    shown = replace(table, lines=table.lines[:MOST]) if table.folded else table
    for number, columns in enumerate(_cut(shown, console.width)):
        if number:
            console.print()
        grid = Grid(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, header_style="" if plain else "bold")
        grid.add_column(_text(table.first), overflow="fold")
        for i in columns:
            grid.add_column(
                _text(table.columns[i].head), justify="left" if shown.wordy(i) else "right", overflow="fold"
            )
        for line in shown.lines:
            style = "" if plain else _STYLES[line.source]
            cells = [_text(show(cell), style=_TONES.get(cell.kind, "")) for cell in (line.cells[i] for i in columns)]
            grid.add_row(_text(line.name), *cells, style=style)
        console.print(grid)
    if len(shown.lines) < len(table.lines):
        console.print(_text(f"… and {len(table.lines) - len(shown.lines)} more: --format html or json has all of them"))
    _bullets(console, table.notes)


def _cut(table: Table, width: int) -> Iterator[list[int]]:
    """Columns that fit beside the names, in order."""
    name = max([cell_len(table.first), *(cell_len(line.name) for line in table.lines)])
    room = width - min(name, width // 3) - 1
    row: list[int] = []
    used = 0
    for i, column in enumerate(table.columns):
        widest = max([cell_len(column.head), *(cell_len(show(line.cells[i])) for line in table.lines)]) + 2
        needed = min(widest, _SENTENCE) if table.wordy(i) else widest
        if row and used + needed > room:
            yield row
            row, used = [], 0
        row.append(i)
        used += needed
    if row:
        yield row
