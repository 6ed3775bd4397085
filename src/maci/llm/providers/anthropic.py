"""The Anthropic Messages API.

A schema goes into ``output_config.format``; a model or server without that is made to call a tool whose input has the schema.
A prompt whose case and task are two messages begins with what is only ever added to. That part is sent as a block for each of its
headings, with a cache breakpoint at the last: in the next round the API finds the blocks that were there before. Other prompts (of
judges, of whoever sums up) have nothing at the beginning that is long and sent again, and writing a cache costs a quarter more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from maci.llm.model import Reply, Request
from maci.llm.providers._api import Api
from maci.llm.providers._errors import refused
from maci.llm.providers._schema import anthropic
from maci.llm.reasoning import Reasoning

_VERSION = "2023-06-01"
_LEAST = 1024
"""The smallest number of tokens for thinking that the API takes."""
_HEADING = re.compile(r"(?=\n\n# )")
_CACHED_FROM = (
    ("opus", (4, 5), 4096),
    ("haiku", (4, 5), 4096),
    ("sonnet", (4, 6), 2048),
    ("haiku", (0, 0), 2048),
)
"""Model, from which version on, and the fewest tokens that it caches; others 1,024."""
_CHARACTERS = 4
"""Of a token, about."""


class Anthropic(Api):
    """``anthropic/MODEL``."""

    API = "anthropic-messages"
    PROVIDER = "anthropic"
    _ROOT, _PATH = "/v1", "/messages"
    _WAYS = ("format", "tool", "text")
    _BINDING = frozenset({"format", "tool"})
    _SCHEMA = re.compile(
        r"output[_ ](?:config|format)|structured[_ ]output|schema|tool_choice|\btools?\b|invalid params"
    )
    _OPTIONAL: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "temperature": re.compile(r"temperature"),
        "cache": re.compile(r"cache_control"),
        "manner": re.compile(r"thinking\.type|budget_tokens|adaptive"),
        "reasoning": re.compile(r"thinking|effort"),
    }
    _OWN = frozenset({"model", "messages", "system", "max_tokens", "stream", "tools", "tool_choice"})

    def _headers(self) -> dict[str, str]:
        key = self._peer.key
        headers = {"anthropic-version": _VERSION}
        return headers if key is None else {**headers, "x-api-key": key.reveal()}

    def _body(self, request: Request) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        said = [message for message in request.messages if message.role != "system"]
        messages: list[dict[str, Any]] = [
            {"role": message.role, "content": [{"type": "text", "text": message.content}]} for message in said
        ]
        divided = [message.role for message in said[:2]] == ["user", "user"]
        if divided and "cache" not in self._without and self._long(len(system) + len(said[0].content)):
            blocks = [{"type": "text", "text": part} for part in _HEADING.split(said[0].content) if part]
            messages[0]["content"] = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
        body: dict[str, Any] = {
            **self.options,
            "model": self.model,
            "max_tokens": request.max_tokens,
            "messages": messages,
        }
        if system:
            body["system"] = system
        if request.reasoning is not None and self._takes("reasoning", request):
            body |= self._thinking(request.reasoning, request.thinking)
        if request.temperature is not None and self._takes("temperature", request):
            body["temperature"] = min(request.temperature, 1.0)
        way = self._WAYS[self._way]
        if request.schema is not None and way != "text":
            schema = self._as(way, request.schema, anthropic)
            if way == "format":
                form = {"format": {"type": "json_schema", "schema": schema}}
                body["output_config"] = {**(body.get("output_config") or {}), **form}
            else:
                name = request.schema.name
                body["tools"] = [{"name": name, "description": "Give the answer.", "input_schema": schema}]
                body["tool_choice"] = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
        return body

    def _long(self, characters: int) -> bool:
        """Whether so much text is as long as what this model caches at least."""
        least = next(
            (n for name, since, n in _CACHED_FROM if name in self.model and self._traits.version >= since), 1024
        )
        return characters >= _CHARACTERS * least

    def _takes(self, parameter: str, request: Request) -> bool:
        if not super()._takes(parameter, request):
            return False
        level = request.reasoning
        if parameter == "reasoning" and level not in (None, "none"):  # a model made to call a tool may not think
            return request.schema is None or self._WAYS[self._way] != "tool"
        thinking = level not in (None, "none") and self._takes("reasoning", request)
        return not (parameter == "temperature" and thinking)  # nor be given a temperature while it thinks

    def _thinking(self, level: Reasoning, room: int) -> dict[str, Any]:
        """How much to think: from Claude 4.6 on the model decides within an effort, before it is given a number of tokens."""
        version = self._traits.version
        if level == "none":
            by_itself = version >= (5, 0) or version == (0, 0)  # those between think only where they are asked to
            return {"thinking": {"type": "disabled"}} if by_itself else {}
        if (version >= (4, 6)) != ("manner" in self._without):
            effort = {**(self.options.get("output_config") or {}), "effort": level}
            return {"thinking": {"type": "adaptive"}, "output_config": effort}
        return {"thinking": {"type": "enabled", "budget_tokens": max(room, _LEAST)}}

    def _read(self, request: Request, answer: dict[str, Any]) -> Reply:
        reason, blocks = answer.get("stop_reason"), answer["content"]
        if reason == "refusal":
            raise refused(self._peer, _words(blocks) or "refusal")
        calls = [block["input"] for block in blocks if block["type"] == "tool_use"]
        counted = answer.get("usage") or {}
        parts = [counted.get(f"{part}input_tokens") for part in ("", "cache_creation_", "cache_read_")]
        return Reply(
            text=json.dumps(calls[0], ensure_ascii=False) if calls else _words(blocks),
            usage=self._usage(
                request,
                None if parts[0] is None else sum(part or 0 for part in parts),
                parts[2],
                counted.get("output_tokens"),
                thought=(counted.get("output_tokens_details") or {}).get("thinking_tokens"),
            ),
            thinking="".join(block.get("thinking") or "" for block in blocks if block["type"] == "thinking"),
            truncated=reason in ("max_tokens", "model_context_window_exceeded"),
            model=str(answer.get("model") or ""),
        )


def _words(blocks: list[dict[str, Any]]) -> str:
    return "".join(block["text"] for block in blocks if block["type"] == "text")
