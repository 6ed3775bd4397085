"""A debate as a note for a ticket or a paper: what one would copy out of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from maci.render.markdown import escape, table
from maci.render.markup import typeset
from maci.story.model import Statement
from maci.story.report.rounds import found_words, summary_table
from maci.story.report.sources import Provenance, facts
from maci.story.report.verdict import best, cautions
from maci.story.story import Story
from maci.story.words import (
    against,
    besides,
    cost,
    how_sure,
    leads,
    plural,
    reason,
    rival_of,
    shown,
    stopped,
    would_change,
)


def to_markdown(story: Story, source: Provenance | None = None) -> str:
    """Answer, reasons, course and provenance, compact."""
    source = source or Provenance()
    result = story.result
    parts = [f"# {escape(story.title)}"]
    if story.opened.case.question != story.title:
        parts.append(escape(story.opened.case.question))
    parts += _answer(story, source)
    if result is not None:
        spent = f"{plural(result.rounds, 'round')}, {cost(result, priced=source.priced)}"
        parts.append(f"{escape(stopped(story))} (`{result.stop_reason}`) {spent}.")
    parts += _listed("What would change it", would_change(story))
    if chosen := best(story):
        parts += ["## Why", "\n".join(_reason(item, story) for item in chosen)]
    parts += _listed("Minority report", against(story))
    parts += _listed("Found out on the way", [found_words(story, item) for item in story.acquired])
    if story.plan is not None and story.plan.items:
        items = [[i.text, i.sort, f"{i.expected_information_gain:.2f}", f"{i.cost:g}"] for i in story.plan.items[:5]]
        parts += ["## What to find out next", table(["question", "kind", "bits", "cost"], items, words=2)]
    if story.closed:
        head, rows = summary_table(story)
        parts += ["## Rounds", table(head, rows)]
    parts += _listed("Warnings", [typeset(line) for line in cautions(story, source)])
    parts += _listed("What this rests on", [f"{name}: {value}" for name, value in facts(story, source)])
    return "\n\n".join(parts) + "\n"


def _answer(story: Story, source: Provenance) -> list[str]:
    result = story.result
    if result is None:
        parts = [f"**Not finished**: {escape(source.unfinished or f'it is in round {story.current.number}')}."]
        parts += [f"Go on with: `{source.resume}`"] if source.resume else []
        belief = story.closed[-1].mixture if story.closed else {}
    elif result.answer is None:
        parts, belief = [f"**No answer**: {escape(typeset(result.detail))}"], {}
    else:
        belief, p = result.distribution, result.distribution[result.answer]
        kind = "" if story.calibrated else ", not calibrated"
        parts = [
            f"**{escape(result.answer)}** (p = {p:.2f}{kind}): {escape(how_sure(p, rival_of(result.answer, belief)))}."
        ]
        if result.abstained is not None:
            parts.insert(0, f"**No answer at this risk level**: {escape(result.abstained)}. Best guess:")
        parts += [escape(line) for line, _ in besides(result)]
    if belief:
        parts.append(table(["outcome", "p"], _outcomes(belief, story.scale)))
    return parts


def _outcomes(belief: Mapping[str, float], scale: Sequence[str]) -> list[list[str]]:
    chosen = shown(belief, 5, scale)
    return [[f"{label} (leads)" if scale and leads(label, belief) else label, f"{p:.2f}"] for label, p in chosen]


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"## {title}", "\n".join(f"- {escape(line)}" for line in lines)] if lines else []


def _reason(item: Statement, story: Story) -> str:
    """An argument and the first span it rests on."""
    said = f"- {escape(reason(item))}"
    span = next((story.spans[c.span] for c in item.citations if c.span in story.spans), None)
    quote = next((c.quote for c in item.citations if c.quote), None)
    if span is None:
        return said
    text = quote or shorten(span.text, 200, placeholder=" …")
    return f"{said}\n  > {escape(text)} ({escape(span.source or 'evidence')}, {escape(span.id)})"
