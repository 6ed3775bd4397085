"""A debate as OpenAI's API answers: a chat completion, a response, their streams, and errors.

A failure is a status and never an answer. An answer that is withheld is none: its text says why, and ``maci.answer`` is null.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from fastapi.sse import format_sse_event

from maci.controller.decisions import Finished
from maci.errors import BudgetError, EnvironmentError_, MaciError, Undecidable, one_line, said
from maci.render.markup import percent, plain
from maci.story.outline import Outline, outline, withheld_words
from maci.story.recommendation import recommendation
from maci.story.words import as_sentence, shown, stop_of
from maci.web.allowance import AllowanceSpent
from maci.web.desk import Busy, Run
from maci.web.requests import NoSuchModel, Wanted


class Failed(EnvironmentError_):
    """The models of a debate failed before a first answer."""

    retry_after = 30.0


class BrokenOff(EnvironmentError_):
    """A debate ended before its result, for reasons of the server."""

    retry_after = 5.0


_FIND = " (a `model` of `/v1/models`, where there is one)"
"""Where a client finds a language model; how to see a guess of readers it is not told, since a request cannot ask for it."""
_FIELDS = {"panel": "model", "budget_tokens": "budget", "budget_usd": "budget"}
"""Fields of a form that have another name in a request."""
_A_WHILE = 60.0
"""Seconds to wait where nothing says how long, as for a key that somebody has to set."""


def error_body(error: BaseException, message: str, status: int) -> dict[str, Any]:
    """An error as OpenAI's API has it."""
    field = error.about if isinstance(error, MaciError) else ""
    message += _FIND if isinstance(error, Undecidable) else ""
    kind = "invalid_request_error" if status < 429 else "rate_limit_error" if status == 429 else "server_error"
    param = _FIELDS.get(field, field) or None
    code = "model_not_found" if isinstance(error, NoSuchModel) else None
    if isinstance(error, BudgetError | AllowanceSpent):
        code = "insufficient_quota"
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def error_headers(error: BaseException, status: int) -> dict[str, str]:
    """When to ask again; ``x-should-retry``, which the official SDKs obey, keeps them from buying a debate that failed once more."""
    if status < 429:
        return {}
    wait, later = wait_of(error) or _A_WHILE, isinstance(error, Busy | BrokenOff)
    return {"retry-after": str(int(wait) + 1), "x-should-retry": str(later).lower()}


def wait_of(error: BaseException) -> float | None:
    """Seconds after which to ask again, where that is known."""
    if isinstance(error, AllowanceSpent):
        now = datetime.now()
        return (datetime.combine(now.date() + timedelta(days=1), datetime.min.time()) - now).total_seconds()
    if isinstance(error, BudgetError):
        return 60.0  # what was answered is in the response cache: the same request gets further
    return error.retry_after if isinstance(error, MaciError) else None


def status_of(error: BaseException) -> int:
    """The status of an error of a debate that had begun."""
    return 429 if isinstance(error, BudgetError) else 502 if isinstance(error, Failed) else 503


def finished(run: Run) -> Finished:
    """The result; raises where there is no first answer."""
    result = run.finished
    if result is None:
        raise BrokenOff(f"the debate {run.id} broke off: {run.error}")
    if result.answer is None:
        why = f"the debate {run.id} came to no answer: {one_line(result.detail)}"
        if result.stop_reason == "budget":
            raise BudgetError(f"{why}; raise `budget`")
        raise Failed(why) if result.stop_reason == "error" else BrokenOff(why)
    return result


def words(run: Run) -> str:
    """The answer as text, or why none is given."""
    result, story = finished(run), run.story
    look = outline(story)
    if result.unfit:
        return _none(run, look)
    rest = shown(result.distribution, 10, story.scale)
    head = f"No answer. {look.withheld}\n\nBest guess: {result.answer}" if look.withheld else str(result.answer)
    head = f"No clear answer: {look.unclear}" if look.unclear else head
    return plain(
        f"{head}\n\n"
        + "\n".join(f"{label}: {percent(p)}" for label, p in rest)
        + "\n\n".join(("", stop_of(result), *map(as_sentence, story.opened.notes)))
        + ("" if (joint := recommendation(story)) is None else f"\n\n{joint.text}")
    )


def _none(run: Run, look: Outline) -> str:
    """Why no answer is given."""
    return plain(f"No answer. {withheld_words(run.story, look, _FIND)}")


def content(run: Run, wanted: Wanted) -> tuple[str | None, str | None]:
    """Content and refusal: an answer that is withheld cannot be said in a schema that lists the answers."""
    look = outline(run.story)
    if wanted.form is None:
        text = words(run)
        if wanted.letters and look.answer is not None:
            text += f"\n\nANSWER: {wanted.letters[look.answer]}"
        elif wanted.letters:  # who reads letters must not take the reason for one
            text = text.replace("answer: ", "answer. ")
        return text, None
    if look.answer is None or look.p is None:
        return None, _none(run, look)
    return wanted.form.fill(look.answer, look.p, plain(" ".join(look.why))), None


