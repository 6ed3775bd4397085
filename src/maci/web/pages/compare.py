"""Two debates side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any
from urllib.parse import quote

from maci.cases.case import Case
from maci.config import parameters
from maci.controller.inputs import Opened
from maci.render.markup import Child, Markup, el, grid, percent
from maci.story import Story
from maci.story.report.parts import colours, key_of, mixtures, tag
from maci.story.words import figure, plural, rejection_words, round_name, seats_words, stop_of, unclear
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
    one, other = a.story.opened, b.story.opened
    came = zip((_facts(a) | _held(one, other)).items(), (_facts(b) | _held(other, one)).values(), strict=True)
    facts = [(name, x, y) for (name, x), y in came]
    facts += [
        (mine.key, _set(mine.value), _set(theirs.value))
        for mine, theirs in zip(parameters(one.config), parameters(other.config), strict=True)
        if mine.value != theirs.value
    ]
    seats = [dict(_leaves(opened.table or {})) for opened in (one, other)]
    facts += [
        (name, x, y)
        for name in dict.fromkeys((*seats[0], *seats[1]))
        if (x := seats[0].get(name, "–")) != (y := seats[1].get(name, "–"))
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
        "State": standing(side.state, story),
        "Why it stopped": stop_of(result) if result else "–",
        "Rounds": count(len(story.closed) - 1 if story.closed else 0),
        "Tokens": count(result.tokens if result else story.spent.tokens),
        "Dollars": money(result.usd if result else story.spent.usd),
        "D, disagreement at the end": figure(last.signal("d") if last else None, 2),
        "Q, evidence quality at the end": figure(last.signal("q") if last else None, 2),
        "Known answer": story.opened.case.gold or "–",
    }


def _held(opened: Opened, other: Opened) -> dict[str, Child]:
    """What was debated, by whom and with what: all that can make this debate come out unlike the ``other``, beside settings."""
    case = opened.case
    models = {seat.name: opened.models.get(seat.name) or seat.family for seat in (*opened.agents, *opened.judges)}
    learned, stakes = opened.learned, opened.stakes
    return {
        "Question": case.question,
        "Context": case.context or "–",
        "Outcomes": ", ".join(case.outcomes.labels) or "named by the agents",
        "Evidence given": _evidence(case, other.case),
        "Evidence index": opened.corpus or "–",
        "Panel": panel_of(opened.panel),
        "Agents": seats_words(opened.agents, models) or "–",
        "Judges": seats_words(opened.judges, models) or "–",
        "Encoder": opened.encoder,
        "Seed": str(opened.seed),
        "Profile": opened.config.profile,
        "Answers come from": opened.source or "–",
        "Names compared by": opened.comparer or "–",
        "Recommendation written by": opened.writer or "–",
        "Schedule learnt from": f"{plural(learned.debates, 'debate')} of {learned.task}" if learned else "–",
        "Utilities": str(stakes) if stakes else "–",
        "Prompts": ", ".join(f"{name} {digest[:8]}" for name, digest in opened.prompts.items()) or "–",
        "MACI": " ".join(filter(None, (opened.version, (opened.commit or "")[:12]))),
    }


def _evidence(case: Case, other: Case, most: int = 5) -> str:
    """How many texts were given, and which of them the other debate was not given."""
    alone = [text for text in case.evidence if text not in {*other.evidence}]
    some = [shorten(text.id or text.source or text.text, 60, placeholder=" …") for text in alone[:most]]
    some += [f"{len(alone) - most} more"] if len(alone) > most else []
    return plural(len(case.evidence), "text") + (f"; only here: {'; '.join(some)}" if some else "")


def _leaves(table: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Everything that a panel of models sets, by where it stands; models and names are among who debates."""
    if isinstance(table, Mapping):
        for key, value in table.items():
            if key not in ("name", "model"):
                yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(table, (list, tuple)) and all(isinstance(seat, Mapping) for seat in table):
        for number, seat in enumerate(table, 1):
            yield from _leaves(seat, f"{path}.{seat.get('name', number)}")
    else:
        yield path, _set(table)


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
