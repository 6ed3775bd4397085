"""OpenTelemetry (extra ``otel``): a debate, its rounds and its model calls as spans, tokens and durations as metrics.

Off unless it is configured: the command line exports where the standard variables name an endpoint (:func:`configure`), and a program
calls :func:`instrument`, which uses the providers the program has set up. Nothing here is imported before.

Names follow the semantic conventions for generative AI, and MACI's own begin with ``maci.``; all of them are in this file. What was
asked and answered is exported only where the standard variable ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from time import monotonic, time_ns
from typing import Any

from opentelemetry import context, metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from maci import __version__
from maci.controller.decisions import Finished, Initialized
from maci.controller.dials import Measured, RoundEvent
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.debating import loop
from maci.errors import ConfigError
from maci.llm import client
from maci.llm.model import Exchange, Message, Reply, Request

SCOPE = "maci"
SCHEMA = "https://opentelemetry.io/schemas/1.40.0"

OPERATION, PROVIDER, ERROR = "gen_ai.operation.name", "gen_ai.provider.name", "error.type"
REQUEST_MODEL, RESPONSE_MODEL = "gen_ai.request.model", "gen_ai.response.model"
MAX_TOKENS, TEMPERATURE, SEED = "gen_ai.request.max_tokens", "gen_ai.request.temperature", "gen_ai.request.seed"
OUTPUT_TYPE, FINISH = "gen_ai.output.type", "gen_ai.response.finish_reasons"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CACHE_READ, THOUGHT = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.reasoning.output_tokens"
INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
WORKFLOW, TOKEN_TYPE = "gen_ai.workflow.name", "gen_ai.token.type"
ADDRESS, PORT = "server.address", "server.port"
TOKEN_USAGE, DURATION = "gen_ai.client.token.usage", "gen_ai.client.operation.duration"

AGENTS, JUDGES, ROUND, ROUNDS = "maci.agents", "maci.judges", "maci.round", "maci.rounds"
STOP_REASON, TOKENS, USD, WITHHELD = "maci.stop_reason", "maci.tokens", "maci.usd", "maci.withheld"
ATTEMPTS, CACHED = "maci.attempts", "maci.cached"
SIGNALS: Mapping[str, str] = {
    "q": "maci.evidence_quality", "d": "maci.disagreement", "o": "maci.overlap", "crit": "maci.argument_quality",
}  # fmt: skip
DEBATE_DURATION, DEBATE_ROUNDS = "maci.debate.duration", "maci.debate.rounds"

_CHAT, _DEBATE = "chat", "invoke_workflow"
_PROVIDERS = {
    "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai",
}  # fmt: skip
"""Names that the conventions spell in another way."""
_TOKEN_STEPS = tuple(4**n for n in range(14))
_SECOND_STEPS = tuple(0.01 * 2**n for n in range(14))
_ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{which}ENDPOINT" for which in ("", "TRACES_", "METRICS_"))
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def instrument(
    tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None
) -> None:
    """Trace and measure every debate and model call of this process from now on, with the global providers unless given."""
    uninstrument()
    observed = _Observed(tracer_provider, meter_provider)
    client.observe, loop.observe = observed.call, observed.debate


def uninstrument() -> None:
    """Stop it."""
    client.observe = loop.observe = None


def configure(environ: Mapping[str, str] = os.environ) -> None:
    """Export as the standard variables say, over HTTP, until the process ends; refused where they name another protocol."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    protocol = environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    if protocol != "http/protobuf":
        raise ConfigError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}, and MACI exports over http/protobuf alone: use that port of the collector, "
            "usually 4318, or set OTEL_SDK_DISABLED=true"
        )
    named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE}
    resource = Resource.create({**named, "service.version": __version__})
    traces, meters = TracerProvider(resource=resource), None
    if environ.get("OTEL_TRACES_EXPORTER") != "none" and (environ.get(_ENDPOINTS[0]) or environ.get(_ENDPOINTS[1])):
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    if environ.get("OTEL_METRICS_EXPORTER") != "none" and (environ.get(_ENDPOINTS[0]) or environ.get(_ENDPOINTS[2])):
        meters = MeterProvider(resource=resource, metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())])
    instrument(traces, meters or metrics.NoOpMeterProvider())


