"""Debates as an OpenAI-compatible endpoint: a model is a panel, an answer is the outcome with its probabilities.

``/v1/models`` lists ``readers`` first. ``/v1/chat/completions`` and ``/v1/responses`` debate the last message of the user
(:mod:`maci.web.requests`) and answer as OpenAI's API does (:mod:`maci.web.replies`). On loopback any bearer is accepted; with a token
it is that. For a client that leaves nothing more is bought: its debate breaks off, and goes on when it asks again (:class:`Sharing`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import EventSourceResponse
from starlette.requests import ClientDisconnect

from maci.errors import BudgetError, EnvironmentError_, InputError, said
from maci.web import replies
from maci.web.desk import Desk, Run
from maci.web.forms import panels
from maci.web.requests import ChatRequest, NoSuchModel, ResponsesRequest, Wanted
from maci.web.routes import address_of, desk_of

router = APIRouter(prefix="/v1")
_HELD = 10.0
"""Seconds for which a stream does not begin, so that a debate that fails early is a status."""
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
    ended: float = 0.0
    """When it was over."""

    @property
    def over(self) -> Run | None:
        """The debate once it has ended with an answer."""
        if self.task is None or not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return None
        run = self.task.result()
        return run if run.finished is not None and run.finished.answer is not None else None

    @property
    def failed_lately(self) -> bool:
        """Whether it failed and a client that asks again has not waited for as long as it was told: not all obey."""
        if self.run is None or self.run.finished is None:
            return False
        try:
            replies.finished(self.run)
        except (replies.Failed, BudgetError) as error:
            return monotonic() < self.ended + (replies.wait_of(error) or 0.0)
        return False

    @property
    def under_way(self) -> bool:
        """Whether it can still end with a result."""
        return self.task is not None and not self.task.done()


class Sharing:
    """The debates that programs ask one server for: requests for the same debate share it.

    A program that lost its connection asks again, and the official SDK does so twice unasked. The request it repeats joins the debate
    under way, goes on with one that broke off when the program left, or gets the result that is there: each is bought once. A
    request beyond what may run at once waits its turn (:meth:`maci.web.desk.Desk.place`).
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._asked: OrderedDict[tuple[str, str], Shared] = OrderedDict()

    def join(self, asking: Asking, begin: Callable[[], Awaitable[Run]]) -> Shared:
        """The debate for a request: a new one, unless the same is under way, broke off for want of a client, failed just now, or is
        asked for again.
        """
        known = self._asked.get(asking.place)
        if known is not None and known.digest != asking.digest:
            raise InputError(
                f"Idempotency-Key {asking.key!r:.60} came with another request before: use a new key for a new request"
            )
        again = bool(asking.key) or asking.retried
        if known is not None and known.left and known.run is not None:
            known = self._new(asking, begin, known.run)
        elif known is None or not (known.under_way or known.failed_lately or (again and known.over is not None)):
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
        shared.ended = monotonic()
        return shared.run


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "maci"}


@router.get("/models")
async def models() -> JSONResponse:
    """The panels there are."""
    return JSONResponse({"object": "list", "data": [_model(name) for name, _ in panels() if name != "paper"]})


@router.get("/models/{name:path}")
async def model(name: str) -> JSONResponse:
    """One of them."""
    if name not in dict(panels()):
        raise NoSuchModel(f"there is no model {name!r:.80}: /v1/models lists those of this server")
    return JSONResponse(_model(name))


@router.post("/chat/completions")
async def complete(request: Request, asked: ChatRequest) -> Response:
    """Debate the question, and answer."""
    return await _debated(request, await asyncio.to_thread(asked.wanted))


@router.post("/responses")
async def respond(request: Request, asked: ResponsesRequest) -> Response:
    """The same for the Responses API."""
    return await _debated(request, await asyncio.to_thread(asked.wanted))


async def _debated(request: Request, wanted: Wanted) -> Response:
    desk, sharing = desk_of(request), cast(Sharing, request.app.state.sharing)
    case = await asyncio.to_thread(wanted.case, desk.settings)  # may be long, and others wait
    choice = wanted.choice(desk.settings)
    asking = Asking(
        visitor=address_of(request),
        digest=wanted.digest,
        key=request.headers.get("idempotency-key", "")[:200],
        retried=request.headers.get("x-stainless-retry-count", "0") != "0",
    )
    shared = sharing.join(asking, lambda: desk.start(case, choice, asking.visitor))
    try:
        run = await _ended(request, shared, _HELD if wanted.stream else None)
        if run is not None:
            replies.finished(run)
    except BaseException:
        sharing.leave(shared)
        raise
    if wanted.stream:
        return EventSourceResponse(_stream(sharing, shared, wanted), headers={"x-accel-buffering": "no"})
    sharing.leave(shared)
    assert run is not None
    return JSONResponse(replies.response(run, wanted) if wanted.responses else replies.completion(run, wanted))


async def _ended(request: Request, shared: Shared, most: float | None) -> Run | None:
    """The debate once it has ended; ``None`` where it has not after so many seconds."""
    assert shared.task is not None
    loop = asyncio.get_running_loop()
    until = None if most is None else loop.time() + most
    while until is None or loop.time() < until:
        done, _ = await asyncio.wait({shared.task}, timeout=0.5)
        if done:
            return shared.task.result()
        if await request.is_disconnected():
            raise ClientDisconnect
    return None


async def _stream(sharing: Sharing, shared: Shared, wanted: Wanted) -> AsyncIterator[bytes]:
    """The answer in one piece when it is there; comments until then."""
    assert shared.task is not None
    try:
        while not (await asyncio.wait({shared.task}, timeout=10.0))[0]:
            yield b": still debating\n\n"
    finally:
        sharing.leave(shared)
    try:
        run = shared.task.result()
        replies.finished(run)
    except (EnvironmentError_, BudgetError) as error:  # the status is out already
        parts = replies.error_stream(error, wanted)
    except Exception as error:
        parts = replies.error_stream(EnvironmentError_(said(error)), wanted)
    else:
        parts = (replies.response_stream if wanted.responses else replies.completion_stream)(run, wanted)
    for part in parts:
        yield part
