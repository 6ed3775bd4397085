"""The Gemini API, faked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fake_server.shape import Asked, Shape, Wrong, need, texts_of


class Gemini(Shape):
    """``POST /v1beta/models/MODEL:generateContent``."""

    KNOWN = frozenset(
        ["contents", "systemInstruction", "generationConfig", "safetySettings", "tools", "toolConfig", "cachedContent"]
    )
    CONFIG = frozenset(
        [
            "maxOutputTokens",
            "temperature",
            "topP",
            "topK",
            "seed",
            "responseMimeType",
            "responseSchema",
            "responseJsonSchema",
            "responseLogprobs",
            "logprobs",
            "candidateCount",
            "stopSequences",
            "thinkingConfig",
        ]
    )

    def key(self, headers: Mapping[str, str]) -> str | None:
        return headers.get("x-goog-api-key")

    def read(self, body: dict[str, Any], path: str) -> Asked:
        contents = body.get("contents")
        need(
            isinstance(contents, list) and bool(contents),
            "* GenerateContentRequest.contents: contents is not specified",
        )
        texts: list[str] = []
        if "systemInstruction" in body:
            texts += texts_of(body["systemInstruction"].get("parts"), "system_instruction")
        for i, content in enumerate(body["contents"]):
            need(content.get("role") in ("user", "model"), "Please use a valid role: user, model.")
            texts += texts_of(content.get("parts"), f"contents[{i}]")
        config = body.get("generationConfig") or {}
        for name in config.keys() - self.CONFIG:
            raise self.unknown(name)
        both = "responseSchema" in config or "responseJsonSchema" in config
        need(
            not both or config.get("responseMimeType") == "application/json",
            "response_schema needs response_mime_type application/json",
        )
        return Asked(
            model=path.rpartition("/")[2].partition(":")[0],
            texts=texts,
            schema=config.get("responseJsonSchema", config.get("responseSchema")),
            max_tokens=config.get("maxOutputTokens", 8192),
            top_logprobs=config.get("logprobs", 0) if config.get("responseLogprobs") else 0,
        )

    def unknown(self, name: str) -> Wrong:
        return Wrong(
            f"Invalid JSON payload received. Unknown name \"{name}\" at 'generation_config': Cannot find field."
        )

    def reply(self, asked: Asked, text: str, prompt: int, cached: int, generated: int, whole: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {
            "content": {"parts": [{"text": text}], "role": "model"},
            "finishReason": "STOP" if whole else "MAX_TOKENS",
            "index": 0,
        }
        if asked.top_logprobs:
            pieces = re.findall(r"(?s).{1,4}", text[: 4 * asked.max_tokens])
            rows = [{"token": piece, "tokenId": 1, "logProbability": -0.25} for piece in pieces]
            top = [
                {"token": f"alt{i}", "tokenId": i, "logProbability": -1.0 - i} for i in range(asked.top_logprobs - 1)
            ]
            candidate["logprobsResult"] = {
                "chosenCandidates": rows,
                "topCandidates": [{"candidates": [row, *top]} for row in rows],
            }
        thought = generated // 4
        return {
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": prompt,
                "candidatesTokenCount": generated - thought,
                "thoughtsTokenCount": thought,
                "cachedContentTokenCount": cached,
                "totalTokenCount": prompt + generated,
            },
            "modelVersion": asked.model,
            "responseId": "fake",
        }

    def refusal(self, asked: Asked, prompt: int, generated: int) -> dict[str, Any]:
        return {
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {"promptTokenCount": prompt, "totalTokenCount": prompt},
            "modelVersion": asked.model,
        }

    def think(self, reply: dict[str, Any], tokens: int) -> None:
        reply["candidates"][0]["content"]["parts"].insert(0, {"text": "Let me see.", "thought": True})
        reply["usageMetadata"]["thoughtsTokenCount"] += tokens
        reply["usageMetadata"]["totalTokenCount"] += tokens

    def error(self, wrong: Wrong) -> dict[str, Any]:
        status = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}.get(
            wrong.status,
            "INVALID_ARGUMENT" if wrong.status < 500 else "UNAVAILABLE" if wrong.status == 503 else "INTERNAL",
        )
        error: dict[str, Any] = {"code": wrong.status, "message": wrong.message, "status": status}
        if wrong.kind == "key":
            kind = "type.googleapis.com/google.rpc.ErrorInfo"
            error["details"] = [{"@type": kind, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]
        if wrong.kind == "limited" and wrong.param:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wrong.param}s"}]
        return {"error": error}
