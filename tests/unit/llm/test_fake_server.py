"""The fake server: it insists on each API's form, follows schemas, counts, and fails as it is told, the same way each time."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import aiohttp
import pytest

from fake_server import FakeServer, Faults
from fake_server.content import spoil, write
from maci.agents.debater import Form
from maci.errors import ConfigError
from maci.evidence.span import Span

OPENAI = {"Authorization": "Bearer k"}
ANTHROPIC = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
GEMINI = {"x-goog-api-key": "k"}
CHAT, MESSAGES, GENERATE = "/v1/chat/completions", "/v1/messages", "/v1beta/models/m:generateContent"
USER = [{"role": "user", "content": "Hello"}]
DEBATER = {
    "type": "object",
    "properties": {
        "arguments": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string", "maxLength": 30},
                    "outcome": {"enum": ["dengue", "zika", "malaria"]},
                    "against": {"type": "boolean"},
                    "reasons": {"type": "array", "items": {"type": "string"}},
                    "citations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "span": {"enum": ["e1", "e2"]},
                                "quote": {"type": "string", "minLength": 50},
                            },
                        },
                    },
                },
            },
        },
        "belief": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "outcome": {"enum": ["dengue", "zika", "malaria"]},
                    "percent": {"type": "integer", "minimum": 0, "maximum": 100},
                },
            },
        },
    },
}
STRICT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def serve(test: Callable[[FakeServer, aiohttp.ClientSession], Awaitable[Any]], **settings: Any) -> Any:
    async def run() -> Any:
        async with FakeServer(**settings) as server, aiohttp.ClientSession(server.url) as session:
            return await asyncio.wait_for(test(server, session), 20)

    return asyncio.run(run())


def post(path: str, body: Any, headers: dict[str, str], **settings: Any) -> tuple[int, Any]:
    async def test(server: FakeServer, session: aiohttp.ClientSession) -> tuple[int, Any]:
        async with session.post(path, json=body, headers=headers) as response:
            return response.status, await response.json()

    return serve(test, **settings)


def form(schema: Any, **more: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, **more}}}


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        (CHAT, OPENAI, {}),
        (CHAT, OPENAI, {"model": "m", "messages": []}),
        (CHAT, OPENAI, {"model": "m", "messages": [{"role": "bot", "content": "x"}]}),
        (CHAT, OPENAI, {"model": "m", "messages": [{"role": "user", "content": 3}]}),
        (CHAT, OPENAI, {"model": "m", "messages": USER, "max_tokens": 0}),
        (CHAT, OPENAI, {"model": "m", "messages": USER, "topP": 1}),
        (CHAT, OPENAI, {"model": "m", "messages": USER, **form(STRICT, name="no spaces")}),
        (CHAT, OPENAI, {"model": "m", "messages": USER, **form({**STRICT, "required": []}, strict=True)}),
        (CHAT, OPENAI, {"model": "m", "messages": USER, **form({**STRICT, "additionalProperties": True}, strict=True)}),
        (CHAT, OPENAI, [1]),
        (MESSAGES, ANTHROPIC, {"model": "m", "messages": USER}),
        (MESSAGES, {"x-api-key": "k"}, {"model": "m", "messages": USER, "max_tokens": 5}),
        (MESSAGES, ANTHROPIC, {"model": "m", "max_tokens": 5, "messages": [{"role": "system", "content": "x"}]}),
        (MESSAGES, ANTHROPIC, {"model": "m", "max_tokens": 5, "messages": [{"role": "assistant", "content": "x"}]}),
        (MESSAGES, ANTHROPIC, {"model": "m", "max_tokens": 5, "messages": USER, "temperature": 1.5}),
        (MESSAGES, ANTHROPIC, {"model": "m", "max_tokens": 5, "messages": USER, "response_format": {}}),
        (
            MESSAGES,
            ANTHROPIC,
            {
                "model": "m",
                "max_tokens": 5,
                "messages": USER,
                "output_config": {"format": {"type": "json_schema", "schema": {"type": "integer", "minimum": 0}}},
            },
        ),
        (GENERATE, GEMINI, {"messages": USER}),
        (GENERATE, GEMINI, {"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}),
        (GENERATE, GEMINI, {"contents": [{"role": "user", "parts": []}]}),
        (
            GENERATE,
            GEMINI,
            {"contents": [{"role": "user", "parts": [{"text": "x"}]}], "generationConfig": {"max_tokens": 1}},
        ),
    ],
)
def test_a_request_the_api_would_refuse_is_refused_in_its_shape(path: str, headers: dict[str, str], body: Any):
    status, answer = post(path, body, headers)
    assert status == 400 and answer["error"]["message"]
    assert {
        CHAT: "param" in answer["error"],
        MESSAGES: answer.get("type") == "error",
        GENERATE: "status" in answer["error"],
    }[path]


@pytest.mark.parametrize(
    ("path", "right", "status"), [(CHAT, OPENAI, 401), (MESSAGES, ANTHROPIC, 401), (GENERATE, GEMINI, 400)]
)
def test_a_key_in_another_form_than_the_apis_is_not_accepted(path: str, right: dict[str, str], status: int):
    others = {**OPENAI, **ANTHROPIC, **GEMINI, "Authorization": "k"}
    body: Any = {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}
    if path != GENERATE:
        body = {"model": "m", "messages": USER, "max_tokens": 5}
    assert post(path, body, right, keys={"k"})[0] == 200
    for name in set(right) - {"anthropic-version"}:
        wrong = {
            each: value for each, value in others.items() if each != name or (value == "k" and name == "Authorization")
        }
        assert post(path, body, wrong, keys={"k"})[0] == status


def test_counts_are_kept_by_key_and_can_be_reset():
    async def test(server: FakeServer, session: aiohttp.ClientSession) -> None:
        async def count() -> Any:
            async with session.get("/count") as response:
                return await response.json()

        body = {"model": "m", "messages": [{"role": "user", "content": "é" * 10}], "max_tokens": 3}
        for key in ("a", "a", "b"):
            async with session.post(CHAT, json=body, headers={"Authorization": f"Bearer {key}"}) as response:
                usage = (await response.json())["usage"]
                assert (usage["prompt_tokens"], usage["completion_tokens"]) == (5, 3)  # 20 bytes; cut off at the limit
        assert await count() == {
            "a": {"requests": 2, "served": 2, "prompt": 10, "cached": 0, "generated": 6},
            "b": {"requests": 1, "served": 1, "prompt": 5, "cached": 0, "generated": 3},
        }
        async with session.post("/reset") as response:
            assert response.status == 200
        assert await count() == {}

    serve(test)


def test_a_schema_counts_into_the_prompt():
    plain = post(CHAT, {"model": "m", "messages": USER}, OPENAI)[1]["usage"]["prompt_tokens"]
    with_schema = post(CHAT, {"model": "m", "messages": USER, **form(STRICT)}, OPENAI)[1]["usage"]["prompt_tokens"]
    size = len(json.dumps(STRICT, separators=(",", ":")))
    assert (plain, with_schema) == (2, -(-(5 + size) // 4))


def test_requests_refused_before_any_work_are_not_served_and_all_others_are():
    for fault, served in {
        "limited": 0,
        "limited_wait": 0,
        "broken": 1,
        "unavailable": 0,
        "bad_body": 1,
        "cut": 1,
        "empty": 1,
    }.items():

        async def test(
            server: FakeServer, session: aiohttp.ClientSession, fault: str = fault, served: int = served
        ) -> None:
            async with session.post(CHAT, json={"model": "m", "messages": USER}, headers=OPENAI) as response:
                status = response.status
            count = server.counts["k"]
            assert (count.requests, count.served, status == 200) == (1, served, bool(served) and fault != "broken")
            assert (count.prompt > 0) is bool(served)

        serve(test, faults=Faults(**{fault: 1.0}))


def test_a_request_given_up_by_the_client_was_served():
    async def test(server: FakeServer, session: aiohttp.ClientSession) -> None:
        call = asyncio.ensure_future(session.post(CHAT, json={"model": "m", "messages": USER}, headers=OPENAI))
        async with asyncio.timeout(60):
            while "k" not in server.counts or not server.counts["k"].served:  # noqa: ASYNC110  # no event to wait for
                await asyncio.sleep(0.01)
        assert not call.done()
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled() and server.counts["k"].served == 1

    serve(test, delay=(50.0, 60.0))


def test_faults_depend_on_seed_request_and_repetition_alone():
    async def test(server: FakeServer, session: aiohttp.ClientSession) -> list[list[int]]:
        async def one(i: int) -> list[int]:
            found = []
            for _ in range(3):
                body = {"model": "m", "messages": [{"role": "user", "content": f"request {i}"}]}
                async with session.post(CHAT, json=body, headers=OPENAI) as response:
                    found.append(response.status)
            return found

        return await asyncio.gather(*(one(i) for i in (range(40) if server.delay else reversed(range(40)))))

    faults = Faults(limited=0.2, broken=0.2)
    forth, back = serve(test, faults=faults, delay=0.001), serve(test, faults=faults)
    assert forth == back[::-1]
    assert {status for row in forth for status in row} == {200, 429, 500}
    assert any(len(set(row)) > 1 for row in forth)
    assert serve(test, faults=faults, seed=1) != back


def test_every_fault_occurs_at_its_rate():
    faults = Faults.every(0.32)
    rng, table = Random(0), faults.table()
    from fake_server.faults import draw

    drawn = [draw(table, rng) for _ in range(20_000)]
    assert drawn.count(None) == pytest.approx(13_600, abs=300)
    assert all(drawn.count(name) == pytest.approx(400, abs=90) for _, name in table)
    assert len(table) == 16


@pytest.mark.parametrize("wrong", [{"reset": -0.1}, {"reset": 0.6, "hang": 0.6}])
def test_probabilities_that_are_none_are_refused(wrong: dict[str, float]):
    with pytest.raises(ConfigError, match="must be 0 or more and sum to 1 at most"):
        Faults(**wrong)


def test_a_debaters_schema_is_followed_and_its_belief_sums_to_100():
    seen = set()
    for seed in range(50):
        value = json.loads(write(DEBATER, Random(seed)))
        assert [each["outcome"] for each in value["belief"]] == ["dengue", "zika", "malaria"]
        assert sum(each["percent"] for each in value["belief"]) == 100 and all(
            each["percent"] >= 0 for each in value["belief"]
        )
        assert 1 <= len(value["arguments"]) <= 3
        for argument in value["arguments"]:
            assert argument["outcome"] in ("dengue", "zika", "malaria") and isinstance(argument["against"], bool)
            assert 0 < len(argument["claim"]) <= 30
            assert all(each["span"] in ("e1", "e2") and len(each["quote"]) >= 50 for each in argument["citations"])
        seen.add(json.dumps(value))
    assert len(seen) > 40 and write(DEBATER, Random(3)) == write(DEBATER, Random(3))


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 5}, lambda v: v in (3, 4, 5)),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}, lambda v: v == 4),
        ({"type": "number", "minimum": 0.2, "maximum": 0.4}, lambda v: 0.2 <= v <= 0.4),
        ({"type": ["string", "null"], "maxLength": 4}, lambda v: isinstance(v, str) and len(v) <= 4),
        ({"const": "x"}, lambda v: v == "x"),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, lambda v: v in (1, 2)),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"enum": ["p", "q"]}}}, lambda v: v in ("p", "q")),
        ({"type": "array", "items": {"type": "null"}, "minItems": 4}, lambda v: 4 <= len(v) <= 6 and set(v) == {None}),
        ({"properties": {"belief": {"type": "string"}}}, lambda v: isinstance(v["belief"], str)),
    ],
)
def test_other_schemas_are_followed(schema: Any, holds: Callable[[Any], bool]):
    assert all(holds(json.loads(write(schema, Random(seed)))) for seed in range(20))


def test_spoiled_content_is_spoiled_in_the_way_it_says():
    for seed in range(30):
        rng = Random(seed)
        with pytest.raises(ValueError, match=r"."):
            json.loads(spoil("bad_content", DEBATER, rng))
        wrong = json.loads(spoil("wrong_schema", DEBATER, rng))
        assert not isinstance(wrong, dict) or "arguments" not in wrong
        assert "NaN" in spoil("nan", DEBATER, rng)
        assert all(each["percent"] < 0 for each in json.loads(spoil("negative", DEBATER, rng))["belief"])
    assert spoil("empty", DEBATER, rng) == "" and len(spoil("huge", None, rng)) > 1 << 20


def test_an_answer_can_be_given_by_hand():
    def answer(body: dict[str, Any]) -> str | None:
        return "by hand" if body["messages"][0]["content"] == "Hello" else None

    assert (
        post(CHAT, {"model": "m", "messages": USER}, OPENAI, answer=answer)[1]["choices"][0]["message"]["content"]
        == "by hand"
    )
    other = post(CHAT, {"model": "m", "messages": [{"role": "user", "content": "?"}]}, OPENAI, answer=answer)[1]
    assert other["choices"][0]["message"]["content"] != "by hand"


def test_unknown_paths_are_not_found():
    assert post("/v2/other", {}, OPENAI)[0] == 404


def test_as_a_process_it_says_where_it_listens_and_ends_by_itself():
    command = [
        sys.executable,
        "-m",
        "fake_server",
        "--for",
        "0.3",
        "--fault-rate",
        "0.1",
        "--seed",
        "1",
        "--jitter",
        "0.1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("listening on http://127.0.0.1:") and done.stderr == ""


def test_as_a_process_it_takes_the_keys_and_models_it_was_given_and_its_debaters_quote_the_evidence():
    schema = Form(
        kind="closed",
        labels=("gout", "flu"),
        pieces={"E1": Span("s", "A red and swollen toe.")},
        arguments=1,
        verbalised=True,
    ).schema()
    form = {"type": "json_schema", "json_schema": {"name": "turn", "schema": dict(schema.json)}}
    body = {"messages": [{"role": "user", "content": "[E1] (book) A red and swollen toe."}], "response_format": form}
    command = [sys.executable, "-m", "fake_server", "--key", "mine", "--model", "alpha", "--for", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]

            async def main() -> list[tuple[int, Any]]:
                async with aiohttp.ClientSession() as session:
                    answers = []
                    for key, model in (("mine", "alpha"), ("other", "alpha"), ("mine", "beta")):
                        async with session.post(
                            f"{url}/v1/chat/completions",
                            json={**body, "model": model},
                            headers={"Authorization": f"Bearer {key}"},
                        ) as answer:
                            answers.append((answer.status, await answer.json()))
                    return answers

            (fine, reply), (key, _), (model, _) = asyncio.run(main())
        finally:
            process.terminate()
    assert (fine, key, model) == (200, 401, 404)
    turn = json.loads(reply["choices"][0]["message"]["content"])
    assert turn["arguments"][0]["citations"][0] == {"quote": "A red and swollen toe.", "span": "E1"}
    assert sum(turn["belief"].values()) == 100 and set(turn["belief"]) == {"Gout", "Flu"}
