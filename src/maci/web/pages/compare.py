"""Two debates side by side, and one debate under two sets of rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from maci.render.markup import Child, Markup, el, grid, percent, typeset
from maci.story import Story
from maci.story.report.parts import colours, key_of, mixtures, tag
from maci.story.report.verdict import sentence
from maci.story.whatif import CAUTION, Otherwise
from maci.story.words import STOPS, figure
from maci.web.history import Summary
from maci.web.pages.layout import count, moment, money, page, standing, stop_words, title_of, when
from maci.web.pages.panels import round_name


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
    return f"{moment(debate.created, seconds=seconds)} · {title} · {debate.panel}"


def _both(a: Side, b: Side, step: int | None) -> Markup:
    names = [el("a", _name(s), href=f"/debates/{quote(s.id)}") for s in (a, b)]
    rows = (
        el(
            "tr",
            el("th", name, scope="row"),
            (el("td", value, class_="words", dir="auto") for value in (x, y)),
        )
        for (name, x), y in zip(_facts(a).items(), _facts(b).values(), strict=True)
    )
    labels = colours(a.story, b.story)
    lengths = [len(s.story.rounds) - 1 for s in (a, b)]
    last = max(lengths)
    at = min(lengths) if step is None else max(0, min(step, last))
    return el(
        "div",
        grid("What the two came to", ("", *names), rows, words=names, caption="What the two came to"),
        el("h2", "Beliefs, round by round"),
        key_of(labels, a.story, b.story) if labels else None,
        el("div", (_mixtures(s, labels) for s in (a, b)), class_="side-by-side"),
        el("h2", "What was said", id="said"),
        _steps(a.id, b.id, at, last),
        el("div", (_round(s, at) for s in (a, b)), class_="side-by-side"),
    )


def _facts(side: Side) -> dict[str, Child]:
    """What a debate came to, by the name of each fact."""
    story, result = side.story, side.story.result
    last = story.closed[-1] if story.closed else None
    answer = result.answer if result else (last.answer if last else None)
    shares = result.distribution if result else (last.mixture if last else {})
    return {
        "Answer": answer or "–",
        "Probability": percent(None if answer is None else shares.get(answer)),
        "State": standing(side.state, result),
        "Why it stopped": STOPS[result.stop_reason] if result else "–",
        "Rounds": count(len(story.closed) - 1 if story.closed else 0),
        "Tokens": count(result.tokens if result else story.spent.tokens),
        "Dollars": money(result.usd if result else story.spent.usd),
        "Panel": story.opened.panel or "–",
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
        el("li", el("a", "openings" if n == 0 else f"round {n}", href=f"/compare?a={quote(a)}&b={quote(b)}&round={n}#said",
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
        why = el("span", f" {typeset(s.admission.reason)}", class_="soft") if s.admission is not None else None
        said.append(el("li", tag(s.fate), " ", el("b", s.agent), " ", el("bdi", s.argument.claim), why))
    lead: Child = None
    if item.answer is not None:
        lead = el("bdi", item.answer), f" {percent(item.mixture[item.answer])}, D {figure(item.signal('d'), 2)}"
    return el("section", el("h3", round_name(item)), el("p", lead, class_="soft"), el("ul", said, class_="said"))


_RULES = ("Rules", "Stops", "Rounds", "Answer", "p")


def replay_page(
    id: str, title: str, found: Otherwise | None, asked: str, form: Markup, *, wrong: str = "", same: bool = False
) -> str:
    """What other rules would have made of a record, or that they are the ``same``, or what is ``wrong``; and the form once more."""
    link = f"/debates/{quote(id)}"
    top = el("h1", "What if?"), el("p", el("a", title, href=link, dir="auto"))
    back = el("p", el("a", "Back to the debate", href=link))
    if same:
        return page("What if?", top, el("p", "Nothing was changed: these are the rules it was held under."), form, back)
    if found is None:
        return page(
            "What if?", top, el("div", el("p", sentence(wrong)), class_="verdict wrong", role="alert"), form, back
        )
    rows = (
        el("tr", el("th", r.rules, scope="row"), el("td", stop_words(r.stop_reason) if r.stop_reason else r.lacking, class_="words"),
           el("td", count(r.rounds)), el("td", r.answer or "–", class_="words"), el("td", percent(r.p)))
        for r in (found.recorded, found.other)
    )  # fmt: skip
    blind = f"Cannot be judged from a record, and was ignored: {', '.join(found.ignored)}." if found.ignored else None
    return page(
        "What if?",
        top,
        el("p", f"The recorded turns under {asked}."),
        grid("Recorded and other rules", _RULES, rows, words=("Stops", "Answer"), caption="Recorded and other rules"),
        el("ul", (el("li", note) for note in (found.remark, blind, CAUTION) if note), class_="notes"),
        form,
        back,
    )
