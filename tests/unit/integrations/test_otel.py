"""OpenTelemetry: what is exported of a debate, and that nothing is unless somebody asks for it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `otel` is not installed")

from aiohttp import web
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import maci
from fake_server import FakeServer, Faults
from maci.integrations import otel
from serving import serving

KEY = "sk-fake-Zx81kQpL0vTT93aa"
QUESTION = "Is the street wet, and is it a secret?"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Seen:
    """What was exported."""

    def __init__(self) -> None:
        self.spans_kept, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_kept))

    def spans(self, begins: str = "") -> list[ReadableSpan]:
        return [span for span in self.spans_kept.get_finished_spans() if span.name.startswith(begins)]

    def points(self, name: str) -> list[Any]:
        found = self.reader.get_metrics_data()
        every = [m for r in found.resource_metrics for s in r.scope_metrics for m in s.metrics] if found else []
        return [point for metric in every if metric.name == name for point in metric.data.data_points]

    @property
    def text(self) -> str:
        """Everything, as it would be sent."""
        found = self.reader.get_metrics_data()
        return "\n".join([span.to_json() for span in self.spans()] + ([found.to_json()] if found else []))


@pytest.fixture
def seen() -> Iterator[Seen]:
    kept = Seen()
    otel.instrument(kept.tracers, kept.meters)
    yield kept
    otel.uninstrument()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """Two models and a judge at a server on this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OTEL_TEST_KEY", KEY)
    with serving("alpha", "beta", "judge", thinks=50) as server:
        own = {"base_url": f"{server.url}/v1", "key_env": "OTEL_TEST_KEY", "retries": 0}
        families = {"openai/alpha": "one", "openai/beta": "two", "mistral/judge": "three"}
        panels = {
            "panels": {"pair": {"agents": ["openai/alpha", "openai/beta"], "judges": ["mistral/judge"]}},
            "models": {name: {**own, "family": family} for name, family in families.items()},
        }
        path = tmp_path / "panels.yaml"
        path.write_text(json.dumps(panels), encoding="utf-8")
        monkeypatch.setenv("MACI_PANELS", str(path))
        yield server


def debated(**more: Any) -> maci.DebateResult:
    options: dict[str, Any] = {"settings": {"max_rounds": 2, "crit.k": 1}, "panel": "pair", **more}
    return maci.run(QUESTION, outcomes=["yes", "no"], evidence=["Rain wets streets.", "The sun dries them."], **options)


def test_a_debate_its_rounds_and_its_calls_are_spans_of_one_trace(seen: Seen, models: FakeServer) -> None:
    result = debated()
    (whole,) = seen.spans("invoke_workflow debate")
    rounds, calls = seen.spans("round "), seen.spans("chat ")
    assert whole.parent is None and {span.context.trace_id for span in seen.spans()} == {whole.context.trace_id}
    assert [span.name for span in rounds] == [f"round {n}" for n in range(result.rounds + 1)]
    assert {span.parent.span_id for span in rounds} == {whole.context.span_id}
    above = {span.context.span_id: span.name for span in (*rounds, whole)}
    places = [above[span.parent.span_id] for span in calls if span.parent is not None]
    assert len(places) == len(calls) == models.counts[KEY].requests
    assert places.count("round 0") == 2  # two openings
    for span in (*rounds, *calls):
        assert whole.start_time <= span.start_time <= span.end_time <= whole.end_time
    assert all(a.end_time <= b.start_time for a, b in pairwise(rounds))
    about = dict(whole.attributes or {})
    assert about["gen_ai.operation.name"] == "invoke_workflow" and about["maci.stop_reason"] == result.stop_reason
    assert (about["maci.rounds"], about["maci.tokens"]) == (result.rounds, result.tokens)
    assert len(about["maci.agents"]) == 2 and about["maci.withheld"] is (result.answer is None)
    assert (rounds[-1].attributes or {})["maci.disagreement"] == result.story.rounds[-1].signals.d


