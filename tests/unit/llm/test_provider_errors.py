"""What servers and networks say becomes an error of ours: all of it, with the next step, without keys."""

from __future__ import annotations

import asyncio
import socket
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest

from maci.errors import (
    BadRequest,
    ContentRefused,
    ContextOverflow,
    Interrupted,
    ModelError,
    Overloaded,
    RateLimited,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from maci.llm.keys import Key
from maci.llm.providers import OpenAI
from maci.llm.providers._api import HttpAnswer
from maci.llm.providers._errors import Complaint, Peer, interrupted, lost, no_key, refused
from provider_helpers import ASK

SECRET = "sk-proj-Zx81kQpL0vTT93aa"
PEER = Peer(
    name="openai/gpt-x",
    host="api.example.org",
    base_url="https://api.example.org/v1",
    key=Key(SECRET, "OPENAI_API_KEY"),
    key_help="export OPENAI_API_KEY=…",
)


def openai(message: str, code: str | None = None, type: str = "invalid_request_error", param: str | None = None):
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def anthropic(message: str, type: str = "invalid_request_error"):
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}


def gemini(code: int, message: str, status: str, *details: dict):
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def vllm(code: int, message: str):
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": code}


def coded(code: int, message: str, **more: object):
    return {"error": {"code": code, "message": message, **more}}


QUOTA = "You exceeded your current quota, please check your plan and billing details."
TOO_LONG = "The input token count (134123) exceeds the maximum number of tokens allowed (131072)."
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}],
}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}

