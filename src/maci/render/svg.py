"""Charts as inline SVG: small functions from points to marks.

The first part is what every chart needs: scales from values to places, round numbers on an axis, labels that do not overlap. Colours
are those of the style sheet, by class; there are no scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, floor, inf, log10, sqrt

from maci.render.markup import Markup, el
from maci.render.report import Chart, Point, Series
from maci.render.style import COLOURS, drawing_sheet

Scale = Callable[[float], float]
LETTERS = 23


def ticks(low: float, high: float, about: int = 5, *, log: bool = False) -> list[float]:
    """Round numbers within a range, about five; powers of ten on a logarithmic axis that is long enough.

    >>> ticks(0.0, 1.0), ticks(-3.1, 12.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 5.0, 10.0])
    >>> ticks(2, 1000, log=True), ticks(10, 60, log=True)
    ([10.0, 100.0, 1000.0], [10.0, 20.0, 50.0])
    """
    if not high > low:
        return [low]
    if log:
        powers = [10.0**k for k in range(floor(log10(low)), ceil(log10(high)) + 1)]
        inside = [tick for tick in powers if 0.9999 * low <= tick <= 1.0001 * high]
        if len(inside) >= 3:
            return inside[:: ceil(len(inside) / 7)]
        return [m * tick for tick in powers for m in (1, 2, 5) if 0.9999 * low <= m * tick <= 1.0001 * high] or [low]
    raw = (high - low) / about
    size = 10.0 ** floor(log10(raw))
    step = next((m * size for m in (1.0, 2.0, 5.0) if m * size >= raw - 1e-12), 10 * size)
    first = ceil(low / step - 1e-9)
    return [round(i * step, 10) + 0.0 for i in range(first, floor(high / step + 1e-9) + 1)]


def write(value: float) -> str:
    """A number on an axis.

    >>> [write(v) for v in (0.2, 1000.0, 20000.0, 100000.0, 1e-6, -3.0)]
    ['0.2', '1,000', '20k', '10⁵', '10⁻⁶', '−3']
    """
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        power = log10(abs(value))
        if abs(power - round(power)) < 1e-9:
            return "10" + str(round(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if abs(value) >= 1e4:
        return (f"{value / 1e6:g}M" if abs(value) >= 1e6 else f"{value / 1e3:g}k").replace("-", "−")
    return f"{value:,.10g}".replace("-", "−")


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """From a range of values to a range of places."""
    span = high - low or 1.0
    return lambda v: start + (v - low) / span * (end - start)


def log_scale(low: float, high: float, start: float, end: float) -> Scale:
    """The same with equal room for equal ratios."""
    inner = scale(log10(low), log10(high), start, end)
    return lambda v: inner(log10(v))


def moved(to: Scale, aside: float, x: float) -> float:
    """A place a little aside of where it belongs, so that equal marks do not hide each other."""
    return to(x) + aside


def reach(points: Sequence[Point], least: float, bottom: float = -inf, top: float = inf) -> tuple[float, float]:
    """The range of y with intervals, a little wider, within what is possible; from 0 where that is near."""
    low = min(p.y if p.low is None else p.low for p in points)
    high = max(p.y if p.high is None else p.high for p in points)
    air = max(0.06 * (high - low), least)
    start = 0.0 if 0 <= low < 0.35 * high else low - air
    return max(bottom, start), min(top, high + air)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels, in the order wanted, at least ``gap`` apart where there is room.

    >>> spread([10, 11, 50], 13, 0, 100)
    [10, 23, 50]
    """
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


def short(name: str, letters: int = LETTERS) -> str:
    """A name that fits its margin."""
    return name if len(name) <= letters else name[: letters - 1] + "…"


