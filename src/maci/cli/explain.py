"""A triage decision in lines: why it stopped or went on, and with ``full`` every test with its threshold and every step."""

from __future__ import annotations

from collections.abc import Iterator

from maci.controller.triage import Check, Prospect, Triaged
from maci.story.words import triage_words


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
