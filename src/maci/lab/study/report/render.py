"""A study's report in one of its formats: the house's renderers, CSV with one row per method and metric, JSON with everything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from maci.calibration.stats.estimate import as_json
from maci.errors import InputError
from maci.render.html import to_html
from maci.render.latex import to_latex
from maci.render.markdown import to_markdown
from maci.render.report import Line, Report, Section, Table
from maci.render.text import to_text

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
    **{key: frozenset() for key in ("overview", "free", "variants", "distances", "trends")},
    **{key: frozenset() for key in ("missing", "failure_counts", "failures")},
}
"""Tables of the short form, with the columns that stay; all of them where none is named."""


def brief(report: Report) -> Report:
    """What one reads first."""
    sections = tuple(replace(s, verdicts=_beside(s), tables=_first(s.tables)) for s in report.sections)
    return replace(report, sections=sections, tables=_first(report.tables))


def _first(tables: Sequence[Table]) -> tuple[Table, ...]:
    kept = [(table, _FIRST[table.key]) for table in tables if table.key in _FIRST]
    return tuple(
        table.only([i for i, c in enumerate(table.columns) if c.key in named or not named]) for table, named in kept
    )


def _beside(section: Section) -> tuple[str, ...]:
    """Sentences that the table of differences does not say: it has a line for each of the first."""
    compared = next((len(t.lines) for t in section.tables if t.key == "differences"), 0)
    return section.verdicts[compared:]


def on_terminal(report: Report, *, width: int = 120, plain: bool = True, full: bool = False) -> str:
    """What one reads first, or with ``full`` all tables, all columns, all sentences."""
    last = "" if full or not report.sections else MORE
    return to_text(report if full else brief(report), width=width, plain=plain, last=last)


CSV_COLUMNS = ("section", "method", "metric", "value", "low", "high", "n")
_METHOD_TABLES = (
    "main",
    "ordered",
    "differences",
    "compute",
    "quality",
    "agreement",
    "rounds",
    "flips",
    "distances",
    "mitigation",
    "groups",
    "trends",
    "crit",
)
"""Tables whose lines are methods; a metric that two of them have is taken from the first."""


def to_csv(report: Report) -> str:
    """One row per section, method and metric; shares from 0 to 1, tokens as they are. No lines of the paper's, no names of runs.

    What dev taught about agents comes last, an agent where other rows have a method.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for section in report.sections:
        tables = sorted(
            (t for t in section.tables if t.key in _METHOD_TABLES), key=lambda t: _METHOD_TABLES.index(t.key)
        )
        seen: set[tuple[str, str]] = set()
        rows: dict[str, list[list[Any]]] = {}
        for table in tables:
            for line in table.lines:
                if line.source == "paper":
                    continue
                for column, cell in zip(table.columns, line.cells, strict=True):
                    metric = column.key if column.key != "n" or table.key == "main" else f"{table.key}_n"
                    if cell.value in ("", "ended") or (line.name, metric) in seen:
                        continue
                    seen.add((line.name, metric))
                    values = [_plain(x) for x in (cell.value, cell.low, cell.high)]
                    found = [section.title, line.name, metric, *values, "" if cell.n is None else cell.n]
                    rows.setdefault(line.name, []).append(found)
        for some in rows.values():
            writer.writerows(some)
    for table in report.tables:
        if table.key == "lessons":
            writer.writerows(row for line in table.lines for row in _lesson(table, line))
    return out.getvalue()


def _lesson(table: Table, line: Line) -> list[list[Any]]:
    """What was learnt of an agent, in the columns of methods."""
    cells = {column.key: cell for column, cell in zip(table.columns, line.cells, strict=True)}
    who = f"agent {line.name} (seed {cells['seed'].value})"
    keys = [key for key in cells if key.startswith("agent_")]
    return [[cells["data"].value, who, key, _plain(cells[key].value), "", "", cells[key].n] for key in keys]


def _plain(value: float | str | None) -> Any:
    return "" if value is None else round(value, 10) if isinstance(value, float) else value


def to_json(report: Report) -> str:
    """Every table with its cells, every chart with its points; undefined is null."""
    return json.dumps(as_json(report, 12), ensure_ascii=False, indent=1) + "\n"


_BY_NAME: Mapping[str, Callable[[Report], str]] = {
    "text": on_terminal,
    "md": to_markdown,
    "latex": to_latex,
    "html": to_html,
    "csv": to_csv,
    "json": to_json,
}
FORMATS = tuple(_BY_NAME)


def render(report: Report, format: str, *, full: bool = False) -> str:
    """The document, ending in a line break. Text is what one reads first, or with ``full`` everything, as all other formats."""
    if format not in _BY_NAME:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    return on_terminal(report, full=full) if format == "text" else _BY_NAME[format](report)
