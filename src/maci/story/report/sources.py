"""The evidence: every cited span with what was quoted of it marked, and who rests on it.

What to find out next: the plan as a table, with what each answer would do.

What is known of a record besides its events: where it lies, whether it was recomputed, where it breaks off.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from maci.acquisition.plan import Item, Shift
from maci.errors import ReplayMismatch
from maci.evidence.span import Span
from maci.record.replay import replay
from maci.record.transcript import Recording
from maci.render.markup import Markup, el, join
from maci.story.model import Said
from maci.story.report.parts import anchors, marked, names
from maci.story.story import Story
from maci.story.words import plural, shift_parts


def evidence(story: Story) -> Markup:
    """Cited spans, most cited first, then what was retrieved and never cited."""
    links, citing = anchors(story), story.citing()
    cited = [span for id, span in story.spans.items() if id in citing]
    cited.sort(key=lambda span: -len(citing[span.id]))
    others = [span for id, span in story.spans.items() if id not in citing]
    invented = [id for id in citing if id not in story.spans and id in story.missing]
    parts = [_span(span, links[span.id], citing[span.id]) for span in cited]
    if not parts:
        parts = [el("p", "No argument cites evidence.", class_="soft")]
    if invented:
        names = ", ".join(invented[:20])
        parts.append(el("p", f"Cited, but nowhere to be found: {names}", class_="bad"))
    if others:
        rest = (_span(span, links[span.id], []) for span in others)
        parts.append(
            el("details", el("summary", f"{plural(len(others), 'span')} retrieved, never cited"), rest, class_="box")
        )
    return join(*parts)


def _span(span: Span, link: str, said: list[Said]) -> Markup:
    places = [place for item in said for c in item.citations if c.span == span.id for place in c.places]
    by = [[el("a", item.id, href=f"#a-{item.id}"), " "] for item in said if not item.repeats]
    again = sum(bool(item.repeats) for item in said)
    more = f"and {again} times again" if again > 1 else "and once again" if again else ""
    about = [el("b", link), f" {span.source or 'evidence'} ", el("span", span.id, class_="mono soft")]
    if span.label:
        about.append(el("span", f" about {span.label}", class_="soft"))
    return el(
        "article",
        el("p", about, class_="head"),
        el("p", marked(span, places), dir="auto"),
        el("p", "Cited by ", by, more, class_="small-print") if said else None,
        id=link,
        class_="span",
    )


def plan(story: Story) -> Markup | None:
    """The items with their gains, or why there are none; nothing for records that have no plan."""
    found = story.plan
    if found is None:
        return None
    if not found.items:
        return el(
            "p", f"Nothing to find out: {'; '.join(found.notes) or 'no question would tell more'}.", class_="soft"
        )
    valued = any(item.value is not None for item in found.items)
    value = ("value",) if valued else ()
    head = ("question", "kind", "bits", "added", "cost", *value, "tells apart", "if the answer is …")
    top = el("tr", (el("th", name, scope="col", class_=None if name in _FIGURES else "words") for name in head))
    table = el("table", el("thead", top), el("tbody", map(_row, found.items)), class_="plan")
    bits = f"{found.entropy:.2f} bits of doubt are left; these together are expected to bring {found.joint_gain:.2f}."
    guess = el("p", "~ how telling the answer is was assumed, not counted in labelled texts", class_="small-print")
    return join(
        el("p", bits),
        el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Plan"),
        guess if any(item.assumed for item in found.items) else None,
    )


_FIGURES = ("question", "bits", "added", "cost", "value")


def _row(item: Item) -> Markup:
    figures = [f"{item.expected_information_gain:.2f}", f"{item.added_gain:.2f}", f"{item.cost:g}"]
    figures += [] if item.value is None else [f"{item.value:.3g}".replace("-", "−")]
    return el(
        "tr",
        el("th", ("~ " if item.assumed else "") + item.text, scope="row", dir="auto"),
        el("td", item.kind, class_="words"),
        (el("td", figure, data_l=name) for name, figure in zip(_FIGURES[1:], figures, strict=False)),
        el("td", names(item.separates, " / "), class_="words", data_l="tells apart"),
        el("td", el("ul", map(_shift, item.shifts[:4])), class_="words"),
    )


def _shift(shift: Shift) -> Markup:
    answer, likely, leader, course = shift_parts(shift)
    return el("li", el("bdi", answer), likely, el("bdi", leader), course)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What stands behind a report."""

    transcript: str = ""
    """As it was named."""
    hashes: Sequence[str] = ()
    """Of every line of the record, each chained to the one before."""
    compared: int | None = None
    """Decisions that were computed again from the inputs and are the same; ``None`` where nobody looked."""
    differs: str = ""
    """The first decision that is not what its inputs lead to."""
    unfinished: str = ""
    """Where the record ends, if not with a result."""
    resume: str = ""
    """The command that goes on with it."""
    priced: bool = True
    """Whether the price of every model is known."""

    @classmethod
    def of(cls, recording: Recording, path: Path, *, priced: bool = True) -> Self:
        """What stands behind the report of a record: the record is computed again."""
        compared, differs, unfinished, resume = None, "", "", ""
        try:
            again = replay(recording.events)
            compared = again.compared
            if not again.complete:
                unfinished, resume = again.where(), f"maci debate --resume --out {shlex.quote(str(path.parent))}"
        except ReplayMismatch as error:
            differs = str(error)
        return cls(
            transcript=str(path), hashes=recording.hashes, compared=compared, differs=differs,
            unfinished=unfinished, resume=resume, priced=priced,
        )  # fmt: skip
