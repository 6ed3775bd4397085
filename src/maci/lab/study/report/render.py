"""The report as Markdown.

For other programs: CSV with one row per method and metric, JSON with everything.

A report in one of its formats.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from maci.errors import InputError
from maci.lab.study.report.html import to_html
from maci.lab.study.report.latex import to_latex
from maci.lab.study.report.model import Line, Report, Section, Table, show
from maci.lab.study.report.terminal import to_text
from maci.render.markdown import escape


def to_markdown(report: Report) -> str:
    """GitHub's dialect; the reference in bold, the paper's lines in italics."""
    parts = [f"# {escape(report.title)}", *(f"**{escape(line)}**" for line in report.verdict[:1])]
    parts.append("\n".join(f"- {escape(line)}" for line in report.verdict[1:]))
    parts += [f"> {escape(note)}" for note in report.notes]
    parts += [part for section in report.sections for part in _section(section)]
    if report.tables:
        parts.append("## All data sets")
        parts += [part for table in report.tables for part in _table(table)]
    parts.append("## What this rests on")
    parts.append("\n".join(f"- {escape(name)}: {escape(what)}" for name, what in report.facts))
    if report.glossary:
        parts += ["## Signs", "\n".join(f"- {escape(sign)}: {escape(what)}" for sign, what in report.glossary)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {escape(section.title)}", "\n".join(f"- {escape(note)}" for note in section.notes)]
    parts.append("\n".join(f"- {escape(line)}" for line in section.verdicts))
    return parts + [part for table in section.tables for part in _table(table)]


def _table(table: Table) -> list[str]:
    arrows = {"more": " ↑", "less": " ↓", "": ""}
    head = [table.first, *(column.title + arrows[column.better] for column in table.columns)]
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|---|" + "---:|" * len(table.columns)]
    for line in table.lines:
        mark = {"reference": "**", "paper": "*"}.get(line.source, "")
        name = f"{mark}{escape(line.name)}{mark}"
        lines.append("| " + " | ".join([name, *(escape(show(cell)) for cell in line.cells)]) + " |")
    return [f"### {escape(table.title)}", "\n".join(lines), "\n".join(f"- {escape(note)}" for note in table.notes)]


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
    return json.dumps(_clean(dataclasses.asdict(report)), ensure_ascii=False, indent=1) + "\n"


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(x) for x in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else round(value, 12)
    return value


_BY_NAME: Mapping[str, Callable[[Report], str]] = {
    "text": to_text,
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
    return to_text(report, full=full) if format == "text" else _BY_NAME[format](report)
