"""What every drawing needs: scales from values to places, round numbers on an axis, labels that do not overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, inf, log10

from maci.render.charts import Point
from maci.render.markup import Markup, el

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
