"""The Anthropic Messages API, faked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from fake_server.shape import Asked, Shape, Wrong, closed, need, texts_of


class Anthropic(Shape):
    """``POST /v1/messages``."""

    KNOWN = frozenset(
        [
            "model",
            "messages",
            "max_tokens",
            "system",
            "temperature",
            "top_p",
            "top_k",
            "stop_sequences",
            "stream",
            "metadata",
            "thinking",
            "tools",
            "tool_choice",
            "output_config",
            "service_tier",
            "cache_control",
        ]
    )
    _REFUSES = frozenset(
        [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "maxItems",
            "minItems",
        ]
    )

    def key(self, headers: Mapping[str, str]) -> str | None:
        if "anthropic-version" not in headers:
            raise Wrong("anthropic-version: header is required")
        return headers.get("x-api-key")

    def read(self, body: dict[str, Any], path: str) -> Asked:
        need(isinstance(body.get("model"), str), "model: Field required")
        limit, messages = body.get("max_tokens"), body.get("messages")
        need(isinstance(limit, int) and limit > 0, "max_tokens: Field required")
        need(isinstance(messages, list) and bool(messages), "messages: Field required")
        need(0 <= body.get("temperature", 1) <= 1, "temperature: range: 0..1")
        texts = texts_of(body["system"], "system") if body.get("system") else []
        marks: list[int] = []
        for i, message in enumerate(body["messages"]):
            need(
                isinstance(message, dict) and message.get("role") in ("user", "assistant"),
                f"messages.{i}.role: Input should be 'user' or 'assistant'",
            )
            content = message.get("content")
            if isinstance(content, list):
                marks += [len(texts) + n for n, block in enumerate(content) if "cache_control" in block]
            texts += texts_of(content, f"messages.{i}")
        need(len(marks) <= 4, "A maximum of 4 blocks with cache_control may be provided.")
        need(body["messages"][0]["role"] == "user", 'messages: first message must use the "user" role')
        thinking = body.get("thinking") or {}
        if thinking.get("type") == "enabled":
            budget = thinking.get("budget_tokens")
            need(
                isinstance(budget, int) and budget >= 1024,
                "thinking.enabled.budget_tokens: Input should be at least 1024",
            )
            need(budget < (limit or 0), "`max_tokens` must be greater than `thinking.budget_tokens`")
        if thinking.get("type") in ("enabled", "adaptive"):
            need("temperature" not in body, "`temperature` may only be set to 1 when thinking is enabled")
            forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
            need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
        form = (body.get("output_config") or {}).get("format")
        schema, tool, strict = None, None, None
        if form is not None:
            need(
                form.get("type") == "json_schema" and isinstance(form.get("schema"), dict),
                "output_config.format: Input should be json_schema",
            )
            schema = form["schema"]
            strict = partial(closed, where="output_config.format.schema", required=False, refuse=self._REFUSES)
        elif body.get("tools"):
            tool = (body.get("tool_choice") or {}).get("name")
            schema = next((each["input_schema"] for each in body["tools"] if each["name"] == tool), None)
        return Asked(
            model=body["model"],
            texts=texts,
            schema=schema,
            max_tokens=int(limit or 0),
            tool=tool,
            strict=strict,
            marks=marks,
        )

    def unknown(self, name: str) -> Wrong:
        if name in ("temperature", "top_p", "top_k"):
            return Wrong(f"`{name}` is deprecated for this model.")
        return Wrong(f"{name}: Extra inputs are not permitted")

    def reply(self, asked: Asked, text: str, prompt: int, cached: int, generated: int, whole: bool) -> dict[str, Any]:
        if asked.tool:
            try:
                block = {"type": "tool_use", "id": "toolu_fake", "name": asked.tool, "input": json.loads(text)}
                return self._message(asked, [block], "tool_use" if whole else "max_tokens", prompt, cached, generated)
            except ValueError:
                pass
        return self._message(
            asked, [{"type": "text", "text": text}], "end_turn" if whole else "max_tokens", prompt, cached, generated
        )

    def refusal(self, asked: Asked, prompt: int, generated: int) -> dict[str, Any]:
        return self._message(asked, [], "refusal", prompt, 0, generated)

    def _message(
        self, asked: Asked, content: list[dict[str, Any]], reason: str, prompt: int, cached: int, generated: int
    ) -> dict[str, Any]:
        return {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": prompt - cached,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached,
                "output_tokens": generated,
            },
        }

    def think(self, reply: dict[str, Any], tokens: int) -> None:
        reply["content"].insert(0, {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"})
        reply["usage"]["output_tokens"] += tokens

    def error(self, wrong: Wrong) -> dict[str, Any]:
        kind = {
            "key": "authentication_error",
            "model": "not_found_error",
            "limited": "rate_limit_error",
            "server": "overloaded_error" if wrong.status in (503, 529) else "api_error",
        }.get(wrong.kind, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": wrong.message}, "request_id": "req_fake"}
