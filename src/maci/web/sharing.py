"""Requests of programs for the same debate share it.

A program that lost its connection asks again, and the official SDK does so twice unasked. The request it repeats joins the debate under
way, goes on with one that broke off when the program left, or gets the result that is there: each is bought once. A request beyond
what may run at once waits its turn (:meth:`maci.web.desk.Desk.place`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from maci.errors import InputError
from maci.web.desk import Desk, Run

_KEPT = 32
"""Debates that a request can still be told the result of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks for what."""

    visitor: str
    digest: str
    """Of everything that was asked for."""
    key: str = ""
    """The ``Idempotency-Key``."""
    retried: bool = False
    """The program says that it asks again."""

    @property
    def place(self) -> tuple[str, str]:
        """What has to be the same for two requests to share a debate; those of another visitor never do."""
        return self.visitor, f"key {self.key}" if self.key else self.digest


@dataclass(slots=True, eq=False)
class Shared:
    """A debate and who waits for it."""

    digest: str
    task: asyncio.Task[Run] | None = None
    run: Run | None = None
    clients: int = 0
    queued: bool = True
    left: bool = False
    """Nobody waited any more, so it breaks off."""

    @property
    def over(self) -> Run | None:
        """The debate once it has ended with an answer."""
        if self.task is None or not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return None
        run = self.task.result()
        return run if run.finished is not None and run.finished.answer is not None else None

    @property
    def under_way(self) -> bool:
        """Whether it can still end with a result."""
        return self.task is not None and not self.task.done()


class Sharing:
    """The debates that programs ask one server for."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._asked: OrderedDict[tuple[str, str], Shared] = OrderedDict()

    def join(self, asking: Asking, begin: Callable[[], Awaitable[Run]]) -> Shared:
        """The debate for a request: a new one, unless the same is under way, broke off for want of a client, or is asked for again."""
        known = self._asked.get(asking.place)
        if known is not None and known.digest != asking.digest:
            raise InputError(
                f"Idempotency-Key {asking.key!r:.60} came with another request before: use a new key for a new request"
            )
        again = bool(asking.key) or asking.retried
        if known is not None and known.left and known.run is not None:
            known = self._new(asking, begin, known.run)
        elif known is None or not (known.under_way or (again and known.over is not None)):
            known = self._new(asking, begin, None)
        known.left = False
        known.clients += 1
        return known

    def leave(self, shared: Shared) -> None:
        """A client waits no more. When the last one has left, nothing more is bought; the debate can be resumed."""
        shared.clients -= 1
        if shared.clients or not shared.under_way:
            return
        shared.left = True
        if shared.run is not None:
            self._desk.leave(shared.run)
        elif shared.queued and shared.task is not None:
            shared.task.cancel()
            for place in [place for place, each in self._asked.items() if each is shared]:
                del self._asked[place]

    def close(self) -> None:
        """Nobody in the queue gets a turn any more."""
        for shared in self._asked.values():
            if shared.queued and shared.task is not None:
                shared.task.cancel()

    def _new(self, asking: Asking, begin: Callable[[], Awaitable[Run]], before: Run | None) -> Shared:
        shared = Shared(asking.digest)
        shared.task = asyncio.create_task(self._hold(shared, begin, before, asking.visitor))
        shared.task.add_done_callback(
            lambda task: task.cancelled() or task.exception()
        )  # raised where it is waited for
        self._asked[asking.place] = shared
        self._asked.move_to_end(asking.place)
        for place in [place for place, each in self._asked.items() if not each.under_way][: -_KEPT or None]:
            del self._asked[place]
        return shared

    async def _hold(self, shared: Shared, begin: Callable[[], Awaitable[Run]], before: Run | None, visitor: str) -> Run:
        """Wait for a place, debate or go on, and wait for the end."""
        if before is not None:
            await before.over.wait()
            if before.finished is not None:
                return before
        await self._desk.place()
        shared.queued = False
        shared.run = await (begin() if before is None else self._desk.resume(before.id, visitor))
        if shared.left:  # while the table was set
            self._desk.leave(shared.run)
        await shared.run.over.wait()
        return shared.run
