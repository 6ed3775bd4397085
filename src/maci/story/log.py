"""The log of a debate for people: each event in a line, and every call, what a model was asked and how that went."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, assert_never

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
    RequestRecord,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
    usage_of,
)
from maci.controller.triage import Triaged
from maci.record.prompts import Prompts
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


CallEnd = TurnTaken | TurnFailed | Scored | JudgeAbstention | Compared | Acquired | Recommended
"""What ends a call."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request to a model, with the prompt put together again."""

    round: int
    kind: str
    """What the call was for: a turn, a score, …"""
    who: str
    argument: str
    request: RequestRecord
    messages: tuple[tuple[str, str], ...]
    """The role and the text of each message."""
    reply: str = ""
    """What came back, word for word where the record has it; of a call with several requests, beside the last."""
    usd: float = 0.0
    """What the call cost, beside its last request."""

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        messages = [{"role": role, "content": text} for role, text in self.messages]
        about = {"round": self.round, "kind": self.kind, "who": self.who, "argument": self.argument}
        return {**about, **asdict(self.request), "messages": messages, "reply": self.reply, "usd": self.usd}

    def heading(self) -> str:
        """Who asked what, in a line."""
        about = f" {self.argument}" if self.argument else ""
        return f"Round {self.round}, {self.kind}{about}: {self.who}"

    def curl(self) -> str:
        """The request as a command for an OpenAI-compatible server; address and key are yours to fill in."""
        body: dict[str, Any] = {"model": self.request.model.partition("/")[2] or self.request.model}
        body["messages"] = [{"role": role, "content": text} for role, text in self.messages]
        if self.request.limit:
            body["max_tokens"] = self.request.limit
        data = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
        head = 'curl "$BASE_URL/chat/completions" -H "Authorization: Bearer $API_KEY" -H \'Content-Type: application/json\''
        return f"{head} -d '{data}'"

    def facts(self) -> str:
        """How it went, in a line."""
        r = self.request
        served = f" (served as {r.served})" if r.served and r.served != r.model.partition("/")[2] else ""
        came = "from the response cache" if r.cached else "1 attempt" if r.attempts == 1 else f"{r.attempts} attempts"
        thought = f", {r.thought:,} of them thinking" if r.thought else ""
        parts = [f"{r.at}  {r.model}{served}", came, f"{r.seconds:.2f} s", f"{r.tokens:,} tokens{thought}"]
        parts.append(f"limit {r.limit:,}{', cut off' if r.truncated else ''}")
        parts += [f"left out: {', '.join(r.without)}"] if r.without else []
        parts += [f"failed: {r.error}"] if r.error else []
        return " · ".join((*parts, f"prompt {r.prompt}"))


def requests_of(events: Iterable[Event]) -> Iterator[RecordedRequest]:
    """Every request of a record, in order, with its reply."""
    prompts, out = Prompts(), dict[tuple[int, str, str, str], list[RecordedRequest]]()
    every: list[list[RecordedRequest]] = []
    for event in events:
        if isinstance(event, Requested):
            prompts.learn(event.prompts, event.texts)
            found = [
                RecordedRequest(
                    event.round, event.kind, event.who, event.argument, request, prompts.messages(request.prompt)
                )
                for request in event.requests
            ]
            every.append(found)
            out[(event.round, event.kind, event.who, event.argument)] = found
        elif isinstance(event, CallEnd):
            key, reply = _reply(event)
            if waiting := out.pop(key, None):
                waiting[-1] = replace(waiting[-1], reply=reply, usd=usage_of(event).usd)
    for found in every:
        yield from found


def _reply(
    event: CallEnd,
) -> tuple[tuple[int, str, str, str], str]:
    """The call that an event ends, and what came back."""
    match event:
        case TurnTaken():
            return (event.round, "turn", event.agent, ""), event.turn.raw or ""
        case TurnFailed():
            return (event.round, "turn", event.agent, ""), ""
        case Scored():
            s = event.score
            said = f"evidence {s.evidence:.2f}, logic {s.logic:.2f}, relevance {s.relevance:.2f}. {s.justification}".strip()
            return (event.round, "score", event.slot, event.argument), s.raw or said
        case JudgeAbstention():
            return (event.round, "score", event.slot, event.argument), ""
        case Compared():
            return (event.round, "compare", event.by, str(event.question)), event.raw or event.relation or ""
        case Acquired():
            return (event.round, "acquire", event.item, ""), event.raw or ""
        case Recommended():
            return (event.round, "recommend", event.by, ""), event.raw or ""
        case _:
            assert_never(event)
