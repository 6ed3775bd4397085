"""The Gemini API (generateContent).

A schema goes into ``responseJsonSchema``; a model that does not take that is given the OpenAPI subset in ``responseSchema``, then
is asked for JSON, then for text. What the model thinks counts as generated: it is paid for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from maci.llm.model import Reply, Request, Token
from maci.llm.providers._api import Api
from maci.llm.providers._errors import interrupted, refused
from maci.llm.providers._schema import gemini, openapi

_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "ESCALATION"}
)


class Gemini(Api):
    """``gemini/MODEL``."""

    API = "gemini"
    PROVIDER = "gemini"
    _ROOT, _PATH = "/v1beta", "/models/{model}:generateContent"
    _WAYS = ("json_schema", "schema", "object", "text")
    _BINDING = frozenset({"json_schema", "schema"})
    _SCHEMA = re.compile(
        r"response_?(?:json_?)?schema|response_?mime_?type|json mode|schema|contains an invalid argument"
    )
    _OPTIONAL: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "temperature": re.compile(r"temperature"),
        "seed": re.compile(r"\bseed\b"),
        "logprobs": re.compile(r"logprobs"),
    }
    _OWN = frozenset({"maxOutputTokens", "responseMimeType", "responseSchema", "responseJsonSchema", "candidateCount"})

    def _headers(self) -> dict[str, str]:
        key = self._peer.key
        return {} if key is None else {"x-goog-api-key": key.reveal()}

    def _body(self, request: Request) -> dict[str, Any]:
        without = self._without
        wanted: dict[str, Any] = {**self.options, "maxOutputTokens": request.max_tokens}
        if request.temperature is not None and "temperature" not in without:
            wanted["temperature"] = request.temperature
        if request.seed is not None and "seed" not in without:
            wanted["seed"] = request.seed & 0x7FFFFFFF
        if request.top_logprobs > 0 and "logprobs" not in without:
            wanted["responseLogprobs"], wanted["logprobs"] = True, min(request.top_logprobs, 20)
        way = self._WAYS[self._way]
        if request.schema is not None and way != "text":
            wanted["responseMimeType"] = "application/json"
            if way == "json_schema":
                wanted["responseJsonSchema"] = self._as(way, request.schema, gemini)
            elif way == "schema":
                wanted["responseSchema"] = self._as(way, request.schema, openapi)
        body: dict[str, Any] = {
            "contents": [
                {"role": "model" if message.role == "assistant" else "user", "parts": [{"text": message.content}]}
                for message in request.messages
                if message.role != "system"
            ],
            "generationConfig": wanted,
        }
        system = [{"text": message.content} for message in request.messages if message.role == "system"]
        if system:
            body["systemInstruction"] = {"parts": system}
        return body

    def _read(self, request: Request, answer: dict[str, Any]) -> Reply:
        if blocked := (answer.get("promptFeedback") or {}).get("blockReason"):
            raise refused(self._peer, str(blocked))
        candidate = answer["candidates"][0]
        reason = candidate.get("finishReason")
        if reason in _REFUSALS:
            raise refused(self._peer, f"{reason} {candidate.get('finishMessage') or ''}")
        parts = (candidate.get("content") or {}).get("parts") or []
        if reason not in ("STOP", "MAX_TOKENS", None) and not parts:
            raise interrupted(self._peer, f"finishReason {reason}")
        counted = answer.get("usageMetadata") or {}
        prompt, written = counted.get("promptTokenCount"), counted.get("candidatesTokenCount")
        return Reply(
            text="".join(part.get("text") or "" for part in parts if not part.get("thought")),
            usage=self._usage(
                request,
                None if prompt is None else prompt + (counted.get("toolUsePromptTokenCount") or 0),
                counted.get("cachedContentTokenCount"),
                None if written is None else written + (counted.get("thoughtsTokenCount") or 0),
                counted.get("totalTokenCount"),
            ),
            truncated=reason == "MAX_TOKENS",
            model=str(answer.get("modelVersion") or ""),
            logprobs=_tokens(candidate.get("logprobsResult")) if request.top_logprobs > 0 else None,
        )


def _tokens(given: Any) -> tuple[Token, ...] | None:
    if not given:
        return None
    chosen, top = given.get("chosenCandidates") or [], given.get("topCandidates") or []
    return tuple(
        Token(
            row["token"],
            float(row["logProbability"]),
            tuple(
                (each["token"], float(each["logProbability"]))
                for each in (top[i]["candidates"] if i < len(top) else ())
            ),
        )
        for i, row in enumerate(chosen)
    )
