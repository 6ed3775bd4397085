"""What later lines about a debate refer to: arguments by their identity, spans by theirs, who spoke and what was free."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import assert_never

from maci.agents.argument import Argument
from maci.cli.remarks import Remarks
from maci.controller.caution import Watched
from maci.controller.decisions import Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
from maci.controller.events import Event
from maci.controller.history import Measured
from maci.controller.inputs import (
    Acquired,
    Exhausted,
    Input,
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
    usage_of,
)
from maci.controller.state import argument_id
from maci.controller.triage import Triaged
from maci.evidence.span import Span


class Told:
    """Follows the events of one debate; with ``full`` evidence is quoted whole."""

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.arguments: dict[str, Argument] = {}
        self.remarks = Remarks()
        self.gold: str | None = None
        self.scale: tuple[str, ...] = ()
        """The outcomes in their order, where they have one."""
        self.person = False
        """Somebody at this terminal is asked."""
        self.plan: Planned | None = None
        self.replies = self.kept = 0
        """Replies of models, and how many of them were found in the response cache."""
        self._seats: list[str] = []
        self._spans: dict[str, Span] = {}

    def follow(self, event: Event) -> None:
        """Take note of one event."""
        match event:
            case Opened():
                self._seats = [seat.name for seat in event.agents]
                self.gold = event.case.gold
                self.scale = event.case.outcomes.labels if event.case.outcomes.kind == "ordered" else ()
                self.person = event.source == "ask"
            case Retrieved() | Resolved() | Acquired():
                self._spans |= {span.id: span for span in event.spans}
            case TurnTaken():
                for number, argument in enumerate(event.turn.arguments, 1):
                    self.arguments[argument_id(event.round, self._seats.index(event.agent), number)] = argument
                self._replied(event)
            case TurnFailed() | Scored() | JudgeAbstention():
                self._replied(event)
            case Planned():
                self.plan = event
            case (
                Sent() | Lost() | Intervened() | Exhausted() | Surveyed() | Initialized() | Triaged() | Gated()
                | Weighed() | Measured() | Watched() | Dialled() | Gained() | Finished()
            ):  # fmt: skip
                pass
            case _:
                assert_never(event)

    def _replied(self, event: Input) -> None:
        """Count a model's reply."""
        usage = usage_of(event)
        if usage.kept or usage.paid:
            self.replies += 1
            self.kept += usage.kept and usage.free

    def quote(self, span_id: str) -> str:
        """A span with its source and the beginning of its text."""
        span = self._spans.get(span_id)
        if span is None:
            return span_id
        text = span.text if self.full else shorten(span.text, 96, placeholder=" …")
        return f"[{span.source or 'evidence'}] “{text}” ({span_id})"

    def distinct(self, rationale: Sequence[str]) -> list[str]:
        """The best arguments, each claim, each reasoning and each body of evidence once."""
        seen: set[object] = set()
        chosen = []
        for identity in rationale:
            if (argument := self.arguments.get(identity)) is None:
                continue
            parts = {argument.claim, argument.reasons or identity, frozenset(c.span for c in argument.citations)}
            if not parts & seen:
                seen |= parts
                chosen.append(identity)
        return chosen[:3]
