"""A line that says what a debate is waiting for, while it waits; only on a terminal."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from maci.controller.inputs import JudgeAbstention, Scored, Sent, TurnFailed, TurnTaken, usage_of
from maci.llm.usage import Usage, dollars
from maci.record.events import Event, is_decision

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["Waiting"]


class Waiting:
    """Follows the events, and shows the calls that are out."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._out: dict[tuple[str, str], int] = {}
        self._spent = Usage()

    def follow(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Sent():
                for call in event.calls:
                    self._out[(call.who, call.argument)] = event.round
            case TurnTaken() | TurnFailed():
                self._out.pop((event.agent, ""), None)
            case Scored() | JudgeAbstention():
                self._out.pop((event.slot, event.argument), None)
            case _:
                return
        if not is_decision(event):
            self._spent += usage_of(event)
        self._show()

    def _show(self) -> None:
        if not self._out:
            self.close()
            return
        if self._bar is None:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=self._words())

    def _words(self) -> str:
        speaking = [who for who, argument in self._out if not argument]
        scores = len(self._out) - len(speaking)
        parts = [f"round {max(self._out.values())}"]
        if speaking:
            parts.append("waiting for " + shorten(", ".join(speaking), 60, placeholder=" …"))
        if scores:
            parts.append(f"{scores} score{'' if scores == 1 else 's'} to come")
        if self._spent:
            parts.append(f"{self._spent.tokens:,} tokens" + (f" {dollars(self._spent.usd)}" if self._spent.usd else ""))
        return " · ".join(parts)

    def close(self) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
