"""Charts as inline SVG: small functions from points to marks. Colours are those of the page's style sheet, by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from html import escape

from maci.study.report.model import Chart, Point, Series

__all__ = ["draw", "ticks"]

WIDTH = 440
_LETTERS = 23
_COLOURS = 8


def draw(chart: Chart, id: str) -> str:
    """One chart, or for reliability one small chart for each method."""
    if chart.kind == "reliability":
        small = "".join(_reliability(series, chart, f"{id}-{i}") for i, series in enumerate(chart.series))
        return f'<div class="small-multiples">{small}</div>'
    return {"scatter": _scatter, "lines": _lines, "forest": _forest}[chart.kind](chart, id)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within a range.

    >>> ticks(0.0, 1.0), ticks(-3.1, 12.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1.0, 2.0, 5.0) if m * power >= raw - 1e-12), 10 * power)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) + 0.0 for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    steps = [
        m * 10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)
    ]
    found = [x for x in steps if low <= x <= high]
    return found if len(found) <= 6 else [x for x in found if f"{x:e}"[0] == "1"]


def _svg(chart_title: str, about: str, id: str, height: float, body: Sequence[str], width: float = WIDTH) -> str:
    marks = "\n".join(body)
    return (
        f'<svg role="img" aria-labelledby="{id}-t {id}-d" viewBox="0 0 {width:g} {height:g}" xmlns="http://www.w3.org/2000/svg">'
        f'<title id="{id}-t">{escape(chart_title)}</title><desc id="{id}-d">{escape(about)}</desc>\n{marks}\n</svg>'
    )


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"


def _text(x: float, y: float, value: str, *, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(value)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _leader(x: float, y: float, right: float, label: float) -> str:
    """From a mark to its name in the margin."""
    path = f"{x:.1f},{y:.1f} {right + 4:.1f},{label:.1f} {right + 10:.1f},{label:.1f}"
    return f'<polyline points="{path}" class="leader"/>'


def _moved(to: Callable[[float], float], aside: float, x: float) -> float:
    return to(x) + aside


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low or 1.0
    return lambda v: start + (v - low) / span * (end - start)


def _reach(
    points: Sequence[Point], least: float, bottom: float = -math.inf, top: float = math.inf
) -> tuple[float, float]:
    """The range of y with intervals, a little wider, within what is possible."""
    low = min(p.y if p.low is None else p.low for p in points)
    high = max(p.y if p.high is None else p.high for p in points)
    air = max(0.06 * (high - low), least)
    return max(bottom, low - air), min(top, high + air)


def _spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels, in the order wanted, at least ``gap`` apart where there is room."""
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    placed: list[float] = []
    for i in order:
        placed.append(max(wanted[i], placed[-1] + gap if placed else low))
    over = max(0.0, placed[-1] - high) if placed else 0.0
    if over:
        placed[-1] -= over
        for i in range(len(placed) - 2, -1, -1):
            placed[i] = min(placed[i], placed[i + 1] - gap)
    found = [0.0] * len(wanted)
    for place, i in zip(placed, order, strict=True):
        found[i] = place
    return found


def _said(p: Point, name: str, percent: bool) -> str:
    times = 100 if percent else 1
    interval = "" if p.low is None or p.high is None else f" [{p.low * times:.3g}, {p.high * times:.3g}]"
    n = "" if p.n is None else f", n = {p.n}"
    return f"<title>{escape(name)}: {p.y * times:.3g}{interval}{n}</title>"


def _y_axis(
    low: float, high: float, at: Callable[[float], float], left: float, right: float, percent: bool
) -> list[str]:
    times = 100 if percent else 1
    marks = []
    for t in ticks(low * times, high * times):
        y = at(t / times)
        marks += [_rule(left, y, right, y, "grid"), _text(left - 5, y + 4, f"{t:g}", anchor="end", kind="tick")]
    return marks