def _captured() -> bool:
    """Whether what is said may be exported; by the standard, nothing is unless the variable says so."""
    return os.environ.get(_CAPTURE, "").strip().lower() in ("true", "span_only", "span_and_event")


class _Observed:
    """Makes the spans and keeps the instruments."""

    def __init__(self, tracers: trace.TracerProvider | None, meters: metrics.MeterProvider | None) -> None:
        self._tracer = trace.get_tracer(SCOPE, __version__, tracers, SCHEMA)
        meter = metrics.get_meter(SCOPE, __version__, meters, SCHEMA)

        def histogram(name: str, unit: str, about: str, steps: tuple[float, ...]) -> metrics.Histogram:
            return meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=list(steps))

        self._tokens = histogram(TOKEN_USAGE, "{token}", "Tokens read and written by a model call", _TOKEN_STEPS)
        self._seconds = histogram(DURATION, "s", "Duration of a model call", _SECOND_STEPS)
        self._debates = histogram(DEBATE_DURATION, "s", "Duration of a debate", _SECOND_STEPS)
        self._rounds = histogram(DEBATE_ROUNDS, "{round}", "Rounds of a debate", (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20))

    # --- a model call -----------------------------------------------------------------------------------------------

    def call(
        self, model: client.Client, request: Request
    ) -> Callable[[Exchange, Reply | None, BaseException | None], None]:
        """Begin the span of a call; what is returned ends it."""
        service, _, name = model.name.partition("/")
        about: dict[str, Any] = {OPERATION: _CHAT, PROVIDER: _PROVIDERS.get(service, service), REQUEST_MODEL: name}
        host, _, port = model.provider.origin.partition(":")
        if host != "local":
            about |= {ADDRESS: host} | ({PORT: int(port)} if port.isdigit() else {})
        asked = {MAX_TOKENS: request.max_tokens, TEMPERATURE: request.temperature, SEED: request.seed}
        span = self._tracer.start_span(
            f"{_CHAT} {name}",
            kind=SpanKind.CLIENT,
            attributes={
                **about,
                **{key: value for key, value in asked.items() if value is not None},
                OUTPUT_TYPE: "text" if request.schema is None else "json",
            },
        )
        if span.is_recording() and _captured():
            span.set_attribute(INPUT_MESSAGES, _messages(request.messages))
        token, began = context.attach(trace.set_span_in_context(span)), monotonic()

        def end(exchange: Exchange, reply: Reply | None, error: BaseException | None) -> None:
            context.detach(token)
            span.set_attributes({ATTEMPTS: exchange.attempts, CACHED: exchange.cached})
            if reply is not None:
                self._answered(span, about, exchange, reply)
            if error is not None:
                about[ERROR] = type(error).__name__
                _fail(span, error)
            if not exchange.cached:
                self._seconds.record(monotonic() - began, about)
            span.end()

        return end

    def _answered(self, span: Span, about: dict[str, Any], exchange: Exchange, reply: Reply) -> None:
        usage = reply.usage
        if reply.model:
            about[RESPONSE_MODEL] = reply.model
            span.set_attribute(RESPONSE_MODEL, reply.model)
        finish = "length" if reply.truncated else "stop"
        span.set_attributes(
            {
                INPUT_TOKENS: usage.prompt,
                OUTPUT_TOKENS: usage.generated,
                CACHE_READ: usage.cached,
                THOUGHT: usage.thought,
            }
            | {FINISH: [finish]}
        )
        if not exchange.cached:  # a reply that was kept costs nothing
            self._tokens.record(usage.prompt, {**about, TOKEN_TYPE: "input"})
            self._tokens.record(usage.generated, {**about, TOKEN_TYPE: "output"})
        if span.is_recording() and _captured():
            said = _messages((Message("assistant", reply.text),), finish_reason=finish)
            span.set_attribute(OUTPUT_MESSAGES, said)

    # --- a debate ---------------------------------------------------------------------------------------------------

    async def debate(self, opened: Opened, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The events of a debate, with a span around them and one around each round, in which its calls are made."""
        about = {OPERATION: _DEBATE, WORKFLOW: "debate"}
        seats = {AGENTS: [seat.name for seat in opened.agents], JUDGES: [seat.name for seat in opened.judges]}
        whole = self._tracer.start_span(f"{_DEBATE} debate", attributes={**about, **seats})
        if whole.is_recording() and _captured():
            whole.set_attribute(INPUT_MESSAGES, _messages((Message("user", opened.case.question),)))
        rounds, began = _Rounds(self._tracer, whole), monotonic()
        try:
            while True:
                token = context.attach(trace.set_span_in_context(rounds.current or whole))
                try:
                    event = await anext(events, None)
                finally:
                    context.detach(token)
                if event is None:
                    return
                rounds.see(event)
                if isinstance(event, Finished):
                    ended = {STOP_REASON: event.stop_reason, **about}
                    ended |= {ERROR: "_OTHER"} if event.stop_reason == "error" else {}
                    self._debates.record(monotonic() - began, ended)
                    self._rounds.record(event.rounds, ended)
                    _told(whole, event)
                yield event
        except BaseException as error:  # also where nobody waits any more
            _fail(whole, error)
            raise
        finally:
            rounds.close()
            whole.end()
            await events.aclose()


class _Rounds:
    """The spans of the rounds of one debate."""

    def __init__(self, tracer: trace.Tracer, whole: Span) -> None:
        self._tracer, self._whole = tracer, trace.set_span_in_context(whole)
        self._last, self._since = -1, time_ns()
        self.current: Span | None = None

    def see(self, event: Event) -> None:
        """A round begins with its first event, counted from the end of the one before, and ends when it is measured."""
        if isinstance(event, RoundEvent) and event.round > self._last:
            self.close()
            self._last = event.round
            self.current = self._tracer.start_span(
                f"round {event.round}", self._whole, attributes={ROUND: event.round}, start_time=self._since
            )
        if isinstance(event, Measured) and self.current is not None:
            found = ((name, getattr(event, key)) for key, name in SIGNALS.items())
            self.current.set_attributes({name: value for name, value in found if value is not None})
        if isinstance(event, Initialized | Measured):
            self.close()

    def close(self) -> None:
        """End the round that is open, if one is."""
        if self.current is not None:
            self.current.end()
            self.current, self._since = None, time_ns()


def _told(span: Span, end: Finished) -> None:
    """How a debate ended."""
    span.set_attributes(
        {STOP_REASON: end.stop_reason, ROUNDS: end.rounds, TOKENS: end.tokens, USD: end.usd}
        | {WITHHELD: end.answer is None or end.abstained is not None}
    )
    if end.stop_reason == "error":
        span.set_attribute(ERROR, "_OTHER")
        span.set_status(Status(StatusCode.ERROR))
    if span.is_recording() and _captured() and end.answered is not None:
        span.set_attribute(OUTPUT_MESSAGES, _messages((Message("assistant", end.answered),), finish_reason="stop"))


def _fail(span: Span, error: BaseException) -> None:
    """What went wrong, by its kind: the text of an error may repeat what was said."""
    span.set_attribute(ERROR, type(error).__name__)
    span.set_status(Status(StatusCode.ERROR, str(error) if _captured() else None))


def _messages(said: tuple[Message, ...], **more: str) -> str:
    parts = [{"role": each.role, "parts": [{"type": "text", "content": each.content}], **more} for each in said]
    return json.dumps(parts, ensure_ascii=False)
