"""How beliefs moved: one chart of rounds against probability, and the paper's signal evolution as a table.

Places along the x axis are shares of the width, so the chart fills its card and its words keep their size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from maci.controller.acquiring import USED
from maci.controller.dials import Measured
from maci.render.markup import Child, Markup, el, grid, join, percent
from maci.render.strips import key
from maci.render.style import AGENTS
from maci.render.svg import Scale, scale, short, spread
from maci.story.model import Belief, Round
from maci.story.outline import camps
from maci.story.report.parts import ALL, colours
from maci.story.story import Story
from maci.story.words import figure, leading, round_name

_TOP, _BOTTOM, _HEIGHT = 26.0, 262.0, 300
_LEFT, _RIGHT = 10.0, 76.0
"""Percent of the width between which rounds lie; direct labels stand at the right of them."""


def trajectory(story: Story) -> Markup | None:
    """The probability of each outcome over the rounds: all agents thick, each agent thin; on a scale the mean, with its spread."""
    rounds = [r for r in story.closed if r.mixture]
    if not rounds:
        return None
    last = max(1, rounds[-1].number)
    ticks = [0, *(r.number for r in rounds if r.number)]
    every = -(-len(ticks) // 12)
    marks: list[Child] = [
        el(
            "text",
            round_name(n) if n in (0, ticks[-1]) else str(n),
            x=_at(n, last),
            y=_BOTTOM + 17,
            class_="tick",
            text_anchor="middle",
        )
        for n in ticks
        if n % every == 0 or n == ticks[-1]
    ]
    drawn = _scaled(story, rounds, last) if story.scale else _shares(story, rounds, last)
    opens = [
        el(
            "a",
            el(
                "rect",
                el("title", f"Show {round_name(n)}"),
                x=f"{_x(n, last) - 2:.2f}%",
                y=0,
                width="4%",
                height=_HEIGHT,
                class_="hit",
            ),
            href=f"#round-{n}",
            aria_label=f"Show {round_name(n)}",
        )
        for n in ticks
    ]
    svg = el(
        "svg",
        marks,
        drawn,
        _markers(story, rounds, last),
        opens,
        width="100%",
        height=_HEIGHT,
        role="group",
        aria_label=_told(story, rounds),
        class_="trajectory",
    )
    about = "Thick: all agents together. Thin: each agent. ◆ something was found out · ■ dials set by hand · ○ an agent changed sides."
    return el(
        "figure",
        el("figcaption", "Mean position, round by round" if story.scale else "Probability, round by round"),
        svg,
        None if story.scale else key(colours(story)),
        el("p", about),
        class_="wide plot",
    )


def _x(number: int, last: int) -> float:
    return _LEFT + (number / last) * (_RIGHT - _LEFT)


def _at(number: int, last: int) -> str:
    return f"{_x(number, last):.2f}%"


def _line(points: Sequence[tuple[int, float]], last: int, kind: str, about: str) -> list[Markup]:
    """A line through points, as straight pieces; a single point is a dot."""
    pieces = [
        el(
            "line",
            el("title", about),
            x1=_at(a, last),
            y1=round(ya, 1),
            x2=_at(b, last),
            y2=round(yb, 1),
            class_=f"line {kind}",
        )
        for (a, ya), (b, yb) in pairwise(points)
    ]
    if len(points) == 1:
        pieces.append(
            el(
                "circle",
                el("title", about),
                cx=_at(points[0][0], last),
                cy=round(points[0][1], 1),
                r=4,
                class_=f"mark {kind}",
            )
        )
    return pieces


def _shares(story: Story, rounds: Sequence[Round], last: int) -> list[Child]:
    hues, y = colours(story), scale(0, 1, _BOTTOM, _TOP)
    marks = _axis({p: percent(p) for p in (0.0, 0.25, 0.5, 0.75, 1.0)}, y)
    ends = []
    for label, hue in hues.items():
        for agent in story.agents:
            own = [(r.number, y(r.beliefs[agent].get(label, 0.0))) for r in rounds if agent in r.beliefs]
            marks += _line(own, last, f"thin {hue}", f"{agent}: {label}")
        marks += _line(
            [(r.number, y(r.mixture.get(label, 0.0))) for r in rounds], last, f"thick {hue}", f"{ALL}: {label}"
        )
        ends.append((label, hue, rounds[-1].mixture.get(label, 0.0)))
    places = spread([y(p) + 4 for _, _, p in ends], 15, _TOP, _BOTTOM)
    for (label, hue, p), place in zip(ends, places, strict=True):
        words = f"{percent(p)} {short(label, 26)}"
        marks.append(
            el("text", el("title", label), words, x=f"{_RIGHT + 1.2}%", y=round(place, 1), class_=f"end {hue}")
        )
    return marks


def _axis(ticks: Mapping[float, str], y: Scale) -> list[Child]:
    marks: list[Child] = []
    for value, words in ticks.items():
        place = round(y(value), 1)
        marks.append(el("line", x1=f"{_LEFT}%", y1=place, x2=f"{_RIGHT}%", y2=place, class_="grid"))
        marks.append(el("text", words, x=0, y=place + 4, class_="tick"))
    return marks


def _scaled(story: Story, rounds: Sequence[Round], last: int) -> list[Child]:
    """Means on the scale's own axis; a bar at each round is one standard deviation to both sides."""
    space = story.opened.case.outcomes
    positions = dict(zip(space.labels, space.positions or range(len(space.labels)), strict=True))
    y = scale(min(positions.values()), max(positions.values()), _BOTTOM, _TOP)
    marks = _axis({at: short(label, 9) for label, at in positions.items()}, y)
    ends: list[tuple[str, str, float]] = []
    for number, agent in enumerate(story.agents):
        own = [(r.number, y(_mean(r.beliefs[agent], positions)[0])) for r in rounds if agent in r.beliefs]
        marks += _line(own, last, f"thin a{number % AGENTS}", f"{agent}, mean")
        if own:
            ends.append((agent, f"a{number % AGENTS}", own[-1][1] + 4))
    for (agent, hue, _), place in zip(ends, spread([at for _, _, at in ends], 15, _TOP, _BOTTOM), strict=True):
        marks.append(el("text", short(agent, 24), x=f"{_RIGHT + 1.2}%", y=round(place, 1), class_=f"end {hue}"))
    for r in rounds:
        mean, sd = _mean(r.mixture, positions)
        low, high = (max(_TOP, min(_BOTTOM, y(v))) for v in (mean - sd, mean + sd))
        about = el("title", f"{round_name(r.number)}: mean {figure(mean, 2)}, standard deviation {figure(sd, 2)}")
        marks.append(
            el(
                "line",
                about,
                x1=_at(r.number, last),
                y1=round(low, 1),
                x2=_at(r.number, last),
                y2=round(high, 1),
                class_="spread",
            )
        )
    marks += _line([(r.number, y(_mean(r.mixture, positions)[0])) for r in rounds], last, "thick home", f"{ALL}, mean")
    return marks


