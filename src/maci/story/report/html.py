"""Reports as HTML: one debate as a single file, and an index of several debates.

The file needs nothing else: it opens offline, prints, and reads without scripts. The index shows the result of each debate with a link
to its report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maci.render.markdown import table
from maci.render.markup import Markup, document, el, grid
from maci.render.strips import bar
from maci.story.report.rounds import charts, round_by_round
from maci.story.report.sources import Provenance, audit, evidence, plan
from maci.story.report.verdict import answered, asked, details
from maci.story.story import Story
from maci.story.words import plural, stop_of


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
