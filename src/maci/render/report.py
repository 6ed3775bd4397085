"""A report as data: prose, tables of typed cells, charts of points. Studies, audits and ``maci verify`` build one; :mod:`.text`
and :mod:`.html` set it in type, and neither computes a figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from maci.render.markup import fixed

Tone = Literal["good", "warn", "bad", "soft", ""]
"""How good what is said is, in colour."""
Kind = Literal[
    "text", "share", "percent", "points", "number", "signed", "tokens", "count", "mean", "usd", "seconds", "p", "ratio",
    "good", "warn", "bad", "soft",
]  # fmt: skip
"""How a value is written: share and percent as per cent, the latter with its sign; points as signed per cent, tokens in thousands, a
count without digits, ratio with ×. The last four are words with a tone."""

DASH = "–"
WORDY = 24
"""Characters from which a word is a sentence."""
LAYOUT = {"layout": True}
"""Of fields that say how something is shown and not what it is: they are in no JSON."""
_SCALE = {"share": 100.0, "percent": 100.0, "points": 100.0, "tokens": 1e-3}
_DIGITS = {
    "share": 1,
    "percent": 1,
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
    low, high = (_write(x, cell.kind, digits).removesuffix(" %") for x in (cell.low, cell.high))
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
    written = fixed(scaled, digits, "+" if kind in ("points", "signed") else ",")
    return written + {"tokens": "k", "ratio": " ×", "percent": " %"}.get(kind, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a column holds."""

    key: str
    """Of the figure, as in CSV: acc1, ece, tokens."""
    title: str
    better: Literal["more", "less", ""] = ""
    about: str = ""
    drawn: bool = field(default=False, metadata=LAYOUT)
    """A page draws the intervals as bars in its cells, all on one scale."""

    @property
    def head(self) -> str:
        """The title, with an arrow to the better side."""
        return self.title + {"more": " ↑", "less": " ↓", "": ""}[self.better]


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns that need no more than a title."""
    return tuple(Column(key=title, title=title) for title in titles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of a table."""

    name: str
    cells: tuple[Cell, ...]
    source: Literal["ours", "reference", "paper", "baseline"] = "ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """A table."""

    key: str
    title: str
    first: str = "Method"
    """Heading of the lines' names."""
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    folded: bool = field(default=False, metadata=LAYOUT)
    """A list to look things up in: a page folds it, a terminal shows its beginning."""

    def wordy(self, column: int) -> bool:
        """Whether a column holds sentences rather than figures."""
        values = (line.cells[column].value for line in self.lines)
        return any(isinstance(value, str) and len(value) > WORDY for value in values)

    def cell(self, name: str, key: str) -> Cell:
        """The cell in the line of this name, under the column of this key."""
        line = next(line for line in self.lines if line.name == name)
        return line.cells[[column.key for column in self.columns].index(key)]

    def only(self, columns: Sequence[int]) -> ReportTable:
        """The same with some of its columns."""
        lines = tuple(replace(line, cells=tuple(line.cells[i] for i in columns)) for line in self.lines)
        return replace(self, columns=tuple(self.columns[i] for i in columns), lines=lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One mark of a chart."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    """Of y; in a forest plot of x."""
    n: int | None = None
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Marks that belong together."""

    name: str
    points: tuple[Point, ...]
    reference: bool = False
    """The one that others are compared with."""
    bound: bool = False
    """A limit, drawn dashed."""
    band: bool = False
    """Intervals are drawn as one band instead of a whisker each."""
    quiet: bool = field(default=False, metadata=LAYOUT)
    """In a scatter: a small mark without its name."""

    @classmethod
    def of(
        cls,
        name: str,
        x: Iterable[float],
        y: Iterable[float],
        *,
        low: Iterable[float] = (),
        high: Iterable[float] = (),
        bound: bool = False,
    ) -> Series:
        """From columns; what is not finite is left out.

        >>> [p.x for p in Series.of("s", [1, 2, 3], [0.5, float("nan"), 0.25]).points]
        [1.0, 3.0]
        """
        ends: list[tuple[float | None, float | None]] = list(zip(low, high, strict=True))
        found = [(float(a), float(b)) for a, b in zip(x, y, strict=True)]
        points = tuple(
            Point(x=a, y=b, low=_end(lo), high=_end(hi))
            for (a, b), (lo, hi) in zip(found, ends or [(None, None)] * len(found), strict=True)
            if math.isfinite(a) and math.isfinite(b)
        )
        return cls(name=name, points=points, bound=bound, band=bool(ends))


def _end(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing of figures."""

    title: str
    x: str
    y: str
    """A name that ends in % is drawn from shares."""
    series: tuple[Series, ...]
    kind: Literal["lines", "scatter", "forest", "reliability"] = "lines"
    key: str = ""
    about: str = ""
    """What is to be seen, for those who cannot see it; where empty, the ends of every series are said."""
    log_x: bool = False
    log_y: bool = False

    @property
    def said(self) -> str:
        """The chart in words."""
        if self.about:
            return self.about
        ends = [
            f"{s.name} from {s.points[0].y:.3g} to {s.points[-1].y:.3g}" if s.points else f"{s.name}: nothing"
            for s in self.series
        ]
        return "; ".join([f"{self.y} against {self.x}", *ends])


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part with a heading: what is said first, then charts and tables."""

    key: str
    title: str
    verdicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a renderer needs."""

    title: str
    verdict: tuple[str, ...]
    """What it comes to: the question or the answer in bold, then the rest."""
    facts: tuple[tuple[str, str], ...] = ()
    """What it rests on: data, versions, seeds."""
    notes: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    """What concerns all sections: failures, what is missing, calibrations."""
    glossary: tuple[tuple[str, str], ...] = ()
    """What the signs mean."""
    tone: Tone = field(default="", metadata=LAYOUT)
    """Of the first sentence of the verdict."""
    tabs: bool = field(default=False, metadata=LAYOUT)
    """A page shows one section at a time, where scripts run."""
