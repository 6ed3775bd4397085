"""The OpenAI-compatible APIs, faked: chat completions and responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from fake_server.shape import Asked, Shape, Wrong, closed, need, texts_of


class OpenAI(Shape):
    """``POST /v1/chat/completions``."""

    KNOWN = frozenset(
        [
            "model",
            "messages",
            "max_tokens",
            "max_completion_tokens",
            "temperature",
            "top_p",
            "seed",
            "response_format",
            "logprobs",
            "top_logprobs",
            "stop",
            "n",
            "stream",
            "user",
            "reasoning_effort",
            "reasoning",
            "thinking",
            "chat_template_kwargs",
            "presence_penalty",
            "frequency_penalty",
        ]
    )

    def key(self, headers: Mapping[str, str]) -> str | None:
        given = headers.get("Authorization", "")
        return given[7:] if given.startswith("Bearer ") else None

    def read(self, body: dict[str, Any], path: str) -> Asked:
        need(isinstance(body.get("model"), str), "you must provide a model parameter", "model")
        messages = body.get("messages")
        need(
            isinstance(messages, list) and bool(messages),
            "Invalid type for 'messages': expected an array of objects.",
            "messages",
        )
        texts: list[str] = []
        for i, message in enumerate(body["messages"]):
            need(
                isinstance(message, dict) and message.get("role") in ("system", "user", "assistant", "developer"),
                f"messages.{i}: role",
            )
            texts += texts_of(message.get("content"), f"messages.{i}")
        form = (body.get("response_format") or {}).get("json_schema")
        limit = body.get("max_completion_tokens", body.get("max_tokens", 4096))
        need(isinstance(limit, int) and limit > 0, "max_tokens must be a positive integer", "max_tokens")
        need(0 <= body.get("temperature", 1) <= 2, "temperature must be between 0 and 2", "temperature")
        return Asked(
            model=body["model"],
            texts=texts,
            schema=_schema(form, "response_format.json_schema"),
            strict=partial(closed, where="response_format", required=True) if form and form.get("strict") else None,
            max_tokens=limit,
            top_logprobs=body.get("top_logprobs", 0) if body.get("logprobs") else 0,
        )

    def unknown(self, name: str) -> Wrong:
        return Wrong(
            f"Unsupported parameter: '{name}' is not supported with this model.",
            kind="unsupported_parameter",
            param=name,
        )

    def reply(self, asked: Asked, text: str, prompt: int, cached: int, generated: int, whole: bool) -> dict[str, Any]:
        return self._completion(
            asked,
            {"role": "assistant", "content": text, "refusal": None},
            "stop" if whole else "length",
            prompt,
            cached,
            generated,
        )

    def refusal(self, asked: Asked, prompt: int, generated: int) -> dict[str, Any]:
        message = {"role": "assistant", "content": None, "refusal": "I'm sorry, I cannot assist with that request."}
        return self._completion(asked, message, "stop", prompt, 0, generated)

    def _completion(
        self, asked: Asked, message: dict[str, Any], reason: str, prompt: int, cached: int, generated: int
    ) -> dict[str, Any]:
        logprobs = None
        if asked.top_logprobs and message["content"]:
            logprobs = {"content": _logprobs(asked, message["content"]), "refusal": None}
        return {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1700000000,
            "model": asked.model,
            "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": generated,
                "total_tokens": prompt + generated,
                "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
            "system_fingerprint": "fp_fake",
        }

    def think(self, reply: dict[str, Any], tokens: int) -> None:
        reply["choices"][0]["message"]["reasoning_content"] = "Let me see."
        reply["usage"]["total_tokens"] += tokens
        reply["usage"]["completion_tokens_details"]["reasoning_tokens"] = tokens

    def error(self, wrong: Wrong) -> dict[str, Any]:
        kind, code = {
            "key": ("invalid_request_error", "invalid_api_key"),
            "model": ("invalid_request_error", "model_not_found"),
            "context": ("invalid_request_error", "context_length_exceeded"),
            "limited": ("requests", "rate_limit_exceeded"),
            "server": ("server_error", None),
        }.get(wrong.kind, ("invalid_request_error", wrong.kind if wrong.kind != "request" else None))
        return {"error": {"message": wrong.message, "type": kind, "param": wrong.param, "code": code}}


class Responses(OpenAI):
    """``POST /v1/responses``."""

    KNOWN = frozenset(
        {"model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "text", "reasoning", "include"}
        | {"top_logprobs", "store", "stream", "metadata", "user", "truncation", "service_tier", "prompt_cache_key"}
    )

    def read(self, body: dict[str, Any], path: str) -> Asked:
        need(isinstance(body.get("model"), str), "you must provide a model parameter", "model")
        given = body.get("input")
        need(isinstance(given, str | list) and bool(given), "Invalid type for 'input'.", "input")
        texts: list[str] = []
        for i, message in enumerate([{"role": "user", "content": given}] if isinstance(given, str) else body["input"]):
            role = message.get("role") if isinstance(message, dict) else None
            need(role in ("system", "user", "assistant", "developer"), f"Invalid value: 'input[{i}].role'", "input")
            texts += texts_of(message.get("content"), f"input[{i}]")
        limit, form = body.get("max_output_tokens", 4096), (body.get("text") or {}).get("format") or {}
        need(isinstance(limit, int) and limit > 0, "max_output_tokens must be a positive integer", "max_output_tokens")
        need(0 <= body.get("temperature", 1) <= 2, "temperature must be between 0 and 2", "temperature")
        wanted = "message.output_text.logprobs" in (body.get("include") or ())
        return Asked(
            model=body["model"],
            texts=texts,
            schema=_schema(form if form.get("type") == "json_schema" else None, "text.format"),
            strict=partial(closed, where="text.format", required=True) if form.get("strict") else None,
            max_tokens=limit,
            top_logprobs=body.get("top_logprobs", 0) if wanted else 0,
        )

    def reply(self, asked: Asked, text: str, prompt: int, cached: int, generated: int, whole: bool) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        part["logprobs"] = _logprobs(asked, text) if asked.top_logprobs else []
        return self._response(asked, part, prompt, cached, generated, whole)

    def refusal(self, asked: Asked, prompt: int, generated: int) -> dict[str, Any]:
        part = {"type": "refusal", "refusal": "I'm sorry, I cannot assist with that request."}
        return self._response(asked, part, prompt, 0, generated, True)

    def _response(
        self, asked: Asked, part: dict[str, Any], prompt: int, cached: int, generated: int, whole: bool
    ) -> dict[str, Any]:
        status = "completed" if whole else "incomplete"
        form = (
            {"type": "text"} if asked.schema is None else {"type": "json_schema", "name": "x", "schema": asked.schema}
        )
        return {
            "id": "resp_fake",
            "object": "response",
            "created_at": 1700000000,
            "status": status,
            "error": None,
            "incomplete_details": None if whole else {"reason": "max_output_tokens"},
            "instructions": None,
            "metadata": {},
            "model": asked.model,
            "output": [{"id": "msg_fake", "type": "message", "role": "assistant", "status": status, "content": [part]}],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "text": {"format": form},
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
                "output_tokens": generated,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": prompt + generated,
            },
        }

    def think(self, reply: dict[str, Any], tokens: int) -> None:
        thought = [{"type": "summary_text", "text": "Let me see."}]
        reply["output"].insert(0, {"id": "rs_fake", "type": "reasoning", "summary": thought})
        for name in ("output_tokens", "total_tokens"):
            reply["usage"][name] += tokens
        reply["usage"]["output_tokens_details"]["reasoning_tokens"] = tokens


def _schema(form: Any, where: str) -> Mapping[str, Any] | None:
    if form is None:
        return None
    named = isinstance(form.get("name"), str) and re.fullmatch(r"[\w-]{1,64}", form["name"]) is not None
    need(named, f"Invalid '{where}.name'", f"{where}.name")
    need(isinstance(form.get("schema"), dict), f"Missing '{where}.schema'", f"{where}.schema")
    return form["schema"]  # type: ignore[no-any-return]


def _logprobs(asked: Asked, text: str) -> list[dict[str, Any]]:
    pieces = re.findall(r"(?s).{1,4}", text[: 4 * asked.max_tokens])
    top = [{"token": f"alt{i}", "logprob": -1.0 - i, "bytes": []} for i in range(asked.top_logprobs - 1)]
    rows = ({"token": piece, "logprob": -0.25, "bytes": list(piece.encode())} for piece in pieces)
    return [{**row, "top_logprobs": [row, *top]} for row in rows]
