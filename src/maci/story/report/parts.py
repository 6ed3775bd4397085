"""Pieces that reports and web pages share: sentences with links, marked quotes, beliefs as bars over the rounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from textwrap import shorten

from maci.evidence.span import Span
from maci.render.markup import Child, Markup, el, grid, join, signed
from maci.render.strips import coloured, key, sparkline, stack
from maci.render.style import DIVERGING
from maci.story.model import SIGNALS, Round
from maci.story.story import Story
from maci.story.words import ALL, figure, leading, leads, round_name, shown

_FATES = {"admitted": "good", "fact": "soft", "rejected": "bad", "opening": "soft", "open": "warn"}
_SAID = {
    "admitted": "admitted",
    "fact": "a fact of the case",
    "rejected": "not admitted",
    "opening": "opening",
    "open": "not judged yet",
}


def tag(fate: str) -> Markup:
    """What became of an argument."""
    return el("span", _SAID[fate], class_=f"tag {_FATES[fate]}")


def names(labels: Iterable[str], between: str = ", ") -> Markup:
    """Outcomes inside a sentence, whichever way they are written: what stands beside them keeps its place.

    >>> names(["a", "b"], " / ")
    '<bdi>a</bdi> / <bdi>b</bdi>'
    """
    return join(*(((between if i else ""), el("bdi", label)) for i, label in enumerate(labels)))


def tile(value: Child, what: str, below: Markup | None = None) -> Markup:
    """A figure and its name."""
    return el("div", el("b", value), el("span", what), below, class_="figure")


def anchors(story: Story) -> dict[str, str]:
    """Span → its name in links; ids of spans are anybody's words, these are ours."""
    return {span: f"e{number}" for number, span in enumerate(story.spans, 1)}


MADE = re.compile(r"s-[0-9a-f]{10}")
"""Ids that were made here; others may be anybody's words."""


def cited_name(story: Story, id: str, most: int = 36) -> str:
    """What a piece of evidence is called: the id its author gave it, else its source, with a number where the source has several."""
    span = story.spans[id]
    if not MADE.fullmatch(id):
        return id
    if not span.source:
        return anchors(story)[id]
    alike = [other for other, known in story.spans.items() if known.source == span.source]
    number = f"\N{NO-BREAK SPACE}{alike.index(id) + 1}" if len(alike) > 1 else ""
    return shorten(span.source, most, placeholder=" …") + number


def linked(
    sentence: str, links: Mapping[str, str], outcomes: Iterable[str] = (), called: Callable[[str], str] | None = None
) -> Markup:
    """A sentence of the record: names of ``links`` are links, outcomes keep their direction, what stands between backticks is code.

    ``called``: what stands on a link instead of its name.

    >>> linked("s-0123456789 <decides> `x`", {"s-0123456789": "e3"})
    '<a href="#e3">e3</a> &lt;decides&gt; <code>x</code>'
    """
    names = "|".join(map(re.escape, sorted({*links, *outcomes}, key=len, reverse=True))) or "(?!)"

    def piece(found: str) -> Markup:
        if found in links:
            return el("a", called(found) if called else links[found], href=f"#{links[found]}")
        return el("code", found.strip("`")) if found.startswith("`") else el("bdi", found)

    parts = re.split(rf"(`[^`]+`|(?<!\w)(?:{names})(?!\w))", sentence)
    return join(*(piece(part) if i % 2 else part for i, part in enumerate(parts)))


def prose(story: Story) -> Callable[[str], Markup]:
    """How sentences about a debate are set on its page: arguments, spans and items of the plan that they name are links."""
    spans = {id: link for id, link in anchors(story).items() if MADE.fullmatch(id)}
    items = story.plan.items if story.plan is not None else ()
    plan = {item.id: f"plan-{number}" for number, item in enumerate(items, 1)}
    links = {**spans, **{id: f"a-{id}" for id in story.said}, **plan}

    def called(id: str) -> str:
        return cited_name(story, id) if id in spans else plan.get(id, id)

    outcomes = {*story.opened.case.outcomes.labels, *(label for r in story.rounds for label in r.mixture)}
    return partial(linked, links=links, outcomes=outcomes, called=called)


def listed(lines: Iterable[str], write: Callable[[str], Markup]) -> Markup:
    """Sentences one below the other."""
    return el("ul", (el("li", write(line), dir="auto") for line in lines))


