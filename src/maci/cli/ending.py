"""Prints how a debate ended: the answer with its arguments, dissent, what to find out next, the probabilities and the cost.

:func:`print_result` prints the result. :func:`explained` says why triage stopped or continued; with ``full``, it lists every test with
its threshold and every step. :class:`Remarks` shortens a warning whose reason was already printed. :func:`plan_lines` shows
a whole plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import shorten, wrap

from maci.acquisition.plan import AcquisitionPlan, Item
from maci.cli.lines import Lines
from maci.controller.decisions import Finished
from maci.controller.triage import Check, Prospect, Triaged
from maci.render.markup import percent
from maci.story.result import plan_of
from maci.story.story import Story
from maci.story.words import (
    cost,
    given,
    known_words,
    leads,
    minority,
    plural,
    shift_words,
    shown,
    triage_words,
    unlike,
)

_MISSING = re.compile(
    r"(?P<what>round \d+: (\d+ of \d+ scores are missing(?=: \S+ on)|(?P<who>.+?) abstained)): (\S+ on \S+: )?(?P<why>.*)",
    re.DOTALL,
)


class Remarks:
    """Remembers of whom what was said last."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def new(self, who: str, why: str, *, printed: bool = True) -> bool:
        """Whether a complaint about somebody differs from the last one that was printed."""
        new = self._last.get(who) != why
        if printed:
            self._last[who] = why
        return new

    def once(self, warning: str) -> str:
        """A warning about missing turns or scores, with its reason only where it was not given before.

        >>> remarks = Remarks()
        >>> [remarks.once(f"round {t}: x abstained: no key") for t in (1, 2)]
        ['round 1: x abstained: no key', 'round 2: x abstained, as above']
        """
        found = _MISSING.fullmatch(warning)
        if found is None or self.new(found["who"] or "judges", found["why"]):
            return warning
        return f"{found['what']}, as above"


def explained(event: Triaged, *, full: bool) -> Iterator[tuple[str, str]]:
    """(line, style) for the terminal."""
    yield "", ""
    yield f"Triage {triage_words(event)}", "bold cyan"
    for sentence in event.why:
        yield f"  {sentence}", ""
    if not full:
        return
    yield f"  regime {event.regime.kind}: {'; '.join(event.regime.why)}", ""
    for check in event.checks:
        yield f"    {_check(check)}", "dim"
    if event.answer is not None:
        margin = "undefined" if event.margin is None else f"{event.margin:.3f}"
        chance = f"chance that {event.answer} is right {event.confidence:.3f}, margin over the next {margin}"
        yield f"  {chance}, {event.tokens:,} tokens so far", ""
    for step in event.steps:
        yield f"    {_step(step)}", "dim"


def _check(check: Check) -> str:
    limit = "–" if check.threshold is None else f"{check.threshold:g}"
    return (
        f"{'yes' if check.holds else 'no':3} {check.name} {_number(check.value)} {check.relation} {limit}: {check.why}"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:g}" if value == int(value) else f"{value:.3f}"


def _step(step: Prospect) -> str:
    against = f"worth {max(0.0, step.worth):,.0f} tokens, about {step.tokens:,} needed"
    return f"{'yes' if step.pays else 'no':3} {step.to}: {100 * step.gain:+.1f} points expected, {against}"


_BAR, _SHORTEST_BAR = 30, 6
"""Cells of the bar of a certain outcome, and on the narrowest terminal."""
_BESIDE = 11
"""Cells of such a line that are neither bar nor label."""


def print_result(
    lines: Lines,
    story: Story,
    result: Finished,
    transcript: Path,
    remarks: Remarks,
    *,
    full: bool = False,
    why: bool = True,
    priced: bool = True,
) -> None:
    """Print the result; without ``why``, somebody else says what went wrong.

    ``priced``: whether what it cost in dollars is known.
    """
    say = lines.say
    say()
    for item in story.distinct(result.rationale):
        say(f"For {result.answer} ({item.id}): {item.argument.claim} {' '.join(item.argument.reasons)}")
        for citation in item.citations[:1]:
            say(f"    {quoted(story, citation.span, full=full)}", "dim")
    _dissent(lines, story, result, full=full)
    for warning in result.warnings:
        say(f"Note: {remarks.once(warning)}", "yellow")
    if story.plan is not None:
        for line in _best(plan_of(story.plan)):
            say(line)
    say(f"Transcript: {transcript}")
    say()
    if result.answer is None:
        say("No answer", "bold red")
    else:
        _outcomes(lines, result.distribution, story.scale)
        for line, style in given(result):
            say(line, style)
        if (gold := story.opened.case.gold_among(result.raw)) is not None:
            say(f"Known answer: {known_words(story.opened.case, gold, result)}")
    spent = cost(result, priced=priced, kept=story.replies)
    detail = f"; {result.detail}" if why else ""
    apart = ", no agreement" if unlike(result.stop_reason, result.agreed) and not why else ""
    say(f"Stopped after {plural(result.rounds, 'round')}, {spent}: {result.stop_reason}{apart}{detail}")