def svg(
    title: str, about: str, id: str, width: float, height: float, *marks: object, kind: str | None = None
) -> Markup:
    """A drawing with its title and its description for those who do not see it."""
    return el(
        "svg",
        el("title", title, id=f"{id}-t"),
        el("desc", about, id=f"{id}-d"),
        marks,
        role="img",
        aria_labelledby=f"{id}-t {id}-d",
        viewBox=f"0 0 {width:g} {height:g}",
        xmlns="http://www.w3.org/2000/svg",
        class_=kind,
    )


def words(x: float, y: float, value: str, *, anchor: str = "start", kind: str | None = None) -> Markup:
    """Text at a place."""
    return el("text", value, x=float(x), y=float(y), text_anchor=None if anchor == "start" else anchor, class_=kind)


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return el("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind)


WIDTH = 400.0
"""Little more than a phone is wide: what is written stays readable there."""
_LEFT, _TOP, _LETTER = 42.0, 26.0, 7.2
"""Room for an axis and above a drawing; pixels of a letter."""


def draw(chart: Chart, id: str) -> Markup:
    """One chart, or for reliability one small chart for each series; words where there is nothing to draw."""
    if not any(series.points for series in chart.series):
        return el("p", f"{chart.title}: nothing to draw", class_="empty")
    if chart.kind == "reliability":
        return el(
            "div",
            (_reliability(s, chart, f"{id}-{i}") for i, s in enumerate(chart.series) if s.points),
            class_="small-multiples",
        )
    height, marks = {"scatter": _scatter, "lines": _lines, "forest": _forest}[chart.kind](chart)
    return svg(chart.title, chart.said, id, WIDTH, height, marks)


def figure(chart: Chart, id: str) -> Markup:
    """A chart with its title above and what is to be seen below."""
    wide = "wide" if chart.kind == "reliability" else None
    below = el("p", chart.about) if chart.about else None
    return el("figure", el("figcaption", chart.title), draw(chart, id), below, class_=wide)


def standalone(chart: Chart) -> str:
    """The chart as a file of its own, with its title above."""
    height, marks = _lines(chart)
    return (
        el(
            "svg",
            el("style", Markup(drawing_sheet())),
            el("title", f"{chart.title}: {chart.said}"),
            words(_LEFT, -8, chart.title, kind="head"),
            marks,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 -24 {WIDTH:g} {height + 24:g}",
        )
        + "\n"
    )


def _said(p: Point, name: str, percent: bool) -> Markup:
    times = 100 if percent else 1
    interval = "" if p.low is None or p.high is None else f" [{p.low * times:.3g}, {p.high * times:.3g}]"
    n = "" if p.n is None else f", n = {p.n}"
    return el("title", f"{name}: {p.y * times:.3g}{interval}{n}")


def _leader(x: float, y: float, label: float, right: float) -> Markup:
    """From a mark to its name in the margin."""
    path = f"{x:.1f},{y:.1f} {right + 4:.1f},{label:.1f} {right + 10:.1f},{label:.1f}"
    return el("polyline", points=path, class_="leader")


def _y_axis(low: float, high: float, at: Scale, *, percent: bool, log: bool = False, right: float) -> list[Markup]:
    times = 100 if percent else 1
    marks = []
    for t in ticks(low * times, high * times, log=log):
        y = at(t / times)
        marks += [rule(_LEFT, y, right, y, "grid"), words(_LEFT - 5, y + 4, write(t), anchor="end", kind="tick")]
    return marks


def _x_axis(
    low: float, high: float, at: Scale, bottom: float, *, log: bool, whole: bool = False, right: float
) -> list[Markup]:
    found = [t for t in ticks(low, high, log=log) if not whole or t == int(t)]
    marks = [rule(_LEFT, bottom, right, bottom, "axis-line")]
    for t in found:
        x = at(t)
        marks += [
            rule(x, bottom, x, bottom + 4, "axis-line"),
            words(x, bottom + 16, write(t), anchor="middle", kind="tick"),
        ]
    return marks


def _names(chart: Chart, bottom: float, right: float) -> list[Markup]:
    return [
        words((_LEFT + right) / 2, bottom + 34, chart.x, anchor="middle", kind="axis"),
        words(2, _TOP - 14, chart.y, kind="axis"),
    ]


def _scatter(chart: Chart) -> tuple[float, list[Markup]]:
    """Across on a log scale, up a share with its interval; names beside their marks, but for quiet ones, and a line through them."""
    named = [(s, p) for s in chart.series for p in s.points]
    points = [p for _, p in named]
    right, bottom = WIDTH - 12.0, _TOP + 232.0
    loud = [pair for pair in named if not pair[0].quiet]
    y0, y1 = reach([p if not s.quiet else replace(p, low=None, high=None) for s, p in named], 0.02, 0.0, 1.0)
    x0, x1 = min(p.x for p in points) / 1.3, max(p.x for p in points) * 1.3
    at_x, at_y = log_scale(x0, x1, _LEFT, right), scale(y0, y1, bottom, _TOP)
    marks = _y_axis(y0, y1, at_y, percent=True, right=right) + _x_axis(x0, x1, at_x, bottom, log=True, right=right)
    steps = sorted((at_x(p.x), at_y(p.y)) for _, p in loud)
    ahead = [(x, y) for i, (x, y) in enumerate(steps) if all(y < before for _, before in steps[:i])]  # up is less
    if len(ahead) > 1 and len(loud) < len(named):
        marks.append(el("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in ahead), class_="leader"))
    taken = [(at_x(p.x) - 4, at_y(p.y) - 4, at_x(p.x) + 4, at_y(p.y) + 4) for p in points]
    ranged = [(at_x(p.x), at_y(p.high), at_y(p.low)) for _, p in loud if p.low is not None and p.high is not None]
    taken += [(x - 2, top, x + 2, foot) for x, top, foot in ranged]
    for series, p in sorted(named, key=lambda pair: not pair[0].quiet):
        x, y = at_x(p.x), at_y(p.y)
        home = " home" if series.reference else ""
        if not series.quiet and p.low is not None and p.high is not None:
            marks.append(rule(x, at_y(p.low), x, at_y(p.high), f"whisker{home}"))
        size, kind = (3, "mark quiet") if series.quiet else (4.5, f"mark{home or ' c0'}")
        marks.append(el("circle", _said(p, series.name, True), cx=x, cy=y, r=size, class_=kind))
    for series, p in sorted(loud, key=lambda pair: not pair[0].reference):
        marks.append(_beside(at_x(p.x), at_y(p.y), series, taken, right, bottom))
    return bottom + 40, marks + _names(chart, bottom, right)


def _beside(
    x: float, y: float, series: Series, taken: list[tuple[float, float, float, float]], right: float, bottom: float
) -> Markup:
    """A name near its mark, where it covers the least of what is ``taken``; it takes its place."""
    name = short(series.name, 30)
    wide = 6.3 * len(name)
    around = [(dx, dy) for dy in (-8.0, 14.0, 4.0, -20.0, 26.0, -32.0, 38.0, 50.0) for dx in (8.0, -8.0)]
    spots = [(x + dx, y + dy, "start" if dx > 0 else "end") for dx, dy in around]
    boxes = [(px - wide * (side == "end"), py - 10, px + wide * (side == "start"), py + 3) for px, py, side in spots]

    def cost(box: tuple[float, float, float, float]) -> float:
        x0, y0, x1, y1 = box
        out = max(0.0, _LEFT - x0) + max(0.0, x1 - right) + max(0.0, _TOP - 12 - y0) + max(0.0, y1 - bottom)
        over = (max(0.0, min(x1, c) - max(x0, a)) * max(0.0, min(y1, d) - max(y0, b)) for a, b, c, d in taken)
        return 100 * out + sum(over)

    best = min(range(len(spots)), key=lambda i: (round(cost(boxes[i]), 3), i))
    taken.append(boxes[best])
    px, py, anchor = spots[best]
    return words(px, py, name, anchor=anchor, kind="name home" if series.reference else "name")


def _lines(chart: Chart) -> tuple[float, list[Markup]]:
    """One line for each series; names beside their last point."""
    percent = chart.y.endswith("%")
    shown = [
        (s, visible)
        for s in chart.series
        if (visible := [p for p in s.points if (p.x > 0 or not chart.log_x) and (p.y > 0 or not chart.log_y)])
    ]
    if not shown:
        return 60.0, [words(_LEFT, 30, "nothing to draw", kind="axis")]
    points = [p for _, some in shown for p in some]
    bottom = _TOP + max(190.0, 14.0 * len(shown))
    right = WIDTH - 13 - _LETTER * max(len(short(series.name)) for series, _ in shown)
    at_x, marks = _across(points, chart, bottom, right)
    if chart.log_y:
        y0 = min(min(p.y, p.low if p.low and p.low > 0 else p.y) for p in points)
        y1 = max(max(p.y, p.high or p.y) for p in points)
        at_y = log_scale(y0, y1 if y1 > y0 else 10 * y0, bottom, _TOP)
    else:
        y0, y1 = reach(points, 0.02, 0.0 if percent else -1e300, 1.0 if percent else 1e300)
        at_y = scale(y0, y1, bottom, _TOP)
    marks += _y_axis(y0, y1, at_y, percent=percent, log=chart.log_y, right=right)
    labels = spread([at_y(some[-1].y) for _, some in shown], 14.0, _TOP + 2, bottom)
    for i, ((series, some), label) in enumerate(zip(shown, labels, strict=True)):
        aside = 0.0 if series.bound or series.band else (i - (len(shown) - 1) / 2) * 2.0
        crowded = len(shown) > 6 and not series.reference
        marks += _line(series, some, i, partial(moved, at_x, aside), at_y, chart, crowded=crowded)
        marks.insert(0, _leader(moved(at_x, aside, some[-1].x), at_y(some[-1].y), label, right))
        marks.append(words(right + 13, label + 4, short(series.name), kind=f"name {_style(series, i)}"))
    return bottom + 40, marks + _names(chart, bottom, right)


def _across(points: Sequence[Point], chart: Chart, bottom: float, right: float) -> tuple[Scale, list[Markup]]:
    """The horizontal axis, from 0 where that is near."""
    low, high = min(p.x for p in points), max(p.x for p in points)
    if chart.log_x:
        at = log_scale(low, high if high > low else 10 * low, _LEFT + 8, right - 8)
        return at, _x_axis(low, high, at, bottom, log=True, right=right)
    low = 0.0 if 0 <= low < 0.5 * high else low
    high = high if high > low else low + 1
    at = scale(low, high, _LEFT + 8, right - 8)
    return at, _x_axis(low, high, at, bottom, log=False, whole=all(p.x == int(p.x) for p in points), right=right)


def _style(series: Series, number: int) -> str:
    if series.bound:
        return "bound"
    return "home" if series.reference else f"c{number % COLOURS} dash{number // COLOURS}"


def _line(
    series: Series, points: Sequence[Point], number: int, at_x: Scale, at_y: Scale, chart: Chart, *, crowded: bool
) -> list[Markup]:
    style, percent = _style(series, number), chart.y.endswith("%")
    marks = []
    ranged = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    ranged = [(x, lo, hi) for x, lo, hi in ranged if lo > 0 or not chart.log_y]
    if series.band:
        edge = [(x, hi) for x, _, hi in ranged] + [(x, lo) for x, lo, _ in reversed(ranged)]
        marks.append(el("polygon", points=_path(edge, at_x, at_y), class_=f"band {style}"))
    elif not crowded:
        marks += [rule(at_x(x), at_y(lo), at_x(x), at_y(hi), f"whisker {style}") for x, lo, hi in ranged]
    marks.append(el("polyline", points=_path([(p.x, p.y) for p in points], at_x, at_y), class_=f"line {style}"))
    if not series.bound and len(points) <= 40:
        names = [f"{series.name}, {chart.x} {p.x:g}" for p in points]
        marks += [
            el("circle", _said(p, name, percent), cx=at_x(p.x), cy=at_y(p.y), r=3, class_=f"mark {style}")
            for p, name in zip(points, names, strict=True)
        ]
    return marks


def _path(points: Sequence[tuple[float, float]], at_x: Scale, at_y: Scale) -> str:
    return " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)


def _forest(chart: Chart) -> tuple[float, list[Markup]]:
    """A row for each difference, 0 marked."""
    marked = sorted(((p, s.reference) for s in chart.series for p in s.points), key=lambda pair: pair[0].y)
    points = [p for p, _ in marked]
    left, right, row = 172.0, WIDTH - 12.0, 20.0
    bottom = _TOP + row * len(points)
    ends = [0.0, *(x for p in points for x in (p.x, p.low, p.high) if x is not None)]
    air = max(0.01, 0.05 * (max(ends) - min(ends)))
    x0, x1 = min(ends) - air, max(ends) + air
    at = scale(x0, x1, left, right)
    marks = []
    for t in ticks(100 * x0, 100 * x1):
        x, said = at(t / 100), f"{t:+g}".replace("-", "−") if t else "0"
        marks.append(rule(x, _TOP, x, bottom, "zero" if t == 0 else "grid"))
        marks.append(words(x, bottom + 16, said, anchor="middle", kind="tick"))
    for i, (p, clear) in enumerate(marked):
        y, home = _TOP + row * (i + 0.5), " home" if clear else ""
        if p.low is not None and p.high is not None:
            marks.append(rule(at(p.low), y, at(p.high), y, f"whisker{home}"))
        said = el("title", f"{p.label}: {100 * p.x:+.1f} points")
        marks.append(el("rect", said, x=at(p.x) - 4, y=y - 4, width=8, height=8, class_=f"mark{home}"))
        marks.append(words(left - 8, y + 4, short(p.label), anchor="end", kind="name"))
    marks.append(words((left + right) / 2, bottom + 34, chart.x, anchor="middle", kind="axis"))
    return bottom + 40, marks


def _reliability(series: Series, chart: Chart, id: str) -> Markup:
    """Right over confidence, marks as large as their bins are full, the diagonal of a calibrated method."""
    left, right, top, bottom = 25.0, 128.0, 7.0, 110.0
    at_x, at_y = scale(0, 1, left, right), scale(0, 1, bottom, top)
    colour = "home" if series.reference else "c0"
    total = sum(p.n or 0 for p in series.points) or 1
    marks = [el("rect", x=left, y=top, width=right - left, height=bottom - top, class_="frame")]
    marks.append(rule(at_x(0), at_y(0), at_x(1), at_y(1), "zero"))
    for t in (0.0, 0.5, 1.0):
        marks.append(words(at_x(t), bottom + 13, f"{100 * t:g}", anchor="middle", kind="tick"))
        marks.append(words(left - 4, at_y(t) + 4, f"{100 * t:g}", anchor="end", kind="tick"))
    for p in series.points:
        if p.low is not None and p.high is not None:
            marks.append(rule(at_x(p.x), at_y(p.low), at_x(p.x), at_y(p.high), f"whisker thin {colour}"))
        size, name = 2 + 5 * sqrt((p.n or 0) / total), f"confidence {100 * p.x:.0f} %"
        marks.append(el("circle", _said(p, name, True), cx=at_x(p.x), cy=at_y(p.y), r=size, class_=f"mark {colour}"))
    drawn = svg(f"{chart.title}: {series.name}", chart.said, id, 138, 128, marks)
    return el("figure", drawn, el("figcaption", series.name), class_="small")