def _scatter(chart: Chart, id: str) -> str:
    """x: tokens on a log scale; y: a share with its interval; names in a margin, each with a thin line to its mark."""
    named = [(s, p) for s in chart.series for p in s.points]
    points = [p for _, p in named]
    left, right, top = 40.0, 262.0, 14.0
    bottom = top + max(200.0, 14.0 * len(named))
    y0, y1 = _reach(points, 0.02, 0.0, 1.0)
    x0, x1 = min(p.x for p in points) / 1.3, max(p.x for p in points) * 1.3
    at_y = _scale(y0, y1, bottom, top)
    log_x = _scale(math.log10(x0), math.log10(x1), left, right)
    marks = _y_axis(y0, y1, at_y, left, right, True)
    for t in _log_ticks(x0, x1):
        x = log_x(math.log10(t))
        marks += [_rule(x, top, x, bottom, "grid"), _text(x, bottom + 15, _thousands(t), anchor="middle", kind="tick")]
    labels = _spread([at_y(p.y) for p in points], 13.5, top + 2, bottom)
    for (series, p), label in zip(named, labels, strict=True):
        x, y = log_x(math.log10(p.x)), at_y(p.y)
        kind = "mark home" if series.reference else "mark"
        marks.append(_leader(x, y, right, label))
        if p.low is not None and p.high is not None:
            marks.append(_rule(x, at_y(p.low), x, at_y(p.high), "whisker home" if series.reference else "whisker"))
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{kind}">{_said(p, series.name, True)}</circle>')
        marks.append(
            _text(right + 13, label + 4, _short(series.name), kind="name home" if series.reference else "name")
        )
    marks.append(_text((left + right) / 2, bottom + 32, chart.x, anchor="middle", kind="axis"))
    marks.append(_text(left - 30, top - 3, chart.y, kind="axis"))
    return _svg(chart.title, chart.about, id, bottom + 38, marks)


def _thousands(t: float) -> str:
    return f"{t / 1e6:g}M" if t >= 1e6 else f"{t / 1e3:g}k" if t >= 1e3 else f"{t:g}"


def _lines(chart: Chart, id: str) -> str:
    """One line for each series; names beside their last point."""
    percent = chart.y.endswith("%")
    points = [p for s in chart.series for p in s.points]
    left, right, top = 40.0, 262.0, 14.0
    bottom = top + max(180.0, 14.0 * len(chart.series))
    y0, y1 = _reach(points, 0.02, 0.0 if percent else -math.inf, 1.0 if percent else math.inf)
    x1 = max(1.0, max(p.x for p in points))
    to_x, at_y = _scale(0, x1, left + 10, right - 10), _scale(y0, y1, bottom, top)
    marks = _y_axis(y0, y1, at_y, left, right, percent)
    marks += [_text(to_x(t), bottom + 15, f"{t:g}", anchor="middle", kind="tick") for t in ticks(0, x1) if t == int(t)]
    labels = _spread([at_y(s.points[-1].y) for s in chart.series], 13.5, top + 2, bottom)
    for i, (series, label) in enumerate(zip(chart.series, labels, strict=True)):
        aside = (i - (len(chart.series) - 1) / 2) * 2.0  # so that equal marks do not hide each other
        at_x = partial(_moved, to_x, aside)
        colour = "home" if series.reference else f"c{i % _COLOURS} dash{i // _COLOURS}"
        path = " ".join(f"{at_x(p.x):.1f},{at_y(p.y):.1f}" for p in series.points)
        last = series.points[-1]
        marks.append(_leader(at_x(last.x), at_y(last.y), right, label))
        if series.reference or len(chart.series) <= 6:
            marks += [
                _rule(at_x(p.x), at_y(p.low), at_x(p.x), at_y(p.high), f"whisker {colour}")
                for p in series.points
                if p.low is not None and p.high is not None
            ]
        marks.append(f'<polyline points="{path}" class="line {colour}"/>')
        marks += [
            f'<circle cx="{at_x(p.x):.1f}" cy="{at_y(p.y):.1f}" r="3" class="mark {colour}">'
            f"{_said(p, f'{series.name}, {chart.x} {p.x:g}', percent)}</circle>"
            for p in series.points
        ]
        marks.append(_text(right + 13, label + 4, _short(series.name), kind=f"name {colour}"))
    marks.append(_text((left + right) / 2, bottom + 32, chart.x, anchor="middle", kind="axis"))
    marks.append(_text(left - 30, top - 3, chart.y, kind="axis"))
    return _svg(chart.title, chart.about, id, bottom + 38, marks)