def quoted(story: Story, span_id: str, *, full: bool) -> str:
    """A span with its source and its text, or the beginning of it."""
    span = story.spans.get(span_id)
    if span is None:
        return span_id
    text = span.text if full else shorten(span.text, 96, placeholder=" …")
    return f"[{span.source or 'evidence'}] “{text}” ({span_id})"


def _outcomes(lines: Lines, p: Mapping[str, float], scale: tuple[str, ...]) -> None:
    """The distribution, a line for each outcome; on a scale in its order, with the one that leads marked."""
    named = [(f"{label}  (leads)" if scale and leads(label, p) else label, q) for label, q in shown(p, 5, scale)]
    room = lines.out.width - max(len(name) for name, _ in named) - _BESIDE if lines.folded else _BAR
    cells = max(_SHORTEST_BAR, min(_BAR, room))
    for name, q in named:
        lines.say(f"  {lines.bar(q, cells)}{q:5.2f}  {name}")


def _dissent(lines: Lines, story: Story, result: Finished, *, full: bool) -> None:
    """The minority report: its best argument, evidence that the answer leaves open, and what would decide."""
    if (found := result.dissent) is not None:
        lines.say(minority(found), "yellow")
        for item in story.distinct(found.arguments, 1):
            lines.say(f"    {item.id}: {item.argument.claim} {' '.join(item.argument.reasons)}")
        said = "left open by the answer: " if found.unanswered else ""
        for span in (found.unanswered or found.spans)[: None if full else 1]:
            lines.say(f"    {said}{quoted(story, span, full=full)}", "dim")
        for line in found.decides if full or result.stop_reason == "impasse" else found.decides[:1]:
            lines.say(f"    What would decide: {line}", "dim")
    for m in result.minority:
        if found is None or m.outcome != found.outcome:
            backing = f", backed by {', '.join(m.arguments)}" if m.arguments else ", with no admitted argument"
            lines.say(f"Minority report: {m.agent} holds {m.outcome} (p = {m.probability:.2f}){backing}", "yellow")


_ORIGINS = {
    "corpus": "labelled texts",
    "knowledge": "built-in knowledge",
    "agents": "the agents",
    "disagreement": "a disagreement",
    "mixture": "the leading outcomes",
}


def _best(plan: AcquisitionPlan) -> Iterator[str]:
    """The best three of a plan of what to find out next, a line each."""
    if not plan.items:
        yield f"To find out next: {plan.note or 'nothing'}"
        return
    more = f"; 3 of {len(plan.items)}, `maci plan` shows all" if len(plan.items) > 3 else ""
    yield f"To find out next (bits each adds to those above, for its cost{more}):"
    for item in plan.items[:3]:
        cost = "" if item.cost == 1 else f" at cost {item.cost:g}"
        worth = "" if item.value is None else f"  worth {item.value:.3g}"
        yield f"  {item.added_gain:.2f} bits{cost}{worth}  {item.text}  [{' / '.join(item.separates[:3])}]"
    if plan.note:
        yield f"  {plan.note}"


def plan_lines(plan: AcquisitionPlan, *, width: int = 80, full: bool = True) -> Iterator[str]:
    """A plan of what to find out next, as text."""
    if not plan.items:
        yield f"{plan.note or 'nothing worth asking'} ({plan.considered} possibilities considered)"
        return
    valued = plan.items[0].value is not None
    yield f"{plan.entropy:.2f} bits of doubt are left; these together are expected to bring {plan.joint_gain:.2f}"
    yield f"{'':2} {'bits':>5} {'added':>5} {'cost':>5} {'/cost':>5}" + (f" {'value':>7}" if valued else "") + "  ask"
    for number, item in enumerate(plan.items, 1):
        figures = f"{number:2} {item.expected_information_gain:5.2f} {item.added_gain:5.2f} {item.cost:5g} {item.gain_per_cost:5.2f}"
        figures += f" {item.value:7.3g}" if item.value is not None else ""
        yield from wrap(
            item.text, width, initial_indent=f"{figures}  ", subsequent_indent=" " * min(len(figures) + 2, width // 2)
        )
        if full:
            yield from _details(item, width)
    if plan.note:
        yield from wrap(plan.note, width)
    if any(item.assumed for item in plan.items):
        yield "~ how telling the answer is was assumed, not counted in labelled texts"


def _details(item: Item, width: int) -> Iterator[str]:
    mark = "~" if item.assumed else ""
    told = [f"{mark}{item.sort}; tells apart: " + "; ".join(f"{y}: {a}" for y, a in item.expected.items())]
    told += [f"if {shift_words(shift)}" for shift in item.shifts[:4]]
    if item.answered is not None and item.answered < 1:
        told.append(f"an answer is {percent(item.answered)} likely, which the figures count")
    why = "from " + " and ".join(_ORIGINS.get(origin, origin) for origin in item.origin)
    if item.asked_for_by:
        why += f"; arguments {', '.join(item.asked_for_by[:6])}"
    if item.evidence:
        why += f"; evidence {', '.join(item.evidence[:3])}"
    told.append(why)
    if item.query:
        told.append(f"query: {item.query}")
    for text in told:
        yield from wrap(text, width, initial_indent=" " * 6, subsequent_indent=" " * 8)
