"""The debate as a thread: a lane for each agent, rounds downwards, a card for each argument: claim, why, evidence, fate.

Where scripts run, lines join a card to those it answers, cards can be filtered and searched, and j and k step through them.
"""

from __future__ import annotations

from collections.abc import Mapping

from maci.render.markup import Child, Markup, el, grid, join, percent
from maci.render.style import AGENTS
from maci.story.model import Cited, Judged, Round, Statement
from maci.story.report.parts import anchors, cited_name, colours, marked, tag
from maci.story.story import Story
from maci.story.words import figure, leading, plural, rejection_words


def initials(name: str) -> str:
    """Two letters for a badge.

    >>> initials("Safety officer"), initials("Tenant's adviser"), initials("openai/gpt-4o#2"), initials("流")
    ('SO', 'TA', 'OG', '流')
    """
    words = "".join(c if c.isalnum() else "" if c in "'’" else " " for c in name).split()
    if len(words) > 1:
        return (words[0][0] + words[1][0]).upper()
    return words[0][:2].capitalize() if words else "?"


def badge(story: Story, agent: str) -> Markup:
    """An agent's initials in its colour."""
    place = story.agents.index(agent)
    return el("span", initials(agent), class_=f"badge a{place % AGENTS}", aria_hidden="true")


def lanes(story: Story, now: Round) -> Markup | None:
    """What was said in a round: a lane for each agent that spoke or was silent in it."""
    if not now.said and not now.abstained:
        return None
    links, hues = anchors(story), colours(story)
    columns = []
    for agent in story.agents:
        said = [card(item, story, links, hues) for item in now.said if item.agent == agent]
        why = now.abstained.get(agent)
        silent = el("p", f"No turn: {why}" if why else "Nothing said.", class_="small-print") if not said else None
        belief = now.beliefs.get(agent)
        top = leading(belief, 1) if belief else []
        lead = (
            el(
                "span",
                " leads with ",
                el("bdi", dot(hues, top[0][0]), top[0][0], class_="named"),
                f", {percent(top[0][1])}",
            )
            if top
            else None
        )
        head = el("h4", badge(story, agent), agent, lead, class_=f"who a{story.agents.index(agent) % AGENTS}")
        columns.append(el("section", head, said, silent, class_="lane", aria_label=agent))
    few = f"of-{len(columns)}" if len(columns) < 4 else "of-many"
    return el("div", columns, class_=f"lanes {few}")


def dot(hues: Mapping[str, str], outcome: str) -> Markup:
    """An outcome's colour."""
    return el("span", class_=f"dot {hues.get(outcome, '')}".rstrip())


def argument(item: Statement, story: Story) -> Markup:
    """One card on its own."""
    return card(item, story, anchors(story), colours(story))


def card(item: Statement, story: Story, links: Mapping[str, str], hues: Mapping[str, str]) -> Markup:
    """An argument: what it speaks for, whom it answers, claim, reasons, evidence, and what became of it."""
    said = item.argument
    side: Child = None
    if said.outcome:
        side = el(
            "span",
            "against " if said.against else "for ",
            dot(hues, said.outcome),
            el("bdi", said.outcome),
            class_="side",
        )
    head = el("p", el("a", item.id, href=f"#a-{item.id}", class_="mono"), " ", tag(item.fate), " ", side, class_="head")
    known = story.said
    to = [id for id in (item.admission.answers if item.admission is not None else said.answers) if id in known]
    reply = (
        el(
            "p",
            "answers ",
            join(*((", " if i else "", el("a", id, href=f"#a-{id}")) for i, id in enumerate(to))),
            class_="reply small-print",
        )
        if to
        else None
    )
    if item.repeats:
        again = el("a", item.repeats, href=f"#a-{item.repeats}")
        body: Child = el("p", "says again what it said in ", again, ": ", said.claim, class_="soft", dir="auto")
    else:
        body = (
            el("p", said.claim, class_="claim", dir="auto"),
            el("ul", (el("li", reason, dir="auto") for reason in said.reasons)) if said.reasons else None,
            el("p", "On the other side: ", " ".join(said.opposing), class_="soft", dir="auto")
            if said.opposing
            else None,
            el("div", (_chip(c, story, links) for c in item.citations), class_="cites") if item.citations else None,
        )
    return el(
        "article",
        head,
        reply,
        body,
        _fate(item, story),
        _scores(item.scores) if item.scores else None,
        id=f"a-{item.id}",
        class_=f"argument {item.fate}{' again' if item.repeats else ''}",
        tabindex=-1,
        data_agent=item.agent,
        data_outcome=said.outcome,
        data_fate=item.fate,
        data_answers=" ".join(to) or None,
        data_hue=f"a{story.agents.index(item.agent) % AGENTS}" if to else None,
    )


