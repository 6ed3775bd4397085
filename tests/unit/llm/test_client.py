"""The client: cache, then budget, then limits, then the provider; and what each fault costs."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maci.errors import (
    BadRequest,
    BudgetError,
    ContentRefused,
    ContextOverflow,
    EnvironmentError_,
    Interrupted,
    ModelError,
    Overloaded,
    RateLimited,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from maci.llm.budget import Ledger, Purse
from maci.llm.cache import ResponseCache
from maci.llm.catalogue import Price
from maci.llm.client import Client
from maci.llm.fake import FakeProvider
from maci.llm.limits import CircuitOpen, Limiter
from maci.llm.model import Message, Model, Reply, Request
from maci.llm.tokens import MeasuredPrompt
from maci.llm.usage import Bound, PaidFailure, Usage

PRICE = Price(input=1.0, output=10.0, cached=0.1)
REQUEST = Request(messages=(Message("user", "What is it?"),), max_tokens=100)
GOOD = Reply(text="Dengue.", usage=Usage(prompt=20, cached=5, generated=10), model="m-1")
FAULTS = (Unreachable("no route"), Overloaded("503"), RateLimited("429"), Interrupted("reset"))


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def made(*answers, clock: Clock | None = None, **options) -> tuple[Client, FakeProvider, Clock]:
    clock = clock or Clock()
    provider = FakeProvider(replies=answers)
    options = {"family": "fake", "price": PRICE, **options}
    return Client(provider, clock=clock, sleep=clock.sleep, **options), provider, clock


def bill(client: Client, *, granted: Bound | None = None, request: Request = REQUEST):
    """Run one call with a purse; what came of it and what the purse says it cost."""

    async def main():
        held = Purse(granted or Bound(10**9, 10**9))
        (done,) = await asyncio.gather(client.prepare(request).make(held), return_exceptions=True)
        return done, held

    return asyncio.run(main())


def test_a_client_is_a_model():
    client, _, _ = made()
    model: Model = client
    assert (model.name, model.family) == ("fake/model", "fake")
    bound = model.prepare(REQUEST).bound
    assert bound.tokens > 100 and bound.usd == pytest.approx((bound.tokens - 100) * 1e-6 + 100 * 10e-6)


def test_a_request_is_measured_once_and_looked_up_before_every_attempt(monkeypatch):
    measured, looked_up = [], []

    class Watched(ResponseCache):
        def find(self, key):
            looked_up.append(key)
            return super().find(key)

    def measure(*parts):
        measured.append(parts)
        return MeasuredPrompt(*parts)

    monkeypatch.setattr("maci.llm.client.MeasuredPrompt", measure)
    client, _, _ = made(Overloaded("503"), GOOD, cache=Watched())

    async def main() -> None:
        call = client.prepare(REQUEST)
        assert len(looked_up) == 1 and call.bound.tokens > 100
        await call.within()

    asyncio.run(main())
    assert len(measured) == 1
    assert len(looked_up) == 3  # for its price and before each attempt: another process may have bought it meanwhile


def test_a_reply_that_another_process_has_kept_since_the_call_was_priced_is_not_bought_again(tmp_path):
    async def main() -> None:
        caches = [ResponseCache(tmp_path / "replies.sqlite") for _ in range(2)]  # as two processes have them
        mine, provider, _ = made(GOOD, cache=caches[0])
        other, _, _ = made(GOOD, cache=caches[1])
        call = mine.prepare(REQUEST)
        await other.prepare(REQUEST).within()
        reply = await call.within()
        assert reply.usage.free and not provider.history
        for cache in caches:
            await cache.aclose()

    asyncio.run(main())


def test_a_reply_has_its_price_and_the_purse_knows_it():
    client, _, _ = made(GOOD)
    reply, held = bill(client)
    usd = (15 * 1.0 + 5 * 0.1 + 10 * 10.0) / 1e6
    assert reply == replace(GOOD, usage=replace(GOOD.usage, usd=usd))
    assert held.total() == reply.usage and reply.usage.paid


def test_without_a_known_price_tokens_are_counted_and_dollars_are_not():
    client, _, _ = made(GOOD, price=None)
    reply, held = bill(client)
    assert client.prepare(REQUEST).bound.usd == 0 == reply.usage.usd
    assert held.total().tokens == 30


def test_a_repeated_request_is_answered_from_the_cache_and_counts_but_costs_nothing():
    client, provider, _ = made(GOOD, cache=ResponseCache())
    bill(client)
    reply, held = bill(client)
    assert len(provider.history) == 1
    assert reply.text == GOOD.text and reply.usage.free and reply.usage.usd == 0
    assert held.total().tokens == 30 and held.total().usd == 0 and held.used


def test_another_draw_of_the_same_request_is_another_call():
    client, provider, _ = made(GOOD, GOOD, cache=ResponseCache())
    bill(client)
    bill(client, request=replace(REQUEST, sample=1))
    assert len(provider.history) == 2


def test_a_reply_is_kept_once_it_is_on_disk_and_found_by_the_next_process(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        client, _, _ = made(GOOD, cache=cache)
        held = Purse(Bound(10**6, 1.0))
        reply = await client.prepare(REQUEST).make(held)
        assert reply.usage.kept and not reply.usage.paid and held.total().kept
        await cache.aclose()
        cache = ResponseCache(tmp_path / "r.sqlite")
        client, provider, _ = made(cache=cache)
        reply = await client.prepare(REQUEST).within()
        assert reply.text == GOOD.text and reply.usage.free and reply.usage.kept and not provider.history
        await cache.aclose()

    asyncio.run(main())


def test_a_disk_that_fails_loses_the_record_and_not_the_answer(tmp_path, caplog):
    class Full(ResponseCache):
        async def put(self, key, reply):
            raise EnvironmentError_("the response cache cannot be used (disk full)")

    async def main() -> None:
        cache = Full(tmp_path / "r.sqlite")
        client, _, _ = made(GOOD, cache=cache)
        held = Purse(Bound(10**6, 1.0))
        reply = await client.prepare(REQUEST).make(held)
        assert reply.text == GOOD.text and not reply.usage.kept and held.total() == reply.usage
        await cache.aclose()

    asyncio.run(main())
    assert "disk full" in caplog.text


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_passing_fault_is_tried_again(fault):
    client, provider, clock = made(fault, fault, GOOD)
    reply, held = bill(client)
    assert reply.text == GOOD.text and len(provider.history) == 3 and len(clock.slept) == 2
    lost = 2 * client.prepare(REQUEST).bound.tokens if fault.charged else 0
    assert held.total().tokens >= 30 + (lost and 200)
    assert (held.total().tokens > 30) == fault.charged


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_the_last_error_says_after_how_many_attempts(fault):
    client, provider, _ = made(*[type(fault)("gone")] * 3, retries=2)
    error, _ = bill(client)
    assert type(error) is type(fault) and str(error) == "gone (after 3 attempts)" and len(provider.history) == 3


@pytest.mark.parametrize("kind", [WrongKey, UnknownModel, ContextOverflow, BadRequest, ContentRefused, ModelError])
def test_what_cannot_get_better_is_raised_at_once(kind):
    client, provider, clock = made(kind("no"))
    error, held = bill(client)
    assert type(error) is kind and str(error) == "no" and len(provider.history) == 1 and not clock.slept
    assert held.total().tokens == (client.prepare(REQUEST).bound.tokens if kind.charged else 0)


def test_an_error_that_says_what_it_cost_is_charged_that():
    client, _, _ = made(PaidFailure("no", Usage(prompt=20, generated=3)))
    _, held = bill(client)
    assert held.total() == Usage(prompt=20, generated=3, usd=pytest.approx((20 + 30) / 1e6))


def test_a_hang_is_an_interruption_and_counts_in_full():
    async def hang(_):
        await asyncio.Event().wait()

    client, _, _ = made(hang, timeout=0.01, retries=0)
    error, held = bill(client)
    assert isinstance(error, Interrupted) and "within 0.01 s" in str(error)
    assert held.total().tokens == client.prepare(REQUEST).bound.tokens


def test_a_call_cancelled_on_its_way_counts_in_full_and_one_that_waits_costs_nothing():
    async def hang(_):
        await asyncio.Event().wait()

    async def main() -> None:
        client, _, _ = made(hang, limiter=Limiter(concurrency=1))
        purses = [Purse(Bound(10**6, 1.0)), Purse(Bound(10**6, 1.0))]
        tasks = []
        for held in purses:
            tasks.append(asyncio.ensure_future(client.prepare(REQUEST).make(held)))
        for _ in range(5):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert [held.total().tokens for held in purses] == [client.prepare(REQUEST).bound.tokens, 0]
        assert all(task.cancelled() for task in tasks)

    asyncio.run(main())


def test_a_bug_in_a_provider_comes_through_and_counts_in_full():
    client, _, _ = made(ZeroDivisionError("bug"))
    error, held = bill(client)
    assert isinstance(error, ZeroDivisionError) and held.total().tokens == client.prepare(REQUEST).bound.tokens


@pytest.mark.parametrize("when", ["begins", "ends"])
def test_telemetry_that_fails_loses_neither_a_reply_nor_an_error(monkeypatch, caplog, when):
    def broken(*_: object):
        raise ZeroDivisionError("no exporter")

    monkeypatch.setattr("maci.llm.client.observe", broken if when == "begins" else lambda *_: broken)
    client, _, _ = made(GOOD, WrongKey("401"))
    reply, held = bill(client)
    assert reply.text == GOOD.text and held.total() == reply.usage and len(held.exchanges) == 1
    assert "telemetry of a request to fake/model failed" in caplog.text and "no exporter" in caplog.text
    error, held = bill(client)
    assert isinstance(error, WrongKey) and held.exchanges[0].error


def test_what_does_not_fit_the_purse_is_not_sent():
    client, provider, _ = made(GOOD)
    bound = client.prepare(REQUEST).bound
    for short in (Bound(bound.tokens - 1, bound.usd), Bound(bound.tokens, bound.usd * 0.9)):
        error, held = bill(client, granted=short)
        assert isinstance(error, BudgetError) and held.total().tokens == 0
    assert not provider.history
    reply, _ = bill(client, granted=bound)
    assert reply.text == GOOD.text


def test_each_attempt_draws_anew():
    client, provider, _ = made(Interrupted("reset"), GOOD)
    bound = client.prepare(REQUEST).bound
    error, held = bill(client, granted=bound)
    assert isinstance(error, BudgetError) and len(provider.history) == 1 and held.total().tokens == bound.tokens
    client, provider, _ = made(RateLimited("429"), GOOD)
    reply, _ = bill(client, granted=bound)
    assert reply.text == GOOD.text and len(provider.history) == 2


def test_backoff_grows_is_capped_and_is_the_same_for_the_same_request():
    waits = []
    for _ in range(2):
        client, _, clock = made(*[Unreachable("x")] * 13, retries=12, deadline=10**6, limiter=None)
        client._attempts = replace(
            client._attempts, limiter=Limiter(concurrency=1)
        )  # its breaker runs on real time, and never opens here
        bill(client)
        waits.append(clock.slept)
    assert waits[0] == waits[1] and len(waits[0]) == 12
    assert all(0 <= wait <= min(30, 0.5 * 2**i) for i, wait in enumerate(waits[0]))
    assert max(waits[0]) > 4


def test_retry_after_is_honoured_up_to_a_minute():
    client, provider, clock = made(RateLimited("429", 42.0), GOOD)
    reply, _ = bill(client)
    assert reply.text == GOOD.text and clock.now >= 42
    client, provider, clock = made(RateLimited("429", 3600.0), GOOD)
    error, _ = bill(client)
    assert str(error) == "429 (it asks to wait 3600 s)" and len(provider.history) == 1 and not clock.slept


def test_after_the_deadline_no_attempt_is_begun():
    client, provider, clock = made(*[RateLimited("429", 50.0)] * 10, retries=9, deadline=120)
    error, _ = bill(client)
    assert isinstance(error, RateLimited) and len(provider.history) == 3 and clock.now <= 120


def test_an_open_circuit_fails_at_once_and_sets_nothing_aside():
    async def main() -> None:
        client, provider, clock = made(*[Unreachable("x")] * 20, retries=0)
        for _ in range(8):
            with pytest.raises(Unreachable):
                await client.prepare(REQUEST).within()
            clock.now += 1
        held = Purse(Bound(10**6, 1.0))
        with pytest.raises(CircuitOpen, match="failed 8 times in a row"):
            await client.prepare(REQUEST).make(held)
        assert len(provider.history) == 8 and not held.used

    asyncio.run(main())


def test_two_who_ask_the_same_at_once_make_one_call():
    async def main() -> None:
        answer = asyncio.Event()

        async def slow(_):
            await answer.wait()
            return GOOD

        client, provider, _ = made(slow, cache=ResponseCache())
        held = [Purse(Bound(10**6, 1.0)) for _ in range(4)]
        tasks = []
        for each in held:
            tasks.append(asyncio.ensure_future(client.prepare(REQUEST).make(each)))
        for _ in range(5):
            await asyncio.sleep(0)
        answer.set()
        replies = await asyncio.gather(*tasks)
        assert len(provider.history) == 1
        assert [reply.usage.free for reply in replies] == [False, True, True, True]
        assert [each.total().tokens for each in held] == [30] * 4
        assert sum(each.total().usd for each in held) == held[0].total().usd > 0

    asyncio.run(main())


@pytest.mark.parametrize("end", ["fails", "is cancelled"])
def test_who_waits_for_the_same_call_asks_itself_when_that_call(end):
    async def main() -> None:
        async def first(_):
            await asyncio.sleep(0)
            if end == "fails":
                raise BadRequest("no")
            await asyncio.Event().wait()

        cache = ResponseCache()
        client, provider, _ = made(first, GOOD, cache=cache)
        leader, follower = (asyncio.ensure_future(client.prepare(REQUEST).within()) for _ in range(2))
        for _ in range(5):
            await asyncio.sleep(0)
        leader.cancel()
        assert (await asyncio.wait_for(follower, 5)).text == GOOD.text
        assert len(provider.history) == 2 and not cache.flights
        await asyncio.gather(leader, return_exceptions=True)

    asyncio.run(main())


def test_who_waits_for_a_grant_holds_up_nobody_who_asks_the_same_or_wants_a_turn():
    """A debate grants more only when its other calls are done: none of them may wait for this one."""

    async def main() -> None:
        others_done = asyncio.Event()

        async def more(_: Bound, *, optional: bool) -> bool:
            await others_done.wait()
            return True

        client, _, _ = made(Interrupted("reset"), GOOD, GOOD, cache=ResponseCache(), limiter=Limiter(concurrency=1))
        bound = client.prepare(REQUEST).bound
        first = asyncio.ensure_future(client.prepare(REQUEST).make(Purse(bound, more)))
        same = asyncio.ensure_future(client.prepare(REQUEST).make(Purse(Bound(10**6, 1.0))))
        other = asyncio.ensure_future(client.prepare(replace(REQUEST, sample=1)).make(Purse(Bound(10**6, 1.0))))
        await asyncio.wait_for(asyncio.gather(same, other), 5)
        others_done.set()
        assert (await asyncio.wait_for(first, 5)).usage.free

    asyncio.run(main())


def test_no_count_is_taken_for_the_most_it_can_be():
    client, _, _ = made(Reply(text="Dengue."), Reply(text="Dengue.", usage=Usage(prompt=-50, generated=-5)))

    async def no_usage(request):
        return Reply(text="Dengue.")

    client.provider.send = no_usage
    reply, held = bill(client)
    assert reply.usage.tokens == client.prepare(REQUEST).bound.tokens == held.total().tokens

    async def negative(request):
        return Reply(text="Dengue.", usage=Usage(prompt=-50, generated=-5))

    client.provider.send = negative
    reply, _ = bill(client)
    assert reply.usage.tokens == client.prepare(REQUEST).bound.tokens


def test_a_reply_has_no_fewer_tokens_than_its_text_allows():
    text = "The rash and the low platelets point to dengue. " * 10
    client, _, _ = made(Reply(text=text, usage=Usage(prompt=20, generated=1)), clock=Clock())
    reply, held = bill(client)
    assert len(text) / 9 < reply.usage.generated <= len(text) / 8 and held.total().generated == reply.usage.generated
    spaced, _, _ = made(Reply(text="{" + " " * 900 + "}", usage=Usage(prompt=20, generated=3)))
    assert bill(spaced)[0].usage.generated == 3


def test_a_reply_above_its_bound_is_counted_as_it_is_and_makes_later_bounds_larger(caplog):
    caplog.set_level(logging.WARNING)
    client, _, _ = made(*[replace(GOOD, usage=Usage(prompt=5000, generated=300))] * 2)
    before = client.prepare(REQUEST).bound
    reply, held = bill(client)
    assert reply.usage.tokens == 5300 == held.total().tokens
    after = client.prepare(REQUEST).bound
    assert after.tokens >= 5300 and after.usd > before.usd
    bill(client)
    assert len(caplog.records) == 1 and "5000 prompt and 300 generated" in caplog.text


def test_bounds_get_tighter_as_prompts_repeat():
    client, _, _ = made(replace(GOOD, usage=Usage(prompt=900, generated=10)))
    request = replace(REQUEST, messages=(Message("user", "evidence\n" * 400),))
    before = client.prepare(request).bound.tokens
    bill(client, request=request)
    assert 900 + request.max_tokens <= client.prepare(request).bound.tokens < before / 2


def test_who_got_a_grant_does_not_repeat_a_call_that_began_meanwhile():
    async def main() -> None:
        grant, answer = asyncio.Event(), asyncio.Event()

        async def more(_: Bound, *, optional: bool) -> bool:
            await grant.wait()
            return True

        async def slow(_):
            await answer.wait()
            return GOOD

        client, provider, _ = made(Interrupted("reset"), slow, cache=ResponseCache())
        lost = client.prepare(REQUEST).bound.tokens
        held = Purse(client.prepare(REQUEST).bound, more)
        first = asyncio.ensure_future(client.prepare(REQUEST).make(held))
        for _ in range(10):
            await asyncio.sleep(0)
        second = asyncio.ensure_future(client.prepare(REQUEST).within())
        for _ in range(5):
            await asyncio.sleep(0)
        grant.set()
        for _ in range(5):
            await asyncio.sleep(0)
        answer.set()
        replies = await asyncio.wait_for(asyncio.gather(first, second), 5)
        assert [reply.usage.free for reply in replies] == [True, False] and len(provider.history) == 2
        assert held.total().tokens == lost + 30

    asyncio.run(main())


# --- whatever happens, no ceiling is exceeded, and everything the provider served is on the bill


def counted(request: Request) -> int:
    return sum(5 + (len(message.content.encode()) + 3) // 4 for message in request.messages)


@st.composite
def worlds(draw):
    faults = st.sampled_from(
        ["ok", "ok", "ok", "429", "wait", "500", "refused", "reset", "content", "bad", "hang", "bug"]
    )
    return {
        "actions": draw(st.lists(st.tuples(faults, st.integers(0, 40), st.integers(0, 3)), max_size=40)),
        "calls": draw(
            st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 60, 400, 410])), min_size=1, max_size=12)
        ),
        "tokens": draw(st.sampled_from([100, 1000, 6000, 20_000])),
        "usd": draw(st.sampled_from([None, 0.002, 0.01, 0.05])),
        "price": draw(st.sampled_from([None, PRICE, Price(input=2.0, output=3.0, written=4.0, request=0.0001)])),
        "concurrency": draw(st.integers(1, 4)),
        "cancel": draw(st.dictionaries(st.integers(0, 11), st.integers(0, 30), max_size=4)),
        "cached": draw(st.booleans()),
    }


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_no_ceiling_is_ever_exceeded_and_the_bill_covers_all_that_was_served(world):
    async def main() -> None:
        clock, price = Clock(), world["price"]
        ledger = Ledger(world["tokens"], world["usd"] if price else None)
        served: list[Usage] = []
        actions = iter(world["actions"])

        async def act(request: Request):
            kind, generated, turns = next(actions, ("ok", 7, 1))
            for _ in range(turns):
                await asyncio.sleep(0)
            prompt = counted(request)
            usage = Usage(prompt=prompt, cached=min(generated, prompt), generated=min(generated, request.max_tokens))
            if kind in ("ok", "500", "reset", "content", "hang", "bug"):  # the provider has done the work
                served.append(usage)
            match kind:
                case "429":
                    raise RateLimited("429")
                case "wait":
                    raise RateLimited("429", 3.0)
                case "500":
                    raise Overloaded("500")
                case "refused":
                    raise Unreachable("refused")
                case "reset":
                    raise Interrupted("reset")
                case "content":
                    error = ContentRefused("no")
                    error.usage = usage
                    raise error
                case "bad":
                    raise BadRequest("bad")
                case "hang":
                    await asyncio.Event().wait()
                case "bug":
                    raise ZeroDivisionError
            return Reply(text="x" * 8, usage=usage, model="m")

        provider, cache = FakeProvider(replies=act), ResponseCache()
        client = Client(
            provider,
            family="fake",
            price=price,
            retries=2,
            timeout=0.005,
            cache=cache if world["cached"] else None,
            limiter=Limiter(concurrency=world["concurrency"], clock=clock, sleep=clock.sleep),
            clock=clock,
            sleep=clock.sleep,
        )

        def check() -> None:
            assert world["tokens"] >= ledger.spent.tokens + ledger.reserved.tokens
            if ledger.usd is not None:
                assert ledger.spent.usd + ledger.reserved.usd <= ledger.usd + 1e-9

        async def one(which: int, length: int) -> None:
            request = Request(messages=(Message("user", f"case {which}\n" + "word\n" * length),), max_tokens=20)
            bound = client.prepare(request).bound
            if not ledger.reserve(bound):
                return

            async def more(short: Bound, *, optional: bool) -> bool:
                await asyncio.sleep(0)
                return ledger.reserve(short)

            held = Purse(bound, more)
            try:
                await client.prepare(request).make(held)
            except (ModelError, BudgetError, ZeroDivisionError):
                pass
            finally:
                ledger.settle(held.granted, held.total())
                check()

        tasks = [asyncio.ensure_future(one(*call)) for call in world["calls"]]
        for step in range(31):
            await asyncio.sleep(0)
            for which, when in world["cancel"].items():
                if when == step and which < len(tasks):
                    tasks[which].cancel()
            check()
        await asyncio.gather(*tasks, return_exceptions=True)
        check()
        assert ledger.reserved.tokens == 0 and ledger.reserved.usd == pytest.approx(0, abs=1e-12)
        assert ledger.spent.tokens >= sum(usage.tokens for usage in served)
        if price:
            assert ledger.spent.usd >= sum(price.usd(usage) for usage in served) - 1e-9
        assert provider.most_at_once <= world["concurrency"] and not cache.flights

    asyncio.run(main())


def test_a_model_at_another_level_learns_apart_from_it_and_shares_what_is_known_of_prompts():
    client, _, _ = made(replace(GOOD, text="<think>Fever and rash.</think>yes"))
    other = client.at("none").hedged(60.0)
    bound = other.prepare(REQUEST).bound
    bill(client)
    assert client.thinks and not other.thinks
    assert other.prepare(REQUEST).bound.tokens < bound.tokens
