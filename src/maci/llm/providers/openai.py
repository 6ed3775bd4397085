"""The OpenAI-compatible API (chat completions): OpenAI, OpenRouter, vLLM, Ollama, LM Studio, llama.cpp and many more.

A schema goes into ``response_format`` in strict mode; a server that does not take that is asked for the schema without strict mode,
then for any JSON object, then for text. :class:`Responses` is the newer API of the same servers, :class:`Azure` the same with the
address and rules of Azure OpenAI.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote

from maci.errors import ConfigError
from maci.llm.keys import Key, is_loopback
from maci.llm.model import Reply, Request, Token
from maci.llm.providers._api import Api
from maci.llm.providers._errors import Complaint, Peer, refused
from maci.llm.providers._schema import strict
from maci.llm.reasoning import Reasoning


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
        "reasoning": re.compile(r"reasoning|think|chat_template_kwargs"),
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
            # other people's servers may take the new name for nothing and write without end
            "max_completion_tokens" if official != ("limit" in without) else "max_tokens": request.max_tokens,
        }
        if request.reasoning is not None and self._takes("reasoning", request):
            body |= self._thinking(request.reasoning)
        if request.temperature is not None and self._takes("temperature", request):
            body["temperature"] = request.temperature
        if request.seed is not None and self._takes("seed", request):
            body["seed"] = request.seed
        if request.top_logprobs > 0 and self._takes("logprobs", request):
            body["logprobs"], body["top_logprobs"] = True, min(request.top_logprobs, 20)
        if (form := self._form(request)) is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": form} if form else {"type": "json_object"}
        return body

    def _form(self, request: Request) -> dict[str, Any] | None:
        """The schema to ask for, ``{}`` for any JSON object, ``None`` for text."""
        way = self._WAYS[self._way]
        if request.schema is None or way == "text":
            return None
        if way == "object":
            return {}
        schema = self._as(way, request.schema, partial(strict, official=self.origin == "api.openai.com"))
        return {"name": request.schema.name, "schema": schema, **({"strict": True} if way == "strict" else {})}

    def _takes(self, parameter: str, request: Request) -> bool:
        if parameter == "reasoning" and self.origin == "api.openai.com" and not self._traits.thinks:
            return request.reasoning == "none"  # models that do not think refuse it; not thinking is what they do
        return super()._takes(parameter, request)

    def _thinking(self, level: Reasoning) -> dict[str, Any]:
        """How much to think, in the service's own words."""
        match self.provider:
            case "openrouter":
                return {"reasoning": {"effort": level}}
            case "deepseek":
                return {"thinking": {"type": "disabled" if level == "none" else "enabled"}}
            case "vllm" | "llamacpp" | "lmstudio" | "local":
                template = {"enable_thinking": level != "none"} | (
                    {} if level == "none" else {"reasoning_effort": level}
                )
                return {"chat_template_kwargs": {**(self.options.get("chat_template_kwargs") or {}), **template}}
            case "openai" if self.origin == "api.openai.com" and level == "none":
                if not self._traits.thinks:
                    return {}
                least = (
                    "low" if self._traits.version == (0, 0) else "minimal" if self._traits.version == (5, 0) else "none"
                )
                return {"reasoning_effort": least}  # o3 and GPT-5 cannot stop thinking altogether
            case _:  # Ollama makes `think` of it
                return {"reasoning_effort": level}

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
        thought = message.get("reasoning_content") or message.get("reasoning")
        cached = (counted.get("prompt_tokens_details") or {}).get("cached_tokens")
        return Reply(
            text=_text(message.get("content")),
            usage=self._usage(
                request,
                counted.get("prompt_tokens"),
                counted.get("prompt_cache_hit_tokens") if cached is None else cached,
                counted.get("completion_tokens"),
                counted.get("total_tokens"),
                (counted.get("completion_tokens_details") or {}).get("reasoning_tokens"),
            ),
            thinking=thought if isinstance(thought, str) else "",
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


_RESPONSES_ONLY = re.compile(r"(?:o\d|gpt-\d[\d.]*)-pro\b|codex|deep-research|computer-use")


class Responses(OpenAI):
    """The Responses API of the same services (``api: responses``). Some models have no other: see :meth:`needed`.

    Nothing is kept at the service (``store: false``): a debate sends the whole conversation each time.
    """

    API = "openai-responses"
    _PATH = "/responses"
    _SCHEMA = re.compile(rf"{OpenAI._SCHEMA.pattern}|text\.format")
    _OPTIONAL: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "temperature": re.compile(r"temperature"),
        "logprobs": re.compile(r"logprobs"),
        "reasoning": re.compile(r"reasoning"),
    }
    _OWN = frozenset(
        {"model", "input", "instructions", "max_output_tokens", "store", "include", "stream", "background", "tools"}
        | {"conversation", "previous_response_id", "prompt"}
    )

    @staticmethod
    def needed(model: str) -> bool:
        """Whether OpenAI serves a model through this API alone, as far as its name tells.

        >>> Responses.needed("gpt-5.2-pro"), Responses.needed("o3-pro-2025-06-10"), Responses.needed("gpt-5.2")
        (True, True, False)
        """
        return _RESPONSES_ONLY.search(model) is not None

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            **self.options,
            "model": self.model,
            "input": _messages(request),
            "max_output_tokens": request.max_tokens,
            "store": False,
        }
        level = request.reasoning
        if level is not None and self._takes("reasoning", request) and (words := self._thinking(level)):
            effort = words.get("reasoning_effort", level)
            body["reasoning"] = {**(self.options.get("reasoning") or {}), "effort": effort}
        if request.temperature is not None and self._takes("temperature", request):
            body["temperature"] = request.temperature
        if request.top_logprobs > 0 and self._takes("logprobs", request):
            body |= {"include": ["message.output_text.logprobs"], "top_logprobs": min(request.top_logprobs, 20)}
        if (form := self._form(request)) is not None:
            kind = {"type": "json_schema", **form} if form else {"type": "json_object"}
            body["text"] = {**(self.options.get("text") or {}), "format": kind}
        return body

    def _most_bytes(self, request: Request) -> int:
        """The schema comes back with the reply, written with blanks."""
        return super()._most_bytes(request) + (0 if request.schema is None else 12 * len(request.schema.text))

    def _read(self, request: Request, answer: dict[str, Any]) -> Reply:
        status, reason = answer.get("status"), (answer.get("incomplete_details") or {}).get("reason")
        if status not in ("completed", "incomplete", None):
            raise ValueError(f"status is {status}")
        if reason == "content_filter":
            raise refused(self._peer, "content_filter")
        parts, thoughts = list[dict[str, Any]](), list[dict[str, Any]]()
        for item in answer["output"]:
            if item["type"] == "message":
                parts += item.get("content") or ()
            elif item["type"] == "reasoning":
                thoughts += [*(item.get("summary") or ()), *(item.get("content") or ())]
        if said := [part for part in parts if part["type"] == "refusal"]:
            raise refused(self._peer, str(said[0].get("refusal")))
        counted, written = answer.get("usage") or {}, [part for part in parts if part["type"] == "output_text"]
        tokens = [row for part in written for row in part.get("logprobs") or ()]
        return Reply(
            text="".join(part["text"] for part in written),
            usage=self._usage(
                request,
                counted.get("input_tokens"),
                (counted.get("input_tokens_details") or {}).get("cached_tokens"),
                counted.get("output_tokens"),
                counted.get("total_tokens"),
                (counted.get("output_tokens_details") or {}).get("reasoning_tokens"),
            ),
            thinking="\n".join(part["text"] for part in thoughts if isinstance(part.get("text"), str)),
            truncated=status == "incomplete",
            model=str(answer.get("model") or ""),
            logprobs=_tokens({"content": tokens}) if request.top_logprobs > 0 else None,
        )


