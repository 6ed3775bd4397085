"""Each event of a debate in a line of its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from maci.controller.caution import Watched
from maci.controller.decisions import Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
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
    Recommended,
    Requested,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
)
from maci.controller.triage import Triaged
from maci.render.markup import percent
from maci.story.model import compared_words, hand_words
from maci.story.words import (
    acquired_words,
    figure,
    gained_words,
    leading,
    plural,
    round_name,
    stop_of,
    triage_why,
    triage_words,
    watched,
)


def happened(event: Event) -> str:
    """One event in a line of a log."""
    match event:
        case Opened():
            return (
                f"{plural(len(event.agents), 'agent')} and {plural(len(event.judges), 'judge')}; {event.case.question}"
            )
        case Retrieved():
            return f"{plural(len(event.spans), 'piece')} of evidence"
        case Resolved():
            lacking = f", {len(event.missing)} cited that exist nowhere" if event.missing else ""
            return f"{plural(len(event.spans), 'cited piece')} looked up{lacking}"
        case Sent():
            return f"{round_name(event.round)}: {plural(len(event.calls), 'call')}"
        case Requested():
            return f"{round_name(event.round)}, {event.who}: {plural(len(event.requests), 'request')}"
        case Lost():
            return "calls under way when it broke off count in full"
        case TurnTaken():
            lead = _lead(event.turn.belief, 1)
            return f"{round_name(event.round)}, {event.agent}: {lead}, {plural(len(event.turn.arguments), 'argument')}"
        case TurnFailed():
            return f"{round_name(event.round)}, {event.agent}: {event.error}"
        case Scored():
            return f"{event.argument} by {event.slot}: {figure(event.score.composite, 2)}"
        case JudgeAbstention():
            return f"{event.argument} by {event.slot}: {event.reason}"
        case Compared():
            return compared_words(event)
        case Recommended():
            who = event.by.removeprefix("recommendation:")
            wrote = (
                f"not written: {event.error}" if event.error else f"{plural(len(event.sentences), 'sentence')} by {who}"
            )
            return f"recommendation: {wrote}"
        case Intervened():
            return f"{event.by or 'a person'} {hand_words(event)}"
        case Exhausted():
            return f"out of {event.resource}: {event.detail}"
        case Surveyed():
            return f"{plural(event.considered, 'possible question')} considered, {len(event.candidates)} kept"
        case Acquired():
            return acquired_words(event)
        case Initialized():
            return f"openings: {_signals(event)}; {_lead(event.mixture)}"
        case Gated():
            inside = sum(admission.admitted for admission in event.admissions)
            return f"{round_name(event.round)}: {inside} of {plural(len(event.admissions), 'argument')} admitted"
        case Weighed():
            return f"round {event.round}: {_lead(event.mixture)}"
        case Measured():
            more = f"CRIT {figure(event.crit, 2)}, gain {figure(event.gain, 2)}"
            return f"round {event.round}: {_signals(event)}, {more}"
        case Dialled():
            by, d = " (by hand)" if event.by_hand else "", event.dials
            return f"round {event.round}: CL {d.cl:.2f}, τ_Q {figure(d.tau_q, 2)}, τ_CRIT {d.tau_crit:.2f}{by}"
        case Finished():
            lead = "no answer" if event.given is None else _lead({event.given: event.distribution[event.given]})
            return f"{lead}. {stop_of(event)} {plural(event.tokens, 'token')}"
        case Planned():
            now = f"; {len(event.acquire)} asked now" if event.acquire else ""
            less = f"expected to reduce the uncertainty of {event.entropy:.2f} bits by {event.joint_gain:.2f}"
            return f"plan: {plural(len(event.items), 'item')}, {less}{now}"
        case Gained():
            return gained_words(event)
        case Watched():
            return f"round {event.round}: {'; '.join(watched(event)) or 'nothing that may be harm'}"
        case Triaged():
            return f"{triage_words(event)}; {' '.join(triage_why(event))}"
        case _:
            assert_never(event)


def _signals(event: Initialized | Measured) -> str:
    return f"Q {figure(event.q, 2)}, D {figure(event.d, 2)}, O {figure(event.o, 2)}"


def _lead(belief: Mapping[str, float], most: int = 2) -> str:
    return ", ".join(f"{label} {percent(p)}" for label, p in leading(belief, most)) or "no belief"
