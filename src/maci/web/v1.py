"""Debates as an OpenAI-compatible endpoint: a model is a panel, an answer is the outcome with its probabilities.

``/v1/models`` lists ``readers`` first. ``/v1/chat/completions`` and ``/v1/responses`` debate the last message of the user
(:mod:`maci.web.asked`) and answer as OpenAI's API does (:mod:`maci.web.replies`). On loopback any bearer is accepted; with a token it
is that. For a client that leaves nothing more is bought: its debate breaks off, and goes on when it asks again
(:mod:`maci.web.sharing`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import EventSourceResponse
from starlette.requests import ClientDisconnect

from maci.errors import BudgetError, EnvironmentError_, said
from maci.web import replies
from maci.web.asked import ChatRequest, NoSuchModel, ResponsesRequest, Wanted
from maci.web.desk import Run
from maci.web.forms import panels
from maci.web.routes import address_of, desk_of
from maci.web.sharing import Asking, Shared, Sharing

router = APIRouter(prefix="/v1")
_HELD = 10.0
"""Seconds for which a stream does not begin, so that a debate that fails early is a status."""


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
    return await _debated(request, asked.wanted())


@router.post("/responses")
async def respond(request: Request, asked: ResponsesRequest) -> Response:
    """The same for the Responses API."""
    return await _debated(request, asked.wanted())


async def _debated(request: Request, wanted: Wanted) -> Response:
    desk, sharing = desk_of(request), cast(Sharing, request.app.state.sharing)
    case, choice = wanted.case(desk.settings), wanted.choice(desk.settings)
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
