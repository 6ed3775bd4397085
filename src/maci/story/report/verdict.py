"""The first screen: the answer, how sure, why it stopped, what it cost, what would change it, and what speaks against it."""

from __future__ import annotations

from maci.controller.caution import Dissent
from maci.controller.decisions import Finished
from maci.render.markup import Child, Markup, el, join, percent, typeset
from maci.story.model import Said
from maci.story.report.parts import anchors, distribution, linked, names, tile
from maci.story.report.sources import Provenance
from maci.story.story import Story
from maci.story.words import (
    as_sentence,
    cost,
    favoured_words,
    figure,
    how_sure,
    known_words,
    minority,
    narrower_words,
    plural,
    rival_of,
    stopped,
    would_change,
)


def verdict(story: Story, source: Provenance) -> Markup:
    """What one reads first, and often all one reads."""
    result = story.result
    if result is None:
        return join(_unfinished(story, source), _case(story))
    return join(
        answer(story, result),
        _tiles(story, result, source),
        _case(story),
        el("h3", "Why it stopped"),
        el("p", stopped(story), " ", el("code", result.stop_reason, class_="soft")),
        _listed("What would change it", would_change(story)),
        _best(story),
        _minority(story, result),
        _warnings(cautions(story, source)),
    )


def sentence(text: str) -> Markup:
    """A sentence of the record as one of the page; what stands between backticks is code."""
    return join(*(el("code", part) if i % 2 else part for i, part in enumerate(as_sentence(text).split("`"))))


def answer(story: Story, result: Finished, *below: Child, most: int = 6) -> Markup:
    """The answer, how sure, whether it is right where that is known, and every outcome; then what else belongs to it."""
    if result.answer is None:
        lines = [el("p", "No answer"), el("p", stopped(story), " It ended before a first answer.")]
        return el("div", lines, below, class_="verdict wrong")
    p, calibrated = result.distribution[result.answer], story.calibrated
    kind = "calibrated probability" if calibrated else "probability, not calibrated for this task"
    head = el("p", result.answer, class_="answer", dir="auto")
    if result.abstained is not None:
        head = join(el("p", "No answer at this risk level", class_="answer"), el("p", sentence(result.abstained)))
        head = join(head, el("p", "Best guess: ", el("b", result.answer), dir="auto"))
    return el(
        "div",
        head,
        el("p", el("b", percent(p)), f" {kind}: {how_sure(p, rival_of(result.answer, result.distribution))}."),
        _given(result),
        _known(story, result),
        distribution(result.distribution, most, story.scale),
        below,
        class_="verdict",
    )


def _known(story: Story, result: Finished) -> Markup | None:
    """The truth, where the case has it, and whether this is it."""
    gold = story.opened.case.gold_among(result.raw)
    if gold is None:
        return None
    right, case = gold == result.answer, story.opened.case
    if right and result.answer is not None and not case.gold_is(result.answer, result.narrower):
        return el("p", f"Known answer: {typeset(known_words(case, gold, result))}.", class_="good", dir="auto")
    verdict = el("span", "This is right." if right else "This is wrong.", class_="good" if right else "bad")
    return el("p", "Known answer: ", el("bdi", gold), ". ", verdict)


def _given(result: Finished) -> list[Markup]:
    """What else belongs to the answer: narrower names, that it is the openings', and the set that holds the truth so often."""
    said = [el("p", f"{typeset(narrower_words(result))}.", dir="auto")] if result.narrower else []
    if (back := result.rolled_back) is not None:
        p = back.distribution[back.answer]
        said.append(
            el(
                "p",
                "This is the vote of round 0; the debate itself came to ",
                el("bdi", back.answer),
                f" (p = {p:.2f}).",
                class_="warn",
            )
        )
    if (held := result.prediction_set) is not None:
        often = f"{100 * held.coverage:g} % of cases like the {held.n} calibrated on"
        said.append(el("p", "The truth is one of ", el("b", names(held.outcomes)), f" in {often}."))
    if result.favoured is not None:
        said.append(el("p", f"{typeset(favoured_words(result.favoured))}.", dir="auto"))
    return said


def _unfinished(story: Story, source: Provenance) -> Markup:
    last = story.closed[-1] if story.closed else None
    now = [el("p", "Not finished"), el("p", sentence(source.unfinished or f"it is in round {story.current.number}"))]
    if source.resume:
        now.append(el("p", "Go on with: ", el("code", source.resume)))
    if last is not None:
        now += [el("p", f"So far, after round {last.number}: "), distribution(last.mixture, 6, story.scale)]
    return el("div", now, class_="verdict")


