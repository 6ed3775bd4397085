"""Prints how a debate ended: the answer first, then why, what speaks against it, what would change it, and the cost.

:func:`print_result` prints the result, on one screen unless more is asked for. :func:`explained` says why triage stopped or continued;
with ``full``, it lists every test with its threshold and every step. :class:`Remarks` shortens a warning whose reason was already
printed. :func:`plan_lines` shows a whole plan.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten, wrap
from typing import Literal

from maci.acquisition.plan import CONTRAST, NAMED, AcquisitionPlan, Item
from maci.cli.terminal import Lines
from maci.controller.decisions import Finished
from maci.controller.triage import Check, Prospect, Triaged
from maci.errors import Undecidable
from maci.render.markup import percent
from maci.story.outline import Outline, against, best, forced, outline, withheld_words
from maci.story.recommendation import TEMPLATE, cited, recommendation
from maci.story.result import plan_of
from maci.story.story import Story
from maci.story.words import (
    besides,
    cost,
    known_words,
    leads,
    plural,
    shift_words,
    stop_of,
    stopped,
    triage_why,
    triage_words,
)
from maci.story.words import shown as shown_outcomes

_MISSING = re.compile(
    r"(?P<what>round \d+: (\d+ of \d+ scores are missing(?=: \S+ on)|(?P<who>.+?) abstained)): (\S+ on \S+: )?(?P<why>.*)",
    re.DOTALL,
)


FIND, FORCE = " (`maci init`)", "add `--force`"
"""Where the command line finds a language model, and how it shows a guess that readers withhold."""


def unfit(error: Undecidable) -> str:
    """What to do at the command line where the readers cannot decide a case."""
    return f"{error}{FIND}.{forced(FORCE)}" if error.guess else f"{error}{FIND}. `maci index` makes a corpus."


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
    for sentence in triage_why(event):
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


Shown = Literal["brief", "screen", "rounds", "full"]
"""How much of a result is printed: three lines, one screen, or everything; in ``full`` nothing is shortened."""
_OUTSIDE = ("budget", "error", "triage", "stopped_by_user")
"""Stops that need more than the rule's own words."""
_SCREEN, _AROUND = 14, 2
"""Rows a result may always take on a terminal; the blank line above it and the row of the next prompt."""
_MARGIN = 14


def print_result(
    lines: Lines,
    story: Story,
    result: Finished,
    transcript: Path,
    remarks: Remarks,
    *,
    shown: Shown = "screen",
    why: bool = True,
    priced: bool = True,
    hints: Sequence[str] = (),
) -> None:
    """Print the result, verdict first; without ``why``, somebody else says what went wrong.

    ``priced``: whether what it cost in dollars is known; ``hints``: what to do next, below it.
    """
    look, say = outline(story), lines.say
    spent = f"{plural(result.rounds, 'round')}, {cost(result, priced=priced, kept=story.replies)}"
    short = result.stop_reason not in _OUTSIDE and shown != "full"
    told = (stop_of(result) if short else stopped(story)).rstrip(".") if why else ""
    stop, rule = f"Stopped after {spent}: {told}", f" ({result.stop_reason})." if told else result.stop_reason
    if shown == "brief":
        verdict = list(_verdict(story, look, result))
        say(". ".join(text.rstrip(".") for text, _ in verdict), verdict[0][1])
        say(
            f"Warning: {look.grave[0]}" if look.grave else look.course or stopped(story), "yellow" if look.grave else ""
        )
        say(f"{stop}{rule} Transcript: {transcript}")
        for hint in hints:
            say(hint, "yellow")
        return
    said = list(_said(lines, story, look, result, shown))
    command = shlex.join(("maci", "show", str(transcript.parent)))
    more = f" ({plural(len(look.notes), 'note')}: `{command}`)" if look.notes and shown == "screen" else ""
    end = [
        _Item(stop, gives=2, end=rule),
        _Item(f"Transcript: {transcript}{more}"),
        *(_Item(hint, "yellow") for hint in hints),
    ]
    if shown == "screen":
        for note in (n for n in look.notes if _MISSING.fullmatch(n)):
            if not (once := remarks.once(note)).endswith(", as above"):
                said.append(_Item(f"Note: {once}", "yellow", gives=2))
        if lines.folded:
            room = max(_SCREEN, lines.out.height - lines.rows - _AROUND)
            fitted = _fitted(lines, [*said, *end], room)
            said, end = fitted[: -len(end)], fitted[-len(end) :]
    say()
    for item in said:
        item.print(lines)
    if shown != "screen":
        _everything(lines, story, result, look.notes, remarks, full=shown == "full")
    for item in end:
        item.print(lines)