RECORDED = [
    # OpenAI
    (401, openai(f"Incorrect API key provided: {SECRET}.", "invalid_api_key"), WrongKey),
    (403, openai("Country, region, or territory not supported", "unsupported_country_region_territory"), WrongKey),
    (403, openai("You are not allowed to request logprobs from this model."), BadRequest),
    (404, openai("The model `gpt-x` does not exist or you do not have access to it.", "model_not_found"), UnknownModel),
    (400, openai("invalid model ID"), UnknownModel),
    (429, openai("Rate limit reached for gpt-x. Please try again in 20ms.", "rate_limit_exceeded", "requests"), RateLimited),
    (429, openai("You exceeded your current quota, please check your plan.", "insufficient_quota", "insufficient_quota"), ModelError),
    (429, openai("Request too large for gpt-x on tokens per min (TPM): Limit 30000.", "rate_limit_exceeded"), ContextOverflow),
    (400, openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded", param="messages"), ContextOverflow),
    (400, openai("Your request was rejected by our safety system.", "content_policy_violation"), ContentRefused),
    (400, openai("Invalid prompt: flagged as potentially violating our usage policy.", "invalid_prompt"), ContentRefused),
    (400, openai("Unsupported parameter: 'seed'", "unsupported_parameter", param="seed"), BadRequest),
    (400, openai("max_tokens is too large: 40000. This model supports at most 16384 completion tokens."), BadRequest),
    (500, openai("The server had an error while processing your request.", type="server_error"), Overloaded),
    (503, openai("The engine is currently overloaded", type="server_error"), Overloaded),
    # Anthropic
    (401, anthropic("invalid x-api-key", "authentication_error"), WrongKey),
    (403, anthropic("Your API key does not have permission", "permission_error"), WrongKey),
    (404, anthropic("model: claude-x", "not_found_error"), UnknownModel),
    (413, anthropic("Request exceeds the maximum size", "request_too_large"), ContextOverflow),
    (400, anthropic("prompt is too long: 215000 tokens > 200000 maximum"), ContextOverflow),
    (400, anthropic("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"), ContextOverflow),
    (400, anthropic("Your credit balance is too low to access the Anthropic API."), ModelError),
    (400, anthropic("Output blocked by content filtering policy"), ContentRefused),
    (400, anthropic("`temperature` is deprecated for this model."), BadRequest),
    (429, anthropic("This request would exceed your rate limit", "rate_limit_error"), RateLimited),
    (529, anthropic("Overloaded", "overloaded_error"), Overloaded),
    (504, anthropic("timed out", "timeout_error"), Interrupted),
    # Gemini, whose errors may come in a list
    (400, gemini(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", BAD_KEY), WrongKey),
    (403, gemini(403, "Permission denied", "PERMISSION_DENIED"), WrongKey),
    (404, gemini(404, "models/gemini-x is not found for API version v1beta", "NOT_FOUND"), UnknownModel),
    (400, [gemini(400, TOO_LONG, "INVALID_ARGUMENT")], ContextOverflow),
    (429, gemini(429, QUOTA, "RESOURCE_EXHAUSTED", RETRY), RateLimited),
    (429, gemini(429, "You exceeded your current quota.", "RESOURCE_EXHAUSTED", DAY, RETRY), ModelError),
    (503, gemini(503, "The model is overloaded.", "UNAVAILABLE"), Overloaded),
    (400, gemini(400, 'Invalid JSON payload received. Unknown name "seed"', "INVALID_ARGUMENT"), BadRequest),
    # vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Groq, DeepSeek
    (404, vllm(404, "The model `x` does not exist."), UnknownModel),
    (400, vllm(400, "This model's maximum context length is 6048 tokens. However, you requested 6616."), ContextOverflow),
    (500, coded(500, "the request is larger than the slot", type="exceed_context_size_error", n_ctx=256), ContextOverflow),
    (400, coded(400, "the request exceeds the available context size. try increasing it"), ContextOverflow),
    (503, coded(503, "Loading model", type="unavailable_error"), Overloaded),
    (404, {"error": {"message": "model 'llama9' not found", "type": "not_found_error", "param": None, "code": None}}, UnknownModel),
    (400, {"error": "Trying to keep the first 15857 tokens when context the overflows."}, ContextOverflow),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}, ContextOverflow),
    (400, coded(400, "acme/x is not a valid model ID"), UnknownModel),
    (402, coded(402, "Insufficient credits"), ModelError),
    (403, coded(403, "not possible", metadata={"reasons": ["violence"], "flagged_input": "…"}), ContentRefused),
    (400, coded(400, "Provider returned error", metadata={"raw": "maximum context length is 4096"}), ContextOverflow),
    (400, openai("Failed to validate JSON.", "json_validate_failed"), Interrupted),
    (402, openai("Insufficient Balance", "invalid_request_error", "unknown_error"), ModelError),
    # in front of them
    (404, {"detail": "Not Found"}, UnknownModel),
    (422, {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, BadRequest),
    (502, "<html><head><title>502 Bad Gateway</title></head></html>", Overloaded),
    (524, "<html>A timeout occurred</html>", Interrupted),
    (408, "", Interrupted),
    (301, "", BadRequest),
    (204, None, Interrupted),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), RECORDED)
def test_what_servers_say_is_understood(status: int, body: object, kind: type[ModelError]):
    error = Complaint.read(status, {}, body).error(PEER)
    assert type(error) is kind
    check_message(error)


def check_message(error: ModelError) -> None:
    """It names the model and the host and has a next step after the last colon; no key, one line, not long."""
    text = str(error)
    assert PEER.name in text and PEER.host in text and "\n" not in text and len(text) < 800
    assert SECRET not in text and SECRET[:10] not in repr(error)
    assert len(text.rpartition(": ")[2]) > 15


def test_every_status_has_an_error_with_a_next_step():
    for status in range(100, 1000):
        for body in (
            None,
            "",
            "text",
            [],
            {},
            {"error": None},
            {"error": {"message": None, "details": [1], "metadata": 3}},
        ):
            error = Complaint.read(status, {}, body).error(PEER)
            assert isinstance(error, ModelError)
            check_message(error)


def exceptions() -> list[type[BaseException]]:
    found: list[type[BaseException]] = []

    def walk(kind: type[BaseException]) -> None:
        found.append(kind)
        for each in kind.__subclasses__():
            walk(each)

    walk(aiohttp.ClientError)
    return [
        *found,
        TimeoutError,
        OSError,
        ConnectionResetError,
        ssl.SSLError,
        EOFError,
        ValueError,
        RuntimeError,
        UnicodeDecodeError,
    ]


@pytest.mark.parametrize("kind", exceptions())
def test_every_exception_of_the_transport_has_an_error(kind: type[BaseException]):
    error = lost(PEER, kind.__new__(kind), 120)
    assert type(error) in ((ModelError,) if issubclass(kind, aiohttp.InvalidURL) else (Unreachable, Interrupted))
    check_message(error)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (aiohttp.ClientConnectorError, Unreachable),
        (aiohttp.ClientConnectorDNSError, Unreachable),
        (aiohttp.ClientConnectorCertificateError, Unreachable),
        (aiohttp.ClientProxyConnectionError, Unreachable),
        (aiohttp.ConnectionTimeoutError, Unreachable),
        (aiohttp.ServerDisconnectedError, Interrupted),
        (aiohttp.ClientPayloadError, Interrupted),
        (aiohttp.ClientOSError, Interrupted),
        (aiohttp.SocketTimeoutError, Interrupted),
        (TimeoutError, Interrupted),
    ],
)
def test_only_what_was_surely_not_sent_is_unreachable(kind: type[BaseException], expected: type[ModelError]):
    assert type(lost(PEER, kind.__new__(kind))) is expected


