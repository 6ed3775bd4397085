"""The OpenAI-compatible API (chat completions): OpenAI, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp and many more.

A schema goes into ``response_format`` in strict mode; a server that does not take that is asked for the schema without strict mode,
then for any JSON object, then for text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from maci.llm.model import Reply, Request, Token
from maci.llm.providers._api import Api
from maci.llm.providers._errors import Complaint, refused
from maci.llm.providers._schema import strict


class OpenAI(Api):
    """``openai/MODEL``, or ``NAME/MODEL`` of any other service that speaks this API."""

    API = "openai-chat"
    PROVIDER = "openai"
    _PATH = "/chat/completions"
    _WAYS = ("strict", "schema", "object", "text")
    _BINDING = frozenset({"strict", "schema"})
    _SCHEMA = re.compile(
        r"response[_ ]format|json[_ ]?schema|structured[_ ]output|invalid schema|guided|grammar|must contain the word"
    )
    _OPTIONAL: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "temperature": re.compile(r"temperature"),
        "seed": re.compile(r"\bseed\b"),
        "logprobs": re.compile(r"logprobs"),
        "limit": re.compile(r"max_(?:completion_)?tokens"),
    }
    _OWN = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "response_format", "stream", "n"})

    def _headers(self) -> dict[str, str]:
        key = self._peer.key
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    def _body(self, request: Request) -> dict[str, Any]:
        official, without = self.origin == "api.openai.com", self._without
        body: dict[str, Any] = {
            **self.options,
            "model": self.model,
            "messages": _messages(request),
            # servers of one's own may take the new name for nothing and write without end
            "max_completion_tokens" if official != ("limit" in without) else "max_tokens": request.max_tokens,
        }
        if request.temperature is not None and "temperature" not in without:
            body["temperature"] = request.temperature
        if request.seed is not None and "seed" not in without:
            body["seed"] = request.seed
        if request.top_logprobs > 0 and "logprobs" not in without:
            body["logprobs"], body["top_logprobs"] = True, min(request.top_logprobs, 20)
        way = self._WAYS[self._way]
        if request.schema is not None and way != "text":
            if way == "object":
                body["response_format"] = {"type": "json_object"}
            else:
                schema = self._as(way, request.schema, partial(strict, official=official))
                form: dict[str, Any] = {"name": request.schema.name, "schema": schema}
                if way == "strict":
                    form["strict"] = True
                body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _read(self, request: Request, answer: dict[str, Any]) -> Reply:
        choice = answer["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        if reason == "error" or choice.get("error"):
            raise Complaint.read(500, {}, choice, begun=True).error(self._peer)
        if message.get("refusal"):
            raise refused(self._peer, str(message["refusal"]))
        if reason == "content_filter":
            raise refused(self._peer, "content_filter")
        counted = answer.get("usage") or {}
        cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens")
        return Reply(
            text=_text(message.get("content")),
            usage=self._usage(
                request,
                counted.get("prompt_tokens"),
                counted.get("prompt_cache_hit_tokens") if cached is None else cached,
                counted.get("completion_tokens"),
                counted.get("total_tokens"),
            ),
            truncated=reason == "length",
            model=str(answer.get("model") or ""),
            logprobs=_tokens(choice.get("logprobs")) if request.top_logprobs > 0 else None,
        )


def _messages(request: Request) -> list[dict[str, str]]:
    """The conversation; two messages of one role in a row are one, since some chat templates take turns only."""
    said: list[dict[str, str]] = []
    for message in request.messages:
        if said and said[-1]["role"] == message.role:
            said[-1]["content"] += f"\n\n{message.content}"
        else:
            said.append({"role": message.role, "content": message.content})
    return said


def _text(content: Any) -> str:
    """The text of a message; some servers give it in parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if part.get("type", "text") == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError(f"content is {type(content).__name__}")
    return content or ""


def _tokens(given: Any) -> tuple[Token, ...] | None:
    rows = given.get("content") if isinstance(given, dict) else None
    if not rows:
        return None
    return tuple(
        Token(
            row["token"],
            float(row["logprob"]),
            tuple((each["token"], float(each["logprob"])) for each in row.get("top_logprobs") or ()),
        )
        for row in rows
    )