@dataclass(frozen=True, slots=True)
class _Item:
    """Something to print, and what it gives up where the screen is short."""

    text: str
    style: str = ""
    hang: int = 2
    most: int = 0
    """Rows it may take; 0: as many as it needs."""
    end: str = ""
    """What stays where it is cut."""
    gives: int = 0
    """2: it is cut first, 1: last, 0: never."""
    extra: bool = False
    """It may be left out."""

    def print(self, lines: Lines) -> None:
        """Print it."""
        lines.say(self.text, self.style, self.hang, self.most, self.end)


def _rows(lines: Lines, item: _Item) -> int:
    return lines.fold(item.text, item.hang, item.most, item.end).count("\n") + 1


def _fitted(lines: Lines, said: Sequence[_Item], room: int) -> list[_Item]:
    """These in as many rows, where they can be: the longest are cut to two rows, extras are left out, the longest are cut to one, then
    later warnings are.
    """
    found = list(said)

    def over() -> int:
        return sum(_rows(lines, item) for item in found) - room

    def cut(gives: int, least: int) -> None:
        while over() > 0:
            rows = [_rows(lines, item) if item.gives == gives else 0 for item in found]
            if max(rows) <= least:
                return
            at = max(range(len(rows)), key=lambda i: (rows[i], i))
            found[at] = replace(found[at], most=rows[at] - 1)

    cut(2, 2)
    for item in reversed(said):
        if over() > 0 and item.extra:
            found = [other for other in found if other.text != item.text]
    cut(2, 1)
    cut(1, 1)
    return found


