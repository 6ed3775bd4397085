"""Two debates side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from maci.config import parameters
from maci.render.markup import Child, Markup, el, grid, percent
from maci.story import Story
from maci.story.report.parts import colours, key_of, mixtures, tag
from maci.story.words import figure, rejection_words, round_name, stop_of, unclear
from maci.web.history import Summary
from maci.web.pages.layout import count, moment, money, page, panel_of, standing, title_of, when


@dataclass(frozen=True, slots=True)
class Side:
    """One of two debates."""

    id: str
    story: Story
    state: str


def compare_page(every: Sequence[Summary], sides: Sequence[Side], chosen: tuple[str, str], step: int | None) -> str:
    """The page; with fewer than two debates it asks which."""
    form = el(
        "form",
        _pick("a", "First", every, chosen[0]),
        _pick("b", "Second", every, chosen[1]),
        el("button", "Compare", type="submit", class_="home"),
        method="get",
        action="/compare",
        class_="row",
    )
    body: Child = el("p", "Choose two debates.", class_="soft")
    if not every:
        body = el("p", "There is nothing to compare yet. ", el("a", "Start a debate", href="/new"))
    if len(sides) == 2:
        body = _both(sides[0], sides[1], step)
    return page("Compare", el("h1", "Compare two debates"), form, body, here="/compare")


def _pick(name: str, label: str, every: Sequence[Summary], chosen: str) -> Markup:
    alike = Counter(map(_called, every))
    options = [el("option", "–", value="")] + [
        el("option", _called(s, seconds=alike[_called(s)] > 1), value=s.id, selected=s.id == chosen) for s in every
    ]
    return el("div", el("label", label, for_=name), el("select", options, name=name, id=name), class_="field")


def _called(debate: Summary, *, seconds: bool = False) -> str:
    title = title_of(debate.title, debate.question, 48)
    return f"{moment(debate.created, seconds=seconds)} · {title} · {panel_of(debate.panel)}"


def _both(a: Side, b: Side, step: int | None) -> Markup:
    names = [el("a", _name(s), href=f"/debates/{quote(s.id)}") for s in (a, b)]
    facts = [(name, x, y) for (name, x), y in zip(_facts(a).items(), _facts(b).values(), strict=True)]
    facts += [
        (mine.key, _set(mine.value), _set(theirs.value))
        for mine, theirs in zip(parameters(a.story.opened.config), parameters(b.story.opened.config), strict=True)
        if mine.value != theirs.value
    ]
    rows = (
        el("tr", el("th", name, scope="row"), (el("td", value, class_="words", dir="auto") for value in (x, y)))
        for name, x, y in facts
        if x != y
    )
    same = [(name, x) for name, x, y in facts if x == y and x != "–"]
    labels = colours(a.story, b.story)
    lengths = [len(s.story.rounds) - 1 for s in (a, b)]
    last = max(lengths)
    at = min(lengths) if step is None else max(0, min(step, last))
    return el(
        "div",
        grid("What differs", ("", *names), rows, words=names, caption="What differs, settings included"),
        el(
            "details",
            el("summary", f"The same in both ({len(same)})"),
            el("dl", ((el("dt", name), el("dd", x)) for name, x in same)),
            class_="box",
        )
        if same
        else None,
        el("h2", "Beliefs, round by round"),
        key_of(labels, a.story, b.story) if labels else None,
        el("div", (_mixtures(s, labels) for s in (a, b)), class_="side-by-side"),
        el("h2", "What was said", id="said"),
        _steps(a.id, b.id, at, last),
        el("div", (_round(s, at) for s in (a, b)), class_="side-by-side"),
    )


def _set(value: object) -> str:
    """What a setting is set to."""
    return "not set" if value is None else str(value)


def _facts(side: Side) -> dict[str, Child]:
    """What a debate came to, by the name of each fact."""
    story, result = side.story, side.story.result
    last = story.closed[-1] if story.closed else None
    answer = result.given if result else (last.answer if last else None)
    shares = result.distribution if result else (last.mixture if last else {})
    given = answer or "–"
    if result and result.abstained is not None:
        given = "withheld" if answer is None else f"withheld (best guess: {answer})"
    given = f"no clear answer: {near}" if (near := unclear(result)) else given
    return {
        "Answer": given,
        "Probability": percent(None if answer is None else shares.get(answer)),
        "State": standing(side.state, result),
        "Why it stopped": stop_of(result) if result else "–",
        "Rounds": count(len(story.closed) - 1 if story.closed else 0),
        "Tokens": count(result.tokens if result else story.spent.tokens),
        "Dollars": money(result.usd if result else story.spent.usd),
        "Panel": panel_of(story.opened.panel),
        "Profile": story.opened.config.profile,
        "D, disagreement at the end": figure(last.signal("d") if last else None, 2),
        "Q, evidence quality at the end": figure(last.signal("q") if last else None, 2),
        "Known answer": story.opened.case.gold or "–",
    }


def _name(side: Side) -> Markup:
    """What a debate is called, and when it was held: two may have the same name."""
    opened = side.story.opened
    return el("span", el("bdi", title_of(opened.case.title, opened.case.question, 60)), " · ", when(opened.created))


def _mixtures(side: Side, labels: Mapping[str, str]) -> Markup:
    chart = mixtures(side.story, labels) or el("p", "no belief yet", class_="soft")
    case = side.story.opened.case
    return el("figure", el("figcaption", title_of(case.title, case.question, 60)), chart)


def _steps(a: str, b: str, at: int, last: int) -> Markup:
    """Links from round to round: a slider that needs no script."""
    links = [
        el("li", el("a", round_name(n), href=f"/compare?a={quote(a)}&b={quote(b)}&round={n}#said",
                    aria_current="step" if n == at else None))
        for n in range(last + 1)
    ]  # fmt: skip
    return el("nav", el("ul", links), aria_label="Rounds")


def _round(side: Side, at: int) -> Markup:
    if at >= len(side.story.rounds):
        return el("section", el("h3", f"Round {at}"), el("p", "It was over by then.", class_="soft"))
    item = side.story.rounds[at]
    said = []
    for s in item.said:
        why = el("span", f" {rejection_words(s, item.dials)}", class_="soft") if s.admission is not None else None
        said.append(el("li", tag(s.fate), " ", el("b", s.agent), " ", el("bdi", s.argument.claim), why))
    lead: Child = None
    if item.answer is not None:
        lead = el("bdi", item.answer), f" {percent(item.mixture[item.answer])}, D {figure(item.signal('d'), 2)}"
    return el(
        "section",
        el("h3", round_name(item.number).capitalize()),
        el("p", lead, class_="soft"),
        el("ul", said, class_="said"),
    )