def _tiles(story: Story, result: Finished, source: Provenance) -> Markup:
    last = story.closed[-1] if story.closed else None
    admitted = sum(len(r.admitted) for r in story.rounds)
    said = sum(len(r.said) for r in story.rounds if r.number)
    spent = cost(result, priced=source.priced)
    tokens, _, rest = spent.partition(" token")
    return el(
        "div",
        tile(str(result.rounds), "round" if result.rounds == 1 else "rounds"),
        tile(tokens, "token" + rest),
        tile(figure(last.signal("d") if last else None, 2), "D · disagreement at the end"),
        tile(f"{admitted} of {said}", "arguments admitted"),
        class_="figures",
    )


def _case(story: Story) -> Markup:
    case = story.opened.case
    context = el("p", case.context, dir="auto") if case.context else None
    labels = names(case.outcomes.labels) if case.outcomes.labels else "named by the agents as they speak"
    body = (
        el("p", case.question, dir="auto"),
        context,
        el("p", f"Outcomes ({case.outcomes.kind}): ", labels, class_="small-print"),
    )
    return el("details", el("summary", "The case"), body, class_="box", open=True)


def _listed(title: str, lines: list[str]) -> Markup | None:
    return join(el("h3", title), el("ul", (el("li", line) for line in lines))) if lines else None


def best(story: Story) -> list[Said]:
    """The best arguments for the answer."""
    return story.distinct(story.result.rationale) if story.result else []


def reason(item: Said) -> Markup:
    """An argument in a line of a list."""
    return el(
        "li",
        el("a", item.id, href=f"#a-{item.id}", class_="mono"),
        el("span", f" {item.agent}: ", class_="soft"),
        f"{item.argument.claim} {' '.join(item.argument.reasons)}",
        dir="auto",
    )


def _best(story: Story) -> Markup | None:
    items = [reason(item) for item in best(story)]
    return join(el("h3", "Why"), el("ul", items)) if items else None


def _minority(story: Story, result: Finished) -> Markup | None:
    title, body = minority_report(story, result)
    return el("section", el("h3", title), body, class_="card", id="minority") if body else None


def minority_report(story: Story, result: Finished) -> tuple[str, Markup | None]:
    """What speaks against the answer: a title and the best-supported dissent with who holds what; nothing where all agree."""
    if not result.minority and result.dissent is None:
        return "", None
    items = []
    for m in result.minority:
        links = [[el("a", a, href=f"#a-{a}"), " "] for a in m.arguments]
        backing = [" backed by ", links] if links else " with no admitted argument"
        items.append(el("li", el("b", m.agent), f" holds {m.outcome} (p = {m.probability:.2f}),", backing, dir="auto"))
    who = (
        f"{plural(len(items), 'agent')} of {len(story.agents)} would answer otherwise"
        if items
        else "what speaks against the answer"
    )
    dissent = _dissent(story, result.dissent) if result.dissent else None
    return f"Minority report: {who}", join(dissent, el("ul", items) if items else None)


def _dissent(story: Story, found: Dissent) -> Markup:
    """The best case for another outcome: its arguments, evidence that the answer leaves open, and what would decide."""
    head, _, rest = minority(found).removeprefix("Minority report: ").partition(", ")
    best = [story.said[id] for id in found.arguments if id in story.said][:2]
    links = anchors(story)
    open_ends = [[el("a", links[span], href=f"#{links[span]}"), " "] for span in found.unanswered if span in links]
    return join(
        el("p", el("b", head), f", {rest}.", dir="auto"),
        el("ul", (reason(item) for item in best)) if best else None,
        el("p", "No admitted argument for the answer deals with ", open_ends) if open_ends else None,
        [el("p", "What would decide:"), el("ul", (el("li", linked(line, links)) for line in found.decides))]
        if found.decides
        else None,
    )


def cautions(story: Story, source: Provenance) -> list[str]:
    """Everything a reader should know before relying on it, gravest first."""
    said = [f"This record contradicts itself: {source.differs}"] if source.differs else []
    warnings = list(story.result.warnings) if story.result else []
    return said + sorted(warnings, key=_gravity)


def _gravity(warning: str) -> int:
    """The smaller, the graver."""
    grave = (("caution", "undecided"), ("harm", "rolled back"))
    return next((rank for rank, kinds in enumerate(grave) if warning.startswith(kinds)), len(grave))


def _warnings(lines: list[str]) -> Markup | None:
    if not lines:
        return None
    return el(
        "section",
        el("h3", "Warnings"),
        el("ul", (el("li", sentence(line)) for line in lines)),
        class_="card",
        id="warnings",
    )
