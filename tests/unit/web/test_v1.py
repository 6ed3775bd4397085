"""The OpenAI-compatible endpoint, asked by the official SDK."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn
from pydantic import BaseModel, ValidationError

from maci.errors import InputError
from maci.web import Limits, ServerSettings
from maci.web.desk import Desk
from maci.web.requests import AnswerForm, ChatRequest, ResponsesRequest
from maci.web.server import create_app
from maci.web.v1 import Sharing
from serving import serving
from web_helpers import Held, tables

openai = pytest.importorskip("openai", reason="the official SDKs are test tools: requirements/dev.txt")

ASKED: list[Any] = [{"role": "user", "content": "Is the street wet?"}]
MORE = {"outcomes": ["yes", "no"]}


class Server:
    """A server in a thread, with the official client for it."""

    def __init__(self, settings: ServerSettings, app: Any) -> None:
        self.url, self.runs = f"http://127.0.0.1:{settings.port}/v1", settings.runs
        self.desk: Desk = app._app.state.desk
        self.sharing: Sharing = app._app.state.sharing

    def client(self, **more: Any) -> Any:
        return openai.OpenAI(base_url=self.url, api_key="any", **more)

    @property
    def records(self) -> list[Path]:
        return sorted(self.runs.glob("*/transcript.jsonl"))

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for path in self.records for line in path.read_text().splitlines()]


@contextmanager
def serve(runs: Path, **more: Any) -> Iterator[Server]:
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    settings = ServerSettings(runs=runs, studies=runs / ".studies", port=door.getsockname()[1], **more)
    app = create_app(settings)
    config = uvicorn.Config(app, log_level="error", lifespan="on", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        yield Server(settings, app)
    finally:
        server.should_exit = True
        thread.join(20)


def ask(client: Any, body: dict[str, Any] | None = None, **more: Any) -> Any:
    return client.chat.completions.create(model="readers", messages=ASKED, extra_body={**MORE, **(body or {})}, **more)


def test_the_sdk_reads_answers_streams_models_and_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tables(monkeypatch), serve(tmp_path) as server, server.client() as client:
        assert client.models.list().data[0].id == client.models.retrieve("readers").id == "readers"
        for missing in (
            lambda: client.models.retrieve("a/b"),
            lambda: client.chat.completions.create(model="gpt", messages=ASKED),
        ):
            with pytest.raises(openai.NotFoundError) as wrong:
                missing()
            assert wrong.value.code == "model_not_found" and wrong.value.param == "model"
        answer = ask(client)
        assert answer.choices[0].message.content.startswith(answer.maci["answer"])
        assert answer.choices[0].finish_reason == "stop" and answer.usage.total_tokens >= 0
        for usage in (False, True):
            options = {"stream_options": {"include_usage": True}} if usage else {}
            chunks = list(ask(client, stream=True, **options))
            assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).startswith(("yes", "no"))
            assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [usage]
            assert (not chunks[-1].choices) is usage


def test_the_responses_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tables(monkeypatch), serve(tmp_path) as server, server.client() as client:
        more = {"model": "readers", "input": "Is the street wet?", "instructions": "It rained.", "extra_body": MORE}
        answer = client.responses.create(**more)
        assert answer.status == "completed" and answer.output_text.startswith(("yes", "no"))
        assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
        with client.responses.stream(**more) as events:
            kinds = [event.type for event in events]
            last = events.get_final_response()
        assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
        assert "response.output_text.delta" in kinds and last.output_text == answer.output_text
        with pytest.raises(openai.BadRequestError, match="previous_response_id"):
            client.responses.create(**more, previous_response_id="resp_1")
        for more_of_it in (
            {"conversation": "conv_1"},
            {"prompt": {"id": "pmpt_1"}},
            {"tools": [{"type": "web_search"}]},
        ):
            with pytest.raises(openai.BadRequestError) as refused:
                client.responses.create(**more, **more_of_it)
            assert refused.value.param == next(iter(more_of_it))
        parsed = client.responses.parse(model="readers", input="Is the street wet?", text_format=Verdict)
        assert parsed.output_parsed is not None and parsed.output_parsed.answer in ("yes", "no")


class Verdict(BaseModel):
    reasoning: str
    answer: Literal["yes", "no"]
    confidence: float
    price: float | None = None


def test_a_schema_is_debated_by_its_enum_and_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tables(monkeypatch), serve(tmp_path) as server, server.client() as client:
        parse = client.chat.completions.parse
        answer = parse(model="readers", messages=ASKED, response_format=Verdict)
        found = answer.choices[0].message.parsed
        assert found.answer == answer.maci["answer"] and found.confidence == answer.maci["probability"]
        assert found.reasoning and found.price is None and set(answer.maci["distribution"]) == {"yes", "no"}

        class Cost(BaseModel):
            answer: Literal["yes", "no"]
            price: float

        for wrong, says in ((Cost, "requires 'price'"), (Loose, "exactly one is debated")):
            with pytest.raises(openai.BadRequestError, match=says) as refused:
                parse(model="readers", messages=ASKED, response_format=wrong)
            assert refused.value.param == "response_format"
        with pytest.raises(openai.BadRequestError, match="json_object"):
            ask(client, response_format={"type": "json_object"})
        with pytest.raises(openai.BadRequestError, match="one answer"):
            ask(client, n=2)
    assert len(server.records) == 1


class Loose(BaseModel):
    answer: str


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def test_an_enum_behind_a_reference_is_found() -> None:
    class Pick(BaseModel):
        colour: Colour
        probability: float | None

    form = AnswerForm.of(Pick.model_json_schema())
    assert form.labels == ("red", "blue")
    assert json.loads(form.fill("red", 0.75, "")) == {"colour": "red", "probability": 0.75}


def test_an_answer_that_is_withheld_is_no_failure(tmp_path: Path) -> None:
    labels = ["Dengue fever", "a broken leg", "Gout"]
    question = [{"role": "user", "content": "High fever, pain behind the eyes and a rash. Which disease is it?"}]
    enum = {"type": "object", "properties": {"answer": {"type": "string", "enum": labels}}, "required": ["answer"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": enum}}
    with serve(tmp_path) as server, server.client() as client:
        plain = client.chat.completions.create(model="readers", messages=question, extra_body={"outcomes": labels})
        said = plain.choices[0].message.content
        assert said.startswith("No answer. Word statistics cannot decide")
        assert "Use a language model (a `model` of `/v1/models`, where there is one)." in said
        assert not re.findall("--force|maci init|readers' guess", said + str(plain.maci))  # no ways of a client's
        with pytest.raises(openai.BadRequestError, match=r"or use a language model \(a `model` of") as refused:
            client.chat.completions.create(
                model="readers", messages=[{"role": "user", "content": "What is 17 times 3?"}]
            )
        assert not re.findall("--force|maci init|readers' guess", str(refused.value))
        assert plain.choices[0].finish_reason == "stop" and plain.maci["answer"] is None
        strict = client.chat.completions.create(model="readers", messages=question, response_format=form)
        assert strict.choices[0].message.content is None
        assert strict.choices[0].message.refusal.startswith("No answer. ") and strict.maci["answer"] is None


CHOICE = "The last line should be 'ANSWER: $LETTER' where LETTER is one of A,B.\n\nIs the street wet?\n\nA) no\nB) yes"


def test_a_multiple_choice_question_is_debated_by_its_choices_and_answered_by_a_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [{"role": "user", "content": CHOICE}]
    with tables(monkeypatch), serve(tmp_path) as server, server.client() as client:
        answer = client.chat.completions.create(model="readers", messages=asked)
        case = server.events()[0]["case"]
        assert case["question"] == "Is the street wet?" and case["outcomes"]["labels"] == ["no", "yes"]
        letter = {"no": "A", "yes": "B"}[answer.maci["answer"]]
        assert answer.choices[0].message.content.splitlines()[-1] == f"ANSWER: {letter}"
        given = client.responses.create(model="readers", input=CHOICE)
        assert given.output_text.splitlines()[-1] == f"ANSWER: {letter}"
        plain = client.chat.completions.create(model="readers", messages=asked, extra_body=MORE)
        assert "ANSWER: " not in plain.choices[0].message.content  # outcomes of the request go before


def test_an_answer_that_is_withheld_is_no_letter(tmp_path: Path) -> None:
    asked = CHOICE.replace("Is the street wet?", "High fever, pain behind the eyes and a rash. Which disease is it?")
    asked = asked.replace("A) no\nB) yes", "A) Dengue fever\nB) a broken leg\nC) Gout")
    with serve(tmp_path) as server, server.client() as client:
        answer = client.chat.completions.create(model="readers", messages=[{"role": "user", "content": asked}])
        assert answer.maci["answer"] is None and answer.choices[0].message.content.startswith("No answer. ")
        assert "answer:" not in answer.choices[0].message.content.lower()


def test_retries_of_the_sdk_buy_one_debate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client gives up after a second and asks again, twice, as it does by default."""
    with tables(monkeypatch, Held(since=1)) as held, serve(tmp_path) as server:
        threading.Timer(2.5, held.gate.set).start()
        with server.client(timeout=1.5) as client:
            answer = ask(client)
        assert answer.maci["answer"] in ("yes", "no")
    assert len(server.records) == 1
    openings = [e["agent"] for e in server.events() if e["type"] == "turn" and e["round"] == 0]
    assert sorted(openings) == ["ada", "bob"]


