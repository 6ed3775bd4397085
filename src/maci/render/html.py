"""A report as one HTML page that needs nothing else: no network, no script to be readable, light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Sequence

from maci.render.markup import Markup, document, el, join
from maci.render.report import WORDY, Cell, Report, Section, Table, show, show_value
from maci.render.svg import figure

_MEANING = {"more": "more is better", "less": "less is better", "": ""}


def to_html(report: Report, *, back: Sequence[tuple[str, str]] = ()) -> str:
    """A whole page. Tables can be sorted where scripts run. ``back``: links to where it was opened from."""
    links = [(f"s{i}", s.title) for i, s in enumerate(report.sections)]
    sections = [_section(section, f"s{i}") for i, section in enumerate(report.sections)]
    if report.tables:
        links.append(("all", "All data sets: failures, what is missing, calibration"))
        tables = [_table(table, f"all-{i}") for i, table in enumerate(report.tables)]
        sections.append(el("section", el("h2", "All data sets", id="all-h"), tables, id="all", aria_labelledby="all-h"))
    contents = el("ul", (el("li", el("a", title, href=f"#{id}")) for id, title in links))
    return document(
        report.title,
        el(
            "header",
            el("h1", report.title),
            el("div", _verdict(report), class_="verdict"),
            _notes(report.notes),
            el("nav", contents, aria_label="Sections"),
        ),
        el("main", sections, id="main"),
        el("footer", _named(report.facts), _named(report.glossary)),
        back=back,
    )


def _verdict(report: Report) -> list[Markup]:
    first, *rest = report.verdict
    return [el("p", el("span", first, class_=report.tone) if report.tone else first), *(el("p", line) for line in rest)]


def _named(pairs: Sequence[tuple[str, str]]) -> Markup:
    return el("ul", (el("li", el("b", name), f": {what}") for name, what in pairs))


def _section(section: Section, id: str) -> Markup:
    verdicts = el("ul", (el("li", line) for line in section.verdicts)) if section.verdicts else None
    charts = el("div", (figure(chart, f"{id}-c{i}") for i, chart in enumerate(section.charts)), class_="charts")
    return el(
        "section",
        el("h2", section.title, id=f"{id}-h"),
        _notes(section.notes),
        verdicts,
        charts if section.charts else None,
        (_table(table, f"{id}-t{i}") for i, table in enumerate(section.tables)),
        id=id,
        aria_labelledby=f"{id}-h",
    )


def _notes(notes: Sequence[str]) -> Markup | None:
    return el("ul", (el("li", note) for note in notes), class_="notes") if notes else None


def _table(table: Table, id: str) -> Markup:
    head = (
        el("th", table.first, scope="col"),
        [
            el(
                "th",
                column.head,
                scope="col",
                title="; ".join(x for x in (column.about, _MEANING[column.better]) if x),
            )
            for column in table.columns
        ],
    )
    rows = (el("tr", el("th", x.name, scope="row"), map(_cell, x.cells), class_=x.source) for x in table.lines)
    body = el("thead", el("tr", head)), el("tbody", rows)
    whole = el("table", body, aria_labelledby=id, class_="sortable")
    grid = join(el("div", whole, class_="scroll", role="region", tabindex=0, aria_labelledby=id), _notes(table.notes))
    if table.folded:
        return el("details", el("summary", f"{table.title} ({len(table.lines)})", id=id), grid, class_="box")
    return join(el("h3", table.title, id=id), grid)


def _cell(cell: Cell) -> Markup:
    if isinstance(cell.value, str):
        said = el("span", cell.value, class_=cell.kind) if cell.kind != "text" else cell.value
        return el("td", said, class_="words" if len(cell.value) > WORDY else None)
    about = "; ".join(x for x in ("" if cell.n is None else f"n = {cell.n}", cell.how) if x)
    first = show_value(cell)
    rest = show(cell)[len(first) :].strip()
    value = "" if cell.value is None else f"{cell.value:.12g}"
    return el("td", first, el("span", rest, class_="i") if rest else None, data_v=value, title=about or None)
