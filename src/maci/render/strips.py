"""Small drawings of a debate: a bar, a sparkline, beliefs as stacked bars over rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from maci.render.markup import Markup, el, join, percent
from maci.render.style import COLOURS
from maci.render.svg import rule, scale, svg

_ROW = 18
_NARROWEST, _LETTER = 262.0, 6.9
"""Pixels of a belief's bar on a phone, and of a letter in it."""
_LITTLE, _MUCH = 0.02, 0.1
"""Probability from which an outcome gets a colour of its own, and one of the last."""


def bar(share: float, kind: str = "home") -> Markup:
    """A share as a bar; the figure stands beside it, so those who do not see it miss nothing."""
    full = 100 * min(1.0, max(0.0, share))
    return el(
        "svg",
        el("rect", x=0, y=0, width=100, height=10, class_="track"),
        el("rect", x=0, y=0, width=float(full), height=10, class_=f"mark {kind}"),
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
        class_="bar",
    )


def interval(value: float, low: float, high: float, ends: tuple[float, float], *, zero: bool = False) -> Markup:
    """An estimate with its interval as a bar on a scale from one of the ``ends`` to the other, 0 marked where it means something."""
    at = scale(*ends, 3.0, 97.0)
    return el(
        "svg",
        el("line", x1=0, y1=6, x2=100, y2=6, class_="grid"),
        el("line", x1=at(0.0), y1=0, x2=at(0.0), y2=12, class_="zero") if zero else None,
        el("line", x1=at(low), y1=6, x2=at(high), y2=6, class_="whisker home"),
        el("circle", cx=at(value), cy=6, r=3, class_="mark home"),
        viewBox="0 0 100 12",
        aria_hidden="true",
        class_="interval",
    )


def _round(number: int) -> str:
    return f"round {number}" if number else "openings"


def sparkline(
    values: Sequence[float | None],
    title: str,
    id: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    limit: float | None = None,
) -> Markup:
    """Values round by round; what is undefined is a gap. ``limit`` is a dashed line."""
    width, height, air = 160.0, 42.0, 5.0
    at_x, at_y = scale(0, max(1, len(values) - 1), air, width - air), scale(low, high, height - air, air)
    marks = [rule(0, at_y(low), width, at_y(low), "grid")]
    if limit is not None and low <= limit <= high:
        marks.append(rule(0, at_y(limit), width, at_y(limit), "zero"))
    run: list[str] = []
    for i, value in enumerate([*values, None]):
        if value is not None:
            run.append(f"{at_x(i):.1f},{at_y(min(high, max(low, value))):.1f}")
        elif run:
            marks.append(el("polyline", points=" ".join(run), class_="line home"))
            run = []
    for i, value in enumerate(values):
        if value is not None:
            place = at_y(min(high, max(low, value)))
            marks.append(
                el("circle", el("title", f"{_round(i)}: {value:.3f}"), cx=at_x(i), cy=place, r=2.6, class_="mark home")
            )
    said = ", ".join(f"{_round(i)} {'undefined' if v is None else f'{v:.2f}'}" for i, v in enumerate(values))
    return svg(title, said or "no round yet", id, width, height, marks, kind="spark")


def coloured(beliefs: Sequence[Mapping[str, float]], outcomes: Sequence[str] = (), most: int = 6) -> dict[str, str]:
    """The outcomes worth a colour, each with its own, in the order in which they are drawn.

    A colour once given stays, however the debate continues: a case's ``outcomes`` have theirs in their order if there is one for
    each; else outcomes get theirs as they come up, the more probable first, and those beyond ``most`` only if they have much.

    >>> coloured([{"a": 0.6, "b": 0.4}, {"a": 0.1, "b": 0.9}])
    {'a': 'c0', 'b': 'c1'}
    >>> coloured([{"+1": 0.7, "0": 0.2, "-1": 0.1}], ("-1", "0", "+1"))
    {'-1': 'c0', '0': 'c1', '+1': 'c2'}
    """
    if not beliefs:
        return {}
    taken = list(outcomes) if len(outcomes) <= COLOURS else []
    for belief in beliefs:
        for label, p in sorted(belief.items(), key=lambda item: -item[1]):
            room = COLOURS if p >= _MUCH else most if p >= _LITTLE else 0
            if label not in taken and len(taken) < room:
                taken.append(label)
    place = {label: n for n, label in enumerate(outcomes)}
    return {
        label: colour(taken.index(label)) for label in sorted(taken, key=lambda label: place.get(label, len(place)))
    }


