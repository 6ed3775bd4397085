"""The report as one HTML page that needs nothing else: no network, no script to be readable, light or dark, wide or narrow."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from maci.study.report.model import Cell, Line, Report, Section, Table, show, show_value
from maci.study.report.svg import draw

__all__ = ["to_html"]

_FOLDED = ("failures", "calibrations", "lessons")
_ARROWS = {"more": " ↑", "less": " ↓", "": ""}
_MEANING = {"more": "more is better", "less": "less is better", "": ""}


def to_html(report: Report) -> str:
    """A whole page. Tables can be sorted where scripts run."""
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(report.title)}</title>\n'
        f"<style>\n{_part('page.css')}</style>\n</head>\n<body>\n"
    )
    links = "".join(f'<li><a href="#s{i}">{escape(s.title)}</a></li>' for i, s in enumerate(report.sections))
    if report.tables:
        links += '<li><a href="#all">All data sets: failures, what is missing, calibration</a></li>'
    parts = [head, f"<header><h1>{escape(report.title)}</h1>"]
    verdict = "".join(f"<p>{escape(line)}</p>" for line in report.verdict)
    parts.append(f'<div class="verdict">{verdict}</div>{_notes(report.notes)}')
    parts.append(f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n<main>')
    parts += [_section(section, f"s{i}") for i, section in enumerate(report.sections)]
    if report.tables:
        tables = "".join(_table(table, f"all-{i}") for i, table in enumerate(report.tables))
        parts.append(f'<section id="all" aria-labelledby="all-h"><h2 id="all-h">All data sets</h2>{tables}</section>')
    facts = "".join(f"<li><b>{escape(name)}</b>: {escape(what)}</li>" for name, what in report.facts)
    signs = "".join(f"<li><b>{escape(sign)}</b>: {escape(what)}</li>" for sign, what in report.glossary)
    parts.append(
        f"</main>\n<footer><ul>{facts}</ul><ul>{signs}</ul></footer>\n<script>\n{_part('page.js')}</script>\n</body>\n</html>\n"
    )
    return "\n".join(parts)


def _part(name: str) -> str:
    return files("maci.study.report").joinpath(name).read_text(encoding="utf-8")


def _section(section: Section, id: str) -> str:
    verdicts = "".join(f"<li>{escape(line)}</li>" for line in section.verdicts)
    charts = []
    for i, chart in enumerate(section.charts):
        kind = ' class="wide"' if chart.kind == "reliability" else ""
        drawn = draw(chart, f"{id}-c{i}")
        charts.append(
            f"<figure{kind}><figcaption>{escape(chart.title)}</figcaption>{drawn}<p>{escape(chart.about)}</p></figure>"
        )
    tables = "".join(_table(table, f"{id}-t{i}") for i, table in enumerate(section.tables))
    return (
        f'<section id="{id}" aria-labelledby="{id}-h"><h2 id="{id}-h">{escape(section.title)}</h2>{_notes(section.notes)}'
        f'<ul>{verdicts}</ul>\n<div class="charts">{"".join(charts)}</div>\n{tables}</section>\n'
    )


def _notes(notes: tuple[str, ...]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<ul class="notes">{items}</ul>' if notes else ""


def _table(table: Table, id: str) -> str:
    head = "".join(
        f'<th scope="col" title="{escape("; ".join(x for x in (column.about, _MEANING[column.better]) if x))}">'
        f"{escape(column.title + _ARROWS[column.better])}</th>"
        for column in table.columns
    )
    body = "\n".join(_line(line) for line in table.lines)
    grid = (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{id}"><table aria-labelledby="{id}"><thead><tr>'
        f'<th scope="col">{escape(table.first)}</th>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>{_notes(table.notes)}\n'
    )
    title = escape(table.title)
    if table.key in _FOLDED:
        return f'<details><summary id="{id}">{title} ({len(table.lines)})</summary>{grid}</details>'
    return f'<h3 id="{id}">{title}</h3>{grid}'


def _line(line: Line) -> str:
    cells = "".join(map(_cell, line.cells))
    return f'<tr class="{line.source}"><th scope="row">{escape(line.name)}</th>{cells}</tr>'


def _cell(cell: Cell) -> str:
    if isinstance(cell.value, str):
        words = ' class="words"' if len(cell.value) > 24 else ""
        return f"<td{words}>{escape(cell.value)}</td>"
    value = "" if cell.value is None else f"{cell.value:.12g}"
    about = "; ".join(x for x in ("" if cell.n is None else f"n = {cell.n}", cell.how) if x)
    title = f' title="{escape(about)}"' if about else ""
    first = show_value(cell)
    rest = show(cell)[len(first) :].strip()
    interval = f'<span class="i">{escape(rest)}</span>' if rest else ""
    return f'<td data-v="{value}"{title}>{escape(first)}{interval}</td>'
