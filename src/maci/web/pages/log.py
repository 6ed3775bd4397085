"""One event as one line of the log."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import assert_never

from maci.controller.caution import Watched
from maci.controller.decisions import Decision, Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
from maci.controller.dials import Measured
from maci.controller.events import Event
from maci.controller.inputs import (
    Acquired,
    Compared,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
)
from maci.controller.triage import Triaged
from maci.render.markup import Markup, el, percent
from maci.story.model import compared_words, hand_words
from maci.story.words import figure as whole_figure
from maci.story.words import triage_words, watched
from maci.web.pages.layout import count, stop_words


def figure(value: float | None) -> str:
    """Two digits are enough for a log."""
    return whole_figure(value, 2)


def line(seq: int, event: Event) -> Markup:
    """A row of the log; its number is the line of the transcript."""
    kind = event.type.replace("_", " ")
    return el("li", el("b", kind), " ", words(event), id=f"line-{seq}", value=seq)


def words(event: Event) -> str:
    """What happened."""
    if isinstance(event, Decision):
        return _decision(event)
    match event:
        case Opened():
            return f"{len(event.agents)} agents and {len(event.judges)} judges; {event.case.question}"
        case Retrieved():
            return f"{len(event.spans)} pieces of evidence"
        case Resolved():
            lacking = f", {len(event.missing)} cited that exist nowhere" if event.missing else ""
            return f"{len(event.spans)} cited pieces looked up{lacking}"
        case Sent():
            return f"round {event.round}: {len(event.calls)} calls"
        case Lost():
            return "calls under way when it broke off count in full"
        case TurnTaken():
            return _turn(event)
        case TurnFailed():
            return f"round {event.round}, {event.agent}: {event.error}"
        case Scored():
            return f"{event.argument} by {event.slot}: {figure(event.score.composite)}"
        case JudgeAbstention():
            return f"{event.argument} by {event.slot}: {event.reason}"
        case Compared():
            return compared_words(event)
        case Intervened():
            return f"{event.by or 'a person'} {hand_words(event)}"
        case Exhausted():
            return f"out of {event.resource}: {event.detail}"
        case Surveyed():
            return f"{event.considered} things that could be found out, {len(event.candidates)} worth a look"
        case Acquired():
            return f"{event.source or 'a source'} on {event.item}: {shorten(event.text, 120, placeholder=' …') or event.verdict}"
        case _:
            assert_never(event)


def _turn(event: TurnTaken) -> str:
    belief = event.turn.belief
    top = max(belief, key=lambda label: belief[label], default="")
    lead = f"{top} {percent(belief[top])}" if top else "no belief"
    return f"round {event.round}, {event.agent}: {lead}, {len(event.turn.arguments)} arguments"


def _decision(event: Decision) -> str:
    match event:
        case Initialized():
            return f"openings: Q {figure(event.q)}, D {figure(event.d)}, O {figure(event.o)}; {_lead(event.mixture)}"
        case Gated():
            inside = sum(admission.admitted for admission in event.admissions)
            return f"round {event.round}: {inside} of {len(event.admissions)} arguments admitted"
        case Weighed():
            return f"round {event.round}: {_lead(event.mixture)}"
        case Measured():
            return (
                f"round {event.round}: Q {figure(event.q)}, D {figure(event.d)}, O {figure(event.o)}, "
                f"CRIT {figure(event.crit)}, gain {figure(event.gain)}"
            )
        case Dialled():
            dials = event.dials
            by = " (by hand)" if event.by_hand else ""
            return f"round {event.round}: CL {dials.cl:.2f}, τ_Q {figure(dials.tau_q)}, τ_CRIT {dials.tau_crit:.2f}{by}"
        case Finished():
            what = (
                "no answer"
                if event.answer is None
                else f"{event.answer} {percent(event.distribution.get(event.answer))}"
            )
            return f"{what}. {stop_words(event.stop_reason)} {count(event.tokens)} tokens"
        case Planned():
            now = f", {len(event.acquire)} asked now" if event.acquire else ""
            return f"{len(event.items)} things to find out, {event.joint_gain:.2f} of {event.entropy:.2f} bits{now}"
        case Gained():
            return f"expected {figure(event.predicted)} bits, got {figure(event.realised)}"
        case Watched():
            return f"round {event.round}: {'; '.join(watched(event)) or 'nothing that may be harm'}"
        case Triaged():
            return f"{triage_words(event)}; {'; '.join(event.why)}"
        case _:
            assert_never(event)


def _lead(mixture: Mapping[str, float]) -> str:
    items = sorted(mixture.items(), key=lambda item: -item[1])[:2]
    return ", ".join(f"{label} {percent(p)}" for label, p in items) or "no belief"
