"""The fakes behave like what they stand for."""

from __future__ import annotations

import asyncio

import pytest

from maci.errors import BudgetError, Overloaded
from maci.llm.budget import Purse
from maci.llm.catalogue import Price
from maci.llm.fake import FakeModel, FakeProvider
from maci.llm.model import Message, Model, Provider, Reply, Request
from maci.llm.usage import Bound, Usage

REQUEST = Request(messages=(Message("user", "What is it, in one word?"),), max_tokens=10)


def ask(model: FakeModel, times: int = 1) -> list[str]:
    async def main() -> list[str]:
        return [(await model.prepare(REQUEST).within()).text for _ in range(times)]

    return asyncio.run(main())


def test_queued_answers_come_in_order_and_then_the_function_answers():
    model: Model = FakeModel(replies=lambda request: f"{len(request.messages)} message")
    assert isinstance(model, FakeModel)
    model.enqueue("first", Reply(text="second"))
    assert ask(model, 4) == ["first", "second", "1 message", "1 message"]
    assert model.history == [REQUEST] * 4


def test_an_answer_may_be_an_error_or_an_async_function():
    async def slowly(request: Request) -> str:
        await asyncio.sleep(0)
        return "slow"

    model = FakeModel(replies=[slowly, Overloaded("503")])
    assert ask(model) == ["slow"]
    with pytest.raises(Overloaded):
        ask(model)


def test_running_out_of_answers_says_so():
    with pytest.raises(LookupError, match="fake/judge was sent 1 requests and has no answer"):
        ask(FakeModel("fake/judge"))


def test_it_draws_on_the_purse_as_a_client_does():
    async def main() -> None:
        model = FakeModel(replies=["yes"] * 9, bound=Bound(50, 0.01), price=Price(input=1, output=1))
        held = Purse(Bound(60, 0.01))
        reply = await model.prepare(REQUEST).make(held)
        assert held.total() == reply.usage and reply.usage.usd > 0
        done = await asyncio.gather(*(model.prepare(REQUEST).make(held) for _ in range(9)), return_exceptions=True)
        assert isinstance(done[-1], BudgetError)
        assert held.total().tokens <= 60

    asyncio.run(main())


def test_a_provider_counts_what_it_served():
    async def main() -> None:
        refused = Overloaded("503")
        provider: Provider = FakeProvider(replies=["a", Reply(text="b", usage=Usage(prompt=7, generated=2)), refused])
        assert isinstance(provider, FakeProvider)
        first = await provider.send(REQUEST)
        await provider.send(REQUEST)
        with pytest.raises(Overloaded):
            await provider.send(REQUEST)
        assert first.usage.prompt > 0 and provider.served == first.usage + Usage(prompt=7, generated=2)
        await provider.aclose()
        assert provider.closed

    asyncio.run(main())
