"""Each provider against a server that behaves like its API: what is sent, what is read back, what is given up."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from fake_server import FakeServer
from maci.errors import BadRequest, ConfigError, ContentRefused, ContextOverflow, Interrupted
from maci.llm.keys import Key
from maci.llm.model import Message, Reply, Request
from maci.llm.providers import Anthropic, Gemini, Http, OpenAI, Responses
from maci.llm.providers._api import Api, HttpAnswer
from maci.llm.tokens import PromptBound
from provider_helpers import APIS, ASK, JUDGE, SECRET, provider, send, with_server

# ---- what is sent ------------------------------------------------------------------------------------------------------------


def test_openai_request_has_the_documented_shape():
    _, server, _ = send(OpenAI, replace(ASK, top_logprobs=3))
    path, headers, body = server.seen[-1]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {SECRET}" and headers["Content-Type"] == "application/json"
    form = body.pop("response_format")
    assert body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "The case.\n\nNow score it."},
        ],
        "max_tokens": 500,
        "temperature": 0.3,
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 3,
    }
    assert (
        form["type"] == "json_schema"
        and form["json_schema"]["name"] == "score"
        and form["json_schema"]["strict"] is True
    )
    schema = form["json_schema"]["schema"]
    assert schema["required"] == ["evidence", "links", "justification"] and schema["additionalProperties"] is False
    assert schema["properties"]["justification"]["maxLength"] == 200  # a server of one's own may hold the model to it
    assert "additionalProperties" not in JUDGE  # the caller's schema is as it was


def test_api_openai_com_gets_the_new_name_for_the_limit_and_no_lengths():
    body = OpenAI(model="gpt-x", key=Key("k"))._body(ASK)
    assert body["max_completion_tokens"] == 500 and "max_tokens" not in body
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["justification"] == {"type": "string", "description": "maxLength: 200"}
    assert schema["properties"]["evidence"]["maximum"] == 100


def test_a_request_to_the_responses_api_has_the_documented_shape_and_is_not_stored():
    _, server, _ = send(Responses, replace(ASK, top_logprobs=3, reasoning="low"))
    path, headers, body = server.seen[-1]
    assert path == "/v1/responses" and headers["Authorization"] == f"Bearer {SECRET}"
    form = body.pop("text")["format"]
    assert body == {
        "model": "m-1",
        "input": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "The case.\n\nNow score it."},
        ],
        "max_output_tokens": 500,
        "store": False,
        "temperature": 0.3,
        "reasoning": {"effort": "low"},
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 3,
    }
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "score", True)
    assert form["schema"]["required"] == ["evidence", "links", "justification"]


def test_options_of_the_responses_api_go_beside_what_the_request_says():
    options = {"text": {"verbosity": "low"}, "reasoning": {"summary": "auto"}}
    body = provider(Responses, "http://127.0.0.1:1", options=options)._body(replace(ASK, reasoning="high"))
    assert body["text"]["verbosity"] == "low" and body["text"]["format"]["name"] == "score"
    assert body["reasoning"] == {"summary": "auto", "effort": "high"}
    with pytest.raises(ConfigError, match="previous_response_id, store cannot be set here"):
        provider(Responses, "http://127.0.0.1:1", options={"store": True, "previous_response_id": "r"})


def test_anthropic_request_has_the_documented_shape():
    _, server, _ = send(Anthropic)
    path, headers, body = server.seen[-1]
    assert path == "/v1/messages"
    assert (
        headers["x-api-key"] == SECRET
        and headers["anthropic-version"] == "2023-06-01"
        and "Authorization" not in headers
    )
    schema = body.pop("output_config")["format"]["schema"]
    assert body == {
        "model": "m-1",
        "max_tokens": 500,
        "system": "You judge.",
        "temperature": 0.3,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "The case."}],
            },
            {"role": "user", "content": [{"type": "text", "text": "Now score it."}]},
        ],
    }
    assert schema["properties"]["evidence"] == {"type": "integer", "description": "minimum: 0, maximum: 100"}
    assert "minItems" not in schema["properties"]["links"] and schema["additionalProperties"] is False


def test_gemini_request_has_the_documented_shape():
    _, server, _ = send(
        Gemini, replace(ASK, messages=(*ASK.messages, Message("assistant", "{}"), Message("user", "Again.")))
    )
    path, headers, body = server.seen[-1]
    assert path == "/v1beta/models/m-1:generateContent"
    assert headers["x-goog-api-key"] == SECRET
    schema = body["generationConfig"].pop("responseJsonSchema")
    assert body == {
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "The case."}]},
            {"role": "user", "parts": [{"text": "Now score it."}]},
            {"role": "model", "parts": [{"text": "{}"}]},
            {"role": "user", "parts": [{"text": "Again."}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 500,
            "temperature": 0.3,
            "seed": 7,
            "responseMimeType": "application/json",
        },
    }
    assert schema["properties"]["links"]["maxItems"] == 2 and "maxLength" not in schema["properties"]["justification"]


@pytest.mark.parametrize("api", APIS)
def test_without_a_schema_nothing_is_said_of_one(api: type[Api]):
    reply, server, _ = send(api, Request(messages=(Message("user", "Say something."),), max_tokens=50))
    assert reply.text and not reply.text.startswith("{")
    sent = json.dumps(server.seen[-1][2])
    assert not any(word in sent for word in ("schema", "temperature", "seed", "logprobs", "system", "tools"))


@pytest.mark.parametrize("api", APIS)
def test_options_are_sent_and_are_part_of_the_identity(api: type[Api]):
    plain, warm = (provider(api, "http://127.0.0.1:1", options=options) for options in ({}, {"top_p": 0.5}))
    assert '"top_p": 0.5' in json.dumps(warm._body(ASK))
    assert (
        plain.identity != warm.identity
        and plain.identity == provider(api, "http://127.0.0.1:1", key="another").identity
    )


def test_an_option_cannot_replace_what_the_request_says():
    with pytest.raises(ConfigError, match="messages cannot be set here"):
        provider(OpenAI, "http://127.0.0.1:1", options={"messages": []})


# ---- what is read back -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_a_reply_follows_the_schema_and_its_usage_is_the_servers_count(api: type[Api]):
    reply, server, asked = send(api)
    value = json.loads(reply.text)
    assert 0 <= value["evidence"] <= 100 and all(isinstance(link, int) for link in value["links"])
    count = server.counts[SECRET]
    assert (reply.usage.prompt, reply.usage.generated) == (count.prompt, count.generated) != (0, 0)
    assert reply.usage.cached == 0 and reply.model == "m-1" and not reply.truncated and reply.logprobs is None
    assert asked.structured


def marks(*messages: Message, model: str = "claude-sonnet-4-5") -> list[list[bool]]:
    """Of every block of every message that is sent: whether it is a cache breakpoint."""
    asked = provider(Anthropic, "http://127.0.0.1:9", model=model)
    body = asked._body(Request(messages=messages, max_tokens=9))
    return [["cache_control" in block for block in message["content"]] for message in body["messages"]]


def test_anthropic_is_told_to_cache_what_is_long_and_only_added_to():
    long, task = "# Case\n" + "It is so. " * 500, Message("user", "Now argue.")
    known = Message("user", f"{long}\n\n# Record of round 1\nOne said so.")
    assert marks(known, task) == [[False, True], [False]]
    assert marks(Message("user", long), task) == [[True], [False]]
    assert marks(Message("user", "# Case\nIt is so."), task) == [[False], [False]], "too short to be cached"
    assert marks(known, task, model="claude-opus-4-5") == [[False], [False]], "too short for this model"
    assert marks(known) == [[False]], "nothing of it is known to come again"
    assert marks(known, Message("assistant", "{}"), task) == [[False], [False], [False]]


def test_what_anthropic_cached_in_one_round_is_found_in_the_next():
    """The record grows at its end; what was there before must be whole blocks, or nothing of it is found."""
    rounds = ["# Case\n" + "It is so. " * 500]
    rounds += [f"\n\n# Record of round {n}\n" + f"Round {n}, one said. " * 100 for n in range(1, 4)]

    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(Anthropic, server.url, http, model="claude-sonnet-4-5")
        for n in range(1, 5):
            known = "".join(rounds[:n])
            task = Message("user", f"This is round {n}.")
            reply = await asked.send(Request(messages=(Message("user", known), task), max_tokens=50))
            before = len("".join(rounds[: n - 1])) // 4 if n > 1 else 0
            assert reply.usage.cached == before

    with_server(test)


@pytest.mark.parametrize("api", APIS)
def test_what_the_server_had_in_its_cache_is_told(api: type[Api]):
    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(api, server.url, http)
        request = Request(
            messages=(Message("user", "The same beginning. " * 250), Message("user", "Go on.")), max_tokens=50
        )
        first, second = await asked.send(request), await asked.send(request)
        assert first.usage.cached == 0 and 1024 <= second.usage.cached <= second.usage.prompt
        assert first.usage.prompt == second.usage.prompt > 1250

    with_server(test)


@pytest.mark.parametrize("api", APIS)
def test_a_reply_cut_off_by_the_limit_says_so(api: type[Api]):
    reply, _, _ = send(api, replace(ASK, max_tokens=5))
    assert reply.truncated and reply.usage.generated == 5 and len(reply.text) <= 20


@pytest.mark.parametrize("api", [OpenAI, Responses, Gemini])
def test_log_probabilities_come_with_their_alternatives(api: type[Api]):
    reply, _, _ = send(api, replace(ASK, top_logprobs=3))
    assert reply.logprobs is not None and "".join(token.text for token in reply.logprobs) == reply.text
    first = reply.logprobs[0]
    assert first.logprob == -0.25 and len(first.top) == 3 and first.top[0] == (first.text, -0.25)


def answers(api: type[Api], answer: Any, request: Request = ASK) -> Reply:
    return provider(api, "http://127.0.0.1:1")._reply(request, answer)


def completion(message: dict[str, Any], reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": reason}], **more}


def response(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"status": status, "error": None, "output": list(output), **more}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "content": list(content)}


def test_a_response_is_what_was_thought_what_was_said_and_what_was_counted():
    usage = {
        "input_tokens": 90,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 70,
        "output_tokens_details": {"reasoning_tokens": 60},
        "total_tokens": 160,
    }
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": None}
    said = message({"type": "output_text", "text": "{"}, {"type": "output_text", "text": "}"})
    reply = answers(Responses, response(thought, {"type": "web_search_call"}, said, usage=usage, model="m-1-2026"))
    assert (reply.text, reply.thinking, reply.model, reply.truncated) == ("{}", "Hm.", "m-1-2026", False)
    counted = (reply.usage.prompt, reply.usage.cached, reply.usage.generated, reply.usage.thought)
    assert counted == (90, 40, 70, 60)


def test_a_response_that_ran_into_its_limit_while_it_thought_is_cut_off_and_counted():
    cut = {"reason": "max_output_tokens"}
    reply = answers(
        Responses, response({"type": "reasoning", "summary": []}, status="incomplete", incomplete_details=cut)
    )
    assert (reply.text, reply.truncated, reply.usage.generated) == ("", True, ASK.max_tokens)


@pytest.mark.parametrize("status", ["failed", "cancelled", "queued", "in_progress"])
def test_a_response_without_an_end_is_no_answer(status: str):
    with pytest.raises(Interrupted, match=f"status is {status}"):
        answers(Responses, response(message({"type": "output_text", "text": "{}"}), status=status))
    with pytest.raises(Interrupted, match="worker died"):
        answers(Responses, {"status": status, "error": {"code": "server_error", "message": "worker died"}})


def test_openai_content_in_parts_is_joined():
    parts = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert answers(OpenAI, completion({"content": parts})).text == "ab"


@pytest.mark.parametrize("api", APIS)
def test_half_a_character_is_sent_and_read_without_harm(api: type[Api]):
    request = replace(ASK, messages=(Message("user", "half \ud83d of one"),), schema=None)
    reply, _, _ = send(api, request, answer=lambda body: "caf\u00e9")
    assert reply.text == "café"
    assert answers(OpenAI, completion({"content": "half \ud83d é"})).text == "half ? é"


def test_of_usage_a_server_does_not_report_the_prompt_is_left_to_the_client():
    huge = {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 10**31}
    for usage in ({}, {"usage": None}, {"usage": {"prompt_tokens": -3, "completion_tokens": "9"}}, {"usage": huge}):
        reply = answers(OpenAI, completion({"content": "x"}, **usage))
        assert (reply.usage.prompt, reply.usage.generated) == (0, ASK.max_tokens)


@pytest.mark.parametrize("api", [OpenAI, Gemini])
def test_what_a_model_thought_is_counted_where_only_the_total_has_it(api: type[Api]):
    if api is OpenAI:  # as xAI reports it
        usage = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 241}
        answer = completion({"content": "x"}, usage=usage)
    else:
        usage = {
            "promptTokenCount": 30,
            "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 9,
            "totalTokenCount": 241,
        }
        answer = {"candidates": [{"content": {"parts": [{"text": "x"}]}}], "usageMetadata": usage}
    assert (answers(api, answer).usage.prompt, answers(api, answer).usage.generated) == (32, 209)


@pytest.mark.parametrize("total", [None, 0, 41, 30, "241", True])
def test_a_total_that_adds_nothing_changes_nothing(total: Any):
    usage = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": total}
    assert answers(OpenAI, completion({"content": "x"}, usage=usage)).usage.generated == 9


def test_cached_tokens_are_found_under_either_name():
    for usage in ({"prompt_tokens_details": {"cached_tokens": 4}}, {"prompt_cache_hit_tokens": 4}):
        reply = answers(
            OpenAI, completion({"content": "x"}, usage={"prompt_tokens": 10, "completion_tokens": 1, **usage})
        )
        assert reply.usage.cached == 4


def test_anthropic_prompt_tokens_are_new_written_and_read_ones_together():
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 5,
    }
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}]
    reply = answers(Anthropic, {"content": blocks, "stop_reason": "end_turn", "usage": usage})
    assert (reply.text, reply.usage.prompt, reply.usage.cached, reply.usage.generated) == ("{}", 3210, 3000, 5)


def test_gemini_thoughts_are_not_text_but_are_generated_tokens():
    parts = [{"text": "hm", "thought": True}, {"text": "{}"}]
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 30, "cachedContentTokenCount": 4}
    reply = answers(
        Gemini, {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage}
    )
    assert (reply.text, reply.usage.prompt, reply.usage.cached, reply.usage.generated) == ("{}", 10, 4, 32)
    empty = {"promptTokenCount": 10, "totalTokenCount": 510}
    reply = answers(Gemini, {"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": empty})
    assert (reply.text, reply.truncated, reply.usage.generated) == ("", True, 500)


@pytest.mark.parametrize(
    ("api", "answer"),
    [
        (OpenAI, completion({"content": None, "refusal": "I cannot."})),
        (OpenAI, completion({"content": ""}, "content_filter")),
        (Responses, response(message({"type": "refusal", "refusal": "I cannot."}))),
        (Responses, response(status="incomplete", incomplete_details={"reason": "content_filter"})),
        (Anthropic, {"content": [], "stop_reason": "refusal"}),
        (Gemini, {"promptFeedback": {"blockReason": "SAFETY"}}),
        *(
            (Gemini, {"candidates": [{"finishReason": reason}]})
            for reason in ("SAFETY", "RECITATION", "SPII", "BLOCKLIST")
        ),
    ],
)
def test_a_refusal_is_an_error_not_an_answer(api: type[Api], answer: Any):
    with pytest.raises(ContentRefused, match="reword the case"):
        answers(api, answer)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        3,
        "text",
        {},
        {"choices": []},
        {"choices": [{}]},
        {"content": [1]},
        {"candidates": [[]]},
        {"output": [1]},
    ],
)
def test_an_answer_without_the_apis_form_is_an_interruption(api: type[Api], answer: Any):
    with pytest.raises(Interrupted, match="the API's form"):
        answers(api, answer)


def test_an_error_in_a_200_is_an_error():
    with pytest.raises(Interrupted, match="upstream failed"):
        answers(OpenAI, {"error": {"code": 502, "message": "upstream failed"}})
    with pytest.raises(ContextOverflow):
        answers(OpenAI, {"error": "Context size has been exceeded."})
    with pytest.raises(Interrupted, match="worker died"):
        answers(
            OpenAI,
            {"choices": [{"message": {"content": "x"}, "finish_reason": "error", "error": {"message": "worker died"}}]},
        )
    with pytest.raises(Interrupted, match="OTHER"):
        answers(Gemini, {"candidates": [{"finishReason": "OTHER"}]})


# ---- parameters a server does not know ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "refuses", "structured"),
    [
        (OpenAI, {"temperature"}, True),
        (OpenAI, {"seed"}, True),
        (OpenAI, {"logprobs"}, True),
        (OpenAI, {"max_tokens"}, True),
        (OpenAI, {"response_format"}, False),
        (OpenAI, {"temperature", "seed", "logprobs", "max_tokens", "response_format"}, False),
        (Anthropic, {"temperature"}, True),
        (Anthropic, {"output_config"}, True),
        (Anthropic, {"output_config", "tools", "temperature"}, False),
        (Gemini, {"seed"}, True),
        (Gemini, {"responseJsonSchema"}, True),
        (Gemini, {"responseJsonSchema", "responseSchema"}, False),
        (Gemini, {"responseLogprobs", "responseJsonSchema", "responseSchema", "responseMimeType"}, False),
    ],
)
def test_what_a_server_does_not_know_is_left_out_and_remembered(api: type[Api], refuses: set[str], structured: bool):
    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(api, server.url, http)
        reply = await asked.send(replace(ASK, top_logprobs=2))
        assert reply.text and asked.structured is structured
        before = server.counts[SECRET].requests
        assert 2 <= before <= 1 + 4 + len(refuses) and server.counts[SECRET].served == 1
        await asked.send(replace(ASK, top_logprobs=2))
        assert server.counts[SECRET].requests == before + 1
        limit = "max_completion_tokens" if "max_tokens" in refuses else "max_tokens"
        assert api is not OpenAI or server.seen[-1][2][limit] == ASK.max_tokens

    with_server(test, refuses=refuses)


@pytest.mark.parametrize(
    ("api", "refuses"),
    [
        (OpenAI, {"response_format"}),
        (Anthropic, {"output_config", "tools"}),
        (Gemini, {"responseJsonSchema", "responseSchema"}),
    ],
)
def test_a_server_that_holds_nobody_to_a_schema_is_told_it_in_words(api: type[Api], refuses: set[str]) -> None:
    _, bare, _ = send(api)
    assert "JSON Schema" not in json.dumps(bare.seen[-1][2].get("messages") or bare.seen[-1][2]["contents"])
    _, server, _ = send(api, refuses=refuses)
    body = server.seen[-1][2]
    said = json.dumps(body.get("messages") or body["contents"])
    assert said.count("follows this JSON Schema") == 1 and said.index("Now score it.") < said.index("JSON Schema")
    assert said.index("evidence") < said.index("links") < said.index("justification")  # as they are to be written
    sent = server.counts[SECRET].prompt
    assert sent <= PromptBound().at_most(ASK.messages, ASK.schema)


def test_anthropic_without_output_config_is_made_to_call_a_tool():
    reply, server, _ = send(Anthropic, refuses={"output_config"})
    body = server.seen[-1][2]
    assert body["tool_choice"]["name"] == "score" == body["tools"][0]["name"] and "output_config" not in body
    assert 0 <= json.loads(reply.text)["evidence"] <= 100


def test_a_server_without_json_schema_is_asked_for_an_object_first():
    async def test(server: FakeServer, http: Http) -> list[Any]:
        asked = provider(OpenAI, server.url, http)
        sent: list[Any] = []
        original = http.post

        async def post(url: str, headers: Any, body: Any, *more: Any) -> Any:
            sent.append(body.get("response_format"))
            if (body.get("response_format") or {}).get("type") == "json_schema":
                return HttpAnswer(400, {}, {"error": {"message": "This response_format type is unavailable now"}})
            return await original(url, headers, body, *more)

        http.post = post  # type: ignore[method-assign]
        await asked.send(ASK)
        assert not asked.structured
        return sent

    sent = with_server(test)
    assert [each["type"] for each in sent] == ["json_schema", "json_schema", "json_object"]
    assert [each.get("json_schema", {}).get("strict") for each in sent] == [True, None, None]


def test_many_at_once_give_up_the_same_parameter_together():
    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(OpenAI, server.url, http)
        replies = await asyncio.gather(*(asked.send(replace(ASK, sample=i)) for i in range(20)))
        assert len(replies) == 20 and server.counts[SECRET].served == 20
        assert server.counts[SECRET].requests <= 20 * 3

    with_server(test, refuses={"temperature", "seed"})


def test_a_bad_request_that_names_nothing_we_can_leave_out_is_raised_with_the_servers_words():
    async def test(server: FakeServer, http: Http) -> None:
        with pytest.raises(
            BadRequest, match=r"refuses the form of the request \(400: temperature must be between 0 and 2\)"
        ):
            await provider(OpenAI, server.url, http).send(replace(ASK, temperature=3.0))
        assert server.counts[SECRET].requests == 1

    with_server(test)


def test_both_names_of_the_limit_refused_ends_in_an_error():
    with pytest.raises(BadRequest, match="max_completion_tokens"):
        send(OpenAI, refuses={"max_tokens", "max_completion_tokens"})


def test_two_messages_of_one_role_in_a_row_are_sent_as_one_where_templates_take_turns_only() -> None:
    from maci.llm.model import Message, Request
    from maci.llm.providers.openai import _messages

    said = (Message("system", "s"), Message("user", "a"), Message("user", "b"), Message("assistant", "c"))
    assert _messages(Request(messages=said, max_tokens=1)) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c"},
    ]


def test_a_key_that_a_server_echoes_in_its_reply_goes_no_further():
    text = f"The answer is dengue. You sent {SECRET}, or {SECRET[::-1]}, or {SECRET.upper()}."
    reply = answers(OpenAI, completion({"content": text}))
    assert reply.text == "The answer is dengue. You sent ***, or ***, or ***."