def test_a_call_is_told_by_the_conventions_and_counted_as_the_server_counts(seen: Seen, models: FakeServer) -> None:
    debated()
    calls = [dict(span.attributes or {}) for span in seen.spans("chat ")]
    first = next(call for call in calls if call["gen_ai.request.model"] == "alpha")
    host, _, port = models.url.removeprefix("http://").partition(":")
    assert (first["server.address"], first["server.port"]) == (host, int(port))
    assert first["gen_ai.provider.name"] == "openai" and first["gen_ai.operation.name"] == "chat"
    assert first["gen_ai.response.model"] == "alpha" and first["gen_ai.output.type"] == "json"
    assert first["gen_ai.response.finish_reasons"] == ("stop",) and first["gen_ai.request.max_tokens"] > 0
    assert first["gen_ai.usage.reasoning.output_tokens"] == 50
    assert {call["gen_ai.provider.name"] for call in calls} == {"openai", "mistral_ai"}
    assert all(span.kind is trace.SpanKind.CLIENT for span in seen.spans("chat "))
    count = models.counts[KEY]
    assert sum(call["gen_ai.usage.input_tokens"] for call in calls) == count.prompt
    assert sum(call["gen_ai.usage.output_tokens"] for call in calls) == count.generated
    used = {"input": 0, "output": 0}
    for point in seen.points("gen_ai.client.token.usage"):
        used[point.attributes["gen_ai.token.type"]] += point.sum
    assert used == {"input": count.prompt, "output": count.generated}
    assert sum(point.count for point in seen.points("gen_ai.client.operation.duration")) == len(calls)
    (debates,) = seen.points("maci.debate.duration")
    assert debates.count == 1 and debates.sum > 0
    assert [point.sum for point in seen.points("maci.debate.rounds")] == [2]


def test_a_reply_from_the_cache_costs_no_tokens(seen: Seen, models: FakeServer) -> None:
    debated()
    paid = sum(point.sum for point in seen.points("gen_ai.client.token.usage"))
    calls = len(seen.spans("chat "))
    debated()
    again = seen.spans("chat ")[calls:]
    assert again and all((span.attributes or {})["maci.cached"] for span in again)
    assert sum(point.sum for point in seen.points("gen_ai.client.token.usage")) == paid


def test_a_failed_call_is_an_error_by_its_kind_and_repeats_no_text(seen: Seen, models: FakeServer) -> None:
    models._table = Faults(unavailable=1.0).table()
    result = debated()
    assert result.stop_reason == "error"
    for span in seen.spans("chat "):
        assert (span.attributes or {})["error.type"] == "Overloaded"
        assert span.status.status_code is trace.StatusCode.ERROR and span.status.description is None
    (whole,) = seen.spans("invoke_workflow")
    assert whole.status.status_code is trace.StatusCode.ERROR and (whole.attributes or {})["error.type"] == "_OTHER"
    assert {p.attributes["error.type"] for p in seen.points("gen_ai.client.operation.duration")} == {"Overloaded"}
    assert not seen.points("gen_ai.client.token.usage")


def test_nothing_that_was_said_is_exported_and_never_a_key(seen: Seen, models: FakeServer) -> None:
    debated()
    assert "chat alpha" in seen.text
    assert not any(said in seen.text for said in (QUESTION, "Rain wets", "secret", KEY))


def test_what_was_said_is_exported_where_the_standard_variable_says_so(
    seen: Seen, models: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "span_only")
    result = debated()
    call = dict(seen.spans("chat alpha")[0].attributes or {})
    asked, said = json.loads(str(call["gen_ai.input.messages"])), json.loads(str(call["gen_ai.output.messages"]))
    assert any(QUESTION in part["content"] for message in asked for part in message["parts"])
    assert said[0]["role"] == "assistant" and said[0]["finish_reason"] == "stop"
    assert "belief" in said[0]["parts"][0]["content"]
    (whole,) = seen.spans("invoke_workflow")
    assert json.loads(str((whole.attributes or {})["gen_ai.output.messages"]))[0]["parts"][0]["content"] == result.guess
    assert KEY not in seen.text