def _said(lines: Lines, story: Story, look: Outline, result: Finished, shown: Shown) -> Iterator[_Item]:
    """The result from the verdict to the warnings."""
    yield from (_Item(text, style) for text, style in _verdict(story, look, result))
    if result.given is not None:
        yield _Item(lines.stacked(_shares(result.distribution, story.scale), min(30, lines.out.width // 3)))
    yield from (_Item(line, style, gives=2) for line, style in besides(result))
    if look.course:
        yield _Item(look.course, gives=2)
    yield from (_Item(f"Found out: {line}", gives=2, extra=n > 0) for n, line in enumerate(look.found))
    yield from _recommended(story, shown)
    few = 2 if shown == "screen" else None
    yield from _column(lines, "Why", look.why[:few], 3 if few else 0)
    for at, line in enumerate(look.against[:few]):
        yield from _column(
            lines,
            "" if at else "Against",
            [line],
            2 if few and len(look.against) > 1 else 3 if few else 0,
            extra=at > 0,
        )
    yield from _column(lines, "Would change", look.changes[: 1 if few else None], 3 if few else 0)
    yield from (_Item(f"Warning: {warning}", "yellow", gives=min(n, 1)) for n, warning in enumerate(look.grave))


def _verdict(story: Story, look: Outline, result: Finished) -> Iterator[tuple[str, str]]:
    """(line, style): the answer, or that there is none; how sure, who agrees, and whether it is right where that is known."""
    if look.withheld:
        yield f"Answer withheld: {withheld_words(story, look, FIND, FORCE)}", "bold red"
    elif look.answer is None:
        yield "No answer", "bold red"
    if look.p is None:
        return
    agreed = f", {look.agreement}" if look.agreement else ""
    raw = "" if story.calibrated else " (not calibrated)"
    if look.unclear:
        yield f"No clear answer: {look.unclear}{raw}{agreed}", "bold yellow"
    elif look.answer is None:
        yield f"Best guess: {look.guess}, {percent(look.p)}{raw}{agreed}", "bold"
    else:
        yield (
            f"Answer: {look.answer}, {percent(look.p)}{raw}{agreed}",
            {"good": "bold green", "agreed": "bold"}.get(look.tone, "bold yellow"),
        )
    if (gold := story.gold_among(result.raw)) is not None:
        yield f"Known answer: {known_words(story, gold)}", "" if gold == result.answer else "red"


def _shares(p: Mapping[str, float], scale: tuple[str, ...]) -> list[tuple[str, float]]:
    """The outcomes of the bar; on a scale in its order, with the one that leads marked."""
    return [(f"{label} (leads)" if scale and leads(label, p) else label, q) for label, q in shown_outcomes(p, 4, scale)]


def _column(lines: Lines, title: str, said: Sequence[str], most: int, *, extra: bool = False) -> Iterator[_Item]:
    """Sentences under each other, the first beside its title, in ``most`` rows together; 0: as many as they take."""
    left = most
    for number, line in enumerate(said):
        start, bracket, who = line.rpartition(" (") if line.endswith(")") else (line, "", "")
        name = "" if number else title
        item = _Item(
            f"{name:<{_MARGIN}}{start}",
            hang=_MARGIN if name else 0,
            most=left,
            end=f"{bracket}{who}",
            gives=2,
            extra=extra or number > 0,
        )
        yield item
        if most and (left := left - _rows(lines, item)) < 1 and lines.folded:
            return


def _everything(
    lines: Lines, story: Story, result: Finished, notes: Sequence[str], remarks: Remarks, *, full: bool
) -> None:
    """What one screen leaves out: every outcome, the evidence behind the answer, the minority report, notes, the plan."""
    say = lines.say
    if result.given is not None:
        _outcomes(lines, result.distribution, story.scale)
    for item in best(story):
        say(f"For {result.answer} ({item.id}): {item.argument.claim} {' '.join(item.argument.reasons)}")
        for citation in item.citations[: None if full else 1]:
            say(f"    {quoted(story, citation.span, full=full)}", "dim")
    if said := against(story, full=True):
        say("Minority report:", "yellow")
        for line in said:
            say(f"  {line}")
    for note in notes:
        say(f"Note: {remarks.once(note)}", "yellow")
    if story.plan is not None:
        for line in _best(plan_of(story.plan)):
            say(line)


def _recommended(story: Story, shown: Shown) -> Iterator[_Item]:
    """The recommendation, an item for each part; on one screen only what a model wrote: the rest says what stands there anyway."""
    said = recommendation(story)
    unfit = story.result is not None and story.result.unfit
    if said is None or unfit or (shown == "screen" and said.by == TEMPLATE):
        return
    yield _Item(f"Recommendation: {said.verdict}", "bold", gives=2)
    for title, sentences in said.parts:
        told = " ".join(map(cited, sentences if shown == "full" else sentences[:1]))
        yield _Item(f"  {title}: {told}", gives=2, extra=True)
    if said.note or said.by != TEMPLATE:
        who = "" if said.by == TEMPLATE else f"written by {said.by} from the record"
        yield _Item(f"  ({'; '.join(filter(None, (who, said.note)))})", "dim", gives=2, extra=True)


def quoted(story: Story, span_id: str, *, full: bool) -> str:
    """A span with its source and its text, or the beginning of it."""
    span = story.spans.get(span_id)
    if span is None:
        return span_id
    text = span.text if full else shorten(span.text, 96, placeholder=" …")
    return f"[{span.source or 'evidence'}] “{text}” ({span_id})"


def _outcomes(lines: Lines, p: Mapping[str, float], scale: tuple[str, ...]) -> None:
    """The distribution, a line for each outcome; on a scale in its order, with the one that leads marked."""
    named = [
        (f"{label}  (leads)" if scale and leads(label, p) else label, q) for label, q in shown_outcomes(p, 5, scale)
    ]
    room = lines.out.width - max(len(name) for name, _ in named) - _BESIDE if lines.folded else _BAR
    cells = max(_SHORTEST_BAR, min(_BAR, room))
    for name, q in named:
        lines.say(f"  {lines.bar(q, cells)}{q:5.2f}  {name}")


_ORIGINS = {
    "corpus": "Counted in labelled lists",
    "contrast": "Quoted from labelled texts",
    NAMED: "Quoted from texts that name the outcomes",
    "knowledge": "From the built-in knowledge",
    "agents": "Asked by the agents",
    "disagreement": "Asked because the agents disagree",
    "mixture": "Asked because these outcomes lead",
    "menu": "On the list of the source",
}


def _best(plan: AcquisitionPlan) -> Iterator[str]:
    """The best three of a plan of what to find out next, a line each."""
    if not plan.items:
        yield f"To find out next: {plan.note or 'nothing'}"
        return
    more = f" (3 of {len(plan.items)}; `maci plan` shows all)" if len(plan.items) > 3 else ""
    yield f"To find out next{more}:"
    for item in plan.items[:3]:
        cost = "" if item.cost == 1 else f", cost {item.cost:g}"
        worth = "" if item.value is None else f", worth {item.value:.2g}"
        apart = f"; separates {', '.join(item.separates[:3])}" if len(item.separates) > 1 else ""
        yield f"  {item.text} ({item.added_gain:.2f} bits{cost}{worth}{apart})"
    if plan.note:
        yield f"  {plan.note}"


def plan_lines(plan: AcquisitionPlan, *, width: int = 80, full: bool = True) -> Iterator[str]:
    """A plan of what to find out next, as text."""
    if not plan.items:
        considered = f" {plural(plan.considered, 'possibility')} considered."
        yield from wrap(f"{plan.note or 'No question is worth asking.'}{considered if plan.considered else ''}", width)
        return
    listed = "The item below is" if len(plan.items) == 1 else f"The {len(plan.items)} items below are"
    yield from wrap(
        f"The remaining uncertainty is {plan.entropy:.2f} bits. {listed} expected to reduce it by {plan.joint_gain:.2f} bits.",
        width,
    )
    for number, item in enumerate(plan.items, 1):
        yield ""
        yield from wrap(item.text, width, initial_indent=f"{number:2}. ", subsequent_indent=" " * 4)
        for text in _details(item, number) if full else [_worth(item, number)]:
            yield from wrap(text, width, initial_indent=" " * 4, subsequent_indent=" " * 6)
    if plan.note:
        yield ""
        yield from wrap(plan.note, width)
    if any(item.assumed for item in plan.items):
        yield ""
        yield from wrap("Estimated: how often each answer occurs was not counted in labelled texts.", width)


def _worth(item: Item, number: int) -> str:
    """What an item is expected to bring, for its cost."""
    alone = f" ({item.expected_information_gain:.2f} on its own)" if number > 1 else ""
    worth = "" if item.value is None else f", value {item.value:.2g}"
    return f"{item.sort.capitalize()}, cost {item.cost:g}: reduces the uncertainty by {item.added_gain:.2f} bits{alone}{worth}."


def _details(item: Item, number: int) -> Iterator[str]:
    yield _worth(item, number)
    if item.expected and item.kind != "retrieval":
        yield "Expected answer: " + "; ".join(f"with {of}, {_chance(said)}" for of, said in item.expected.items()) + "."
    for shift in item.shifts[:4]:
        yield f"If {shift_words(shift)}."
    if item.answered is not None and item.answered < 1:
        yield f"The figures take into account that an answer is {percent(item.answered)} likely."
    if not item.askable:
        yield "The source of this debate does not have it."
    why = [_ORIGINS.get(origin, origin) for origin in item.origin if not (origin == CONTRAST and NAMED in item.origin)]
    why[1:] = [f"{origin[0].lower()}{origin[1:]}" for origin in why[1:]]
    why += ["estimated"] if item.assumed else []
    why += [f"arguments {', '.join(item.asked_for_by[:6])}"] if item.asked_for_by else []
    why += [f"evidence {', '.join(item.evidence[:3])}"] if item.evidence else []
    yield f"{'; '.join(why)}."
    if item.query:
        yield f"Search query: {item.query}"


def _chance(expected: str) -> str:
    """An expected answer with how likely it is: low platelets (0.75) → “low platelets” (75 %)."""
    answer, _, p = expected.rpartition(" (")
    return f"{f'“{answer}”' if ' ' in answer else answer} ({percent(float(p.rstrip(')')))})"
