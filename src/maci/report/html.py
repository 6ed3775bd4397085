"""A debate as one HTML file that needs nothing else: it opens offline, prints, and reads without scripts."""

from __future__ import annotations

from collections.abc import Sequence

from maci.page.document import document
from maci.page.markup import Child, Markup, el
from maci.report.audit import audit
from maci.report.evidence import evidence
from maci.report.plan import plan
from maci.report.provenance import Provenance
from maci.report.rounds import charts, round_by_round
from maci.report.verdict import verdict
from maci.story.story import Story

__all__ = ["to_html"]


def to_html(story: Story, source: Provenance | None = None, *, back: Sequence[tuple[str, str]] = ()) -> str:
    """The report: verdict, course, rounds, evidence, audit. ``back``: links to where it was opened from."""
    source = source or Provenance()
    sections = [
        ("course", "How it went", charts(story)),
        ("rounds", "Round by round", round_by_round(story)),
        ("plan", "What to find out next", plan(story)),
        ("evidence", "Evidence", evidence(story)),
        ("audit", "Audit", audit(story, source)),
    ]
    present = [(id, title, body) for id, title, body in sections if body is not None]
    links = el("ul", (el("li", el("a", title, href=f"#{id}")) for id, title, _ in present))
    return document(
        f"{story.title}: debate",
        el("header", el("h1", story.title, dir="auto"), el("nav", links, aria_label="Sections")),
        el("main", verdict(story, source), (_section(id, title, body) for id, title, body in present), id="main"),
        el("footer", el("p", f"Made by maci from {source.transcript or 'the events of a debate'}.")),
        back=back,
    )


def _section(id: str, title: str, body: Child) -> Markup:
    return el("section", el("h2", title, id=f"{id}-h"), body, id=id, aria_labelledby=f"{id}-h")
