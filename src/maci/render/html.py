"""A report as one HTML page that needs nothing else: no network, no script to be readable, light or dark, wide or narrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from maci.render.markup import Child, Markup, document, el, join
from maci.render.report import WORDY, Cell, Report, ReportTable, Section, show, show_value
from maci.render.strips import interval
from maci.render.svg import figure

_MEANING = {"more": "more is better", "less": "less is better", "": ""}


def to_html(report: Report, *, back: Sequence[tuple[str, str]] = ()) -> str:
    """A whole page. Tables can be sorted where scripts run. ``back``: links to where it was opened from."""
    sections = [_section(section, f"s{i}", later=report.tabs and i > 0) for i, section in enumerate(report.sections)]
    links = [_link(f"s{i}", s.title, s.tables if report.tabs else ()) for i, s in enumerate(report.sections)]
    if report.tables:
        links.append(_link("all", "All data sets", ()))
        tables = [_table(table, f"all-t{i}") for i, table in enumerate(report.tables)]
        sections.append(el("section", el("h2", "All data sets", id="all-h"), tables, id="all", aria_labelledby="all-h"))
    return document(
        report.title,
        el("header", el("h1", report.title), el("div", _verdict(report), class_="verdict"), _notes(report.notes)),
        el(
            "div",
            el("nav", el("ul", links), aria_label="Sections", class_="contents"),
            el("main", sections, id="main", class_="tabs" if report.tabs else None),
            class_="beside-contents" if report.tabs else None,
        ),
        el("footer", _named(report.facts), _named(report.glossary)),
        back=back,
    )


def _link(id: str, title: str, tables: Sequence[ReportTable]) -> Markup:
    """An entry of the contents, with a link to each table below it; of many of one kind, to the first."""
    kinds = Counter(table.key.partition(":")[0] for table in tables if ":" in table.key)
    inside, named = list[Markup](), set[str]()
    for i, table in enumerate(tables):
        kind = table.key.partition(":")[0]
        if kinds[kind] < _MANY or kind not in named:
            named_so = table.title if kinds[kind] < _MANY else kind.capitalize()
            inside.append(el("li", el("a", named_so, href=f"#{id}-t{i}")))
        named.add(kind)
    return el("li", el("a", title, href=f"#{id}"), el("ul", inside) if tables else None)


def _verdict(report: Report) -> list[Markup]:
    first, *rest = report.verdict
    return [el("p", el("span", first, class_=report.tone) if report.tone else first), *(el("p", line) for line in rest)]


def _named(pairs: Sequence[tuple[str, str]]) -> Markup:
    return el("ul", (el("li", el("b", name), f": {what}") for name, what in pairs))


def _section(section: Section, id: str, *, later: bool) -> Markup:
    """What is said, then tables and charts; a chart with the key of a folded table is folded with it."""
    verdicts = el("ul", (el("li", line) for line in section.verdicts)) if len(section.verdicts) > 1 else None
    said = el("p", section.verdicts[0], class_="said") if len(section.verdicts) == 1 else verdicts
    folded = {table.key for table in section.tables if table.folded}
    drawn = [(chart.key, figure(chart, f"{id}-c{i}")) for i, chart in enumerate(section.charts)]
    shown = [one for key, one in drawn if key not in folded]
    charts = el("div", shown, class_="charts") if shown else None
    tables = [
        _table(table, f"{id}-t{i}", [one for key, one in drawn if key == table.key and table.folded])
        for i, table in enumerate(section.tables)
    ]
    parts = list(zip(section.tables, tables, strict=True))
    open_ = [one for table, one in parts if not table.folded]
    first = [*open_, charts] if later or folded else [charts, *open_]
    return el(
        "section",
        el("h2", section.title, id=f"{id}-h"),
        said,
        _notes(section.notes),
        _later(first) if later else first,
        _grouped([(table.key, one) for table, one in parts if table.folded]),
        id=id,
        aria_labelledby=f"{id}-h",
    )


_MANY = 4
"""Folded tables of a kind from which they are folded together."""


def _grouped(folded: Sequence[tuple[str, Markup]]) -> list[Markup]:
    """Folded tables; many of one kind, such as ``signals:…`` for each method, stand behind one title."""
    found = list[Markup]()
    for kind, run in groupby(folded, lambda pair: pair[0].partition(":")[0] if ":" in pair[0] else ""):
        tables = [one for _, one in run]
        if kind and len(tables) >= _MANY:
            title = f"{kind.capitalize()}, one by one ({len(tables)})"
            tables = [el("details", el("summary", title), tables, class_="box")]
        found += tables
    return found


def _later(*parts: Child) -> Markup:
    """Parts that become elements when they are looked at. Where no scripts run a browser reads them at once, like the rest."""
    return el("div", el("noscript", *parts), class_="later")


def _notes(notes: Sequence[str]) -> Markup | None:
    return el("ul", (el("li", note) for note in notes), class_="notes") if notes else None


def _table(table: ReportTable, id: str, charts: Sequence[Markup] = ()) -> Markup:
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
    scales = [_reach(table, i) if column.drawn else None for i, column in enumerate(table.columns)]
    rows = (el("tr", el("th", x.name, scope="row"), map(_cell, x.cells, scales), class_=x.source) for x in table.lines)
    body = el("thead", el("tr", head)), el("tbody", rows)
    whole = el("table", body, aria_labelledby=id, class_="sortable")
    grid = join(el("div", whole, class_="scroll", role="region", tabindex=0, aria_labelledby=id), _notes(table.notes))
    if table.folded:
        inside = join(el("div", charts, class_="charts") if charts else None, grid)
        return el("details", el("summary", f"{table.title} ({len(table.lines)})", id=id), _later(inside), class_="box")
    return join(el("h3", table.title, id=id), grid)


def _reach(table: ReportTable, column: int) -> tuple[float, float]:
    """The ends of all intervals of a column, 0 among them where they are differences."""
    cells = [line.cells[column] for line in table.lines]
    ends = [x for cell in cells for x in (cell.low, cell.high) if x is not None]
    ends += [0.0] if any(cell.kind in ("points", "signed") for cell in cells) else []
    return (min(ends), max(ends)) if ends else (0.0, 1.0)


def _cell(cell: Cell, scale: tuple[float, float] | None = None) -> Markup:
    if isinstance(cell.value, str):
        said = el("span", cell.value, class_=cell.kind) if cell.kind != "text" else cell.value
        return el("td", said, class_="words" if len(cell.value) > WORDY else None)
    about = "; ".join(x for x in ("" if cell.n is None else f"n = {cell.n}", cell.how) if x)
    first = show_value(cell)
    rest = show(cell)[len(first) :].strip()
    value = "" if cell.value is None else f"{cell.value:.12g}"
    if scale is None or cell.low is None or cell.high is None or cell.value is None:
        return el("td", first, el("span", rest, class_="i") if rest else None, data_v=value, title=about or None)
    drawn = interval(cell.value, cell.low, cell.high, scale, zero=cell.kind in ("points", "signed"))
    parts = (el("b", first), drawn, el("span", rest, class_="i"))
    return el("td", el("span", parts, class_="drawn"), data_v=value, title=about or None)
