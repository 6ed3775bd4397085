"""One debate, many viewers: every event is written once, and the same bytes go to all.

A viewer is a place in the list of frames. Nobody has a queue of their own, so a slow viewer costs nothing and loses nothing: when it
reads on, it gets what it has not seen, in order. Panels (what is true now) are not history: of each, only the last state is sent.

A debate under way, in a thread and an event loop of its own: what readers and judges compute does not keep the pages waiting.

Events come to the server's loop one by one, in the order in which they were recorded; hands on the dials go the other way.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, replace

from fastapi.sse import format_sse_event

from maci.acquisition.plan import Item
from maci.acquisition.sources import Person
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.controller.inputs import Intervened
from maci.debating.loop import debate
from maci.errors import MaciError, said
from maci.record.transcript import Transcript
from maci.seating.seating import Seated
from maci.web.allowance import Claim

HEARTBEAT = 15.0
"""Seconds without news after which a comment is sent, so that nobody between us takes the line for dead."""
_AT_ONCE = 64


class Broadcast:
    """The frames of a debate. Used by one event loop only."""

    def __init__(self, *, heartbeat: float = HEARTBEAT) -> None:
        self._frames: list[bytes] = []
        self._panels: dict[str, tuple[int, str]] = {}
        self._packed: dict[int, bytes] = {}
        self._version, self._over, self._heartbeat = 0, False, heartbeat
        self._news: asyncio.Future[None] | None = None
        self.viewers = 0

    def __len__(self) -> int:
        return len(self._frames)

    def event(self, kind: str, html: str) -> None:
        """Publish the next event as a line for the log; its id is its place in the record."""
        seq = len(self._frames) + 1
        data = json.dumps({"seq": seq, "type": kind, "html": html}, ensure_ascii=False)
        self._frames.append(format_sse_event(data_str=data, event="line", id=str(seq)))
        self._wake()

    def panels(self, panels: Mapping[str, str]) -> None:
        """Publish what is true now; what did not change is not sent again."""
        changed = {name: html for name, html in panels.items() if self._panels.get(name, (0, None))[1] != html}
        if changed:
            self._version += 1
            self._panels |= {name: (self._version, html) for name, html in changed.items()}
            self._packed.clear()
            self._wake()

    def end(self) -> None:
        """There will be no more."""
        self._over = True
        self._wake()

    async def follow(self, after: int = 0) -> AsyncIterator[bytes]:
        """Frames for one viewer who has seen the first ``after`` events, until the end."""
        place, version = max(0, min(after, len(self._frames))), 0
        self.viewers += 1
        try:
            yield format_sse_event(retry=1000)
            while True:
                part = self._frames[place : place + _AT_ONCE]
                place += len(part)
                out = b"".join(part)
                if place == len(self._frames) and version < self._version:
                    out += self._pack(version)
                    version = self._version
                if out:
                    yield out
                elif self._over:
                    yield format_sse_event(data_str="{}", event="end")
                    return
                elif not await self._wait():
                    yield b": still here\n\n"
        finally:
            self.viewers -= 1

    def _pack(self, since: int) -> bytes:
        """The panels that changed since a version, as one frame; the same bytes for all who are as far."""
        if since not in self._packed:
            changed = {name: html for name, (version, html) in self._panels.items() if version > since}
            self._packed[since] = format_sse_event(data_str=json.dumps(changed, ensure_ascii=False), event="panels")
        return self._packed[since]

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        self._news = None

    async def _wait(self) -> bool:
        """Until there is news; False where only time has passed."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait({self._news}, timeout=self._heartbeat)
        return bool(done)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table that is set, and the record it will be written to."""

    seated: Seated
    transcript: Transcript
    recorded: Sequence[Event] = ()
    claim: Claim | None = None
    """What it may spend of the server's day; nothing for one that costs nothing."""


class Live:
    """One debate under way."""

    def __init__(
        self,
        prepare: Callable[[], Prepared],
        *,
        begun: Callable[[Prepared], None],
        hear: Callable[[Event], None],
        asked: Callable[[Item | None], None],
        settle: Callable[[Claim], None],
        over: Callable[[str], None],
    ) -> None:
        self._prepare, self._begun, self._hear, self._asked, self._over = prepare, begun, hear, asked, over
        self._settle, self._why = settle, ""
        self._answer: asyncio.Future[str | None] | None = None
        """Of the question that is open, in the debate's own loop."""
        self._home = asyncio.get_running_loop()
        self._ready: Future[Prepared] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hand: asyncio.Queue[Intervened] | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="debate", daemon=True)

    async def begin(self) -> Prepared:
        """Set the table and start; raises what stands in the way."""
        self._ready.set_running_or_notify_cancel()  # whoever waits for it may leave; the debate begins all the same
        self._thread.start()
        return await asyncio.wrap_future(self._ready)

    def intervene(self, item: Intervened) -> None:
        """Put a hand on the dials, pause, or stop."""
        if self._loop is not None and self._hand is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hand.put_nowait, item)

    def answer(self, text: str) -> None:
        """Answer the question that is open; one that is not open any more needs no answer."""

        def settle() -> None:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(text)

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)

    async def _ask(self, item: Item) -> str | None:
        """Put a question of the plan to whoever looks at the page, and wait."""
        self._answer = asyncio.get_running_loop().create_future()
        self._tell(self._asked, item)
        try:
            return await self._answer
        finally:
            self._answer = None
            self._tell(self._asked, None)

    def break_off(self, why: str) -> None:
        """Cancel what is under way; what was recorded stays, and can be resumed."""
        self._why = why
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def close(self) -> None:
        """Break off because the server ends, and wait for it."""
        self.break_off("the server ended")
        await asyncio.to_thread(self._thread.join, 10.0)

    def _run(self) -> None:
        error = ""
        try:
            asyncio.run(self._play())
        except asyncio.CancelledError:
            error = self._why
        except Exception as raised:
            error = said(raised)
        self._tell(self._over, error)

    async def _play(self) -> None:
        self._loop, self._hand, self._task = asyncio.get_running_loop(), asyncio.Queue(), asyncio.current_task()
        try:
            prepared = self._prepare()
        except BaseException as error:
            self._ready.set_exception(error)
            raise
        self._tell(self._begun, prepared)
        self._ready.set_result(prepared)
        seated, last = prepared.seated, None
        table = seated.table
        if table.source is not None and table.source.name == Person.name:
            table = replace(table, source=Person(self._ask))  # not the person at the server's terminal
        claim = prepared.claim
        try:
            async with prepared.transcript as record:
                stream = debate(
                    seated.opened, table, record=record, recorded=prepared.recorded, hand=self._hand,
                    ledger=None if claim is None else claim.ledger,
                )  # fmt: skip
                async with aclosing(stream):
                    async for last in stream:
                        self._tell(self._hear, last)
        finally:
            try:
                if claim is not None:
                    self._settle(claim)
            finally:
                if seated.house is not None:
                    await seated.house.aclose()
        if not isinstance(last, Finished):
            raise MaciError("the debate broke off")

    def _tell(self, what: Callable[..., object], *args: object) -> None:
        if not self._home.is_closed():
            self._home.call_soon_threadsafe(what, *args)
