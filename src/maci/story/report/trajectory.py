"""How beliefs moved: one chart of rounds against probability, and the paper's signal evolution as a table.

Rounds lie along an area that takes three quarters of the card; the style sheet widens it where there is no room for labels beside it.
Places in it are shares of its width, so the chart fills its card and its words keep their size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from textwrap import wrap

from maci.controller.acquiring import USED
from maci.controller.dials import Measured
from maci.render.markup import Child, Markup, el, grid, join, percent
from maci.render.strips import key
from maci.render.style import AGENTS
from maci.render.svg import scale, spread
from maci.story.model import Belief, Round
from maci.story.outline import camps
from maci.story.report.parts import colours
from maci.story.story import Story
from maci.story.words import ALL, figure, leading, round_name

_TOP, _BOTTOM, _HEIGHT = 26.0, 262.0, 300
_BARS = "Bars: one standard deviation to both sides. "
_AXIS, _LONG_AXIS = 44, 112
"""Pixels for the words of the axis: percentages, or the names of a scale's steps."""
_LINE, _LETTERS, _STEP = 14, 19, 16
"""Pixels of a line of a direct label, its letters, and those of a step of a scale; longer labels have several lines."""
_LINES = int((_BOTTOM - _TOP) // _LINE) + 1
"""Lines of direct labels that have room."""


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
    signs = _markers(story, rounds, last)
    axis, drawn = _scaled(story, rounds, last) if story.scale else _shares(story, rounds, last)
    long = max(map(len, story.scale), default=0) > 5
    opens = [
        el(
            "a",
            el(
                "rect",
                el("title", f"Show {round_name(n)}"),
                x=f"{100 * n / last - 2:.2f}%",
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
    area = el(
        "svg",
        [_rule(y, "grid") for _, y, _ in axis],
        marks,
        drawn,
        signs,
        opens,
        x=_LONG_AXIS if long else _AXIS,
        width="75%",
        height=_HEIGHT,
        role="presentation",
        class_="area long" if long else "area",
    )
    svg = el(
        "svg",
        [text for words, y, hue in axis for text in _tick(words, y, hue)],
        area,
        width="100%",
        height=_HEIGHT,
        role="group",
        aria_label=_told(story, rounds),
        class_="trajectory",
    )
    return el(
        "figure",
        el("figcaption", "Mean position, round by round" if story.scale else "Probability, round by round"),
        svg,
        None if story.scale else key(colours(story)),
        el(
            "p",
            f"Thick: {ALL}. Thin: each agent. ",
            _BARS if story.scale else None,
            " · ".join(_legend(signs)),
        ),
        class_="wide plot",
    )


def _tick(words: str, y: float, hue: str) -> list[Markup]:
    """What stands at a place of the axis, in as many lines as it needs."""
    lines = wrap(words, _STEP)
    top = y + 4 - _LINE * (len(lines) - 1) / 2
    return [
        el("text", line, x=0, y=round(top + _LINE * number, 1), class_=f"tick {hue}".rstrip())
        for number, line in enumerate(lines)
    ]


def _at(number: int, last: int) -> str:
    return f"{100 * number / last:.2f}%"


def _rule(y: float, kind: str) -> Markup:
    return el("line", x1="0%", y1=y, x2="100%", y2=y, class_=kind)


def _line(points: Sequence[tuple[int, float]], last: int, kind: str, about: str) -> list[Markup]:
    """A line through points, as straight pieces; a single point is a dot."""
    at = [(_at(number, last), round(y, 1)) for number, y in points]
    pieces = [el("line", x1=a, y1=ya, x2=b, y2=yb, class_=f"line {kind}") for (a, ya), (b, yb) in pairwise(at)]
    pieces += [el("circle", cx=x, cy=y, r=4, class_=f"mark {kind}") for x, y in at[:1] if len(at) == 1]
    return [el("g", el("title", about), pieces)]


_Axis = list[tuple[str, float, str]]
"""Words, where they stand, and the colour they have."""


def _shares(story: Story, rounds: Sequence[Round], last: int) -> tuple[_Axis, list[Child]]:
    hues, y = colours(story), scale(0, 1, _BOTTOM, _TOP)
    axis = [(percent(p), round(y(p), 1), "") for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
    marks, ends = list[Child](), list[tuple[str, str, float]]()
    for label, hue in hues.items():
        for agent in story.agents:
            own = [(r.number, y(r.beliefs[agent].get(label, 0.0))) for r in rounds if agent in r.beliefs]
            marks += _line(own, last, f"thin {hue}", f"{agent}: {label}")
        marks += _line(
            [(r.number, y(r.mixture.get(label, 0.0))) for r in rounds], last, f"thick {hue}", f"{ALL}: {label}"
        )
        p = rounds[-1].mixture.get(label, 0.0)
        ends.append((f"{percent(p)} {label}", hue, y(p)))
    return axis, [*marks, *_ends(ends)]


def _ends(ends: Sequence[tuple[str, str, float]]) -> list[Child]:
    """Direct labels at the right, none cut: a long one has several lines, and none covers another."""
    lines = []
    for words, hue, y in ends:
        parts = wrap(words, _LETTERS, max_lines=max(3, _LINES // len(ends)), placeholder=" …")
        lines += [(part, hue, y + 4, words) for part in parts]
    places = spread([y for _, _, y, _ in lines], _LINE, _TOP, _BOTTOM + 4)
    return [
        el("text", el("title", words), part, x="100%", dx=9, y=round(place, 1), class_=f"end {hue}")
        for (part, hue, _, words), place in zip(lines, places, strict=True)
    ]


def _scaled(story: Story, rounds: Sequence[Round], last: int) -> tuple[_Axis, list[Child]]:
    """Means on the scale's own axis; a bar at each round is one standard deviation to both sides."""
    positions, y = _steps(story)
    hues = colours(story)
    axis = [(label, round(y(at), 1), hues.get(label, "")) for label, at in positions.items()]
    marks, ends = list[Child](), list[tuple[str, str, float]]()
    for number, agent in enumerate(story.agents):
        own = [(r.number, y(_mean(r.beliefs[agent], positions)[0])) for r in rounds if agent in r.beliefs]
        marks += _line(own, last, f"thin a{number % AGENTS}", f"{agent}, mean")
        if own:
            ends.append((agent, f"a{number % AGENTS}", own[-1][1]))
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
    means = [(r.number, y(_mean(r.mixture, positions)[0])) for r in rounds]
    marks += _line(means, last, "thick home", f"{ALL}, mean")
    led = figure(_mean(rounds[-1].mixture, positions)[0], 2)
    return axis, [*marks, *_ends([(f"{ALL}: mean {led}", "home", means[-1][1]), *ends])]


def _steps(story: Story) -> tuple[dict[str, float], Callable[[float], float]]:
    """Where the steps of a scale lie, and the height of each place on the chart."""
    space = story.opened.case.outcomes
    positions = dict(zip(space.labels, space.positions or range(len(space.labels)), strict=True))
    return positions, scale(min(positions.values()), max(positions.values()), _BOTTOM, _TOP)


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
    hues, (positions, step) = colours(story), _steps(story) if story.scale else ({}, scale(0, 1, _BOTTOM, _TOP))
    for before, now in pairwise(rounds):
        was = {agent: outcome for outcome, agents in camps(before.beliefs).items() for agent in agents}
        for outcome, agents in camps(now.beliefs).items():
            for agent in agents:
                if was.get(agent, outcome) != outcome:
                    about = el("title", f"{agent} changed sides to {outcome} in {round_name(now.number)}")
                    belief = now.beliefs[agent]
                    place = round(step(_mean(belief, positions)[0] if positions else belief[outcome]), 1)
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


def _legend(signs: Sequence[Child]) -> list[str]:
    """What the signs mean that are on the chart."""
    drawn = "".join(map(str, signs))
    means = {
        "sign found": "◆ something was found out",
        "sign hand": "■ dials set by hand",
        "ring": "○ an agent changed sides",
    }
    return [words for kind, words in means.items() if f'class="{kind}' in drawn]


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
        el("summary", "All signals, round by round"),
        grid("Signal evolution", _COLUMNS, rows),
        el("p", what, class_="small-print"),
        class_="box",
        id="evolution",
    )


def moved(story: Story) -> Markup | None:
    """The chart, and the table one click away."""
    drawn = trajectory(story)
    return None if drawn is None else join(el("div", drawn, class_="charts"), evolution(story))