_VERSION = "2024-10-21"
"""Azure's dated API that is generally available; ``extra: {api-version: …}`` or OPENAI_API_VERSION names another."""


class Azure(OpenAI):
    """``azure/DEPLOYMENT`` at AZURE_OPENAI_ENDPOINT: OpenAI's API with Azure's address, ``api-version`` and ``api-key`` header.

    An address that ends in ``/v1`` is Azure's newer API without versions. This was never tried against the real service here: the
    requests follow the published documentation and are tested against a server on this machine. ``maci doctor --live`` tries it
    with your account.
    """

    API = "azure-openai"
    PROVIDER = "azure"

    def __init__(self, *, options: dict[str, Any] | None = None, **given: Any) -> None:
        rest = dict(options or {})
        named = rest.pop("api-version", None) or os.environ.get("OPENAI_API_VERSION")
        self._version = str(named or _VERSION)
        super().__init__(options=rest, **given)
        self.identity = {**self.identity, "version": self._version}
        if not self._peer.base_url.endswith("/v1"):
            self._root = self._peer.base_url.removesuffix("/openai") + "/openai"
            place = f"/deployments/{quote(self.model, safe='')}{self._PATH}"
            self._url = f"{self._root}{place}?api-version={quote(self._version, safe='')}"

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        if base_url is None:
            raise ConfigError(
                f"azure/{self.model}: no address is known: set AZURE_OPENAI_ENDPOINT=https://RESOURCE.openai.azure.com, or give "
                "base_url in your own panels file (docs/panels.md)"
            )
        peer, _ = super()._meet(base_url, key)
        return peer, "azure" if key is None and not is_loopback(base_url) else ""

    def _headers(self) -> dict[str, str]:
        key = self._peer.key
        return {} if key is None else {"api-key": key.reveal()}