def _about(run: Run) -> dict[str, Any]:
    """What OpenAI's API has no place for."""
    result, look = finished(run), outline(run.story)
    return {
        "answer": look.answer, "guess": look.guess, "probability": None if look.answer is None else look.p,
        "withheld": plain(look.withheld) or None, "abstained": result.abstained, "distribution": dict(result.distribution),
        "stop_reason": result.stop_reason, "rounds": result.rounds, "warnings": list(result.warnings), "debate": run.id,
        "recommendation": None if (joint := recommendation(run.story)) is None else plain(joint.text),
    }  # fmt: skip


def _tokens(run: Run) -> tuple[int, int, int]:
    """Read, of these from a provider's cache, and written."""
    result = finished(run)
    spent = result.spent
    return (spent.prompt, spent.cached, spent.generated) if spent else (result.tokens, 0, 0)


def _chat_usage(run: Run) -> dict[str, Any]:
    prompt, cached, generated = _tokens(run)
    total = {"prompt_tokens": prompt, "completion_tokens": generated, "total_tokens": prompt + generated}
    return {**total, "prompt_tokens_details": {"cached_tokens": cached}}


def completion(run: Run, wanted: Wanted) -> dict[str, Any]:
    """A chat completion."""
    text, refusal = content(run, wanted)
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        **_completion_head(run, wanted, "chat.completion"),
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": _chat_usage(run),
        "maci": _about(run),
    }


def _completion_head(run: Run, wanted: Wanted, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run.id}", "object": kind, "created": int(time.time()), "model": wanted.model}


def completion_stream(run: Run, wanted: Wanted) -> Iterator[bytes]:
    """A chat completion in chunks; usage once, in a chunk of its own at the end, if it was asked for."""
    text, refusal = content(run, wanted)
    head = _completion_head(run, wanted, "chat.completion.chunk") | ({"usage": None} if wanted.usage else {})
    delta = {"role": "assistant", **({"content": text} if refusal is None else {"refusal": refusal})}
    yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "maci": _about(run)})
    if wanted.usage:
        yield _event({**head, "choices": [], "usage": _chat_usage(run)})
    yield format_sse_event(data_str="[DONE]")


def response(run: Run, wanted: Wanted, status: str = "completed") -> dict[str, Any]:
    """A response of the Responses API."""
    done = status == "completed"
    usage = None
    if done:
        prompt, cached, generated = _tokens(run)
        usage = {
            "input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": generated, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + generated,
        }  # fmt: skip
    return {
        "id": f"resp_{run.id}", "object": "response", "created_at": int(time.time()), "status": status, "error": None,
        "incomplete_details": None, "instructions": wanted.instructions, "metadata": {}, "model": wanted.model,
        "output": [_item(run, wanted)] if done else [], "parallel_tool_calls": False, "temperature": None,
        "tool_choice": "none", "tools": [], "top_p": None, "usage": usage, **({"maci": _about(run)} if done else {}),
    }  # fmt: skip


def _part(run: Run, wanted: Wanted) -> dict[str, Any]:
    text, refusal = content(run, wanted)
    if refusal is not None:
        return {"type": "refusal", "refusal": refusal}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(run: Run, wanted: Wanted) -> dict[str, Any]:
    part = _part(run, wanted)
    return {"id": f"msg_{run.id}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def response_stream(run: Run, wanted: Wanted) -> Iterator[bytes]:
    """A response event by event."""
    begun, part, item = response(run, wanted, "in_progress"), _part(run, wanted), _item(run, wanted)
    at: dict[str, Any] = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    kind = "refusal" if part["type"] == "refusal" else "text"
    told = part[kind]
    name = "response.refusal" if kind == "refusal" else "response.output_text"
    more: dict[str, Any] = {} if kind == "refusal" else {"logprobs": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress", "content": []}},
        {"type": "response.content_part.added", **at, "part": {**part, kind: ""}},
        {"type": f"{name}.delta", **at, "delta": told, **more},
        {"type": f"{name}.done", **at, kind: told, **more},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response(run, wanted)},
    ]  # fmt: skip
    for number, event in enumerate(events):
        yield _event({**event, "sequence_number": number}, str(event["type"]))


def error_stream(error: EnvironmentError_ | BudgetError, wanted: Wanted) -> Iterator[bytes]:
    """An error where the status is out already."""
    body = error_body(error, said(error), status_of(error))
    if not wanted.responses:
        yield _event(body)
        yield format_sse_event(data_str="[DONE]")
        return
    event = {"type": "error", "code": body["error"]["code"], "message": body["error"]["message"], "param": None}
    yield _event({**event, "sequence_number": 0, **body}, "error")


def _event(data: dict[str, Any], name: str | None = None) -> bytes:
    return format_sse_event(data_str=json.dumps(data), event=name)
