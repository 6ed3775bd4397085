"""The first screen of page and report: question, answer, who agrees, one bar, what happened, why, against, what would change it.

:func:`asked` is the question, :func:`answered` all that follows. Both are written from :func:`maci.story.outline.outline`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from maci.controller.decisions import Finished
from maci.render.markup import Child, Markup, el, join, percent, typeset
from maci.render.strips import whole
from maci.story.model import Belief
from maci.story.outline import Outline, against, outline, withheld_on_page
from maci.story.recommendation import TEMPLATE, cited, recommendation
from maci.story.report.parts import colours, linked, listed, names, prose, tile
from maci.story.report.sources import Provenance
from maci.story.story import Story
from maci.story.words import (
    admitted_words,
    as_sentence,
    besides,
    cost,
    figure,
    known_words,
    leading,
    leads,
    plural,
    stopped,
    unclear,
)


def asked(story: Story, *beside: Child) -> Markup:
    """The question and a line of context; ``beside``: what stands at the right of it."""
    case, look = story.opened.case, outline(story)
    name = el("p", case.title, class_="eyebrow", dir="auto") if case.title else None
    cut = (" ", el("a", "The whole case", href="#case")) if look.context.endswith("…") and story.result else None
    context = el("p", look.context, cut, class_="context soft", dir="auto") if look.context else None
    head = el("div", name, el("h1", look.question, dir="auto"), context)
    return el("div", head, el("div", beside, class_="beside") if beside else None, class_="asked")


def answered(story: Story, source: Provenance | None = None) -> Markup:
    """The answer, or where the debate stands; and what belongs to it."""
    source = source or Provenance()
    look, tell = outline(story, source.differs), prose(story)
    result, last = story.result, story.closed[-1] if story.closed else None
    belief: Belief = result.distribution if result else last.mixture if last else {}
    chips = [el("li", tell(line), dir="auto") for line in look.grave]
    columns = (("Why", look.why), ("Against", look.against), ("What would change it", look.changes))
    return el(
        "div",
        _head(story, look, source),
        _bar(story, belief) if belief and not (result and result.unfit) else None,
        [el("p", tell(as_sentence(line)), class_=style, dir="auto") for line, style in _besides(result)],
        el("p", tell(look.course), class_="course", dir="auto") if look.course else None,
        [
            el("p", "Asked during the debate:"),
            el("ul", (el("li", tell(line), dir="auto") for line in look.found), class_="found"),
        ]
        if look.found
        else None,
        el("ul", chips, class_="chips", aria_label="Warnings") if chips else None,
        recommended(story, written=True),
        el("div", (_column(name, lines, tell, colours(story)) for name, lines in columns if lines), class_="three")
        if look.why
        else None,
        class_=f"look tone-{look.tone}",
    )


def _besides(result: Finished | None) -> list[tuple[str, str | None]]:
    """What belongs to the answer, and how it is set."""
    if result is None or result.answer is None:
        return []
    return [(line, "warn" if style == "yellow" else None) for line, style in besides(result)]


def _head(story: Story, look: Outline, source: Provenance) -> Markup:
    """The answer in large type with its percentage and who agrees, or why there is none."""
    result = story.result
    if look.guess is None or look.p is None:
        if look.withheld:
            why = sentence(withheld_on_page(story, look))
            return join(el("p", "Answer withheld", class_="answer"), el("p", why))
        if result is not None:
            return join(el("p", "No answer", class_="answer"), el("p", stopped(story)))
        return join(el("p", "No belief yet", class_="answer"), _going(story, source))
    dot = el("span", class_=f"dot {colours(story).get(look.guess, '')}")
    tone = "agreed" if look.tone == "good" else look.tone  # that all agree does not prove it
    agreed = el("span", look.agreement, class_=f"tag {tone}") if look.agreement else None
    said = el("span", f"{look.sure}; {_raw(story)}", class_="soft")
    sure = el("p", el("b", percent(look.p)), " ", agreed, " ", said, class_="sure")
    if look.withheld:
        return join(
            el("p", "Answer withheld", class_="answer"),
            el("p", sentence(look.withheld)),
            el("p", "Best guess: ", dot, el("b", look.guess), f", {percent(look.p)} ", agreed, " ", said, dir="auto"),
            _known(story),
        )
    if look.unclear:
        return join(
            el("p", "No clear answer", class_="answer"),
            el("p", dot, el("b", look.unclear), " ", agreed, " ", el("span", _raw(story), class_="soft"), dir="auto"),
            _known(story),
        )
    so_far = el("p", "So far; it may change", class_="eyebrow") if result is None else None
    going = _going(story, source) if result is None else None
    said = el("div", el("p", dot, el("bdi", look.guess), class_="answer", dir="auto"), sure, class_="said-first")
    return join(so_far, said, _known(story), going)


def _raw(story: Story) -> str:
    """What kind of probability it is."""
    return "calibrated probability" if story.calibrated else "agents' estimate, not calibrated"


def recommended(story: Story, *, written: bool) -> Markup | None:
    """The joint recommendation: one that a model has ``written`` stands below the answer, one from the template is folded further down.

    Its first sentence says what stands above, so it is left out here.
    """
    said = recommendation(story)
    if said is None or not said.sentences or written is (said.by == TEMPLATE):
        return None
    tell, who = prose(story), "" if said.by == TEMPLATE else f"Written by {said.by} from the record"
    note = "; ".join(filter(None, (who, said.note)))
    body = [
        el("p", el("b", title, ": "), tell(" ".join(map(cited, sentences))), dir="auto")
        for title, sentences in said.parts
    ]
    body += [el("p", as_sentence(note), class_="small-print")] if note else []
    if written:
        return el("section", el("h2", "Recommendation"), body, id="recommendation")
    return el("details", el("summary", "Recommendation"), body, class_="box", id="recommendation")


def _going(story: Story, source: Provenance) -> Markup | None:
    """Where a record ends that has no result, and how to go on with it."""
    if not source.unfinished and not source.resume:
        return None if story.closed else el("p", "The agents are forming their first opinions.")
    where = el(
        "p", el("b", "Not finished"), ": ", sentence(source.unfinished or f"it is in round {story.current.number}")
    )
    return join(where, el("p", "Continue with: ", el("code", source.resume)) if source.resume else None)


def _bar(story: Story, belief: Belief) -> Markup:
    """All outcomes as one bar in their own colours."""
    order, drawn = story.scale, colours(story)
    rows = (
        [(label, belief.get(label, 0.0)) for label in order]
        if order
        else [(label, p) for label, p in leading(belief, len(belief)) if p >= 0.01]
    )
    marked = [(label, p, bool(order) and leads(label, belief)) for label, p in rows]
    return whole(marked, drawn, "Probability of each outcome")


def _column(title: str, lines: Sequence[str], write: Callable[[str], Markup], hues: Mapping[str, str]) -> Markup:
    """Sentences under a title; one about an outcome begins with its colour."""

    def told(line: str) -> Markup:
        about = next((label for label in hues if line.startswith(f"{label} (")), "")
        if not about:
            return write(line)
        return join(el("span", class_=f"dot {hues[about]}"), el("b", el("bdi", about)), write(line.removeprefix(about)))

    return el("section", el("h2", title), listed(lines, told))


def _known(story: Story) -> Markup | None:
    """The truth, where the case has it, and whether this is it."""
    result = story.result
    gold = None if result is None else story.gold_among(result.raw)
    if result is None or gold is None:
        return None
    if unclear(result):
        return el("p", f"Known answer: {typeset(known_words(story, gold))}.", dir="auto")
    right = gold == result.answer
    if right and not story.exact:
        return el("p", f"Known answer: {typeset(known_words(story, gold))}.", class_="good", dir="auto")
    if right:
        return el("p", el("span", "This is right", class_="good"), ": it is the known answer.")
    return el("p", el("span", "This is wrong", class_="bad"), ": the known answer is ", el("bdi", gold), ".")


def sentence(text: str) -> Markup:
    """A sentence of the record as one of the page."""
    return linked(as_sentence(text), {})


def details(story: Story, source: Provenance | None = None) -> Markup:
    """What the first screen leaves out: why it stopped, figures, the whole minority report, all notes, the case. Folded."""
    source, tell, result = source or Provenance(), prose(story), story.result
    look = outline(story, source.differs)
    stop = el("p", stopped(story), " ", el("code", result.stop_reason, class_="soft")) if result is not None else None
    folds: list[Markup | None] = [
        el(
            "details",
            el("summary", "Why it stopped, and what it took"),
            stop,
            _tiles(story, result, source),
            class_="box",
            id="stop",
        )
        if result is not None
        else None,
        recommended(story, written=False),
        _fold(minority_title(story), against(story, full=True), tell, "minority"),
        _fold(plural(len(look.notes), "note"), map(as_sentence, look.notes), tell, "notes"),
        _case(story),
    ]
    return join(*folds)


def _tiles(story: Story, result: Finished, source: Provenance) -> Markup:
    last = story.closed[-1] if story.closed else None
    count, _, what = admitted_words(story.rounds).partition(" argument")
    tokens, _, rest = cost(result, priced=source.priced).partition(" token")
    return el(
        "div",
        tile(str(result.rounds), "round" if result.rounds == 1 else "rounds"),
        tile(tokens, "token" + rest),
        tile(figure(last.signal("d") if last else None, 2), "D · disagreement at the end"),
        tile(count, f"argument{what}"),
        class_="figures",
    )


def _case(story: Story) -> Markup:
    case = story.opened.case
    labels = names(case.outcomes.labels) if case.outcomes.labels else "named by the agents as they speak"
    texts = (
        el(
            "li",
            document.text,
            el("span", f" ({document.source})" if document.source else "", class_="soft"),
            dir="auto",
        )
        for document in case.evidence
    )
    body = (
        el("p", case.question, dir="auto"),
        el("p", case.context, dir="auto") if case.context else None,
        el("p", f"Outcomes ({case.outcomes.kind}): ", labels, class_="small-print"),
        el("p", "Known answer: ", el("bdi", case.gold), class_="small-print") if case.gold else None,
        (el("p", "Evidence given with it:"), el("ul", texts)) if case.evidence else None,
    )
    return el("details", el("summary", "The case, in full"), body, class_="box", id="case")


def _fold(title: str, lines: Iterable[str], write: Callable[[str], Markup], id: str) -> Markup | None:
    """Sentences under a title that opens them; nothing where there are none."""
    body = listed(lines, write)
    return el("details", el("summary", title), body, class_="box", id=id) if "<li" in body else None


def minority_title(story: Story) -> str:
    """What the minority report is about."""
    held = len(story.result.minority) if story.result else 0
    who = f"{plural(held, 'agent')} of {len(story.agents)} would answer otherwise"
    return f"Minority report: {who if held else 'what speaks against the answer'}"
