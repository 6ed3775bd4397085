"""A debate as a note for a ticket or a paper: what one would copy out of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from maci.render.markdown import escape, table
from maci.render.markup import percent, typeset
from maci.story.model import Statement
from maci.story.outline import Outline, against, best, outline
from maci.story.recommendation import TEMPLATE, cited, recommendation
from maci.story.report.rounds import found_words, summary_table
from maci.story.report.sources import Provenance, facts
from maci.story.story import Story
from maci.story.words import (
    besides,
    cost,
    leads,
    plural,
    shown,
    stopped,
)


def to_markdown(story: Story, source: Provenance | None = None) -> str:
    """Question, answer, reasons, course and provenance, compact."""
    source = source or Provenance()
    result, look = story.result, outline(story, source.differs)
    parts = [f"# {escape(story.title)}"]
    if story.opened.case.question != story.title:
        parts.append(escape(story.opened.case.question))
    parts += _answer(story, look, source)
    parts += [escape(look.course)] if look.course else []
    parts += _listed("Warnings", look.grave)
    if (said := recommendation(story)) is not None:
        lines = [f"{title}: {' '.join(map(cited, sentences))}" for title, sentences in said.parts]
        who = [] if said.by == TEMPLATE else [f"written by {said.by} from the record"]
        lines += ["; ".join((*who, *([said.note] if said.note else ())))] if who or said.note else []
        parts += _listed("Recommendation", [said.verdict, *lines])
    if chosen := best(story):
        parts += ["## Why", "\n".join(_reason(item, story) for item in chosen)]
    parts += _listed("Minority report", against(story, full=True))
    parts += _listed("What would change it", look.changes)
    if result is not None:
        spent = f"{plural(result.rounds, 'round')}, {cost(result, priced=source.priced)}"
        parts.append(f"{escape(stopped(story))} (`{result.stop_reason}`) {spent}.")
    parts += _listed("Found out on the way", [found_words(story, item) for item in story.acquired])
    if story.plan is not None and story.plan.items:
        items = [[i.text, i.sort, f"{i.expected_information_gain:.2f}", f"{i.cost:g}"] for i in story.plan.items[:5]]
        parts += ["## What to find out next", table(["question", "kind", "bits", "cost"], items, words=2)]
    if story.closed:
        head, rows = summary_table(story)
        parts += ["## Rounds", table(head, rows)]
    parts += _listed("Notes", [typeset(line) for line in look.notes])
    parts += _listed("What this rests on", [f"{name}: {value}" for name, value in facts(story, source)])
    return "\n\n".join(parts) + "\n"


def _answer(story: Story, look: Outline, source: Provenance) -> list[str]:
    result = story.result
    if result is None:
        parts = [f"**Not finished**: {escape(source.unfinished or f'it is in round {story.current.number}')}."]
        parts += [f"Go on with: `{source.resume}`"] if source.resume else []
        belief = story.closed[-1].mixture if story.closed else {}
    elif result.unfit:
        parts, belief = [f"**Answer withheld**: {escape(look.withheld)}"], {}
    elif look.guess is None or look.p is None:
        parts, belief = [f"**No answer**: {escape(typeset(result.detail))}"], {}
    else:
        belief = result.distribution
        kind = "" if story.calibrated else ", not calibrated"
        agreed = f", {look.agreement}" if look.agreement else ""
        parts = [f"**{escape(look.guess)}**, {percent(look.p)}{agreed}: {escape(look.sure)}{kind}."]
        if look.withheld:
            parts.insert(0, f"**Answer withheld**: {escape(look.withheld)} Best guess:")
        parts += [escape(line) for line, _ in besides(result)]
    if belief:
        parts.append(table(["outcome", "p"], _outcomes(belief, story.scale)))
    return parts


def _outcomes(belief: Mapping[str, float], scale: Sequence[str]) -> list[list[str]]:
    chosen = shown(belief, 5, scale)
    return [[f"{label} (leads)" if scale and leads(label, belief) else label, f"{p:.2f}"] for label, p in chosen]


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {escape(line)}" for line in lines)] if lines else []


def _reason(item: Statement, story: Story) -> str:
    """An argument and the first span it rests on."""
    said = f"- {escape(' '.join((f'{item.id} {item.agent}: {item.argument.claim}', *item.argument.reasons)))}"
    span = next((story.spans[c.span] for c in item.citations if c.span in story.spans), None)
    quote = next((c.quote for c in item.citations if c.quote), None)
    if span is None:
        return said
    text = quote or shorten(span.text, 200, placeholder=" …")
    return f"{said}\n  > {escape(text)} ({escape(span.source or 'evidence')}, {escape(span.id)})"
