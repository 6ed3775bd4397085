"""Debates as an OpenAI-compatible endpoint: a model is a panel, an answer is the outcome with its probabilities.

``/v1/models`` lists ``readers`` first. ``/v1/chat/completions`` debates the last message of the user; what the system said before
is the context. The outcomes are taken from ``outcomes`` in the request, or the question is open. On loopback any bearer is accepted;
with a token it is that. A client that leaves stops its debate.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from maci.cases.case import parse_case
from maci.controller.decisions import Finished
from maci.controller.inputs import Intervened
from maci.errors import EnvironmentError_, InputError, said
from maci.render.markup import percent
from maci.story import Story
from maci.story.words import shown, stop_of
from maci.web.desk import Desk, Run
from maci.web.forms import choice_of, panels
from maci.web.routes import address_of, desk_of

router = APIRouter(prefix="/v1")


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: str
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n".join(str(part.get("text", "")) for part in self.content if part.get("type") == "text")
        return self.content or ""


class _Asked(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str = "readers"
    messages: list[_Message] = Field(min_length=1)
    stream: bool = False
    seed: int | None = None
    outcomes: list[str] | None = None
    budget_tokens: int | None = None


def error_body(message: str, status: int, field: str = "") -> dict[str, Any]:
    """An error as OpenAI's API has it; ``field`` is what a form would call the parameter."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    param = "model" if field in {"panel", "agents", "judges"} else field or None
    return {"error": {"message": message, "type": kind, "param": param, "code": None}}


@router.get("/models")
async def models() -> JSONResponse:
    """The panels there are."""
    rows = [
        {"id": name, "object": "model", "created": 0, "owned_by": "maci"} for name, _ in panels() if name != "paper"
    ]
    return JSONResponse({"object": "list", "data": rows})


@router.post("/chat/completions")
async def complete(request: Request, asked: _Asked) -> Response:
    """Debate the question, and answer."""
    users = [message for message in asked.messages if message.role == "user"]
    if not users:
        raise InputError("messages has no message of the user: its last one is the question")
    told = [message.text for message in asked.messages if message.role in {"system", "developer"}]
    data = {"question": users[-1].text, "context": "\n".join(told), "outcomes": asked.outcomes or "open"}
    fields = {"panel": asked.model, "seed": str(asked.seed or 0), "budget_tokens": str(asked.budget_tokens or "")}
    desk = desk_of(request)
    run = await desk.start(parse_case(data, "the request"), choice_of(fields), address_of(request))
    if asked.stream:
        return EventSourceResponse(_stream(desk, run, asked.model))
    async with _stopping(desk, run):
        await _until_over(request, run)
    return JSONResponse(_answer(run, asked.model))


@asynccontextmanager
async def _stopping(desk: Desk, run: Run) -> AsyncIterator[None]:
    """Stop a debate that nobody waits for any more: nothing more is bought for it."""
    try:
        yield
    finally:
        if not run.over.is_set():
            desk.intervene(run.id, Intervened(stop=True, by="the client, who left"))


async def _until_over(request: Request, run: Run) -> None:
    """Wait for the end of a debate; raises where the client leaves before."""
    over, left = asyncio.ensure_future(run.over.wait()), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({over, left}, return_when=asyncio.FIRST_COMPLETED)
        if not over.done():
            raise ClientDisconnect
    finally:
        over.cancel()
        left.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _finished(run: Run) -> Finished:
    """The result; a debate that broke off, or that an error ended before an answer, is an error here too."""
    if run.finished is None:
        raise EnvironmentError_(f"the debate {run.id} broke off: {run.error}")
    if run.finished.answer is None and run.finished.stop_reason == "error":
        raise EnvironmentError_(f"the debate {run.id} came to no answer: {run.finished.detail}")
    return run.finished


def _words(result: Finished, story: Story) -> str:
    if result.answer is None:
        return f"No answer: {result.detail}"
    rest = shown(result.distribution, 10, story.scale)
    return (
        f"{result.answer}\n\n"
        + "\n".join(f"{label}: {percent(p)}" for label, p in rest).replace("\N{NO-BREAK SPACE}", " ")
        + f"\n\n{stop_of(result)}"
    )


def _answer(run: Run, model: str) -> dict[str, Any]:
    result = _finished(run)
    spent = result.spent
    prompt, generated = (spent.prompt, spent.generated) if spent else (result.tokens, 0)
    return {
        "id": f"chatcmpl-{run.id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": _words(result, run.story)}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated},
        "maci": {
            "answer": result.answer, "distribution": dict(result.distribution), "stop_reason": result.stop_reason,
            "rounds": result.rounds, "warnings": list(result.warnings), "debate": run.id,
        },
    }  # fmt: skip


async def _stream(desk: Desk, run: Run, model: str) -> AsyncIterator[bytes]:
    """The answer in one piece when it is there; comments until then."""
    async with _stopping(desk, run):
        while not run.over.is_set():
            try:
                await asyncio.wait_for(run.over.wait(), 10)
            except TimeoutError:
                yield b": still debating\n\n"
    try:
        whole = _answer(run, model)
    except EnvironmentError_ as error:  # the status is out already
        yield format_sse_event(data_str=json.dumps(error_body(said(error), 503)))
        yield format_sse_event(data_str="[DONE]")
        return
    part = {**whole, "object": "chat.completion.chunk"}
    text = whole["choices"][0]["message"]["content"]
    part["choices"] = [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]
    yield format_sse_event(data_str=json.dumps(part))
    part["choices"] = [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    yield format_sse_event(data_str=json.dumps(part))
    yield format_sse_event(data_str="[DONE]")
