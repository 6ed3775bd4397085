"""Models that think before they answer: what is asked of each service, the room they get, and replies that are cut off."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from maci.errors import BadReply, ConfigError
from maci.llm.budget import Ledger
from maci.llm.cache import ResponseCache
from maci.llm.client import Client
from maci.llm.fake import FakeModel, FakeProvider
from maci.llm.keys import Key
from maci.llm.model import Message, Reply, Request, Schema, Token
from maci.llm.providers import Anthropic, Gemini, OpenAI, Responses
from maci.llm.reasoning import Reasoning, split_level, traits
from maci.llm.structured import ask
from maci.llm.usage import Usage
from provider_helpers import APIS, ASK, provider, send

LEVELS: tuple[Reasoning, ...] = ("none", "low", "medium", "high")
ROOMY = replace(ASK, max_tokens=8500, thinking=8000)


def body(model: str, level: Reasoning, service: str = "openai", base_url: str | None = None) -> dict[str, Any]:
    apis = {"anthropic": Anthropic, "gemini": Gemini}
    made = apis.get(service, OpenAI)(model=model, provider=service, base_url=base_url, key=Key("k"))
    return made._body(replace(ROOMY, reasoning=level))


# ---- the level, in each service's own words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "model", "sent"),
    [
        ("openai", "gpt-6", [{"reasoning_effort": level} for level in LEVELS]),
        ("openai", "gpt-5", [{"reasoning_effort": level} for level in ("minimal", "low", "medium", "high")]),
        ("openai", "o3", [{"reasoning_effort": level} for level in ("low", "low", "medium", "high")]),
        ("openai", "gpt-4o-mini", [{}] * 4),  # it would refuse the parameter
        ("ollama", "qwen3:8b", [{"reasoning_effort": level} for level in LEVELS]),
        ("openrouter", "x/y", [{"reasoning": {"effort": level}} for level in LEVELS]),
        (
            "vllm",
            "Qwen3-8B",
            [
                {"chat_template_kwargs": {"enable_thinking": False}},
                *({"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": x}} for x in LEVELS[1:]),
            ],
        ),
        ("deepseek", "deepseek-v4", [{"thinking": {"type": "disabled"}}] + [{"thinking": {"type": "enabled"}}] * 3),
        ("anthropic", "claude-haiku-4-5", [{}] + [{"thinking": {"type": "enabled", "budget_tokens": 8000}}] * 3),
        (
            "anthropic",
            "claude-sonnet-5",
            [
                {"thinking": {"type": "disabled"}, "effort": None},
                *({"thinking": {"type": "adaptive"}, "effort": level} for level in LEVELS[1:]),
            ],
        ),
        ("gemini", "gemini-2.5-flash", [{"thinkingBudget": 0}] + [{"thinkingBudget": 8000}] * 3),
        ("gemini", "gemini-2.5-pro", [{"thinkingBudget": 128}] + [{"thinkingBudget": 8000}] * 3),
        ("gemini", "gemini-3-pro", [{"thinkingLevel": level} for level in ("LOW", "LOW", "MEDIUM", "HIGH")]),
        ("gemini", "gemini-3-flash", [{"thinkingLevel": level} for level in ("MINIMAL", "LOW", "MEDIUM", "HIGH")]),
    ],
)
def test_the_level_reaches_each_service_in_its_own_field(service: str, model: str, sent: list[dict[str, Any]]) -> None:
    fields = ("reasoning_effort", "reasoning", "thinking", "chat_template_kwargs")
    for level, expected in zip(LEVELS, sent, strict=True):
        written = body(model, level, service)
        found = {name: written[name] for name in fields if name in written}
        if service == "gemini":
            found = written["generationConfig"]["thinkingConfig"]
        if "effort" in expected:
            found["effort"] = written["output_config"].get("effort")
        assert found == expected, level
        assert "format" in written.get("output_config", {"format": 1})  # the schema stays beside the effort


@pytest.mark.parametrize(
    ("service", "model", "levels"),
    [
        ("openai", "gpt-6-pro", LEVELS),
        ("openai", "o3-pro", ("low", "low", "medium", "high")),
        ("openai", "gpt-4o-mini", (None,) * 4),
        ("vllm", "Qwen3-8B", LEVELS),
        ("openrouter", "x/y", LEVELS),
    ],
)
def test_the_responses_api_takes_the_level_in_one_field(service: str, model: str, levels: tuple[Any, ...]) -> None:
    asked = Responses(model=model, provider=service, key=Key("k"))
    sent = [asked._body(replace(ROOMY, reasoning=level)).get("reasoning") for level in LEVELS]
    assert sent == [None if level is None else {"effort": level} for level in levels]


def test_a_claude_of_unknown_age_is_told_not_to_think_in_words() -> None:
    assert body("claude-opus-latest", "none", "anthropic")["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize(
    ("model", "room"),
    [
        ("openai/o3", 2000),
        ("openai/gpt-5", 2000),
        ("gemini/gemini-3-pro", 2000),
        ("vllm/DeepSeek-R1-Distill-Qwen-7B", 2000),
        ("ollama/gpt-oss:20b", 2000),
        ("xai/grok-4", 2000),
        ("vllm/Qwen3-30B-A3B-Thinking-2507", 2000),
        ("xai/grok-4-fast-non-reasoning", 0),
        ("ollama/qwen3:8b", 0),
        ("openai/gpt-6", 0),
        ("x/y", 0),
    ],
)
def test_a_model_that_cannot_be_told_not_to_think_has_room_for_it_all_the_same(model: str, room: int) -> None:
    told = FakeModel(model, "fake", reasoning="none").fitted(ASK)
    assert (told.thinking, told.max_tokens) == (room, ASK.max_tokens + room)


def test_without_a_level_nothing_is_said_of_thinking() -> None:
    for api in APIS:
        said = json.dumps(provider(api, "http://127.0.0.1:1", model="gpt-6")._body(ASK))
        assert "think" not in said and "reasoning" not in said and "effort" not in said


def test_a_claude_that_thinks_is_given_no_temperature_and_no_forced_tool() -> None:
    thinking = Anthropic(model="claude-haiku-4-5", key=Key("k"))
    low = replace(ROOMY, reasoning="low")
    assert "temperature" in thinking._body(ROOMY) and "temperature" not in thinking._body(low)
    assert thinking._left_out(low) == ("temperature", "seed")
    thinking._way = 1
    written = thinking._body(low)
    assert "tool_choice" in written and "thinking" not in written and "temperature" in written
    assert thinking._left_out(low) == ("seed", "reasoning")


def test_a_claude_that_refuses_one_manner_of_thinking_is_asked_in_the_other() -> None:
    asked = Anthropic(model="claude-opus-latest", key=Key("k"))
    low = replace(ROOMY, reasoning="low")
    assert asked._body(low)["thinking"]["type"] == "enabled"
    about = '"thinking.type.enabled" is not supported for this model. use "thinking.type.adaptive"'
    assert asked._give_up(low, about, 0, asked._without)
    assert asked._body(low)["thinking"] == {"type": "adaptive"}


# ---- parameters left out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "model", "left_out"),
    [
        (OpenAI, "gpt-6", ("temperature", "logprobs")),
        (OpenAI, "gpt-4o-mini", ()),
        (Responses, "gpt-6-pro", ("temperature", "seed", "logprobs")),
        (Responses, "gpt-4o-mini", ("seed",)),
        (Anthropic, "claude-opus-4-7", ("temperature", "seed", "logprobs")),
        (Anthropic, "claude-3-7-sonnet-20250219", ("seed", "logprobs")),
        (Gemini, "gemini-3-pro", ()),
    ],
)
def test_what_a_model_is_known_not_to_take_is_left_out_up_front_and_told(api, model, left_out) -> None:
    async def once() -> tuple[Reply, int]:
        from fake_server import FakeServer

        async with FakeServer() as server:
            asked = provider(api, server.url, model=model)
            reply = await asked.send(replace(ASK, top_logprobs=2))
            await asked.aclose()
            return reply, sum(count.requests for count in server.counts.values())

    reply, requests = asyncio.run(once())
    assert (reply.without, requests) == (left_out, 1)


@pytest.mark.parametrize("api", APIS)
def test_what_a_server_refuses_is_told_in_the_reply(api) -> None:
    reply, _, _ = send(api, refuses=["temperature"])
    assert "temperature" in reply.without


# ---- room, and replies that are cut off ----------------------------------------------------------------------------------------

FORM = Schema("answer", {"type": "object", "properties": {"a": {"type": "integer"}}})
QUESTION = Request(messages=(Message("user", "How many?"),), max_tokens=100, schema=FORM)


def thinker(tokens: int, text: str = '{"a": 1}'):
    """Thinks for so many tokens; what is left of the limit is for the answer."""

    def answer(request: Request) -> Reply:
        room = request.max_tokens - tokens
        whole = room >= 10
        usage = Usage(
            prompt=10, generated=min(request.max_tokens, tokens + 10), thought=min(tokens, request.max_tokens)
        )
        return Reply(text=text if whole else "", usage=usage, truncated=not whole)

    return answer


def test_a_model_known_to_think_has_room_from_the_start_and_the_room_is_set_aside() -> None:
    model, plain = (FakeModel(name, replies=thinker(1500)) for name in ("openai/gpt-6", "openai/gpt-4o"))
    assert model.prepare(QUESTION).bound.tokens - plain.prepare(QUESTION).bound.tokens == 6000
    assert asyncio.run(model.prepare(QUESTION).within()).text == '{"a": 1}'
    assert [request.max_tokens for request in model.history] == [6100]
    assert [FakeModel("openai/gpt-6", reasoning=level).fitted(QUESTION).max_tokens for level in LEVELS] == [
        100,
        2100,
        6100,
        16_100,
    ]


def test_an_unknown_model_that_thinks_is_cut_off_once_and_has_room_from_then_on() -> None:
    model = FakeModel("x/unknown", replies=thinker(1500))
    ledger = Ledger(tokens=20_000)
    assert not model.thinks
    for _ in range(2):
        assert asyncio.run(model.prepare(QUESTION).within(ledger)).text == '{"a": 1}'
    assert [request.max_tokens for request in model.history] == [100, 6100, 6100]
    assert model.thinks and {request.messages for request in model.history} == {QUESTION.messages}
    assert ledger.spent.tokens == 3 * 10 + 100 + 2 * 1510 and ledger.reserved.tokens == 0


def test_the_room_for_thinking_follows_what_a_model_was_seen_to_think() -> None:
    thinks = iter([1500, 900, 1200, 1000, 3500, 1000])
    answers = {}

    def habit(request: Request) -> Reply:
        tokens = answers.setdefault(request.messages, None) or next(thinks)
        answers[request.messages] = tokens
        return thinker(tokens)(request)

    model, ledger = FakeModel("openai/gpt-6", replies=habit), Ledger(tokens=60_000)
    questions = [replace(QUESTION, messages=(Message("user", f"How many in {n}?"),)) for n in range(6)]
    for question in questions:
        call = model.prepare(question)
        assert asyncio.run(call.within(ledger)).text == '{"a": 1}' and ledger.reserved.tokens == 0
    limits = [request.max_tokens - 100 for request in model.history]
    # three replies at the room of its name; then twice the most seen; one that thinks longer is asked again with more, and counts
    assert limits == [6000, 6000, 6000, 3000, 3000, 12_000, 7000]


def test_thinking_that_nobody_counts_is_not_taken_for_less_than_it_may_be() -> None:
    reply = Reply(text="<think>" + "so " * 400 + '</think>{"a": 1}', usage=Usage(prompt=10, generated=1500))
    model = FakeModel("x/unknown", replies=lambda request: reply)
    for _ in range(4):
        asyncio.run(model.prepare(QUESTION).within())
    assert 2 * 1400 < model.fitted(QUESTION).thinking <= 3000


def test_a_level_keeps_its_room_whatever_a_model_was_seen_to_think() -> None:
    model = FakeModel("openai/gpt-6", replies=thinker(50), reasoning="high")
    for _ in range(4):
        asyncio.run(model.prepare(QUESTION).within())
    assert {request.max_tokens for request in model.history} == {16_100}


def test_a_model_that_never_ends_thinking_is_given_up_after_two_higher_limits() -> None:
    model = FakeModel("x/unknown", replies=thinker(10**6))
    with pytest.raises(BadReply, match=r"cut off after 24,100 tokens, 24,100 of them thinking.*lower `reasoning`"):
        asyncio.run(ask(model, QUESTION, lambda data: data).within())
    assert [request.max_tokens for request in model.history] == [100, 6100, 24_100]


def test_a_text_that_is_there_is_not_asked_for_again_because_it_ended_at_the_limit() -> None:
    bare = replace(QUESTION, schema=None)
    model = FakeModel(replies=[Reply(text="Dengue, because", truncated=True), Reply(text='{"a": 1}', truncated=True)])
    assert asyncio.run(model.prepare(bare).within()).text == "Dengue, because"
    assert asyncio.run(model.prepare(QUESTION).within()).text == '{"a": 1}'
    assert len(model.history) == 2


def test_a_reply_from_the_cache_that_was_cut_off_is_completed_and_nothing_is_bought_twice() -> None:
    cache = ResponseCache()

    def client() -> Client:
        return Client(FakeProvider("x/unknown", thinker(1500)), family="x", cache=cache)

    first, later, after = client(), client(), client()
    other = replace(QUESTION, messages=(Message("user", "How many more?"),))
    asyncio.run(first.prepare(QUESTION).within())
    asyncio.run(first.prepare(other).within())  # it has learnt to give room by now
    for model in (later, after):  # as after a kill: nothing is known of the model
        for question in (QUESTION, other):
            reply = asyncio.run(model.prepare(question).within())
            assert reply.text == '{"a": 1}' and reply.usage.free
        assert not model.provider.history


def test_what_stands_between_think_tags_is_no_part_of_the_answer_and_is_kept() -> None:
    said = '<think>It may be {"a": 2}.</think>\n{"a": 1}'
    model = FakeModel(replies=[said])
    answer = asyncio.run(ask(model, QUESTION, lambda data: data).within())
    assert answer.value == {"a": 1} and answer.text == '{"a": 1}' and answer.raw == said
    assert model.thinks


def test_log_probabilities_of_thinking_are_left_out() -> None:
    tokens = tuple(Token(text, -0.1) for text in ("<think>", "hm", "</think>", "Den", "gue"))
    reply = Reply(text="<think>hm</think>Dengue", logprobs=tokens)
    model = FakeModel(replies=[reply])
    told = asyncio.run(model.prepare(replace(QUESTION, schema=None, top_logprobs=2)).within())
    assert told.text == "Dengue" and [token.text for token in told.logprobs or ()] == ["Den", "gue"]


def test_a_server_that_takes_too_low_a_limit_for_an_error_is_asked_with_a_higher_one() -> None:
    from maci.llm.providers._errors import Complaint

    said = {"error": {"message": "Could not finish the message because max_tokens or model output limit was reached."}}
    assert Complaint.read(400, {}, said).cut_off and not Complaint.read(400, {}, {"error": "no"}).cut_off


def test_a_level_can_be_written_behind_a_models_name() -> None:
    assert split_level("vertex/claude@20250219") == ("vertex/claude@20250219", None)
    with pytest.raises(ConfigError, match="'lots' is none of them"):
        split_level("openai/gpt-6@reasoning=lots")


@pytest.mark.parametrize(
    ("name", "thinks"),
    [
        ("openai/o3-mini", True),
        ("openai/gpt-5.2", True),
        ("openai/gpt-5-chat-latest", False),
        ("anthropic/claude-opus-5-20260801", True),
        ("anthropic/claude-sonnet-4-6", False),
        ("gemini/gemini-2.5-flash", True),
        ("gemini/gemini-2.5-flash-lite", False),
        ("gemini/gemini-2.0-flash", False),
        ("ollama/qwen3:8b", True),
        ("vllm/Qwen3-8B-Instruct-2507", False),
        ("ollama/deepseek-r1:7b", True),
        ("local/qwen2.5-coder-1.5b", False),
        ("xai/grok-4", True),
        ("openrouter/openai/gpt-oss-20b", True),
    ],
)
def test_who_is_known_to_think(name: str, thinks: bool) -> None:
    assert traits(name).thinks is thinks
