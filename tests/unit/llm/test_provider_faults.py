"""What becomes of every mistake and every fault, that keys stay where they are, and that sessions are closed."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from aiohttp import web

from fake_server import FakeServer, Faults
from maci.errors import (
    BadRequest,
    BudgetError,
    ConfigError,
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
from maci.llm.budget import Purse
from maci.llm.client import Client
from maci.llm.model import Message, Provider, Reply, Request
from maci.llm.providers import Anthropic, Gemini, Http, OpenAI, Responses
from maci.llm.providers._api import Api
from maci.llm.tokens import at_least
from maci.llm.usage import Bound
from provider_helpers import APIS, ASK, SECRET, provider, send, with_server

# ---- wrong key, unknown model, unreachable, too long -------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_each_mistake_of_a_person_has_its_error_and_its_next_step(api: type[Api]):
    async def test(server: FakeServer, http: Http) -> None:
        async def fails(kind: type[ModelError], *steps: str, request: Request = ASK, **more: Any) -> None:
            asked = provider(api, server.url, http, **more)
            with pytest.raises(kind) as caught:
                await asked.send(request)
            text = str(caught.value)
            assert type(caught.value) is kind and asked.name in text and server.url.removeprefix("http://") in text
            assert all(step in text for step in steps), text

        await fails(WrongKey, "TEST_KEY", "`maci doctor`", key="sk-wrong-key-123")
        await fails(WrongKey, "was sent none", "key_env", key=None)
        await fails(UnknownModel, "check the name", server.url, model="m-2")
        long = replace(ASK, messages=(Message("user", "word " * 8000),))
        await fails(ContextOverflow, "evidence.context_tokens", request=long)

    with_server(test, keys={SECRET}, models=["m-1"], context=4000)


@pytest.mark.parametrize("api", APIS)
def test_nothing_listening_is_unreachable_and_costs_nothing(api: type[Api]):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        async def test(server: FakeServer, http: Http) -> None:
            with pytest.raises(Unreachable, match=rf"\(Connection refused\): is the server running at {url}") as caught:
                await provider(api, url, http).send(ASK)
            assert caught.value.retry and not caught.value.charged

        with_server(test)


@pytest.mark.parametrize(
    ("api", "variable"), [(OpenAI, "OPENAI_API_KEY"), (Anthropic, "ANTHROPIC_API_KEY"), (Gemini, "GEMINI_API_KEY")]
)
def test_a_service_without_its_key_is_not_called(api: type[Api], variable: str):
    asked = api(model="m")

    async def run() -> None:
        for call in (asked.send(ASK), asked.models()):
            with pytest.raises(WrongKey, match=f"there is no key for .*export {variable}="):
                await call
        await asked.aclose()

    asyncio.run(run())


@pytest.mark.parametrize("api", APIS)
def test_a_server_on_this_machine_needs_no_key(api: type[Api]):
    async def test(server: FakeServer, http: Http) -> None:
        assert (await provider(api, server.url, http, key=None).send(ASK)).text
        assert not {"Authorization", "x-api-key", "x-goog-api-key"} & set(server.seen[-1][1])

    with_server(test)


@pytest.mark.parametrize("api", APIS)
def test_a_server_lists_its_models(api: type[Api]):
    async def test(server: FakeServer, http: Http) -> None:
        assert await provider(api, server.url, http).models() == ("m-1", "m-2")

    with_server(test, models=["m-1", "m-2"])


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http:///v1", "https://me:pw@host/v1"])
def test_a_base_url_that_is_none_is_refused_and_not_repeated(url: str):
    with pytest.raises(ConfigError, match="must be like http://") as caught:
        OpenAI(model="m", base_url=url)
    assert "pw" not in str(caught.value)


def test_an_unknown_service_needs_a_base_url():
    with pytest.raises(ConfigError, match="acme/m: no service of that name"):
        OpenAI(model="m", provider="acme")
    assert OpenAI(model="m", provider="acme", base_url="http://127.0.0.1:1/v1").name == "acme/m"
    assert OpenAI(model="a/b", provider="openrouter").origin == "openrouter.ai"


# ---- faults ------------------------------------------------------------------------------------------------------------------

EXPECTED: dict[str, type[ModelError] | None] = {
    "limited": RateLimited,
    "limited_wait": RateLimited,
    "broken": Overloaded,
    "unavailable": Overloaded,
    "reset": Interrupted,
    "hang": Interrupted,
    "drip": None,
    "cut": Interrupted,
    "bad_body": Interrupted,
    "bad_content": None,
    "wrong_schema": None,
    "nan": None,
    "negative": None,
    "empty": None,
    "huge": None,
    "refused": ContentRefused,
}


def test_every_fault_is_expected():
    assert set(EXPECTED) == {field.name for field in fields(Faults)}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", EXPECTED)
def test_every_fault_becomes_the_right_error_or_a_reply(api: type[Api], fault: str):
    kind = EXPECTED[fault]

    async def test(server: FakeServer, http: Http) -> None:
        for i in range(6 if fault == "bad_body" else 1):
            asked = provider(api, server.url, http)
            request = replace(ASK, messages=(Message("user", f"Request {i}"),))
            if kind is None:
                reply = await asked.send(request)
                assert reply.usage.generated <= request.max_tokens
                assert reply.truncated is (fault == "huge") and (reply.text == "") is (fault == "empty")
                assert len(reply.text) < 20_000  # of 1 MB, what 500 tokens can be at most
            else:
                with pytest.raises(kind) as caught:
                    await asked.send(request)
                error = caught.value
                assert type(error) is kind and asked.name in str(error)
                assert error.retry is (fault != "refused")
                # of a fault of its own (5xx) only the server knows whether it was charged
                assert error.charged is (kind is Overloaded or server.counts[SECRET].served > 0)
                assert error.retry_after == (0.125 if fault == "limited_wait" else None)
        assert server.faulted[fault] == server.counts[SECRET].requests

    with_server(test, lambda: Http(total=2 if fault == "hang" else 60), faults=Faults(**{fault: 1.0}), wait=0.125)


def test_a_time_out_says_how_long_it_waited():
    with pytest.raises(Interrupted, match=r"within 0\.2 s: allow it more time"):
        send(OpenAI, http=lambda: Http(total=0.2), faults=Faults(hang=1.0))


async def scripted(
    handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
    request: Request = ASK,
    api: type[Api] = OpenAI,
    **limits: Any,
) -> Reply:
    """One request to a server that does as it is told."""
    runner = web.ServerRunner(web.Server(handler, access_log=None))
    await runner.setup()
    http = Http(**limits)
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return await provider(api, f"http://127.0.0.1:{runner.addresses[0][1]}", http).send(request)
    finally:
        await http.aclose()
        await runner.cleanup()


def test_a_compressed_reply_without_end_is_not_read_to_its_end():
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(body=b" " * (1 << 20))
        response.enable_compression(web.ContentCoding.gzip)
        return response

    with pytest.raises(Interrupted, match=r"\(16192 bytes that are not JSON\)"):
        asyncio.run(scripted(handler, largest=1 << 16))


def test_an_error_too_long_to_read_is_an_interruption():
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=400, body=b"x" * (1 << 20))

    with pytest.raises(Interrupted, match="longer than 65536 bytes"):
        asyncio.run(scripted(handler, largest=1 << 16))


_BEGINNINGS = {
    OpenAI: '{"id": "1", "model": "m-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "',
    Responses: '{"status": "completed", "model": "m-1", "output": [{"type": "message", "content": [{"type": "output_text", "text": "',
    Anthropic: '{"id": "1", "model": "m-1", "usage": {"input_tokens": 9}, "content": [{"type": "text", "text": "',
    Gemini: '{"modelVersion": "m-1", "candidates": [{"content": {"role": "model", "parts": [{"text": "',
}


@pytest.mark.parametrize("api", APIS)
def test_a_server_that_writes_without_end_is_cut_off_and_what_came_counts_in_full(api: type[Api]):
    closed, written = asyncio.Event(), 0

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(_BEGINNINGS[api].encode())
        try:
            while True:
                await response.write(b"Fever, rash. " * 40)
                written += 520
                await asyncio.sleep(0)
        except (ConnectionError, asyncio.CancelledError):
            closed.set()
            raise

    async def run() -> Reply:
        reply = await scripted(handler, replace(ASK, max_tokens=100), api, total=20.0)
        await asyncio.wait_for(closed.wait(), 5)
        return reply

    reply = asyncio.run(run())
    repeated = 12 * len(ASK.schema.text) if api is Responses and ASK.schema else 0  # the schema, written with blanks
    assert reply.truncated and reply.text.startswith("Fever, rash. Fever") and len(reply.text) < 10_000 + repeated
    assert reply.usage.generated == at_least(reply.text) > 100
    assert reply.usage.prompt == 0  # nobody counted it to the end: the client counts what it has set aside


@pytest.mark.parametrize("api", APIS)
def test_a_reply_nobody_counted_costs_no_more_than_was_set_aside_for_it(api: type[Api]):
    """The bound of a prompt that begins as a known one is far below its bytes: what is not counted must not exceed it."""

    async def test(server: FakeServer, http: Http) -> None:
        client = Client(provider(api, server.url, http), family="fake", retries=0)
        ask = replace(ASK, messages=(Message("user", "The case.\n" * 400),), max_tokens=100)
        await client.prepare(ask).make(Purse(Bound(10**6)))
        again = replace(ask, messages=(Message("user", "The case.\n" * 400 + "And now?"),))
        call, server._table = client.prepare(again), Faults(huge=1.0).table()
        purse = Purse(call.bound)
        with pytest.raises(BudgetError):  # it was cut off, and a higher limit does not fit
            await call.make(purse)
        assert purse.total().tokens == call.bound.tokens

    with_server(test)


@pytest.mark.parametrize("api", APIS)
def test_a_reply_of_the_longest_tokens_is_read_to_its_end(api: type[Api]):
    """Sixteen bytes a token, and as many log-probabilities as can be asked for."""
    text = json.dumps({"justification": "electroencephalo" * 98})
    ask = replace(ASK, max_tokens=100, top_logprobs=0 if api is Anthropic else 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeServer, "_text", lambda self, *given: (text, True))
        reply, _, _ = send(api, ask)
    assert reply.text == text and not reply.truncated


def test_a_redirect_is_not_followed():
    seen: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    with pytest.raises(BadRequest, match=r"redirects to another address.*check base_url"):
        asyncio.run(scripted(handler))
    assert seen == ["/v1/chat/completions"]


# ---- keys stay where they are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_a_key_shows_up_nowhere_even_if_the_server_repeats_it(api: type[Api], caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(api, server.url, http)
        shown.extend([repr(asked), repr(asked.identity), asked.name, asked.origin, repr(asked._peer), repr(http)])
        with pytest.raises(WrongKey, match=r"\*\*\*") as caught:
            await asked.send(ASK)
        shown.extend([str(caught.value), repr(caught.value), *traceback.format_exception(caught.value)])

    with_server(test, keys={"another"}, echo=True)
    assert SECRET[:12] not in "".join(shown) + caplog.text


def test_a_key_is_not_in_the_message_of_a_broken_connection():
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=500, text=f"traceback: headers were {dict(request.headers)}")

    with pytest.raises(Overloaded) as caught:
        asyncio.run(scripted(handler))
    assert SECRET[:12] not in str(caught.value) and "traceback" in str(caught.value)


# ---- sessions ----------------------------------------------------------------------------------------------------------------


def test_one_session_serves_all_providers_of_a_loop_and_each_loop_has_its_own():
    http = Http()

    async def run() -> None:
        async with FakeServer() as server:
            await asyncio.gather(*(provider(api, server.url, http).send(ASK) for api in APIS))
            assert len(http._sessions) == 1
            await http.aclose()
            assert not http._sessions

    asyncio.run(run())
    asyncio.run(run())


def test_a_provider_closes_the_session_it_made_and_not_one_it_was_lent():
    async def test(server: FakeServer, http: Http) -> None:
        lent, own = provider(OpenAI, server.url, http), provider(OpenAI, server.url)
        for asked in (lent, own):
            await asked.send(ASK)
            await asked.aclose()
        assert http._sessions and not own._http._sessions
        await lent.send(ASK)

    with_server(test)


def test_a_cancelled_request_is_cancelled():
    async def test(server: FakeServer, http: Http) -> None:
        reached = asyncio.Event()
        server.answer = lambda body: reached.set()
        task = asyncio.ensure_future(provider(OpenAI, server.url, http).send(ASK))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_server(test, delay=30.0)


def test_the_classes_are_providers():
    asked: list[Provider] = [OpenAI(model="m"), Anthropic(model="m"), Gemini(model="m")]
    assert [(each.name, each.origin) for each in asked] == [
        ("openai/m", "api.openai.com"),
        ("anthropic/m", "api.anthropic.com"),
        ("gemini/m", "generativelanguage.googleapis.com"),
    ]


def test_a_proxy_is_used_for_other_machines_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    http = Http()
    routes = {
        url: http._route(url)[1]
        for url in ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1", "https://inside.example/v1")
    }
    assert list(routes.values()) == ["http://proxy.example:3128", None, None]


@pytest.mark.parametrize("proxy", ["http://me:pass-4711@[", "me:pass-4711@host", "http://me:pass-4711@127.0.0.1:99999"])
def test_a_proxy_that_is_no_address_costs_nothing_and_is_not_repeated(monkeypatch: pytest.MonkeyPatch, proxy: str):
    monkeypatch.setenv("https_proxy", proxy)

    async def ask() -> None:
        http = Http()
        try:
            await provider(OpenAI, "https://api.openai.com", http).send(ASK)
        finally:
            await http.aclose()

    with pytest.raises(ModelError, match="HTTPS_PROXY") as caught:
        asyncio.run(ask())
    assert not caught.value.charged and not caught.value.retry and "4711" not in str(caught.value)


@pytest.mark.parametrize("api", APIS)
def test_all_a_server_charges_for_is_a_reply_or_an_error_that_says_so(api: type[Api]):
    async def test(server: FakeServer, http: Http) -> None:
        asked = provider(api, server.url, http)

        few = asyncio.Semaphore(20)  # so that only what hangs runs into the time-out, also on a busy machine

        async def one(i: int) -> Reply | ModelError:
            async with few:
                try:
                    return await asked.send(replace(ASK, messages=(Message("user", f"Request {i}"),)))
                except ModelError as error:
                    return error

        results = await asyncio.gather(*(one(i) for i in range(300)))
        replies = [result for result in results if isinstance(result, Reply)]
        errors = [result for result in results if isinstance(result, ModelError)]
        count = server.counts[SECRET]
        assert count.served <= len(replies) + sum(error.charged for error in errors)
        assert count.requests - count.served > 20 and any(not error.charged for error in errors)
        counted = [reply for reply in replies if not reply.truncated]  # the rest was cut off before the server's count
        assert len(server.faulted) == len(EXPECTED) and sum(reply.usage.prompt for reply in counted) <= count.prompt

    with_server(test, lambda: Http(total=2), faults=Faults.every(0.7), seed=2)