def _forest(chart: Chart, id: str) -> str:
    """A row for each difference, 0 marked."""
    marked = sorted(((p, s.reference) for s in chart.series for p in s.points), key=lambda pair: pair[0].y)
    points = [p for p, _ in marked]
    left, right, top, row = 165.0, WIDTH - 12.0, 10.0, 20.0
    bottom = top + row * len(points)
    ends = [0.0, *(x for p in points for x in (p.x, p.low, p.high) if x is not None)]
    air = max(0.01, 0.05 * (max(ends) - min(ends)))
    x0, x1 = min(ends) - air, max(ends) + air
    at = _scale(x0, x1, left, right)
    marks = []
    for t in ticks(100 * x0, 100 * x1):
        x = at(t / 100)
        marks += [
            _rule(x, top, x, bottom, "zero" if t == 0 else "grid"),
            _text(x, bottom + 15, f"{t:+g}".replace("-", "−") if t else "0", anchor="middle", kind="tick"),
        ]
    for i, (p, clear) in enumerate(marked):
        y = top + row * (i + 0.5)
        kind = "home" if clear else ""
        if p.low is not None and p.high is not None:
            marks.append(_rule(at(p.low), y, at(p.high), y, f"whisker {kind}"))
        said = f"<title>{escape(p.label)}: {100 * p.x:+.1f} points</title>"
        marks.append(
            f'<rect x="{at(p.x) - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" class="mark {kind}">{said}</rect>'
        )
        marks.append(_text(left - 8, y + 4, _short(p.label), anchor="end", kind="name"))
    marks.append(_text((left + right) / 2, bottom + 32, chart.x, anchor="middle", kind="axis"))
    return _svg(chart.title, chart.about, id, bottom + 38, marks)


def _reliability(series: Series, chart: Chart, id: str) -> str:
    """Right over confidence, marks as large as their bins are full, the diagonal of a calibrated method."""
    left, right, top, bottom = 30.0, 170.0, 8.0, 148.0
    at_x, at_y = _scale(0, 1, left, right), _scale(0, 1, bottom, top)
    colour = "home" if series.reference else "c0"
    total = sum(p.n or 0 for p in series.points) or 1
    marks = [f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" class="frame"/>']
    marks.append(_rule(at_x(0), at_y(0), at_x(1), at_y(1), "zero"))
    for t in (0.0, 0.5, 1.0):
        marks.append(_text(at_x(t), bottom + 13, f"{100 * t:g}", anchor="middle", kind="tick"))
        marks.append(_text(left - 4, at_y(t) + 4, f"{100 * t:g}", anchor="end", kind="tick"))
    for p in series.points:
        if p.low is not None and p.high is not None:
            marks.append(_rule(at_x(p.x), at_y(p.low), at_x(p.x), at_y(p.high), f"whisker thin {colour}"))
        size = 2 + 5 * math.sqrt((p.n or 0) / total)
        name = f"confidence {100 * p.x:.0f} %"
        marks.append(
            f'<circle cx="{at_x(p.x):.1f}" cy="{at_y(p.y):.1f}" r="{size:.1f}" class="mark {colour}">{_said(p, name, True)}</circle>'
        )
    body = _svg(f"{chart.title}: {series.name}", chart.about, id, 166, marks, 180)
    return f'<figure class="small">{body}<figcaption>{escape(series.name)}</figcaption></figure>'
