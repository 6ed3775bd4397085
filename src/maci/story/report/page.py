"""Reports: one debate as a page or as a note, and an index of several debates.

The page is one HTML file that needs nothing else: it opens offline, prints, and reads without scripts. The note is what one would copy
out of it for a ticket or a paper, in Markdown. The index shows the result of each debate with a link to its report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from maci.render.markup import Markup, document, el, grid, percent, typeset
from maci.render.strips import bar
from maci.render.text import escape, table
from maci.story.model import Statement
from maci.story.outline import Outline, against, best, outline, withheld_on_page
from maci.story.recommendation import TEMPLATE, cited, recommendation
from maci.story.report.rounds import charts, round_by_round, summary_table
from maci.story.report.sources import Provenance, audit, evidence, facts, plan
from maci.story.report.verdict import answered, asked, details
from maci.story.story import Story
from maci.story.words import (
    besides,
    cost,
    found_words,
    leads,
    plural,
    shown,
    stop_of,
    stopped,
    unclear,
)


def to_html(story: Story, source: Provenance | None = None, *, back: Sequence[tuple[str, str]] = ()) -> str:
    """The report: verdict, course, rounds, evidence, audit. ``back``: links to where it was opened from."""
    source = source or Provenance()
    sections = [
        ("rounds", "The debate", round_by_round(story)),
        ("course", "How it went", charts(story)),
        ("plan", "What to find out next", plan(story)),
        ("evidence", "Evidence", evidence(story)),
        ("audit", "Audit", audit(story, source)),
    ]
    present = [(id, title, body) for id, title, body in sections if body is not None]
    links = el("ul", (el("li", el("a", title, href=f"#{id}")) for id, title, _ in present))
    return document(
        f"{story.title}: debate",
        el("header", asked(story)),
        el(
            "main",
            answered(story, source),
            el("nav", links, aria_label="Sections"),
            details(story, source),
            (
                el("section", el("h2", title, id=f"{id}-h"), body, id=id, aria_labelledby=f"{id}-h")
                for id, title, body in present
            ),
            id="main",
        ),
        el("footer", el("p", f"Made by maci from {source.transcript or 'the events of a debate'}.")),
        back=back,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A debate of the index, or why its record cannot be read."""

    name: str
    """Its folder."""
    link: str = ""
    story: Story | None = None
    error: str = ""


def _sure(entry: Entry) -> float | None:
    result = entry.story.result if entry.story else None
    given = result is not None and result.answer is not None and result.abstained is None
    return result.distribution[result.answer] if given and result is not None and result.answer is not None else None


def _row(entry: Entry) -> list[str]:
    """Debate, answer, p, whether it is the known answer, stop, rounds, tokens."""
    story = entry.story
    if story is None:
        return [entry.name, entry.error, "–", "–", "cannot be read", "–", "–"]
    result, p = story.result, _sure(entry)
    if result is None:
        return [
            story.title,
            "not finished",
            "–",
            "–",
            f"in round {story.current.number}",
            "–",
            f"{story.spent.tokens:,}",
        ]
    answer = "withheld" if result.abstained is not None else result.answer or "no answer"
    answer = f"no clear answer: {near}" if (near := unclear(result)) else answer
    return [
        story.title,
        answer,
        "–" if p is None else f"{p:.2f}",
        _met(story),
        stop_of(result),
        str(result.rounds),
        f"{result.tokens:,}",
    ]


def _met(story: Story) -> str:
    """Whether the answer is the known one."""
    result = story.result
    gold = None if result is None else story.gold_among(result.raw)
    if result is None or gold is None or result.abstained is not None:
        return "–"
    return "right" if gold == result.answer else f"wrong: {gold}"


HEAD = ("debate", "answer", "p", "known answer", "why it stopped", "rounds", "tokens")
_WORDS = ("answer", "known answer", "why it stopped")


def index_html(entries: Sequence[Entry], title: str) -> str:
    """The index page."""
    done = sum(e.story is not None and e.story.result is not None for e in entries)
    rows = map(_line, entries)
    return document(
        title,
        el("header", el("h1", title), el("p", f"{plural(len(entries), 'debate')}, {done} finished.")),
        el("main", grid("Debates", HEAD, rows, words=_WORDS, kind="sortable index"), id="main"),
    )


_KINDS = {"right": "good", "wrong": "bad"}


def _line(entry: Entry) -> Markup:
    name, answer, p, known, stop, rounds, tokens = _row(entry)
    linked = el("a", name, href=entry.link) if entry.link else name
    sure = _sure(entry)
    where = el("span", entry.name, class_="i soft") if entry.story is not None else None
    return el(
        "tr",
        el("th", linked, where, scope="row", dir="auto"),
        el("td", answer, class_="words" if entry.story else "words bad", dir="auto"),
        el("td", p, bar(sure) if sure is not None else None, data_v="" if sure is None else f"{sure:.6f}"),
        el("td", known, class_=f"words {_KINDS.get(known.partition(':')[0], 'soft')}", dir="auto"),
        el("td", stop, class_="words"),
        el("td", rounds, data_v=rounds if rounds.isdigit() else ""),
        el("td", tokens, data_v=tokens.replace(",", "") if tokens != "–" else ""),
    )


def index_markdown(entries: Sequence[Entry], title: str) -> str:
    """The same as a table of a note."""
    return f"# {title}\n\n{table(HEAD, map(_row, entries), words=2)}\n"


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
    parts += _listed(
        "Found out on the way", [found_words(story.asked.get(item.item, item.item), item) for item in story.acquired]
    )
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
        parts += [f"Continue with: `{source.resume}`"] if source.resume else []
        belief = story.closed[-1].mixture if story.closed else {}
    elif result.unfit:
        parts, belief = [f"**Answer withheld**: {escape(withheld_on_page(story, look))}"], {}
    elif look.guess is None or look.p is None:
        parts, belief = [f"**No answer**: {escape(typeset(result.detail))}"], {}
    else:
        belief = result.distribution
        kind = "" if story.calibrated else ", not calibrated"
        agreed = f", {look.agreement}" if look.agreement else ""
        parts = [f"**{escape(look.guess)}**, {percent(look.p)}{agreed}: {escape(look.sure)}{kind}."]
        if look.unclear:
            parts = [f"**No clear answer**: {escape(look.unclear)}{agreed}{kind}."]
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
