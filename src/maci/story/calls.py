"""What the models of a debate were asked, and how each request went, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from maci.controller.events import Event
from maci.controller.inputs import Requested, RequestRecord
from maci.record.prompts import Prompts


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

    def tree(self) -> dict[str, Any]:
        """As JSON."""
        messages = [{"role": role, "content": text} for role, text in self.messages]
        about = {"round": self.round, "kind": self.kind, "who": self.who, "argument": self.argument}
        return {**about, **asdict(self.request), "messages": messages}

    def heading(self) -> str:
        """Who asked what, in a line."""
        about = f" {self.argument}" if self.argument else ""
        return f"Round {self.round}, {self.kind}{about}: {self.who}"

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
    """Every request of a record, in order."""
    prompts = Prompts()
    for event in events:
        if isinstance(event, Requested):
            prompts.learn(event.prompts, event.texts)
            for request in event.requests:
                said = prompts.messages(request.prompt)
                yield RecordedRequest(event.round, event.kind, event.who, event.argument, request, said)