def test_an_unreachable_host_says_why_and_asks_whether_the_server_runs():
    cause = socket.gaierror(-2, "Name or service not known")
    text = str(
        lost(
            PEER,
            aiohttp.ClientConnectorDNSError(
                aiohttp.client_reqrep.ConnectionKey("h", 1, False, True, None, None, None), cause
            ),
        )
    )
    assert "Name or service not known" in text and "is the server running at https://api.example.org/v1" in text


def test_what_is_retried_what_is_charged_and_what_is_final():
    def of(status: int, body: object = None, **more: bool) -> ModelError:
        return Complaint.read(status, {}, body, **more).error(PEER)

    assert [(e.retry, e.charged, e.fatal) for e in (of(429), of(408))] == [(True, False, False), (True, True, False)]
    faults = [of(status) for status in (500, 501, 502, 503, 504, 520, 524)]
    assert all(error.retry and error.charged and not error.fatal for error in faults)
    away = [of(409), of(425), of(529), of(503, coded(503, "Loading model", type="unavailable_error"))]
    assert all(error.retry and not error.charged for error in away)
    assert of(401).fatal and of(404).fatal
    quota = of(429, openai("quota", "insufficient_quota"))
    assert quota.fatal and not quota.retry and "billing" in str(quota)
    assert ModelError("x").fatal is False


def test_an_error_in_a_200_may_have_cost_something():
    body = {"error": {"code": 502, "message": "upstream"}}
    assert type(Complaint.read(502, {}, body, begun=True).error(PEER)) is Interrupted
    assert type(Complaint.read(429, {}, body, begun=True).error(PEER)) is Interrupted
    assert type(Complaint.read(400, {}, body, begun=True).error(PEER)) is BadRequest


def test_the_wait_is_read_from_headers_and_bodies():
    def wait(headers: dict[str, str], body: object = None) -> float | None:
        return Complaint.read(429, headers, body).error(PEER).retry_after

    assert wait({"retry-after": "7"}) == 7
    assert wait({"retry-after": "1.5"}) == 1.5
    assert wait({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 27 <= (wait({"retry-after": later}) or 0) <= 30
    assert wait({"retry-after": format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)}) == 0
    assert wait({}, openai("Please try again in 1m30s.")) == 90
    assert wait({}, openai("Please try again in 20ms.")) == pytest.approx(0.02)
    assert wait({}, gemini(429, "quota", "RESOURCE_EXHAUSTED", RETRY)) == 37
    assert wait({"retry-after": "9" * 400}) == 86_400
    assert all(wait({"retry-after": bad}) is None for bad in ("soon", "", "nan", "-"))
    assert wait({}) is None


def test_what_a_server_says_is_cut_short_and_cleared():
    text = str(Complaint.read(400, {}, openai(f"{SECRET} " + "word " * 500)).error(PEER))
    assert SECRET not in text and "word" in text and len(text) < 600


def test_other_errors_have_next_steps_too():
    for error in (interrupted(PEER, f"not JSON {SECRET}"), refused(PEER, f"no {SECRET}")):
        check_message(error)
    assert "OPENAI_API_KEY" in str(no_key(PEER, "openai"))


def test_next_steps_are_those_a_person_needs():
    def step(status: int, body: object = None) -> str:
        return str(Complaint.read(status, {}, body).error(PEER))

    assert "OPENAI_API_KEY" in step(401) and "`maci doctor`" in step(401)
    assert "check the name" in step(404) and "`maci doctor`" in step(404)
    assert "evidence.context_tokens" in step(413)
    assert "reword" in step(400, openai("x", "content_filter"))
    assert "base_url" in step(302)


def test_a_model_that_had_not_finished_thinking_is_to_be_given_more_tokens() -> None:
    said = openai("Could not finish the message because max_tokens or model output limit was reached.")
    assert Complaint.read(400, {}, said).cut_off and not Complaint.read(400, {}, openai("No.")).cut_off

    async def answer(body: object, most: int) -> HttpAnswer:
        return HttpAnswer(400, {}, said)

    asked = OpenAI(model="o1", key=Key("k"))
    asked._post = answer  # type: ignore[method-assign]
    reply = asyncio.run(asked.send(ASK))
    assert (reply.text, reply.truncated, reply.usage.generated) == ("", True, ASK.max_tokens)
