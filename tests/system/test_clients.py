"""The clients that people use, each against a real `maci serve` on this machine with models that a fake server plays.

They have an environment of their own: `make test-system` runs this file in it, and it is skipped elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

pytest.importorskip("langchain_openai", reason="requirements/clients.txt has an environment of its own")

import openai
from pydantic import BaseModel

from stage import fake_models, serving

pytestmark = pytest.mark.system
QUESTION = "Is the street wet?"
MORE: dict[str, Any] = {"outcomes": ["yes", "no"], "evidence": ["Rain wets streets.", "The sun dries them."]}
PROMPTFOO = Path(__file__).parent / "promptfoo" / "node_modules" / ".bin" / "promptfoo"


class Verdict(BaseModel):
    """What a program wants to have filled in."""

    reasoning: str
    answer: Literal["yes", "no"]
    confidence: float


@dataclass(frozen=True)
class Door:
    """The server, and what it has bought."""

    url: str
    runs: Path
    models: str

    @property
    def records(self) -> list[Path]:
        return sorted(self.runs.glob("*/transcript.jsonl"))

    @property
    def calls(self) -> int:
        """Calls of models, by the count of who serves them."""
        with urllib.request.urlopen(f"{self.models}/count", timeout=5) as page:
            return sum(each["requests"] for each in json.load(page).values())

    def finished(self, path: Path) -> bool:
        return '"type":"finished"' in path.read_text(encoding="utf-8").replace(" ", "")


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    with fake_models(0.3) as models:
        near, small = {"base_url": f"{models}/v1"}, {"stop.max_rounds": 2, "budget.tokens": 200_000}
        panels = {
            "panels": {
                "pair": {"agents": ["openai/alpha", "openai/beta"], "judges": [], "set": small},
                "dead": {"agents": ["mistral/gone", "mistral/lost"], "judges": [], "set": small},
                "keyless": {"agents": ["deepseek/a", "deepseek/b"], "judges": [], "set": small},
            },
            "models": {
                "openai/alpha": {**near, "family": "one"},
                "openai/beta": {**near, "family": "two"},
                "mistral": {"base_url": "http://127.0.0.1:9/v1", "retries": 0},
            },
        }
        path = folder / "panels.yaml"
        path.write_text(json.dumps(panels), encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("DEEPSEEK_API_KEY", raising=False)
            patch.setenv("MACI_KEYS", os.devnull)
            with serving(folder / "runs", path) as stage:
                yield Door(f"{stage.url}/v1", folder / "runs", models)


class Program(Protocol):
    """What each client is asked to do."""

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str: ...

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        """The text, and the tokens of every part that has a usage."""

    def form(self, door: Door) -> Verdict: ...

    def status(self, error: Exception) -> int | None: ...


def _asked(question: str = QUESTION) -> list[Any]:
    return [{"role": "user", "content": question}]


class OpenAI:
    def client(self, door: Door, **more: Any) -> openai.OpenAI:
        return openai.OpenAI(base_url=door.url, api_key="any", **more)

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        with self.client(door) as client:
            found = client.chat.completions.create(model=model, messages=_asked(), extra_body={**MORE, **body})
        assert found.usage is not None and found.usage.total_tokens > 0
        return str(found.choices[0].message.content)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        more: Any = {"stream": True, "stream_options": {"include_usage": True}, "extra_body": {**MORE, **body}}
        with self.client(door) as client:
            chunks = list(client.chat.completions.create(model=model, messages=_asked(), **more))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        return text, [chunk.usage.total_tokens for chunk in chunks if chunk.usage]

    def form(self, door: Door) -> Verdict:
        with self.client(door) as client:
            found = client.chat.completions.parse(model="pair", messages=_asked(), response_format=Verdict)
        assert found.choices[0].message.parsed is not None
        return found.choices[0].message.parsed

    def status(self, error: Exception) -> int | None:
        response = getattr(error, "response", None)
        assert response is not None and int(response.headers["retry-after"]) > 0
        return getattr(error, "status_code", None)


class Responses(OpenAI):
    """The official client through the other of the two APIs."""

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        with self.client(door) as client:
            return str(client.responses.create(model=model, input=QUESTION, extra_body={**MORE, **body}).output_text)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        text, used = "", []
        with self.client(door) as client:
            for event in client.responses.create(model=model, input=QUESTION, stream=True, extra_body={**MORE, **body}):
                text += event.delta if event.type == "response.output_text.delta" else ""
                told = getattr(event, "response", None)
                used += [told.usage.total_tokens] if told is not None and told.usage is not None else []
        return text, used

    def form(self, door: Door) -> Verdict:
        with self.client(door) as client:
            found = client.responses.parse(model="pair", input=QUESTION, text_format=Verdict).output_parsed
        assert found is not None
        return found


class LiteLLM:
    def ask(self, door: Door, model: str, **more: Any) -> Any:
        import litellm

        return litellm.completion(
            model=f"openai/{model}", api_base=door.url, api_key="any", messages=_asked(), num_retries=2, **more
        )

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        return str(self.ask(door, model, extra_body={**MORE, **body}).choices[0].message.content)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        more = {"stream": True, "stream_options": {"include_usage": True}, "extra_body": {**MORE, **body}}
        chunks = list(self.ask(door, model, **more))
        used = [chunk.usage.total_tokens for chunk in chunks if getattr(chunk, "usage", None)]
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), used

    def form(self, door: Door) -> Verdict:
        found = self.ask(door, "pair", response_format=Verdict).choices[0].message.content
        return Verdict.model_validate_json(found)

    def status(self, error: Exception) -> int | None:
        return getattr(error, "status_code", None)


class LangChain:
    def model(self, door: Door, model: str, **body: Any) -> Any:
        from langchain_openai import ChatOpenAI

        more: Any = {"api_key": "any", "stream_usage": True, "extra_body": body}
        return ChatOpenAI(model=model, base_url=door.url, **more)

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        return str(self.model(door, model, **{**MORE, **body}).invoke(QUESTION).content)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        chunks = list(self.model(door, model, **{**MORE, **body}).stream(QUESTION))
        used = [chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata]
        return "".join(str(chunk.content) for chunk in chunks), used

    def form(self, door: Door) -> Verdict:
        found = self.model(door, "pair").with_structured_output(Verdict).invoke(QUESTION)
        assert isinstance(found, Verdict)
        return found

    def status(self, error: Exception) -> int | None:
        return getattr(error, "status_code", None)


class PydanticAI:
    def agent(self, door: Door, model: str, body: dict[str, Any], **more: Any) -> Any:
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        named = OpenAIChatModel(model, provider=OpenAIProvider(base_url=door.url, api_key="any"))
        return Agent(named, model_settings={"extra_body": body}, **more)

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        return str(self.agent(door, model, {**MORE, **body}).run_sync(QUESTION).output)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        async def read() -> tuple[str, list[int]]:
            async with self.agent(door, model, {**MORE, **body}).run_stream(QUESTION) as answer:
                text = "".join([part async for part in answer.stream_text(delta=True)])
            usage = answer.usage() if callable(answer.usage) else answer.usage
            return text, [usage.total_tokens]

        return asyncio.run(read())

    def form(self, door: Door) -> Verdict:
        from pydantic_ai import NativeOutput

        found = self.agent(door, "pair", {}, output_type=NativeOutput(Verdict)).run_sync(QUESTION).output
        assert isinstance(found, Verdict)
        return found

    def status(self, error: Exception) -> int | None:
        return getattr(error, "status_code", None)


class Said(Exception):
    """What a command complained of."""


class Llm:
    """The command `llm`, with a file that names the server and no plugin."""

    def ask(self, door: Door, model: str, *words: str, evidence: list[str] | None = None) -> str:
        home = door.runs.parent / "llm"
        home.mkdir(exist_ok=True)
        entry = {"model_id": f"maci-{model}", "model_name": model, "api_base": door.url, "supports_schema": True}
        (home / "extra-openai-models.yaml").write_text(json.dumps([entry]), encoding="utf-8")
        call = [sys.executable, "-m", "llm", "-m", f"maci-{model}", " ".join([*(evidence or ()), QUESTION]), *words]
        environ = {**os.environ, "LLM_USER_PATH": str(home), "OPENAI_API_KEY": "any"}
        done = subprocess.run(call, capture_output=True, text=True, timeout=120, env=environ, check=False)
        if done.returncode:
            raise Said(done.stderr)
        return done.stdout + done.stderr

    def chat(self, door: Door, model: str = "pair", **body: Any) -> str:
        return self.ask(door, model, "--no-stream", "--schema", json.dumps(SCHEMA), **body)

    def stream(self, door: Door, model: str = "pair", **body: Any) -> tuple[str, list[int]]:
        text = self.ask(door, model, "--usage", "--schema", json.dumps(SCHEMA), **body)
        used = [line for line in text.splitlines() if line.startswith("Token usage:")]
        return text, [int(line.split()[2].replace(",", "")) for line in used]

    def form(self, door: Door) -> Verdict:
        return Verdict.model_validate_json(self.ask(door, "pair", "--no-stream", "--schema", json.dumps(SCHEMA)))

    def status(self, error: Exception) -> int | None:
        said = str(error)  # it prints the error of the official client, whose text begins with the status
        return next((code for code in (429, 502, 503) if f"Error code: {code}" in said), None)


SCHEMA = Verdict.model_json_schema()
CLIENTS: list[Program] = [OpenAI(), Responses(), LiteLLM(), LangChain(), PydanticAI(), Llm()]
each = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: type(client).__name__)


@each
def test_it_gets_an_answer_and_a_stream_with_usage_once(door: Door, client: Program) -> None:
    assert any(label in client.chat(door) for label in ("yes", "no"))
    text, used = client.stream(door)
    assert any(label in text for label in ("yes", "no")) and len(used) == 1 and used[0] > 0


@each
def test_a_schema_is_filled(door: Door, client: Program) -> None:
    found = client.form(door)
    assert found.answer in ("yes", "no") and 0 <= found.confidence <= 1 and found.reasoning


@each
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("model", "status"), [("dead", 502), ("keyless", 503)])
def test_a_failure_is_an_error_with_its_status_and_is_bought_once(
    door: Door, client: Program, stream: bool, model: str, status: int
) -> None:
    before, evidence = len(door.records), [f"{type(client).__name__} wets streets.", f"A stream: {stream}."]
    with pytest.raises(Exception) as failed:  # noqa: PT011 (each has errors of its own)
        (client.stream if stream else client.chat)(door, model, evidence=evidence)
    assert client.status(failed.value) == status, failed.value
    assert len(door.records) - before == (model == "dead")  # its own retries asked for no second debate


@pytest.mark.parametrize("client", CLIENTS[:-1], ids=lambda client: type(client).__name__)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_spent_budget_is_429(door: Door, client: Program, stream: bool) -> None:
    before, evidence = len(door.records), [f"{type(client).__name__} wets streets.", f"A stream: {stream}."]
    with pytest.raises(Exception) as failed:  # noqa: PT011
        (client.stream if stream else client.chat)(door, budget=1, evidence=evidence)
    assert client.status(failed.value) == 429, failed.value
    assert len(door.records) - before == 1


def test_a_client_that_gives_up_and_retries_buys_one_debate(door: Door) -> None:
    from langchain_openai import ChatOpenAI

    for n, ask in enumerate(
        (
            lambda body: (
                OpenAI()
                .client(door, timeout=1.5, max_retries=5)
                .chat.completions.create(model="pair", messages=_asked(), extra_body=body)
            ),
            lambda body: ChatOpenAI(
                model="pair", base_url=door.url, api_key="any", timeout=1.5, max_retries=5, extra_body=body
            ).invoke(QUESTION),
        )
    ):
        before, calls = len(door.records), door.calls
        ask({**MORE, "evidence": [f"It rained on day {n}.", "The sun shone."], "seed": n})
        (path,) = door.records[before:] if len(door.records) == before + 1 else [Path("several debates")]
        assert door.finished(path)
        turns = [json.loads(line) for line in path.read_text().splitlines()]
        spoken = [(event["agent"], event["round"]) for event in turns if event["type"] == "turn"]
        assert len(spoken) == len(set(spoken)) and door.calls - calls <= 2 * len(spoken) + 4


def test_nothing_more_is_bought_for_a_client_that_leaves(door: Door) -> None:
    before = len(door.records)

    async def leave() -> None:
        async with openai.AsyncOpenAI(base_url=door.url, api_key="any", max_retries=0) as client:
            body = {**MORE, "evidence": ["It rained at night.", "The sun shone."]}
            asking = client.chat.completions.create(model="pair", messages=_asked(), extra_body=body, stream=True)
            task = asyncio.ensure_future(asking)
            while len(door.records) == before:  # noqa: ASYNC110 (another process writes them)
                await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(leave())
    time.sleep(2.0)  # replies under way come in
    calls = door.calls
    time.sleep(2.0)
    assert door.calls == calls
    assert not door.finished(door.records[-1])


def test_rows_make_typed_frames() -> None:
    import pandas
    import polars

    import maci

    for result in (maci.run("dengue", panel="readers"), maci.run("dengue", panel="readers", budget=1)):
        for of in ("arguments", "rounds"):
            rows = result.rows(of)
            assert len(pandas.DataFrame(rows)) == len(polars.DataFrame(rows)) == len(rows)
    frame = polars.DataFrame(maci.run("dengue", panel="readers").rows("rounds"))
    assert frame.schema["round"] == polars.Int64 and frame.schema["d"] == polars.Float64
    assert pandas.DataFrame(maci.run("dengue", panel="readers").rows())["round"].dtype == "int64"


def test_inspect_scores_multiple_choice(door: Door, tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    model = get_model("openai/pair", base_url=door.url, api_key="any", responses_api=False)
    samples = [Sample(input=f"Is street {n} wet?", choices=["yes", "no"], target="A") for n in range(4)]
    task = inspect_ai.Task(dataset=samples, solver=multiple_choice(), scorer=choice())
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(tmp_path), display="none")
    assert log.status == "success", log.error
    answers = [sample.scores["choice"].answer for sample in log.samples or () if sample.scores]
    assert len(answers) == 4 and set(answers) <= {"A", "B"}  # every sample is scored by the letter that was given
    right = [sample.scores["choice"].value for sample in log.samples or () if sample.scores]
    assert right == ["C" if answer == "A" else "I" for answer in answers]


def test_promptfoo_evaluates_a_panel(door: Door, tmp_path: Path) -> None:
    if not PROMPTFOO.exists():
        pytest.skip("promptfoo is not installed: tests/system/install.sh installs it where npm is")
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}}
    told = {"apiBaseUrl": door.url, "apiKey": "any", "response_format": form}
    config = {
        "prompts": ["{{question}}"],
        "providers": [{"id": "openai:chat:pair", "config": told}, {"id": "openai:chat:dead", "config": told}],
        "tests": [{"vars": {"question": QUESTION}, "assert": [{"type": "javascript", "value": "/yes|no/.test(output.answer)"}]}],
    }  # fmt: skip
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    environ = {
        **os.environ,
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(tmp_path),
    }
    environ |= {"PROMPTFOO_DISABLE_REMOTE_GENERATION": "true", "PROMPTFOO_DISABLE_SHARING": "1"}
    before = len(door.records)
    call = [str(PROMPTFOO), "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache", "--no-progress-bar"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=240, env=environ, check=False)
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    by = {each["provider"]["id"]: each for each in found}
    assert by["openai:chat:pair"]["success"] is True, done.stdout[-2000:]
    assert by["openai:chat:dead"]["success"] is False and "502" in str(by["openai:chat:dead"].get("error"))
    assert len(door.records) - before <= 3  # it retries failures by itself, without regard to `x-should-retry`
