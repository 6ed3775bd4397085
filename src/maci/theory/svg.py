"""Charts as inline SVG: lines, points, intervals, dashed limits; plain or logarithmic axes. Colours come from the page's style."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, isfinite, log10

from maci.theory.verdict import Chart, Series

__all__ = ["draw", "standalone", "ticks"]

_WIDTH, _HEIGHT = 500, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 26, 12, 46
Scale = Callable[[float], float]


def ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Round numbers from ``low`` to ``high``, about five; powers of ten on a logarithmic axis that is long enough.

    >>> ticks(0, 1, log=False)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(2, 1000, log=True)
    [10.0, 100.0, 1000.0]
    >>> ticks(10, 60, log=True)
    [10.0, 20.0, 50.0]
    """
    if log:
        powers = [10.0**k for k in range(floor(log10(low)), ceil(log10(high)) + 1)]
        inside = [tick for tick in powers if 0.9999 * low <= tick <= 1.0001 * high]
        if len(inside) >= 3:
            return inside[:: ceil(len(inside) / 7)]
        return [m * tick for tick in powers for m in (1, 2, 5) if 0.9999 * low <= m * tick <= 1.0001 * high] or [low]
    span = (high - low) or 1.0
    raw = span / 5
    size = 10.0 ** floor(log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.9999)
    first = ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, floor(high / step + 1e-9) + 1)]


def _label(value: float) -> str:
    """A number on an axis.

    >>> [_label(v) for v in (0.2, 1000.0, 100000.0, 1e-6)]
    ['0.2', '1,000', '10⁵', '10⁻⁶']
    """
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        power = log10(abs(value))
        if abs(power - round(power)) < 1e-9:
            return "10" + str(round(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:,.10g}"


def _scale(values: Sequence[float], start: float, end: float, *, log: bool) -> tuple[Scale, float, float]:
    """From values to pixels, and the range that is shown."""
    low, high = min(values), max(values)
    if log:
        span = log10(high / low) or 1.0
        return (lambda v: start + (end - start) * log10(v / low) / span), low, high
    low = 0.0 if 0 <= low < 0.5 * high else low
    span = (high - low) or 1.0
    return (lambda v: start + (end - start) * (v - low) / span), low, high


def draw(chart: Chart) -> str:
    """The chart as a figure of a page: title, drawing and key."""
    keys = "".join(f'<li class="{_style(s, k)}"><span></span>{escape(s.name)}</li>' for k, s in enumerate(chart.series))
    body = "".join(_drawing(chart))
    if not body:
        return f'<p class="empty">{escape(chart.title)}: nothing to draw</p>'
    said = escape(_spoken(chart))
    return (
        f"<figure><figcaption>{escape(chart.title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{said}">{body}</svg>'
        f'<ul class="key">{keys}</ul></figure>'
    )


def standalone(chart: Chart, style: str) -> str:
    """The chart as a file of its own, with its title above and its key below."""
    line = 16
    parts = [f'<text x="{_LEFT}" y="-8">{escape(chart.title)}</text>', *_drawing(chart)]
    for number, series in enumerate(chart.series):
        y = _HEIGHT + line * (number + 1) - 6
        parts.append(
            f'<line class="line {_style(series, number)}" x1="{_LEFT}" x2="{_LEFT + 20}" y1="{y - 4}" y2="{y - 4}"/>'
        )
        parts.append(f'<text x="{_LEFT + 28}" y="{y}">{escape(series.name)}</text>')
    height = _HEIGHT + 24 + line * len(chart.series)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -24 {_WIDTH} {height}"><style>{style}</style>'
        f"<title>{escape(_spoken(chart))}</title>{''.join(parts)}</svg>\n"
    )


def _drawing(chart: Chart) -> list[str]:
    """Axes and series; nothing where no point can be shown."""
    seen = [(x, y) for s in chart.series for x, y in zip(s.x, s.y, strict=True) if _visible(x, y, chart)]
    if not seen:
        return []
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    ends = [float(v) for s in chart.series for v in (*s.low, *s.high) if isfinite(v) and (v > 0 or not chart.log_y)]
    across, x_low, x_high = _scale([float(x) for x, _ in seen], _LEFT, right, log=chart.log_x)
    up, y_low, y_high = _scale([*(float(y) for _, y in seen), *ends], base, _TOP, log=chart.log_y)
    parts = []
    for value in ticks(y_low, y_high, log=chart.log_y):
        y = up(value)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_label(value)}</text>')
    for value in ticks(x_low, x_high, log=chart.log_x):
        x = across(value)
        parts.append(f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
        parts.append(f'<text x="{x:.1f}" y="{base + 17}" text-anchor="middle">{_label(value)}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{base}" y2="{base}"/>')
    middle, turn = (_LEFT + right) / 2, (_TOP + base) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(chart.x)}</text>')
    parts.append(
        f'<text transform="translate(12 {turn:.0f}) rotate(-90)" text-anchor="middle">{escape(chart.y)}</text>'
    )
    for number, series in enumerate(chart.series):
        parts += _series(series, number, across, up, chart)
    return parts


def _style(series: Series, number: int) -> str:
    return "bound" if series.bound else f"c{number}"


def _visible(x: float, y: float, chart: Chart) -> bool:
    return isfinite(x) and isfinite(y) and (x > 0 or not chart.log_x) and (y > 0 or not chart.log_y)


def _series(series: Series, number: int, across: Scale, up: Scale, chart: Chart) -> list[str]:
    style = _style(series, number)
    points = [
        (across(float(x)), up(float(y)))
        for x, y in zip(series.x, series.y, strict=True)
        if _visible(float(x), float(y), chart)
    ]
    parts = []
    if len(series.low):
        band = [
            (float(x), float(lo), float(hi))
            for x, lo, hi in zip(series.x, series.low, series.high, strict=True)
            if _visible(float(x), float(lo), chart)
        ]
        edge = [(across(x), up(hi)) for x, _, hi in band] + [(across(x), up(lo)) for x, lo, _ in reversed(band)]
        parts.append(f'<polygon class="band {style}" points="{_points(edge)}"/>')
    parts.append(f'<polyline class="line {style}" points="{_points(points)}"/>')
    if not series.bound and len(points) <= 15:
        parts += [f'<circle class="dot {style}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
    return parts


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _spoken(chart: Chart) -> str:
    """The chart in words, for those who do not see it."""
    said = [f"{chart.title}: {chart.y} against {chart.x}"]
    for series in chart.series:
        if len(series.x):
            said.append(f"{series.name} from {float(series.y[0]):.3g} to {float(series.y[-1]):.3g}")
    return "; ".join(said)
