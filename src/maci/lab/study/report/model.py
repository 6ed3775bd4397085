"""The report as data: sections of tables with typed cells and of charts with points. Nothing here or above computes a figure anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from maci.calibration.stats import Interval
from maci.render.charts import Chart

Kind = Literal["text", "share", "points", "number", "signed", "tokens", "count", "mean", "usd", "seconds", "p", "ratio"]
"""How a value is written: share as per cent, points as signed per cent, tokens in thousands, a count without digits, ratio with ×."""

DASH = "–"
_SCALE = {"share": 100.0, "points": 100.0, "tokens": 1e-3}
_DIGITS = {
    "share": 1,
    "points": 1,
    "number": 3,
    "signed": 3,
    "tokens": 1,
    "count": 0,
    "mean": 1,
    "usd": 4,
    "seconds": 2,
    "ratio": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One figure, or a word."""

    value: float | str | None = None
    """``None`` where it is undefined."""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Answers it rests on."""
    kind: Kind = "text"
    how: str = ""
    """How the interval was found."""


def text(value: str) -> Cell:
    """A word."""
    return Cell(value=value)


def number(value: float | None, kind: Kind = "number", n: int | None = None) -> Cell:
    """A figure without an interval; nan is undefined."""
    return Cell(value=None if value is None or math.isnan(value) else float(value), n=n, kind=kind)


def count(value: int) -> Cell:
    """How many."""
    return Cell(value=value, kind="count")


def estimate(found: Interval, kind: Kind = "number") -> Cell:
    """A figure with its interval.

    >>> show(estimate(Interval(0.733, 0.681, 0.78, 300, "BCa"), "share"))
    '73.3 [68.1, 78.0]'
    """
    if math.isnan(found.value):
        return Cell(n=found.n, kind=kind, how=found.how)
    return Cell(value=found.value, low=found.low, high=found.high, n=found.n, kind=kind, how=found.how)


def show(cell: Cell) -> str:
    """The cell in words: value and interval, with as many digits as the interval's width warrants.

    >>> show(Cell(value=0.12345, low=0.1, high=0.15, kind="number")), show(Cell(kind="number")), show(Cell(value=0.0001, kind="p"))
    ('0.123 [0.100, 0.150]', '–', '< 0.001')
    """
    if cell.value is None:
        return DASH
    if isinstance(cell.value, str):
        return cell.value
    if cell.low is None or cell.high is None:
        return show_value(cell)
    if cell.low == cell.high == cell.value and cell.kind in ("mean", "tokens"):  # the same in every case
        return show_value(cell)
    digits = _digits(cell)
    low, high = (_write(x, cell.kind, digits) for x in (cell.low, cell.high))
    return f"{_write(cell.value, cell.kind, digits)} [{low}, {high}]"


def show_value(cell: Cell) -> str:
    """The value alone, with the digits it has beside its interval.

    >>> show_value(Cell(value=0.7333, low=0.6, high=0.9, kind="share"))
    '73'
    >>> show_value(Cell(value=1.333, kind="ratio")), show_value(Cell(value=20.82, kind="ratio"))
    ('1.33 ×', '21 ×')
    """
    if cell.value is None:
        return DASH
    return cell.value if isinstance(cell.value, str) else _write(cell.value, cell.kind, _digits(cell))


def _digits(cell: Cell) -> int:
    """Two figures of half the interval's width; what is usual where there is none."""
    usual = _DIGITS.get(cell.kind, 3)
    if cell.low is None or cell.high is None or not math.isfinite(cell.high - cell.low) or cell.high <= cell.low:
        return usual
    half = (cell.high - cell.low) / 2 * _SCALE.get(cell.kind, 1.0)
    return min(2 if cell.kind == "tokens" else 4, max(0, 1 - math.floor(math.log10(half) + 1e-9)))


def _write(value: float, kind: Kind, digits: int) -> str:
    if kind == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    scaled = value * _SCALE.get(kind, 1.0)
    if kind == "ratio" and scaled >= 10:
        digits = 0
    written = f"{scaled:+.{digits}f}" if kind in ("points", "signed") else f"{scaled:,.{digits}f}"
    if float(written.replace(",", "")) == 0:  # no minus sign before a zero
        written = written.lstrip("+-")
    return f"{written.replace('-', '−')}{'k' if kind == 'tokens' else ' ×' if kind == 'ratio' else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column holds."""

    key: str
    """Of the figure, as in CSV: acc1, ece, tokens."""
    title: str
    better: Literal["more", "less", ""] = ""
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    source: Literal["ours", "reference", "paper", "baseline"] = "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table."""

    key: str
    title: str
    first: str = "Method"
    """Heading of the lines' names."""
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One data set of one study, or all of its data sets together."""

    key: str
    title: str
    verdicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a renderer needs."""

    title: str
    verdict: tuple[str, ...]
    """Was debate, or the reference that does without, worth it here? First the question, then the answers."""
    facts: tuple[tuple[str, str], ...] = ()
    """What it rests on: studies, cases, versions."""
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    tables: tuple[Table, ...] = field(default=())
    """What concerns all sections: failures, what is missing, calibrations."""
    glossary: tuple[tuple[str, str], ...] = ()
    """What the signs mean."""
