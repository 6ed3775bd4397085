"""The audit as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maci.calibration.stats.correlation import Rows
from maci.lab.audit.judges.audit import Audit
from maci.lab.audit.judges.estimate import Estimate
from maci.lab.audit.judges.report import Table, findings_rows, head, tables, verdict_words
from maci.render.charts import Chart, Point, Series
from maci.render.markup import Markup, document, el
from maci.render.svg import figure

_KIND = {"good": "good", "watch": "warn", "bad": "bad", "unknown": "soft"}


def page(audit: Audit, scores: Rows, extra: Sequence[Table] = (), *, about: str = "") -> str:
    """The whole page; ``scores`` are the plain ones (judges, arguments), for the pictures."""
    found = findings_rows(audit, ["bad", "watch"])
    rest = findings_rows(audit, ["good", "unknown"])
    return document(
        "MACI: judges, audited",
        el(
            "header",
            el("h1", "The judges, audited"),
            el(
                "div",
                el("p", el("span", audit.verdict, class_=_KIND[audit.verdict]), " · ", verdict_words(audit)),
                el("p", head(audit)),
                class_="verdict",
            ),
            [el("p", note, class_="notes") for note in audit.notes],
        ),
        el(
            "main",
            [el("h2", "What to watch, and what to do"), _findings(found)] if found else None,
            el("div", [figure(chart, f"c{i}") for i, chart in enumerate(charts(audit, scores))], class_="charts"),
            [_table(table) for table in (*extra, *tables(audit))],
            el("h2", "Checks without a finding"),
            _findings(rest),
            id="main",
        ),
        el("footer", el("p", about)),
    )


def tables_page(title: str, found: Sequence[Table], *, about: str = "") -> str:
    """Tables alone."""
    return document(
        f"MACI: {title}",
        el("header", el("h1", title)),
        el("main", [_table(table) for table in found], id="main"),
        el("footer", el("p", about)),
    )


def _findings(rows: Sequence[tuple[str, str, str, str]]) -> Markup:
    body = [
        el(
            "tr",
            el("th", el("span", level, class_=_KIND[level]), scope="row"),
            *(el("td", cell, class_="words") for cell in (whose, says, advice)),
        )
        for level, whose, says, advice in rows
    ]
    titles = el("tr", (el("th", name, scope="col", class_="words") for name in ("", "whose", "finding", "what to do")))
    grid = el("table", el("thead", titles), el("tbody", body))
    return el("div", grid, class_="scroll", role="region", tabindex=0, aria_label="Findings")


def _table(table: Table) -> Markup:
    titles = el("tr", (el("th", name, scope="col", class_="words") for name in table.head))
    body = [
        el("tr", el("th", row[0], scope="row"), (el("td", cell, class_="words") for cell in row[1:]))
        for row in table.rows
    ]
    grid = el("table", el("thead", titles), el("tbody", body))
    return Markup(
        el("h2", table.title)
        + el("div", grid, class_="scroll", role="region", tabindex=0, aria_label=table.title)
        + (el("p", table.note, class_="notes") if table.note else "")
    )


def charts(audit: Audit, scores: Rows) -> list[Chart]:
    """Effects with their intervals, how judges spread their scores, and how far winners flip."""
    found = []
    effects = [
        _point(f"{f.name}: {what}", x)
        for f in audit.judges
        for what, x in (
            ("own family", f.own_family),
            ("padded", f.padded),
            ("signed", f.signed),
            ("early − late", f.position),
        )
        if x.value is not None
    ]
    if effects:
        found.append(_forest("What besides the argument moves a score", "hundredths of CRIT", effects))
    agree = [_point(f.name, f.with_rest) for f in audit.judges if f.with_rest.value is not None]
    if agree:
        found.append(_forest("Each judge with the others", "Spearman's ρ, hundredths", agree))
    spread = [
        Series(name=f.name, points=_steps(scores[j][np.isfinite(scores[j])]))
        for j, f in enumerate(audit.judges)
        if np.isfinite(scores[j]).any()
    ]
    if spread:
        found.append(
            Chart(
                title="How judges spread their scores",
                x="score",
                y="share of arguments at or below, %",
                series=tuple(spread),
            )
        )
    return found


def _point(label: str, x: Estimate) -> Point:
    assert x.value is not None
    return Point(x=x.value, y=0.0, low=x.low, high=x.high, n=x.n, label=label)


def _forest(title: str, axis: str, points: Sequence[Point]) -> Chart:
    rows = [replace(p, y=float(i)) for i, p in enumerate(points)]  # in this order
    series = tuple(Series(name=p.label, points=(p,)) for p in rows)
    said = "; ".join(f"{p.label} {p.x:.3f}" for p in points)
    return Chart(title=title, x=axis, y="", series=series, kind="forest", about=f"With 95 % intervals: {said}.")


def _steps(values: Rows) -> tuple[Point, ...]:
    """The cumulative share at 21 scores from 0 to 1."""
    return tuple(Point(x=x, y=float(np.mean(values <= x + 1e-12))) for x in np.linspace(0, 1, 21).tolist())
