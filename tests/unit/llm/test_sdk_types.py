"""What is sent to each provider, and what the fake server answers, checked against the types of the official SDKs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from fake_server import FakeServer
from maci.llm.keys import Key
from maci.llm.model import Message, Request
from maci.llm.providers import Anthropic, Gemini, OpenAI, Responses
from maci.llm.providers._api import Api
from provider_helpers import ASK, provider

openai_types = pytest.importorskip("openai.types", reason="the official SDKs are test tools: requirements/dev.txt")
anthropic_types = pytest.importorskip(
    "anthropic.types", reason="the official SDKs are test tools: requirements/dev.txt"
)
genai = pytest.importorskip("google.genai.types", reason="the official SDKs are test tools: requirements/dev.txt")

LEVELS = (None, "none", "low", "medium", "high")
REPAIR = (Message("assistant", "{}"), Message("user", "Again."))


def requests() -> list[Request]:
    """With and without everything a request can have."""
    long = replace(ASK, max_tokens=8500, thinking=8000)
    kinds = (
        long,
        replace(long, messages=(*ASK.messages, *REPAIR)),
        replace(long, schema=None, top_logprobs=5, seed=None),
    )
    return [replace(kind, reasoning=level) for kind in kinds for level in LEVELS]


@pytest.fixture(scope="module", autouse=True)
def _nothing_but_what_the_types_name() -> None:
    """A TypedDict takes any further key unless it is told not to."""
    from anthropic.types import message_create_params
    from openai.types import chat, responses, shared_params
    from openai.types.chat import completion_create_params
    from openai.types.responses import response_create_params
    from openai.types.shared_params import response_format_json_schema

    modules: tuple[ModuleType, ...] = (anthropic_types, message_create_params, chat, shared_params)
    modules += (responses, response_create_params)
    for module in (*modules, completion_create_params, response_format_json_schema):
        for kind in vars(module).values():
            if is_typeddict(kind):
                kind.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}


def check(kind: Any, body: Mapping[str, Any]) -> None:
    """Validate, also what pydantic would only look at on the way through."""
    exhaust(_adapter(kind).validate_python(dict(body)))


@cache  # what pydantic looks at later needs it alive
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def exhaust(value: Any) -> None:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for each in value:
            exhaust(each)


def check_openai(body: dict[str, Any]) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    check(CompletionCreateParamsNonStreaming, body)


def check_responses(body: dict[str, Any]) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    check(ResponseCreateParamsNonStreaming, body)


def check_anthropic(body: dict[str, Any]) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    if body["model"] in (
        "claude-haiku-4-5",
        "claude-sonnet-4-6",
    ):  # the API still takes it of these; newer SDKs do not name it
        body = {key: value for key, value in body.items() if key != "temperature"}
    check(MessageCreateParamsNonStreaming, body)


def check_gemini(body: dict[str, Any]) -> None:
    assert body.keys() <= {"contents", "systemInstruction", "generationConfig"}
    for content in body["contents"]:
        genai.Content.model_validate(content)
    genai.Content.model_validate(body.get("systemInstruction", {}))
    genai.GenerationConfig.model_validate(body["generationConfig"])


MODELS = [
    *((OpenAI, model, check_openai) for model in ("gpt-4o-mini", "gpt-5", "gpt-6", "o3")),
    *((Responses, model, check_responses) for model in ("gpt-4.1", "gpt-5-pro", "gpt-6-pro", "o3-pro")),
    *(
        (Anthropic, m, check_anthropic)
        for m in ("claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-7", "claude-sonnet-5")
    ),
    *((Gemini, m, check_gemini) for m in ("gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro", "gemini-3-flash")),
]


@pytest.mark.parametrize(("api", "model", "valid"), MODELS, ids=[model for _, model, _ in MODELS])
def test_every_body_validates_against_the_types_of_the_official_sdk(api: type[Api], model: str, valid: Any) -> None:
    for way in range(len(api._WAYS)):
        asked = api(model=model, key=Key("k"))
        asked._way = way
        for request in requests():
            valid(asked._body(request))


def test_the_check_notices_a_field_that_does_not_exist_and_a_value_that_is_none() -> None:
    good = OpenAI(model="gpt-6", key=Key("k"))._body(ASK)
    for wrong in (
        {"reasoning_efort": "low"},
        {"reasoning_effort": "lots"},
        {"messages": [{"role": "robot", "content": "x"}]},
    ):
        with pytest.raises(ValidationError):
            check_openai({**good, **wrong})
    newer = Responses(model="gpt-6-pro", key=Key("k"))._body(replace(ASK, reasoning="low"))
    form = newer["text"]["format"]
    for wrong in (
        {"max_completion_tokens": 5},
        {"reasoning": {"effort": "lots"}},
        {"text": {"format": {**form, "json_schema": {}}}},
        {"input": [{"role": "robot", "content": "x"}]},
    ):
        with pytest.raises(ValidationError):
            check_responses({**newer, **wrong})
    claude = Anthropic(model="claude-sonnet-5", key=Key("k"))._body(ASK)
    with pytest.raises(ValidationError):
        check_anthropic({**claude, "thinking": {"type": "sometimes"}})
    gemini = Gemini(model="gemini-3-pro", key=Key("k"))._body(ASK)
    with pytest.raises(ValidationError):
        check_gemini({**gemini, "generationConfig": {"thinkingConfig": {"thinkingBudgets": 1}}})


@pytest.mark.parametrize("thinks", [0, 300])
@pytest.mark.parametrize("api", [OpenAI, Responses, Anthropic, Gemini])
def test_the_fake_server_answers_in_the_form_of_the_official_sdk(api: type[Api], thinks: int) -> None:
    from anthropic.types import Message as Claude
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    forms = {OpenAI: ChatCompletion, Responses: Response, Anthropic: Claude, Gemini: genai.GenerateContentResponse}
    seen: list[Any] = []

    async def run() -> None:
        async with FakeServer(thinks=thinks) as server:
            asked = provider(api, server.url)
            plain = asked._reply
            asked._reply = lambda request, body, **more: seen.append(body) or plain(request, body, **more)  # type: ignore[method-assign]
            await asked.send(ASK)
            await asked.aclose()

    asyncio.run(run())
    assert len(seen) == 1
    forms[api].model_validate_json(json.dumps(seen[0]))