def test_a_key_that_a_server_echoes_is_not_exported_even_where_what_was_said_is(
    seen: Seen, models: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve, told = models._serve, list[str]()

    async def echo(request: Any, path: str, shape: Any) -> web.StreamResponse:
        answer = await serve(request, path, shape)
        text = (answer.text or "").replace("because", f"because {KEY} {KEY[::-1]} {KEY.upper()}")
        told.append(text)
        if len(told) % 5 == 0:
            return web.json_response({"error": {"message": f"wrong key {KEY}"}}, status=400)
        return web.Response(text=text, status=answer.status, content_type="application/json")

    monkeypatch.setattr(models, "_serve", echo)
    monkeypatch.setenv(CAPTURE, "span_only")
    debated()
    assert sum(KEY in text for text in told) > 1 and "chat alpha" in seen.text
    assert not any(form in seen.text for form in (KEY, KEY[::-1], KEY.upper()))


def test_a_debate_that_is_left_ends_its_spans(seen: Seen, models: FakeServer) -> None:
    models.delay = 5.0

    async def leave() -> None:
        async with aclosing(maci.stream(QUESTION, outcomes=["yes", "no"], panel="pair")) as events:
            async for event in events:
                if event.type == "sent":
                    break
        async with asyncio.timeout(20):
            task = asyncio.create_task(maci.arun("Is it?", outcomes=["yes", "no"], panel="pair"))
            while not models.seen:  # noqa: ASYNC110 (it is another thread's)
                await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(leave())
    wholes = seen.spans("invoke_workflow")
    assert [(span.attributes or {})["error.type"] for span in wholes] == ["GeneratorExit", "CancelledError"]
    assert {(span.attributes or {})["error.type"] for span in seen.spans("chat ")} == {"CancelledError"}
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_debates_join_the_trace_of_the_program_and_stay_apart(seen: Seen, models: FakeServer) -> None:
    tracer = trace.get_tracer("program", tracer_provider=seen.tracers)

    async def two() -> None:
        with tracer.start_as_current_span("request") as request:
            run = {"outcomes": ["yes", "no"], "panel": "pair", "settings": {"max_rounds": 2, "crit.enabled": False}}
            await asyncio.gather(*(maci.arun(f"Is it {n}?", **run) for n in range(2)))
            assert trace.get_current_span() is request

    asyncio.run(two())
    (request,) = seen.spans("request")
    wholes = seen.spans("invoke_workflow")
    assert [span.parent.span_id for span in wholes if span.parent] == [request.context.span_id] * 2
    rounds = {span.context.span_id: span.parent.span_id for span in seen.spans("round ") if span.parent}
    mine = [rounds.get(span.parent.span_id, span.parent.span_id) for span in seen.spans("chat ") if span.parent]
    assert {mine.count(span.context.span_id) for span in wholes} == {len(mine) // 2} and len(mine) >= 8


def test_without_configuration_opentelemetry_is_not_imported() -> None:
    code = (
        "import sys, maci; maci.run('Is it?', outcomes=['yes', 'no'], evidence=['yes it is', 'no it is not'], panel='readers');"
        "assert 'maci.integrations.otel' not in sys.modules and 'opentelemetry' not in sys.modules, 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class Collector(BaseHTTPRequestHandler):
    paths: list[str]

    def do_POST(self) -> None:
        self.paths.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def command(tmp_path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    call = [
        sys.executable,
        "-m",
        "maci",
        "debate",
        "dengue",
        "--panel",
        "readers",
        "--out",
        str(tmp_path / "run"),
        "-q",
    ]
    more = {"capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path}
    return subprocess.run(call, env={**kept, **environ}, check=False, **more)


def test_the_command_line_exports_to_the_endpoint_that_the_environment_names(tmp_path: Path) -> None:
    paths: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), type("Here", (Collector,), {"paths": paths}))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        done = command(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert done.returncode == 0, done.stderr
    assert set(paths) == {"/v1/traces", "/v1/metrics"}


def test_a_collector_that_is_not_there_costs_no_debate(tmp_path: Path) -> None:
    done = command(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_TIMEOUT="1")
    assert done.returncode == 0 and "Dengue" in done.stdout


def test_a_protocol_it_does_not_speak_costs_a_line_with_the_next_step_and_no_debate(tmp_path: Path) -> None:
    where = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    warned = command(tmp_path, **where)
    assert warned.returncode == 0 and "Dengue" in warned.stdout
    assert warned.stderr.count("nothing is exported") == 1 and "4318" in warned.stderr
    (other := tmp_path / "other").mkdir()
    silent = command(other, **where, OTEL_SDK_DISABLED="true")
    assert silent.returncode == 0 and "exported" not in silent.stderr
