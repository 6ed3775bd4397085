"""For other programs: CSV with one row per method and metric, JSON with everything."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from typing import Any

from maci.study.report.model import Line, Report, Table

__all__ = ["CSV_COLUMNS", "to_csv", "to_json"]

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
