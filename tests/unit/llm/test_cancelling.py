"""Giving a call up: whatever else happens in that moment, it is given up."""

from __future__ import annotations

import asyncio
import time

import pytest

from fake_server import FakeServer, Faults
from maci.llm.budget import Purse
from maci.llm.cache import ResponseCache
from maci.llm.client import Client
from maci.llm.model import Message, Provider, Reply, Request
from maci.llm.providers import Http, OpenAI
from maci.llm.usage import Bound, Usage

ASKED = Request(messages=(Message("user", "Is it so?"),), max_tokens=10)


def test_a_call_that_is_given_up_in_the_moment_it_times_out_is_given_up() -> None:
    async def go() -> bool:
        async with FakeServer(faults=Faults(hang=1.0)) as server:
            http = Http(total=2.0)
            api = OpenAI(model="fake", http=http, base_url=f"{server.url}/v1")
            begun, call = time.monotonic(), asyncio.create_task(api.send(ASKED))
            while not server.faulted["hang"] and not call.done():  # noqa: ASYNC110  # the server has no event to wait for
                await asyncio.sleep(0.01)
            loop = asyncio.get_running_loop()
            loop.call_later(0.01, call.cancel)
            left = begun + 2.1 - time.monotonic()
            loop.call_later(0.005, time.sleep, max(0.02, left))  # both are over when the loop gets to see them
            await asyncio.wait([call])
            await http.aclose()
            return call.cancelled()

    assert asyncio.run(go())


class Slow(Provider):
    """A provider that counts what it is sent."""

    name, origin, identity = "x/slow", "nowhere", {"model": "slow"}

    def __init__(self) -> None:
        self.sent = 0

    async def send(self, request: Request) -> Reply:
        self.sent += 1
        await asyncio.sleep(0)
        return Reply(text="Yes.", usage=Usage(prompt=5, generated=5))

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("on_disk", [True, False])
def test_who_waited_for_budget_while_another_was_answered_asks_the_same_no_more(tmp_path, on_disk: bool) -> None:
    async def go() -> int:
        slow, cache = Slow(), ResponseCache(tmp_path / "replies.sqlite" if on_disk else None)
        client, granted = Client(slow, family="f", cache=cache), asyncio.Event()

        async def more(bound: Bound, *, optional: bool) -> bool:
            return await granted.wait()

        async def ask(purse: Purse) -> Reply:
            return await client.prepare(ASKED).make(purse)

        poor = asyncio.create_task(ask(Purse(Bound(), more)))
        await asyncio.sleep(0)
        await ask(Purse(Bound(10**6)))
        granted.set()
        assert (await poor).text == "Yes."
        await cache.aclose()
        return slow.sent

    assert asyncio.run(go()) == 1