def colour(number: int) -> str:
    """The class of a series or outcome."""
    return f"c{number % COLOURS}"


def key(colours: Mapping[str, str], rest: str = "") -> Markup:
    """What the colours mean."""
    items = [el("li", name, class_=kind, dir="auto") for name, kind in colours.items()]
    return el("ul", items, el("li", rest) if rest else None, class_="key")


def stack(rows: Sequence[tuple[str, Mapping[str, float]]], colours: Mapping[str, str], title: str) -> Markup:
    """A bar for each row, cut by probability; outcomes without one of the ``colours`` are one grey part.

    Bars are as wide as there is room, and their words keep their size: what is written fits the narrowest phone.
    """
    said = (f"{name}: {_told(belief)}" for name, belief in rows)
    drawn = ([el("span", name, class_="name", dir="auto"), _row(name, belief, colours)] for name, belief in rows)
    return el("div", drawn, class_="beliefs", role="img", aria_label=f"{title}: {'; '.join(said)}")


def whole(rows: Sequence[tuple[str, float, bool]], colours: Mapping[str, str], title: str) -> Markup:
    """One thick bar cut by probability, and below it what each colour is with its share; ``True`` marks the one that leads."""
    drawn = [row for row in rows if row[0] in colours] or list(rows[:1])
    rest = 1 - sum(p for _, p, _ in drawn)
    marks, done = [], 0.0
    for label, p, _ in drawn:
        marks.append(_part(done, p, f"part {colours.get(label, 'rest')}", el("title", f"{label} {percent(p)}")))
        done += p
    if rest > 0.002:
        marks.append(_part(done, rest, "part rest", el("title", f"all others {percent(rest)}")))
    items = [
        el(
            "li",
            el("bdi", label),
            " ",
            el("b", percent(p)),
            el("span", " leads", class_="soft") if lead else None,
            class_=colours.get(label),
        )
        for label, p, lead in drawn
    ]
    if rest > 0.002:
        items.append(el("li", "all others ", el("b", percent(rest))))
    bar = el("svg", marks, width="100%", height=_ROW, aria_hidden="true", class_="whole")
    return join(bar, el("ul", items, class_="key", aria_label=title))


def _row(name: str, belief: Mapping[str, float], colours: Mapping[str, str]) -> Markup:
    marks: list[Markup] = []
    done, leading = 0.0, _leading(belief)
    for label, kind in colours.items():
        p = belief.get(label, 0.0)
        if p < 0.002:
            continue
        about = el("title", f"{name}: {label} {percent(p)}")
        marks.append(_part(done, p, f"part {kind}", about))
        fits = int((p * _NARROWEST - 6) / _LETTER)
        if fits >= 4:
            room = f"{label} {percent(p)}" if len(label) <= fits - 5 else percent(p)
            lead = "on lead" if leading == (label,) else "on"
            marks.append(el("text", room, x=f"{100 * done:.2f}%", dx=4, y=13, class_=lead))
        done += p
    if done < 0.998:
        marks.append(_part(done, 1 - done, "part rest", el("title", f"{name}: all others {percent(1 - done)}")))
    return el("svg", marks, width="100%", height=_ROW, aria_hidden="true", class_="strip")


def _leading(belief: Mapping[str, float]) -> tuple[str, ...]:
    """The most probable outcome; several where none leads."""
    most = max(belief.values(), default=0.0)
    return tuple(label for label, p in belief.items() if math.isclose(p, most, abs_tol=1e-9))


def _told(belief: Mapping[str, float]) -> str:
    """A row in words."""
    if not (leading := _leading(belief)):
        return "no belief"
    who = " and ".join(leading) if len(leading) < 3 else f"{len(leading)} outcomes alike"
    return f"{who} {percent(belief[leading[0]])}"


def _part(start: float, share: float, kind: str, about: Markup) -> Markup:
    return el("rect", about, x=f"{100 * start:.2f}%", y=0, width=f"{100 * share:.2f}%", height=_ROW, class_=kind)
