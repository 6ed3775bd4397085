"""A debate under way, in a thread and an event loop of its own: what readers and judges compute does not keep the pages waiting.

Events come to the server's loop one by one, in the order in which they were recorded; hands on the dials go the other way.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from maci.acquisition.plan import Item
from maci.acquisition.sources.person import Person
from maci.controller.decisions import Finished
from maci.controller.inputs import Intervened
from maci.debate import debate
from maci.errors import MaciError
from maci.panel.seating import Seated
from maci.record.events import Event
from maci.record.transcript import Transcript

__all__ = ["Live", "Prepared"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table that is set, and the record it will be written to."""

    seated: Seated
    transcript: Transcript
    recorded: Sequence[Event] = ()


class Live:
    """One debate under way."""

    def __init__(
        self,
        prepare: Callable[[], Prepared],
        *,
        begun: Callable[[Prepared], None],
        hear: Callable[[Event], None],
        asked: Callable[[Item | None], None],
        over: Callable[[str], None],
    ) -> None:
        self._prepare, self._begun, self._hear, self._asked, self._over = prepare, begun, hear, asked, over
        self._answer: asyncio.Future[str | None] | None = None
        """Of the question that is open, in the debate's own loop."""
        self._home = asyncio.get_running_loop()
        self._ready: asyncio.Future[Prepared] = self._home.create_future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hand: asyncio.Queue[Intervened] | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="debate", daemon=True)

    async def begin(self) -> Prepared:
        """Set the table and start; raises what stands in the way."""
        self._thread.start()
        return await self._ready

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

    async def close(self) -> None:
        """Break off; what was recorded stays, and can be gone on with."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
        await asyncio.to_thread(self._thread.join, 10.0)

    def _run(self) -> None:
        error = ""
        try:
            asyncio.run(self._play())
        except MaciError as raised:
            error = str(raised)
        except asyncio.CancelledError:
            error = "it was broken off when the server ended"
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
        self._tell(self._over, error)

    async def _play(self) -> None:
        self._loop, self._hand, self._task = asyncio.get_running_loop(), asyncio.Queue(), asyncio.current_task()
        try:
            prepared = self._prepare()
        except BaseException as error:
            self._tell(self._refuse, error)
            raise
        self._tell(self._start, prepared)
        seated, last = prepared.seated, None
        table = seated.table
        if table.source is not None and table.source.name == Person.name:
            table = replace(table, source=Person(self._ask))  # not the person at the server's terminal
        try:
            async with prepared.transcript as record:
                stream = debate(seated.opened, table, record=record, recorded=prepared.recorded, hand=self._hand)
                async for last in stream:
                    self._tell(self._hear, last)
        finally:
            if seated.house is not None:
                await seated.house.aclose()
        if not isinstance(last, Finished):
            raise MaciError("the debate broke off")

    def _start(self, prepared: Prepared) -> None:
        self._begun(prepared)
        if not self._ready.done():
            self._ready.set_result(prepared)

    def _refuse(self, error: BaseException) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)

    def _tell(self, what: Callable[..., object], *args: object) -> None:
        if not self._home.is_closed():
            self._home.call_soon_threadsafe(what, *args)
