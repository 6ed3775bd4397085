"""The first screen: the answer, how sure, why it stopped, what it cost, what would change it, and what speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from maci.controller.decisions import Finished
from maci.render.markup import Child, Markup, el, join, percent, typeset
from maci.story.model import Statement
from maci.story.report.parts import distribution, linked, listed, names, prose, tile
from maci.story.report.sources import Provenance
from maci.story.story import Story
from maci.story.words import (
    against,
    as_sentence,
    besides,
    cost,
    figure,
    how_sure,
    known_words,
    plural,
    reason,
    rival_of,
    stopped,
    would_change,
)


def verdict(story: Story, source: Provenance) -> Markup:
    """What one reads first, and often all one reads."""
    result = story.result
    if result is None:
        return join(_unfinished(story, source), _case(story))
    tell = prose(story)
    return join(
        answer(story, result),
        _tiles(story, result, source),
        _case(story),
        el("h3", "Why it stopped"),
        el("p", stopped(story), " ", el("code", result.stop_reason, class_="soft")),
        _part("What would change it", would_change(story), tell),
        _part("Why", map(reason, best(story)), tell),
        _part(minority_title(story), against(story), tell, "minority"),
        _part("Warnings", map(as_sentence, cautions(story, source)), tell, "warnings"),
    )


def sentence(text: str) -> Markup:
    """A sentence of the record as one of the page."""
    return linked(as_sentence(text), {})


def answer(story: Story, result: Finished, *below: Child, most: int = 6) -> Markup:
    """The answer, how sure, whether it is right where that is known, and every outcome; then what else belongs to it."""
    if result.answer is None:
        lines = [el("p", "No answer"), el("p", stopped(story), " It ended before a first answer.")]
        return el("div", lines, below, class_="verdict wrong")
    p, tell = result.distribution[result.answer], prose(story)
    kind = "calibrated probability" if story.calibrated else "probability, not calibrated for this task"
    head = el("p", result.answer, class_="answer", dir="auto")
    if result.abstained is not None:
        head = join(el("p", "No answer at this risk level", class_="answer"), el("p", sentence(result.abstained)))
        head = join(head, el("p", "Best guess: ", el("b", result.answer), dir="auto"))
    return el(
        "div",
        head,
        el("p", el("b", percent(p)), f" {kind}: {how_sure(p, rival_of(result.answer, result.distribution))}."),
        (
            el("p", tell(as_sentence(line)), class_="warn" if style == "yellow" else None, dir="auto")
            for line, style in besides(result)
        ),
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
    tokens, _, rest = cost(result, priced=source.priced).partition(" token")
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


def _part(title: str, lines: Iterable[str], write: Callable[[str], Markup], id: str = "") -> Markup | None:
    """Sentences under a heading, those with an ``id`` on a card of their own; nothing where there are none."""
    body = join(el("h3", title), listed(lines, write))
    if "<li" not in body:
        return None
    return el("section", body, class_="card", id=id) if id else body


def best(story: Story) -> list[Statement]:
    """The best arguments for the answer."""
    return story.distinct(story.result.rationale) if story.result else []


def minority_title(story: Story) -> str:
    """What the minority report is about."""
    held = len(story.result.minority) if story.result else 0
    who = f"{plural(held, 'agent')} of {len(story.agents)} would answer otherwise"
    return f"Minority report: {who if held else 'what speaks against the answer'}"


def cautions(story: Story, source: Provenance) -> list[str]:
    """Everything a reader should know before relying on it, gravest first."""
    said = [f"This record contradicts itself: {source.differs}"] if source.differs else []
    return said + sorted(story.result.warnings if story.result else (), key=_gravity)


def _gravity(warning: str) -> int:
    """The smaller, the graver."""
    grave = (("caution", "undecided"), ("harm", "rolled back"))
    return next((rank for rank, kinds in enumerate(grave) if warning.startswith(kinds)), len(grave))