@pytest.mark.parametrize("key", ["", "k-1"])
def test_the_same_request_is_joined_while_it_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    headers = {"Idempotency-Key": key} if key else {}
    with tables(monkeypatch, Held(since=1)) as held, serve(tmp_path) as server:

        async def both() -> list[Any]:
            async with openai.AsyncOpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
                create = client.chat.completions.create
                asked = [
                    create(model="readers", messages=ASKED, extra_body=MORE, extra_headers=headers) for _ in range(3)
                ]
                tasks = [asyncio.ensure_future(each) for each in asked]
                await asyncio.sleep(1)
                held.gate.set()
                return list(await asyncio.gather(*tasks))

        assert len({answer.id for answer in asyncio.run(both())}) == 1 and len(server.records) == 1
        with server.client(max_retries=0) as client:
            ask(client, extra_headers=headers)
            assert len(server.records) == (1 if key else 2)  # what is over is told again to who names its key
            if key:
                with pytest.raises(openai.BadRequestError, match="Idempotency-Key"):
                    ask(client, {"outcomes": ["maybe", "no"]}, extra_headers=headers)


def test_a_request_beyond_what_may_run_waits_and_beyond_the_queue_is_told_when_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(debates=1, queue=1)
    with tables(monkeypatch, Held(since=1)) as held, serve(tmp_path, limits=limits) as server:
        found: list[Any] = []

        def wait(word: str) -> None:
            with server.client(max_retries=0) as client:
                found.append(ask(client, {"outcomes": ["yes", "no"], "evidence": [word]}))

        threads = [threading.Thread(target=wait, args=(f"Evidence {n}.",)) for n in range(2)]
        for thread in threads:
            thread.start()
            time.sleep(0.7)
        with server.client(max_retries=0) as client, pytest.raises(openai.RateLimitError, match="1 wait") as busy:
            ask(client, {"evidence": ["Something else."]})
        assert int(busy.value.response.headers["retry-after"]) > 0
        assert busy.value.response.headers["x-should-retry"] == "true"
        held.gate.set()
        for thread in threads:
            thread.join(30)
        assert len(found) == 2 and len(server.records) == 2


