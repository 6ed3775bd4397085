"""The back matter of a report: evidence, plan, audit appendix, provenance.

===================  =============================================================================================
:func:`evidence`     every cited span with its quotes marked, and who rests on it
:func:`plan`         what to find out next: the plan as a table, with what each answer would do
:func:`audit`        what the debate was made of, to be checked line by line against its transcript
:func:`facts`        what the debate rests on, in a few lines
:class:`Provenance`  what is known of a record besides its events: where it is, whether it was recomputed, where it breaks off
===================  =============================================================================================
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from maci.acquisition.plan import Item, Shift
from maci.config import parameters
from maci.errors import ReplayMismatch
from maci.evidence.span import Span
from maci.llm.usage import dollars
from maci.record.replay import replay
from maci.record.transcript import Recording
from maci.render.markup import Markup, el, grid, join
from maci.story.model import ReturnedCall, Statement
from maci.story.report.parts import MADE, anchors, cited_name, linked, marked, names
from maci.story.story import Story
from maci.story.words import plural, shift_words


def facts(story: Story, source: Provenance) -> list[tuple[str, str]]:
    """What the debate rests on, in a few lines."""
    opened = story.opened
    rows = [
        ("transcript", source.transcript),
        ("last line's hash", source.hashes[-1] if source.hashes else ""),
        ("recomputed", _recomputed(source)),
        ("made", " ".join(part for part in (opened.created, f"maci {opened.version}", opened.commit or "") if part)),
        ("format", str(opened.format)),
        ("seed", str(opened.seed)),
        ("profile and schedule", f"{opened.config.profile}, {opened.config.dials.schedule}"),
        ("encoder", opened.encoder),
        ("evidence index", opened.corpus),
        ("agents", ", ".join(f"{seat.name} ({seat.family})" for seat in opened.agents)),
        ("judges", ", ".join(f"{seat.name} ({seat.family})" for seat in opened.judges) or "none (CRIT-free)"),
        ("calibration", opened.config.calibration.made_for or "none"),
    ]
    return [(name, value) for name, value in rows if value]


def _recomputed(source: Provenance) -> str:
    if source.differs:
        return f"differs: {source.differs}"
    return (
        ""
        if source.compared is None
        else f"{plural(source.compared, 'decision')} computed again from the inputs, none differs"
    )


def audit(story: Story, source: Provenance) -> Markup:
    """Everything, folded."""
    rows = el("dl", ([el("dt", name), el("dd", value)] for name, value in facts(story, source)))
    return join(rows, _prompts(story), _settings(story), _calls(story), _lines(source))


def _folded(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[str] = ()) -> Markup:
    kinds = ["words" if name in words else None for name in head]
    body = (
        el(
            "tr",
            el("th", row[0], scope="row"),
            (el("td", cell, class_=kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)),
        )
        for row in rows
    )
    return el("details", el("summary", title), grid(title, head, body, words=words, kind="sortable"), class_="box")


def _prompts(story: Story) -> Markup | None:
    prompts = story.opened.prompts
    return (
        _folded(f"Prompts ({len(prompts)})", ("template", "SHA-256, first 16 digits"), prompts.items())
        if prompts
        else None
    )


def _value(value: object) -> str:
    return "not set" if value is None else str(value)


def _settings(story: Story) -> Markup:
    rows = [
        (p.key, p.symbol, _value(p.value), "" if p.value == p.default else _value(p.default), linked(p.meaning, {}))
        for p in parameters(story.opened.config)
    ]
    changed = sum(bool(row[3]) for row in rows)
    title = f"{plural(changed, 'setting')} changed from {'its default' if changed == 1 else 'their defaults'}, of {len(rows)}"
    return _folded(title, ("setting", "symbol", "value", "default", "meaning"), rows, ("meaning",))


def _calls(story: Story) -> Markup | None:
    if not story.calls:
        return None
    rows = [_call(call) for call in story.calls]
    total = story.spent
    title = f"Calls ({len(rows)}): {plural(total.tokens, 'token')}{f', {dollars(total.usd)}' if total.usd else ''}"
    head = ("call", "round", "read", "cached", "written", "$", "seconds", "prompt", "remark")
    return _folded(title, head, rows, ("remark",))


def _call(call: ReturnedCall) -> tuple[str, ...]:
    u = call.usage
    what = f"{call.who} on {call.argument}" if call.argument else call.who
    remark = call.failed or ("from the response cache" if u.kept and u.free else "")
    money = f"{u.usd:.6f}" if u.usd else ""
    seconds = f"{u.seconds:.2f}" if u.seconds else ""
    return (
        what, str(call.round), f"{u.prompt:,}", f"{u.cached:,}" if u.cached else "", f"{u.generated:,}",
        money, seconds, call.prompt or "", remark,
    )  # fmt: skip


def _lines(source: Provenance) -> Markup | None:
    if not source.hashes:
        return None
    lines = " ".join(digest[:12] for digest in source.hashes)
    about = "The first 12 digits of every line's hash, in order; each covers its line and all lines before it."
    body = el("p", about, class_="small-print"), el("pre", lines)
    return el("details", el("summary", f"Lines of the transcript ({len(source.hashes)})"), body, class_="box")


def evidence(story: Story) -> Markup:
    """Cited spans, most cited first, then what was retrieved and never cited."""
    links, citing = anchors(story), story.citing()
    cited = [span for id, span in story.spans.items() if id in citing]
    cited.sort(key=lambda span: -len(citing[span.id]))
    others = [span for id, span in story.spans.items() if id not in citing]
    invented = [id for id in citing if id not in story.spans and id in story.missing]
    called = {span.id: cited_name(story, span.id, 400) for span in story.spans.values()}
    parts = [_span(span, called[span.id], links[span.id], citing[span.id]) for span in cited]
    if not parts:
        parts = [el("p", "No argument cites evidence.", class_="soft")]
    if invented:
        names = ", ".join(invented[:20])
        parts.append(el("p", f"Cited, but nowhere to be found: {names}", class_="bad"))
    if others:
        rest = (_span(span, called[span.id], links[span.id], []) for span in others)
        parts.append(
            el("details", el("summary", f"{plural(len(others), 'span')} retrieved, never cited"), rest, class_="box")
        )
    return join(*parts)


def _span(span: Span, name: str, link: str, said: list[Statement]) -> Markup:
    places = [place for item in said for c in item.citations if c.span == span.id for place in c.places]
    by = [[el("a", item.id, href=f"#a-{item.id}"), " "] for item in said if not item.repeats]
    again = sum(bool(item.repeats) for item in said)
    more = f"and {again} times again" if again > 1 else "and once again" if again else ""
    about = [el("b", name)]
    about += [] if MADE.fullmatch(span.id) else [el("span", f" {span.source}", class_="soft")]
    if span.label:
        about.append(el("span", f" about {span.label}", class_="soft"))
    if span.order:
        about.append(el("span", f" Reads like an instruction: {span.order}.", class_="bad"))
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
        return el("p", " ".join(found.notes) or "No question is worth asking.", class_="soft")
    value = ("value",) if any(item.value is not None for item in found.items) else ()
    head = ("question", "kind", "bits", "added", "cost", *value, "separates", "if the answer is …")
    words = [name for name in head if name not in _FIGURES]
    bits = (
        f"The remaining uncertainty is {found.entropy:.2f} bits. Together, these items are expected to reduce it by "
        f"{found.joint_gain:.2f} bits."
    )
    guess = el(
        "p", "~ how often each answer occurs is an estimate, not counted in labelled texts", class_="small-print"
    )
    return join(
        el("p", bits),
        grid("Plan", head, (_row(n, item) for n, item in enumerate(found.items, 1)), words=words, kind="plan"),
        guess if any(item.assumed for item in found.items) else None,
    )


_FIGURES = ("question", "bits", "added", "cost", "value")


def _row(number: int, item: Item) -> Markup:
    figures = [f"{item.expected_information_gain:.2f}", f"{item.added_gain:.2f}", f"{item.cost:g}"]
    figures += [] if item.value is None else [f"{item.value:.3g}".replace("-", "−")]
    return el(
        "tr",
        el("th", ("~ " if item.assumed else "") + item.text, scope="row", dir="auto"),
        el("td", item.sort, class_="words"),
        (el("td", figure, data_l=name) for name, figure in zip(_FIGURES[1:], figures, strict=False)),
        el("td", names(item.separates, " / "), class_="words", data_l="separates"),
        el("td", el("ul", map(_shift, item.shifts[:4])), class_="words"),
        id=f"plan-{number}",
    )


def _shift(shift: Shift) -> Markup:
    return el("li", linked(shift_words(shift), {}, (shift.answer, shift.leader)))


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
    """The command that continues it."""
    priced: bool = True
    """Whether the price of every model is known."""

    @classmethod
    def of(cls, recording: Recording, path: Path, *, priced: bool = True) -> Self:
        """What stands behind the report of a record: the record is computed again."""
        known = cls(transcript=str(path), hashes=recording.hashes, priced=priced)
        try:
            again = replay(recording.events)
        except ReplayMismatch as error:
            return replace(known, differs=str(error))
        if again.complete:
            return replace(known, compared=again.compared)
        resume = f"maci debate --resume --out {shlex.quote(str(path.parent))}"
        return replace(known, compared=again.compared, unfinished=again.where(), resume=resume)