def marked(span: Span, places: Sequence[tuple[int, int]]) -> Markup:
    """A span with what was quoted of it marked; quotes that overlap are marked once.

    >>> marked(Span("s", "high fever and a rash"), [(0, 10), (5, 14)])
    '<mark>high fever and</mark> a rash'
    """
    quoted = {i for start, end in places for i in range(start, end)}
    runs = (
        (inside, "".join(span.text[i] for i in run))
        for inside, run in groupby(range(len(span.text)), quoted.__contains__)
    )
    return join(*(el("mark", text) if inside else text for inside, text in runs))


def beliefs(now: Round, before: Round | None, scale: Sequence[str] = ()) -> Markup | None:
    """Who believes what: weight, leading outcomes, and how the leading one moved."""
    if not now.beliefs:
        return None
    rows = []
    for name, belief in [*now.beliefs.items(), (ALL, now.mixture)]:
        top = leading(belief)
        weight = now.weights.get(name)
        was = (before.mixture if name == ALL else before.beliefs.get(name)) if before else None
        moved = "" if was is None or not top else signed(top[0][1] - was.get(top[0][0], 0.0), 2)
        said = _believes(belief, scale)
        cells = el("td", figure(weight, 2)), el("td", moved or "–"), el("td", said, class_="words")
        rows.append(el("tr", el("th", name, scope="row"), cells, class_="reference" if name == ALL else None))
    head = ("agent", "ω", "change", "believes")
    return grid(f"Beliefs after {round_name(now.number)}", head, rows, words=("believes",))


def _believes(belief: Mapping[str, float], scale: Sequence[str]) -> Markup:
    """The leading outcomes in a line; on a scale the one that leads is bold."""
    parts = []
    for i, (label, p) in enumerate(shown(belief, 3, scale)):
        said = el("bdi", label), f" {p:.2f}"
        parts.append((", " if i else "", el("b", said) if scale and leads(label, belief) else said))
    return join(*parts)


def colours(*stories: Story) -> dict[str, str]:
    """The colour of each outcome, the same on every page about a debate; several debates share theirs."""
    spaces = {story.opened.case.outcomes.labels for story in stories}
    scales = {story.scale for story in stories}
    if len(scales) == 1 and (labels := scales.pop()) and len(labels) in DIVERGING:
        return {label: f"s{place}" for label, place in zip(labels, DIVERGING[len(labels)], strict=True)}
    mixtures = [r.mixture for story in stories for r in story.closed if r.mixture]
    if len(stories) > 1:  # what each came to has a colour before what it passed through
        mixtures = [story.closed[-1].mixture for story in stories if story.closed] + mixtures
    return coloured(mixtures, spaces.pop() if len(spaces) == 1 else ())


def key_of(colours: Mapping[str, str], *stories: Story) -> Markup:
    """What the colours mean; the grey part is named where there is one."""
    held = (belief for story in stories for r in story.closed for belief in (*r.beliefs.values(), r.mixture))
    more = any(p >= 0.002 and label not in colours for belief in held for label, p in belief.items())
    return key(colours, "all others" if more else "")


def mixtures(story: Story, colours: Mapping[str, str]) -> Markup | None:
    """The beliefs of all agents over the rounds, as stacked bars; nothing before there are any."""
    rows = [(round_name(r.number), r.mixture) for r in story.closed if r.mixture]
    return stack(rows, colours, f"{ALL.capitalize()}, round by round") if rows else None


def course(story: Story) -> Markup | None:
    """Beliefs over the rounds as stacked bars: all agents, then every agent."""
    rounds = story.closed
    if not rounds:
        return None
    labels = colours(story)

    def drawn(name: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> Markup:
        return el("figure", el("figcaption", name), stack(rows, labels, f"Beliefs of {name}, round by round"))

    whole = drawn(ALL, [(round_name(r.number), r.mixture) for r in rounds])
    agents = [
        drawn(agent, [(round_name(r.number), r.beliefs[agent]) for r in rounds if agent in r.beliefs])
        for agent in story.agents
        if any(agent in r.beliefs for r in rounds)
    ]
    return join(key_of(labels, story), el("div", whole, agents, class_="charts"))


def signals(story: Story) -> Markup | None:
    """The four signals as sparklines with their last values."""
    rounds = story.closed
    if not rounds:
        return None
    limits = {"d": story.opened.config.stop.d_max, "o": story.opened.config.stop.tau_o}
    tiles = []
    for field, name, meaning in SIGNALS:
        values = [r.signal(field) for r in rounds]
        line = sparkline(values, f"{name}, {meaning}", f"sig-{field}", limit=limits.get(field))
        tiles.append(tile((el("span", name, class_="symbol"), " ", figure(values[-1], 2)), meaning, line))
    return el("div", tiles, class_="figures")
