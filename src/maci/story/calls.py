"""What the models of a debate were asked, and how each request went, for people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, assert_never

from maci.controller.events import Event
from maci.controller.inputs import (
    Acquired,
    Compared,
    JudgeAbstention,
    Recommended,
    Requested,
    RequestRecord,
    Scored,
    TurnFailed,
    TurnTaken,
    usage_of,
)
from maci.record.prompts import Prompts

Answered = TurnTaken | TurnFailed | Scored | JudgeAbstention | Compared | Acquired | Recommended
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
        elif isinstance(event, Answered):
            key, reply = _reply(event)
            if waiting := out.pop(key, None):
                waiting[-1] = replace(waiting[-1], reply=reply, usd=usage_of(event).usd)
    for found in every:
        yield from found


def _reply(
    event: Answered,
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
            return (event.round, "compare", event.by, " | ".join(event.pair)), event.raw or event.relation or ""
        case Acquired():
            return (event.round, "acquire", event.item, ""), event.raw or ""
        case Recommended():
            return (event.round, "recommend", event.by, ""), event.raw or ""
        case _:
            assert_never(event)
