"""The audit appendix: what the debate was made of, to be checked line by line against its transcript."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from maci.config import parameters
from maci.llm.usage import dollars
from maci.render.markup import Markup, el, join
from maci.story.model import Call
from maci.story.report.sources import Provenance
from maci.story.story import Story
from maci.story.words import plural


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


def _folded(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = ()) -> Markup:
    top = el("tr", (el("th", name, scope="col", class_="words" if i in words else None) for i, name in enumerate(head)))
    body = (
        el(
            "tr",
            el("th", row[0], scope="row"),
            (el("td", cell, class_="words" if i in words else None) for i, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    )
    table = el("table", el("thead", top), el("tbody", body), class_="sortable")
    grid = el("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
    return el("details", el("summary", title), grid, class_="box")


def _prompts(story: Story) -> Markup | None:
    prompts = story.opened.prompts
    return (
        _folded(f"Prompts ({len(prompts)})", ("template", "SHA-256, first 16 digits"), prompts.items())
        if prompts
        else None
    )


def _settings(story: Story) -> Markup:
    rows = [
        (p.key, p.symbol, str(p.value), "" if p.value == p.default else str(p.default), p.meaning)
        for p in parameters(story.opened.config)
    ]
    changed = sum(bool(row[3]) for row in rows)
    title = f"Settings ({len(rows)}, {changed} not as usual)"
    return _folded(title, ("setting", "symbol", "value", "usually", "meaning"), rows, (4,))


def _calls(story: Story) -> Markup | None:
    if not story.calls:
        return None
    rows = [_call(call) for call in story.calls]
    total = story.spent
    title = f"Calls ({len(rows)}): {plural(total.tokens, 'token')}{f', {dollars(total.usd)}' if total.usd else ''}"
    head = ("call", "round", "read", "cached", "written", "$", "seconds", "prompt", "remark")
    return _folded(title, head, rows, (8,))


def _call(call: Call) -> tuple[str, ...]:
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
