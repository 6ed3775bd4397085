"""A server that behaves like the three APIs, a session, and a request: what the tests of providers share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fake_server import FakeServer
from maci.llm.keys import Key
from maci.llm.model import Message, Reply, Request, Schema
from maci.llm.providers import Anthropic, Gemini, Http, OpenAI, Responses
from maci.llm.providers._api import Api

SECRET = "sk-fake-Zx81kQpL0vTT93aa"
JUDGE = {
    "type": "object",
    "properties": {
        "evidence": {"type": "integer", "minimum": 0, "maximum": 100},
        "links": {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": 100},
            "minItems": 2,
            "maxItems": 2,
        },
        "justification": {"type": "string", "maxLength": 200},
    },
    "required": ["evidence", "links"],
}
ASK = Request(
    messages=(Message("system", "You judge."), Message("user", "The case."), Message("user", "Now score it.")),
    max_tokens=500,
    schema=Schema("score", JUDGE),
    temperature=0.3,
    seed=7,
)
APIS = [OpenAI, Responses, Anthropic, Gemini]


def provider(
    api: type[Api], url: str, http: Http | None = None, key: str | None = SECRET, model: str = "m-1", **more: Any
) -> Api:
    base = url + "/v1" if issubclass(api, OpenAI) else url
    return api(model=model, base_url=base, http=http, key=None if key is None else Key(key, "TEST_KEY"), **more)


def with_server(
    test: Callable[[FakeServer, Http], Awaitable[Any]], http: Callable[[], Http] = Http, **settings: Any
) -> Any:
    """Run a test with a server and a session, both closed at the end."""

    async def run() -> Any:
        async with FakeServer(**settings) as server:
            session = http()
            try:
                return await asyncio.wait_for(test(server, session), 20)
            finally:
                await session.aclose()

    return asyncio.run(run())


def send(
    api: type[Api], request: Request = ASK, http: Callable[[], Http] = Http, **settings: Any
) -> tuple[Reply, FakeServer, Api]:
    async def test(server: FakeServer, session: Http) -> tuple[Reply, FakeServer, Api]:
        asked = provider(api, server.url, session)
        return await asked.send(request), server, asked

    return with_server(test, http, **settings)