def test_a_spent_budget_is_429_and_is_not_asked_for_again(tmp_path: Path) -> None:
    with serve(tmp_path) as server, server.client() as client:
        for stream in (False, True):
            with pytest.raises(openai.RateLimitError, match="raise `budget`") as spent:
                ask(client, {"budget": 1, "evidence": ["yes it is", "no it is not"]}, stream=stream)
            assert spent.value.code == "insufficient_quota" and spent.value.response.headers["retry-after"]
        assert len(server.records) == 1  # the SDK was told not to retry, and who asks again at once is told the same
        for shared in server.sharing._asked.values():
            shared.ended -= 61  # as long as Retry-After said
        with pytest.raises(openai.RateLimitError, match="raise `budget`"):
            ask(client, {"budget": 1, "evidence": ["yes it is", "no it is not"]})
    assert len(server.records) == 2


def test_the_whole_conversation_evidence_and_models_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [
        {"role": "system", "content": "It rained."},
        {"role": "user", "content": "Is the roof wet?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "And the street?"}]},
    ]
    body = {**MORE, "evidence": ["Rain wets streets.", {"text": "Dry.", "label": "no"}], "budget": {"tokens": 5000}}
    with tables(monkeypatch), serve(tmp_path) as server, server.client() as client:
        client.chat.completions.create(model="readers", messages=said, extra_body=body, seed=3)
        opened = server.events()[0]
        assert opened["case"]["question"] == "And the street?" and opened["seed"] == 3
        assert opened["case"]["context"] == "It rained.\nUser: Is the roof wet?\nAssistant: Yes."
        assert [each["text"] for each in opened["case"]["evidence"]] == ["Rain wets streets.", "Dry."]
        assert opened["config"]["budget"]["tokens"] == 5000
        with pytest.raises(openai.BadRequestError, match="not a model of this server") as wrong:
            ask(client, {"agents": ["openai/gpt-x", "openai/gpt-y"]})
        assert wrong.value.param == "agents"
        image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
        with pytest.raises(openai.BadRequestError, match="only text can be debated"):
            client.chat.completions.create(model="readers", messages=image)


def test_who_leaves_the_queue_and_asks_again_waits_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tables(monkeypatch, Held(since=1)) as held, serve(tmp_path, limits=Limits(debates=1)) as server:
        first = threading.Thread(target=lambda: ask(server.client(max_retries=0)))
        first.start()
        time.sleep(0.7)
        with server.client(max_retries=0, timeout=0.5) as client, pytest.raises(openai.APITimeoutError):
            ask(client, {"evidence": ["Another."]})
        time.sleep(1.0)
        assert not server.desk._queue
        held.gate.set()
        with server.client(max_retries=0) as client:
            assert ask(client, {"evidence": ["Another."]}).maci["answer"] in ("yes", "no")
        first.join(30)
    assert len(server.records) == 2


@pytest.fixture
def own_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without anybody's panels, and a key for models that a test serves or not."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    return tmp_path / "runs"


def test_a_dead_endpoint_is_an_error_of_the_sdk_in_streams_too_and_is_tried_once(
    own_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("maci-panels.yaml").write_text(
        "panels: {pair: {agents: [mistral/a, mistral/b], judges: []}}\n"
        "models: {mistral: {base_url: 'http://127.0.0.1:9/v1', retries: 0}}"  # nobody listens there
    )
    asked = {"model": "pair", "messages": ASKED, "extra_body": MORE}
    with serve(own_models) as server, server.client() as client:
        for stream in (False, True):
            with pytest.raises(openai.InternalServerError, match="no connection") as dead:
                client.chat.completions.create(**asked, stream=stream)
            assert dead.value.status_code == 502 and dead.value.response.headers["retry-after"]
        assert len(server.records) == 1
        monkeypatch.setattr("maci.web.v1._HELD", 0.0)  # the status is out before it fails
        with pytest.raises(openai.APIError, match="no connection"):
            list(client.chat.completions.create(**asked, stream=True))
        with pytest.raises(openai.APIError, match="no connection"):
            list(client.responses.create(model="pair", input="Is it?", extra_body=MORE, stream=True))


def test_models_are_named_in_the_request_where_the_operator_allows_it(
    own_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"agents": ["mistral/alpha", "mistral/beta"], "judges": [], "evidence": ["yes it is", "no it is not"]}
    with serving("alpha", "beta") as models:
        Path("maci-panels.yaml").write_text(f"models: {{mistral: {{base_url: '{models.url}/v1'}}}}")
        with serve(own_models, any_model=True) as server, server.client() as client:
            answer = ask(client, {**body, "budget": 60_000})
        assert 0 < answer.usage.total_tokens <= 60_000
        opened = server.events()[0]
        assert [seat["model"] for seat in opened["table"]["agents"]] == body["agents"] and opened["judges"] == []


_YES = {"type": "string", "enum": ["yes", "no"]}


@pytest.mark.parametrize(
    ("properties", "filled"),
    [
        ({"a": _YES, "confidence": {"type": "number", "minimum": 0, "maximum": 100}}, {"a": "yes", "confidence": 75.0}),
        ({"why": {"type": "string", "maxLength": 3}, "a": _YES}, {"why": "Bec", "a": "yes"}),
        ({"a": _YES, "confidence": {"type": "integer", "minimum": 0, "maximum": 100}}, {"a": "yes", "confidence": 75}),
        ({"a": _YES, "confidence": {"type": "integer"}}, {"a": "yes"}),  # of 10? of 100?
        ({"a": _YES, "confidence": {"type": "integer", "maximum": []}}, {"a": "yes"}),
        ({"a": _YES, "price": {"type": "number"}}, {"a": "yes"}),
        ({"a": _YES, "why": {"type": "string", "pattern": "x"}}, {"a": "yes"}),
    ],
)
def test_only_what_a_debate_has_is_filled_in(properties: dict[str, Any], filled: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": properties, "required": 5}
    for given in (schema, {"$ref": "#/$defs/Verdict", "$defs": {"Verdict": schema}}):
        found = json.loads(AnswerForm.of(given).fill("yes", 0.75, "Because."))
        assert found == filled and {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in filled.items()}


_FUNCTION = {"type": "function", "function": {"name": "look"}}


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("function_call", {"name": "look"}, "auto"),
        ("tool_choice", "required", "auto"),
        ("tools", [{"type": "web_search_preview"}], [_FUNCTION]),
        ("modalities", ["text", "audio"], ["text"]),
        ("web_search_options", {}, None),
        ("n", 2, 1),
        ("logprobs", True, False),
        ("previous_response_id", "resp_1", None),
        ("conversation", {"id": "conv_1"}, None),
        ("prompt", {"id": "pmpt_1"}, None),
        ("background", True, False),
    ],
)
def test_what_a_chat_cannot_have_is_refused_by_its_field(field: str, value: Any, kept: Any) -> None:
    with pytest.raises(InputError) as refused:
        ChatRequest(messages=ASKED, **{field: value}).wanted()
    assert refused.value.about == field
    ChatRequest(messages=ASKED, functions=[{"name": "look"}], stop="x", max_tokens=1, **{field: kept}).wanted()


@pytest.mark.parametrize("asked", [ChatRequest, ResponsesRequest])
@pytest.mark.parametrize(
    "given",
    [
        {"budget": value}
        for value in (True, "100000", 1.0, {"tokens": True}, {"tokens": "9"}, {"usd": True}, {"usd": "1"})
    ]
    + [{"budget_tokens": True}, {"budget_tokens": "100000"}],
)
def test_a_budget_is_a_number_and_nothing_that_can_be_read_as_one(asked: type, given: dict[str, Any]) -> None:
    said = {"messages": ASKED, "input": "Is the street wet?"}
    with pytest.raises(ValidationError):
        asked(**said, **given)
    with pytest.raises(ValidationError):
        asked.model_validate_json(json.dumps({**said, **given}))
    asked.model_validate_json(json.dumps({**said, "budget": {"tokens": 100, "usd": 1}}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("previous_response_id", "resp_1"),
        ("conversation", {"id": "conv_1"}),
        ("prompt", {"id": "pmpt_1"}),
        ("background", True),
        ("tools", [{"type": "file_search"}]),
        ("top_logprobs", 3),
        ("include", ["message.output_text.logprobs"]),
        ("input", [{"type": "item_reference", "id": "msg_1"}, *ASKED]),
        ("input", [{"type": "function_call_output", "call_id": "1", "output": "Wet."}]),
    ],
)
def test_what_a_response_cannot_have_is_refused_by_its_field(field: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        ResponsesRequest(**{"input": "Is the street wet?", field: value}).wanted()
    assert refused.value.about == field
    ResponsesRequest(input="Is it?", include=["reasoning.encrypted_content"], max_output_tokens=5).wanted()


def test_what_tools_found_after_the_question_is_context_and_a_begun_reply_is_not_continued() -> None:
    call = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    chat = [
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": call},
        {"role": "tool", "tool_call_id": "1", "content": "The gauge shows 3 mm."},
        {"role": "developer", "content": "Answer for the high street."},
    ]
    items = [
        *ASKED,
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "The gauge shows 3 mm."},
        {"role": "developer", "content": "Answer for the high street."},
    ]
    for asked in (ChatRequest(messages=chat), ResponsesRequest(input=items)):
        data = asked.wanted().data
        assert data["question"] == "Is the street wet?"
        assert data["context"] == "Tool: The gauge shows 3 mm.\nAnswer for the high street."
    begun = [*ASKED, {"role": "assistant", "content": "Yes, because"}]
    for asked, field in ((ChatRequest(messages=begun), "messages"), (ResponsesRequest(input=begun), "input")):
        with pytest.raises(InputError, match="does not continue a reply") as refused:
            asked.wanted()
        assert refused.value.about == field
