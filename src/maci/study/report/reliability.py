"""How often a method was right when it was so sure."""

from __future__ import annotations

from maci.page.chart import Chart, Point, Series
from maci.study.metrics import reliability
from maci.study.report.arena import Arena
from maci.study.report.lines import answers_of
from maci.study.report.model import Column, Line, Table, count, estimate, number

__all__ = ["reliability_table"]


def reliability_table(arena: Arena) -> tuple[Table | None, Chart]:
    """How often the reference was right when it was so sure; all methods in the chart."""
    columns = (
        Column(key="n", title="n"),
        Column(key="confidence", title="mean confidence %"),
        Column(
            key="accuracy",
            title="right %",
            about="Wilson interval; answers to one case under several seeds are not independent",
        ),
    )
    series, lines = [], []
    for entrant in arena.entrants:
        answers, _ = answers_of(entrant)
        bars = [b for b in reliability([a.scored for a in answers]) if b.n]
        if not bars:
            continue
        home = entrant.name == arena.reference
        points = tuple(
            Point(x=b.confidence, y=b.accuracy.value, low=b.accuracy.low, high=b.accuracy.high, n=b.n) for b in bars
        )
        series.append(Series(name=entrant.name, points=points, reference=home))
        if home:
            lines = [
                Line(
                    name=f"{100 * b.lower:.0f}–{100 * b.upper:.0f} %",
                    cells=(count(b.n), number(b.confidence, "share", b.n), estimate(b.accuracy, "share")),
                )
                for b in bars
            ]
    chart = Chart(
        key="reliability",
        kind="reliability",
        title="Reliability, after calibration on dev",
        about="Share of right answers over mean confidence in each bin; a calibrated method lies on the diagonal.",
        x="confidence",
        y="right",
        series=tuple(sorted(series, key=lambda s: not s.reference)),
    )
    if not lines:
        return None, chart
    title = f"Reliability of {arena.reference}"
    return Table(key="reliability", title=title, first="Confidence", columns=columns, lines=tuple(lines)), chart