def _fate(item: Statement, story: Story) -> Markup | None:
    """Why an argument was not admitted, in words; else how it fared."""
    a, dials = item.admission, story.rounds[item.round].dials
    if a is None:
        return None
    if why := rejection_words(item, dials):
        return el("p", why, class_="fate small-print" if a.fact else "fate small-print bad")
    graded = [f"fit {figure(a.q, 2)} (q)"] if a.q is not None else []
    graded += [f"judged {figure(a.crit, 2)} (CRIT)"] if a.crit is not None else []
    return el("p", f"Admitted: {', '.join(graded)}" if graded else "Admitted", class_="fate small-print")


def _chip(cited: Cited, story: Story, links: Mapping[str, str]) -> Markup:
    """A citation that opens its source with the cited words marked."""
    span, link = story.spans.get(cited.span), links.get(cited.span)
    if span is None or link is None:
        return el("span", f"{cited.span}: {cited.why or 'not looked up'}", class_="chip bad")
    name = cited_name(story, cited.span)
    wrong = el("p", cited.why, class_="bad small-print") if cited.verified is False else None
    missed = (
        el("p", "quoted as: ", el("q", cited.quote), class_="small-print") if cited.quote and not cited.places else None
    )
    source = el(
        "p",
        f"{span.source} · " if span.source else "",
        el("a", "all citations of it", href=f"#{link}"),
        class_="small-print",
    )
    body = el("blockquote", marked(span, cited.places), dir="auto"), missed, wrong, source
    return el("details", el("summary", name, class_="bad" if wrong else None), body, class_="chip")


def _scores(scores: tuple[Judged, ...]) -> Markup:
    rows = []
    for item in scores:
        score = item.score
        if score is None:
            cells = [el("td", "–") for _ in range(4)] + [el("td", f"abstained: {item.reason}", class_="words")]
        else:
            figures = (score.evidence, score.logic, score.relevance, score.composite)
            cells = [el("td", figure(value, 2)) for value in figures]
            cells.append(el("td", score.justification, class_="words", dir="auto"))
        rows.append(el("tr", el("th", item.slot, scope="row"), cells))
    head = ("judge", "evidence", "logic", "relevance", "CRIT", "why")
    return el(
        "details",
        el("summary", plural(len(scores), "score")),
        grid("Scores", head, rows, words=("why",)),
        class_="scores",
    )


_FATES = (("admitted", "admitted"), ("rejected", "not admitted"), ("opening", "openings"), ("fact", "facts"))
_KEYS = (
    ("j", "next argument"),
    ("k", "argument before"),
    ("/", "search"),
    ("?", "this help"),
    ("Esc", "close it, clear the filter"),
)


def tools(story: Story) -> Markup:
    """Filters and help; they show themselves where scripts run."""
    hues = colours(story)
    outcomes = dict.fromkeys([*hues, *(s.argument.outcome for s in story.said.values() if s.argument.outcome)])

    def choice(name: str, label: str, options: list[tuple[str, str]]) -> Markup:
        every = [el("option", label, value=""), *(el("option", words, value=value) for value, words in options)]
        return el("select", every, name=name, aria_label=label.capitalize())

    return el(
        "div",
        el("input", type="search", name="words", placeholder="Search arguments  /", aria_label="Search arguments"),
        choice("outcome", "every outcome", [(label, label) for label in outcomes]),
        choice("agent", "every agent", [(name, name) for name in story.agents]),
        choice("fate", "admitted or not", list(_FATES)),
        [
            el(
                "button",
                f"▶ {speed}×",
                type="button",
                class_="play",
                data_speed=speed,
                aria_label=f"Play back at {speed} times speed",
            )
            for speed in (1, 4)
        ]
        if story.result is not None
        else None,
        el("button", "?", type="button", class_="help", aria_label="Keyboard help"),
        el("output", ""),
        el(
            "dialog",
            el("h3", "Keyboard"),
            el("dl", ([el("dt", el("kbd", key)), el("dd", what)] for key, what in _KEYS)),
            el("button", "Close", type="button"),
            aria_label="Keyboard",
        ),
        class_="thread-tools",
        hidden=True,
        role="search",
        aria_label="Arguments",
    )