def _mean(belief: Belief, positions: Mapping[str, float]) -> tuple[float, float]:
    """Mean and standard deviation on a scale."""
    mean = sum(p * positions[label] for label, p in belief.items() if label in positions)
    return mean, sum(p * (positions[label] - mean) ** 2 for label, p in belief.items() if label in positions) ** 0.5


def _markers(story: Story, rounds: Sequence[Round], last: int) -> list[Child]:
    """What happened besides: found out before a round, dials by hand, sides changed."""
    marks: list[Child] = []
    for r in rounds:
        found = [a for a in story.acquired if a.verdict in USED and a.round == r.number - 1] if r.number else []
        said = [("◆", "found", f"found out before {round_name(r.number)}")] if found else []
        said += [("■", "hand", f"dials set by hand in {round_name(r.number)}")] if r.by_hand else []
        for number, (sign, kind, about) in enumerate(said):
            marks.append(
                el(
                    "text",
                    el("title", about),
                    sign,
                    x=_at(r.number, last),
                    y=12 + 12 * number,
                    class_=f"sign {kind}",
                    text_anchor="middle",
                )
            )
    if story.scale:
        return marks
    y, hues = scale(0, 1, _BOTTOM, _TOP), colours(story)
    for before, now in pairwise(rounds):
        was = {agent: outcome for outcome, agents in camps(before.beliefs).items() for agent in agents}
        for outcome, agents in camps(now.beliefs).items():
            for agent in agents:
                if was.get(agent, outcome) != outcome:
                    about = el("title", f"{agent} changed sides to {outcome} in {round_name(now.number)}")
                    place = round(y(now.beliefs[agent][outcome]), 1)
                    marks.append(
                        el(
                            "circle",
                            about,
                            cx=_at(now.number, last),
                            cy=place,
                            r=5,
                            class_=f"ring {hues.get(outcome, '')}",
                        )
                    )
    return marks


def _told(story: Story, rounds: Sequence[Round]) -> str:
    """The chart in words."""
    first, last = (leading(r.mixture, 1) for r in (rounds[0], rounds[-1]))
    ends = [
        f"{round_name(r.number)}: {top[0][0]} {percent(top[0][1])}"
        for r, top in ((rounds[0], first), (rounds[-1], last))
        if top
    ]
    return f"{story.title}: {', '.join(ends)}"


_COLUMNS = ("round", "W̃₁", "shared inf.", "entropy", "Q", "O", "CRIT", "D", "Î", "CL")


def evolution(story: Story) -> Markup | None:
    """The paper's signal evolution, a row for each round, as in its case tables."""
    rows = []
    for r in story.closed:
        m = r.signals if isinstance(r.signals, Measured) else None
        values = (
            m.analysis.w1_agents if m else None,
            m.analysis.shared_information if m else None,
            m.entropy if m else None,
            r.signal("q"),
            r.signal("o"),
            r.signal("crit"),
            r.signal("d"),
            r.signal("gain"),
            r.dials.cl if r.dials else None,
        )
        rows.append(
            el("tr", el("th", round_name(r.number), scope="row"), (el("td", figure(value)) for value in values))
        )
    if not rows:
        return None
    what = (
        "W̃₁ distance between agents · shared information · entropy of all agents in bits · Q evidence quality · O shared evidence · "
        "CRIT argument quality · D disagreement · Î information gained · CL contentiousness."
    )
    return el(
        "details",
        el("summary", "Signal evolution, as in the paper's tables"),
        grid("Signal evolution", _COLUMNS, rows),
        el("p", what, class_="small-print"),
        class_="box",
        id="evolution",
    )


def moved(story: Story) -> Markup | None:
    """The chart, and the table one click away."""
    drawn = trajectory(story)
    return None if drawn is None else join(el("div", drawn, class_="charts"), evolution(story))
