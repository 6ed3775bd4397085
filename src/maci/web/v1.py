"""Debates as an OpenAI-compatible endpoint: a model is a panel, an answer is the outcome with its probabilities.

``/v1/models`` lists ``readers`` first. ``/v1/chat/completions`` debates the last message of the user; what the system said before
is the context. The outcomes are taken from ``outcomes`` in the request, or the question is open. On loopback any bearer is accepted;
with a token it is that. For a client that leaves nothing more is bought: its debate breaks off, and can be resumed.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from maci.cases.case import parse_case
from maci.controller.decisions import Finished
from maci.errors import EnvironmentError_, InputError, said
from maci.render.markup import percent
from maci.story import Story
from maci.story.outline import outline
from maci.story.recommendation import recommendation
from maci.story.words import as_sentence, shown, stop_of
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
    try:
        while not await _over(run, 0.5):
            if await request.is_disconnected():
                raise ClientDisconnect
    finally:
        desk.leave(run)
    return JSONResponse(_answer(run, asked.model))


async def _over(run: Run, seconds: float) -> bool:
    """Whether a debate has ended, after so many seconds at most."""
    with suppress(TimeoutError):
        await asyncio.wait_for(run.over.wait(), seconds)
    return run.over.is_set()


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
    look = outline(story)
    if result.unfit:
        return f"No answer. {look.withheld}"
    rest = shown(result.distribution, 10, story.scale)
    head = f"No answer. {look.withheld}\n\nBest guess: {result.answer}" if look.withheld else result.answer
    return (
        f"{head}\n\n"
        + "\n".join(f"{label}: {percent(p)}" for label, p in rest).replace("\N{NO-BREAK SPACE}", " ")
        + "\n\n".join(("", stop_of(result), *map(as_sentence, story.opened.notes)))
        + ("" if (joint := recommendation(story)) is None else f"\n\n{joint.text}")
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
            "answer": result.given, "abstained": result.abstained, "distribution": dict(result.distribution),
            "stop_reason": result.stop_reason, "rounds": result.rounds, "warnings": list(result.warnings), "debate": run.id,
            "recommendation": None if (joint := recommendation(run.story)) is None else joint.text,
        },
    }  # fmt: skip


async def _stream(desk: Desk, run: Run, model: str) -> AsyncIterator[bytes]:
    """The answer in one piece when it is there; comments until then."""
    try:
        while not await _over(run, 10.0):
            yield b": still debating\n\n"
    finally:
        desk.leave(run)
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
