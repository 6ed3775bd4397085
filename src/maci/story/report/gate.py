"""The dials as instruments: the gate as two lines through the arguments, contentiousness as an arc with the words agents are given.

Every argument that was graded is a dot at (q, CRIT). Where scripts run, the lines can be dragged or moved with the arrow keys, and
what would flip is marked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, pi, sin
from typing import NamedTuple

from maci.agents.contentiousness import Words, tone
from maci.render.markup import Child, Markup, el, grid, join
from maci.render.svg import scale
from maci.story.model import Round, Statement
from maci.story.story import Story
from maci.story.words import figure, plural, round_name

_WIDTH, _HEIGHT = 360.0, 276.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 34.0, 350.0, 24.0, 240.0
_BESIDE = 70.0
"""What the words of τ_Q need at the right of its line; else they stand at the left."""


def scatter(
    rounds: Sequence[Round], at: tuple[float, float] | None, *, form: str = "", links: bool = True
) -> Markup | None:
    """The arguments of these rounds and the gate ``at`` (τ_Q, τ_CRIT); ``form`` takes its values, dots are ``links`` to cards."""
    placed = _graded(rounds)
    if not placed or at is None:
        return None
    low = min(0.0, *(dot.q for dot in placed)) - 0.03
    high = max(0.6, *(dot.q for dot in placed), at[0]) + 0.05
    x, y = scale(low, high, _LEFT, _RIGHT), scale(0.0, 1.0, _BOTTOM, _TOP)
    drawn = el(
        "svg",
        _field(x(at[0]), y(at[1])),
        _axes(x, y, low, high),
        [_dot(dot, x, y, linked=links) for dot in placed],
        _line("tau_q", "τ_Q", at[0], (x(at[0]), _TOP, x(at[0]), _BOTTOM)),
        _line("tau_crit", "τ_CRIT", at[1], (_LEFT, y(at[1]), _RIGHT, y(at[1]))),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="group",
        aria_label=f"Gate: {plural(len(placed), 'argument')} by fit of the evidence and grade",
        class_="gate",
        data_form=form or None,
        data_low=f"{low:.6f}",
        data_high=f"{high:.6f}",
        data_left=_LEFT,
        data_right=_RIGHT,
        data_top=_TOP,
        data_bottom=_BOTTOM,
        data_beside=_BESIDE,
    )
    return join(drawn, el("p", "", class_="flips small-print", role="status"))


class _Graded(NamedTuple):
    """An argument that has both grades of the gate."""

    round: int
    item: Statement
    q: float
    crit: float


def _graded(rounds: Sequence[Round]) -> list[_Graded]:
    """What was graded in these rounds; facts of the case pass without."""
    return [
        _Graded(r.number, item, found.q, found.crit)
        for r in rounds
        for item in r.said
        if (found := item.admission) is not None and not found.fact and found.q is not None and found.crit is not None
    ]


def _field(x: float, y: float) -> Markup:
    """Where arguments are admitted: right of τ_Q, above τ_CRIT."""
    return el("rect", x=x, y=_TOP, width=max(0.0, _RIGHT - x), height=max(0.0, y - _TOP), class_="open-field")


def _axes(x: Callable[[float], float], y: Callable[[float], float], low: float, high: float) -> list[Child]:
    marks: list[Child] = []
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        marks.append(el("line", x1=_LEFT, y1=y(value), x2=_RIGHT, y2=y(value), class_="grid"))
        marks.append(el("text", figure(value, 2), x=_LEFT - 4, y=y(value) + 4, class_="tick", text_anchor="end"))
    for value in (v / 10 for v in range(0, 11, 2)):
        if low <= value <= high:
            marks.append(el("text", figure(value, 1), x=x(value), y=_BOTTOM + 14, class_="tick", text_anchor="middle"))
    words = "fit of the cited evidence (q) →"
    marks.append(el("text", words, x=_RIGHT, y=_HEIGHT - 4, class_="axis", text_anchor="end"))
    marks.append(el("text", "↑ judged (CRIT)", x=_LEFT, y=12, class_="axis"))
    return marks


def _dot(graded: _Graded, x: Callable[[float], float], y: Callable[[float], float], *, linked: bool) -> Markup:
    number, item, q, crit = graded
    about = el("title", f"{item.id} {item.agent}: {item.argument.claim} (q {figure(q, 2)}, CRIT {figure(crit, 2)})")
    dot = el(
        "circle",
        about,
        cx=x(q),
        cy=y(crit),
        r=5.5,
        class_=f"dot-arg {item.fate}",
        data_id=item.id,
        data_q=f"{q:.6f}",
        data_crit=f"{crit:.6f}",
        data_round=number,
    )
    return el("a", dot, href=f"#a-{item.id}", aria_label=f"{item.id}, {item.fate}") if linked else dot


def _line(name: str, words: str, value: float, place: tuple[float, float, float, float]) -> Markup:
    """A threshold: a line to drag, its value beside it."""
    upright = name == "tau_q"
    ends = dict(zip(("x1", "y1", "x2", "y2"), place, strict=True))
    at_x, at_y = (place[0] + 4, _BOTTOM - 6) if upright else (_LEFT + 4, place[1] - 5)
    over = upright and at_x > _RIGHT - _BESIDE
    said = f"{words} {figure(value, 2)}"
    return el(
        "g",
        el("line", **ends, class_="tau-line"),
        el("line", el("title", f"{said}: drag it"), **ends, class_="tau-grip"),
        el("text", said, x=at_x - 8 if over else at_x, y=at_y, class_="tau", text_anchor="end" if over else "start"),
        data_dial=name,
        tabindex=0,
        role="slider",
        aria_label=f"{words}, what an argument must reach",
        aria_valuemin=0,
        aria_valuemax=1,
        aria_valuenow=f"{value:.2f}",
        aria_valuetext=f"{value:.2f}",
    )


def arc(cl: float) -> Markup:
    """Contentiousness on an arc from cooperative to confrontational."""

    def at(value: float, r: float) -> tuple[float, float]:
        angle = pi * (1 - value)
        return 70 + r * cos(angle), 66 - r * sin(angle)

    (x0, y0), (x1, y1), (xn, yn) = at(0, 56), at(1, 56), at(cl, 56)
    track = el("path", d=f"M{x0:.1f},{y0:.1f}A56,56 0 0 1 {x1:.1f},{y1:.1f}", class_="arc-track")
    done = el("path", d=f"M{x0:.1f},{y0:.1f}A56,56 0 0 1 {xn:.1f},{yn:.1f}", class_="arc-done")
    words = el("text", figure(cl, 2), x=70, y=62, class_="arc-value", text_anchor="middle")
    return el(
        "svg",
        track,
        done,
        el("circle", cx=xn, cy=yn, r=6, class_="mark home"),
        words,
        viewBox="0 0 140 76",
        aria_hidden="true",
        class_="arc",
    )


def instrument(story: Story, form: str = "") -> Markup | None:
    """The dials of each of the last rounds, the newest shown; where scripts run, those of the round in view.

    ``form``: the form by which a person turns them.
    """
    set_ = [r for r in story.rounds if r.dials is not None][-_SHOWN:]
    if not set_:
        return None
    newest = next((r for r in reversed(set_) if r.closed), set_[-1])
    told, first = told_as(story), set_[0].number
    each = (_round(r, story.rounds[r.number - 1], form, told, shown=r is newest) for r in set_)
    early = f"For round{'s 1 to' if first > 2 else ''} {first - 1}, see the history below." if first > 1 else ""
    return join(*each, el("p", early, class_="small-print") if early else None)


_PASSES = "An argument is admitted if its evidence fits the case and the judges grade it well: the shaded corner."
_SHOWN = 8
"""Rounds whose dials are on the page."""


def told_as(story: Story) -> Words | None:
    """In which words models are told how contentious to be; readers and scripts are told nothing."""
    return story.opened.config.agents.tone if story.opened.prompts else None


def _round(now: Round, before: Round, form: str, told: Words | None, *, shown: bool) -> Markup:
    """The gate through the arguments of a round; through those of the one before while nothing is graded yet."""
    dials = now.dials
    assert dials is not None
    at = dials.tau_q, dials.tau_crit
    gate, early = scatter([now], at, form=form), None
    if gate is None and (gate := scatter([before], at, form=form)) is not None:
        early = el(
            "p", f"Nothing is graded yet: these are the arguments of {round_name(before.number)}.", class_="small-print"
        )
    name = round_name(now.number)
    graded = len({(dot.q, dot.crit) for dot in _graded([now])})
    shared = "" if graded == len(now.said) or early or not graded else _overlap(now, graded)
    return el(
        "div",
        el("h3", f"Gate, {name}"),
        (
            gate
            and join(
                el("p", _PASSES, class_="small-print"),
                gate,
                early,
                el("p", shared, class_="small-print") if shared else None,
            )
        )
        or el(
            "p",
            f"τ_Q {figure(dials.tau_q, 2)}, τ_CRIT {figure(dials.tau_crit, 2)}: nothing is graded yet.",
            class_="small-print",
        ),
        el("h3", f"Contentiousness, {name}"),
        el("div", arc(dials.cl), class_="center"),
        el(
            "p",
            f"0 cooperative · 1 confrontational (CL).{' Language models are told:' if told else ''}",
            class_="small-print center",
        ),
        el("blockquote", tone(dials.cl, told), class_="told") if told else None,
        class_="at-round",
        data_round=now.number,
        hidden=not shown,
    )


def _overlap(now: Round, rings: int) -> str:
    """Why there are fewer rings than arguments."""
    lacking = len(now.said) - len(_graded([now]))
    parts = [f"{lacking} without both grades"] if lacking else []
    parts += ["rings with the same grades lie on each other"] if rings + lacking < len(now.said) else []
    return f"{plural(rings, 'ring')} for {plural(len(now.said), 'argument')}: {'; '.join(parts)}."


def past(story: Story) -> Markup | None:
    """The dials of every round and whose hand moved them."""
    rows = []
    for r in story.rounds:
        if r.dials is not None:
            by = [h.by or "a person" for h in story.hands if h.round == r.number - 1 and "sets" in h.what]
            hand = el("b", by[-1] if by else "a person") if r.by_hand else "schedule"
            values = (el("td", figure(value, 2)) for value in (r.dials.cl, r.dials.tau_q, r.dials.tau_crit))
            link = el("a", str(r.number), href=f"#round-{r.number}", aria_label=round_name(r.number))
            rows.append(el("tr", el("th", link, scope="row"), values, el("td", hand, class_="words")))
    if not rows:
        return None
    head = ("round", "CL", "τ_Q", "τ_CRIT", "by")
    return el("div", el("h3", "History"), grid("Dials, round by round", head, rows, words=("by",)), class_="past")
