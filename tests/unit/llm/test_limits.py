"""Limits of one origin, on a clock of their own."""

from __future__ import annotations

import asyncio

import pytest

from maci.errors import BadRequest, Interrupted, ModelError, Overloaded, RateLimited, Unreachable
from maci.llm.limits import CircuitOpen, Limiter


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def limiter(clock: Clock, **options) -> Limiter:
    return Limiter("example.org", clock=clock, sleep=clock.sleep, **options)


async def call(limiter: Limiter, error: ModelError | None = None, tokens: int = 0, used: int = 0) -> None:
    async with limiter.slot(tokens) as slot:
        slot.sent = True
        if error is None:
            slot.succeeded(used)
        else:
            slot.failed(error)


async def break_it(limiter: Limiter, clock: Clock, faults: int = 8, seconds: float = 1.0) -> None:
    for _ in range(faults):
        await call(limiter, Unreachable("no route"))
        clock.now += seconds


def test_no_more_calls_are_under_way_than_allowed(clock):
    async def main() -> int:
        gate, most, now = limiter(clock, concurrency=3), 0, 0

        async def one() -> None:
            nonlocal most, now
            async with gate.slot() as slot:
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1
                slot.sent = True
                slot.succeeded(0)

        await asyncio.gather(*(one() for _ in range(20)))
        return most

    assert asyncio.run(main()) == 3


def test_requests_beyond_the_rate_wait_their_share_of_a_minute(clock):
    gate = limiter(clock, requests_per_minute=60)

    async def main() -> None:
        for _ in range(60):
            await call(gate)
        assert clock.slept == []
        for _ in range(3):
            await call(gate)

    asyncio.run(main())
    assert clock.now - 1000 == pytest.approx(3)


def test_tokens_are_set_aside_by_the_bound_and_what_was_not_used_is_given_back(clock):
    gate = limiter(clock, tokens_per_minute=6000)

    async def main() -> None:
        for _ in range(30):
            await call(gate, tokens=3000, used=100)
        await call(gate, tokens=3000, used=3000)
        assert clock.slept == []
        await call(gate, tokens=3000, used=3000)

    asyncio.run(main())
    assert clock.now - 1000 == pytest.approx(30)


def test_a_call_larger_than_a_minutes_worth_waits_for_a_full_minute_and_not_for_ever(clock):
    gate = limiter(clock, tokens_per_minute=600)

    async def main() -> None:
        await call(gate, tokens=600, used=600)
        await call(gate, tokens=100_000, used=600)

    asyncio.run(main())
    assert clock.now - 1000 == pytest.approx(60)


def test_what_was_never_sent_does_not_count_against_the_rates(clock):
    gate = limiter(clock, requests_per_minute=1, tokens_per_minute=100)

    async def main() -> None:
        for _ in range(5):
            with pytest.raises(KeyError):
                async with gate.slot(100):
                    raise KeyError

    asyncio.run(main())
    assert clock.slept == []


def test_retry_after_holds_every_call_of_the_origin(clock):
    gate = limiter(clock)

    async def main() -> None:
        await call(gate, RateLimited("slow down", 7.0))
        await asyncio.gather(*(call(gate) for _ in range(5)))

    asyncio.run(main())
    assert clock.now >= 1007


def test_an_origin_that_asks_for_more_than_a_minute_is_not_waited_for(clock):
    gate = limiter(clock)

    async def main() -> None:
        await call(gate, RateLimited("slow down", 300.0))
        with pytest.raises(RateLimited, match=r"example\.org") as caught:
            await call(gate)
        assert caught.value.retry_after == pytest.approx(300)
        with pytest.raises(RateLimited):
            await gate.clear()
        clock.now += 250
        await gate.clear()

    asyncio.run(main())
    assert clock.now == 1300


@pytest.mark.parametrize("fault", [Unreachable("x"), Overloaded("x"), Interrupted("x")])
def test_eight_faults_in_a_row_open_the_circuit(clock, fault):
    gate = limiter(clock)

    async def main() -> None:
        for _ in range(7):
            await call(gate, fault)
            clock.now += 1
        await call(gate)
        for _ in range(8):
            await call(gate, fault)
            clock.now += 1
        sent = False
        with pytest.raises(CircuitOpen, match=r"example\.org failed 8 times in a row .* 14 s; the last time: x"):
            async with gate.slot():
                sent = True
        assert not sent

    asyncio.run(main())
    assert clock.slept == []


def test_many_calls_that_fail_in_one_moment_are_one_incident(clock):
    gate = limiter(clock)

    async def main() -> bool:
        await asyncio.gather(*(call(gate, Unreachable("x")) for _ in range(64)))
        async with gate.slot() as slot:  # would raise CircuitOpen
            return slot is not None

    assert asyncio.run(main())
    assert clock.slept == []


@pytest.mark.parametrize("refusal", [RateLimited("x"), BadRequest("x")])
def test_a_refusal_shows_that_the_origin_is_there(clock, refusal):
    gate = limiter(clock)

    async def main() -> int:
        passed = 0
        for _ in range(5):
            await break_it(gate, clock, 7)
            await call(gate, refusal)  # each would raise CircuitOpen
            passed += 1
        return passed

    assert asyncio.run(main()) == 5


def test_after_the_cool_down_one_call_finds_out_and_the_others_fail_meanwhile(clock):
    gate = limiter(clock)

    async def main() -> None:
        await break_it(gate, clock)
        clock.now += 15
        async with gate.slot() as probe:
            probe.sent = True
            with pytest.raises(CircuitOpen, match="until the call now on its way is answered"):
                await call(gate)
            probe.succeeded(0)
        await asyncio.gather(*(call(gate) for _ in range(3)))

    asyncio.run(main())


def test_a_failed_probe_makes_the_next_cool_down_longer(clock):
    gate = limiter(clock)

    async def main() -> None:
        await break_it(gate, clock)
        for seconds in (15, 30, 60):
            clock.now += seconds
            await call(gate, Unreachable("x"))
            clock.now += seconds
            with pytest.raises(CircuitOpen):
                await call(gate)
        clock.now += 120
        await call(gate)
        await break_it(gate, clock)
        clock.now += 15
        await call(gate)  # back to the first cool-down

    asyncio.run(main())


def test_a_probe_that_is_cancelled_lets_another_try(clock):
    gate = limiter(clock)

    async def main() -> None:
        await break_it(gate, clock)
        clock.now += 15
        with pytest.raises(asyncio.CancelledError):
            async with gate.slot():
                raise asyncio.CancelledError
        await call(gate)

    asyncio.run(main())


def test_who_is_cancelled_while_waiting_gives_the_place_back(clock):
    async def main() -> None:
        gate = limiter(clock, concurrency=1)
        async with gate.slot() as held:
            held.sent = True
            waiting = asyncio.ensure_future(call(gate))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            held.succeeded(0)
        await asyncio.wait_for(call(gate), 1)

    asyncio.run(main())
