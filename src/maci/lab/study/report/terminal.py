"""The report on a terminal: what one reads first, or everything. Wide tables are cut into as many as fit, each with the names."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from maci.lab.study.report.model import Column, Line, Report, Section, Table, show

MOST = 20
"""Lines of a list that are shown; HTML and JSON have all."""
MORE = (
    "More tables (equal compute, ablations, members, evidence quality, groups, rounds, flips, signals, contentiousness, raters and "
    "articles, judges' agreement, reliability, calibration): --full, --format md, "
    "or --format html --out report.html with charts."
)
_FIRST: Mapping[str, frozenset[str]] = {
    "main": frozenset({"n", "acc1", "ece", "ece_calibrated", "brier", "tokens", "rounds", "unscored"}),
    "differences": frozenset(
        {"verdict", "cases", "acc1_difference", "p_mcnemar_adjusted", "brier_difference", "token_ratio"}
    ),
    "overview": frozenset(),
    "free": frozenset(),
    "variants": frozenset(),
    "distances": frozenset(),
    "trends": frozenset(),
    "missing": frozenset(),
    "failure_counts": frozenset(),
    "failures": frozenset(),
}
"""Tables of the short form, with the columns that stay; all of them where none is named."""
_STYLES = {"reference": "bold", "paper": "dim italic", "baseline": "dim", "ours": ""}


def to_text(report: Report, *, width: int = 120, plain: bool = True, full: bool = False) -> str:
    """Lines of at most ``width`` columns; ``plain``: no colour and no boxes; ``full``: all tables, all columns, all sentences."""
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
        verdicts = section.verdicts if full else _beside(section)
        if verdicts:
            console.print()
        _bullets(console, verdicts)
        for table in section.tables if full else _first(section.tables):
            _table(console, table, plain)
    for table in report.tables if full else _first(report.tables):
        _table(console, table, plain)
    console.print()
    if report.glossary:
        console.print(Text("Signs", style="bold"))
    for sign, what in report.glossary:
        console.print(Text(f"{sign}: {what}", style="dim"))
    console.print()
    for name, what in report.facts:
        console.print(Text(f"{name}: {what}", style="dim"))
    if not full and report.sections:
        console.print()
        console.print(Text(MORE))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(lines) + "\n"


def _first(tables: Sequence[Table]) -> list[Table]:
    """What one reads first."""
    found = []
    for table in tables:
        if table.key not in _FIRST:
            continue
        keep = [i for i, c in enumerate(table.columns) if c.key in _FIRST[table.key] or not _FIRST[table.key]]
        lines = (replace(line, cells=tuple(line.cells[i] for i in keep)) for line in table.lines)
        found.append(replace(table, columns=tuple(table.columns[i] for i in keep), lines=tuple(lines)))
    return found


def _beside(section: Section) -> tuple[str, ...]:
    """Sentences that the table of differences does not say: it has a line for each of the first."""
    compared = next((len(t.lines) for t in section.tables if t.key == "differences"), 0)
    return section.verdicts[compared:]


def _bullets(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        grid = Grid.grid(padding=(0, 1))
        grid.add_row("·", Text(" ".join(line.split())))
        console.print(grid)


def _table(console: Console, table: Table, plain: bool) -> None:
    console.print()
    console.print(Text(table.title, style="bold"))
    shown = table.lines[:MOST] if table.key in ("failures", "calibrations", "lessons") else table.lines
    for number, columns in enumerate(_cut(table, shown, console.width)):
        if number:
            console.print()
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
