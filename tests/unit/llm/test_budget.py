"""Purse and ledger: what is promised is never more than there is."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maci.errors import BudgetError, Overloaded
from maci.llm.budget import Draw, Ledger, Purse, RunLedger, reported, spend
from maci.llm.usage import Bound, PaidFailure, Usage


def test_a_draw_within_the_grant_asks_nobody():
    async def main() -> None:
        held = Purse(Bound(100, 1.0))
        first, second = await held.draw(Bound(60, 0.6)), await held.draw(Bound(40, 0.4))
        first.settle(Usage(prompt=10, usd=0.1))
        second.release()
        assert held.total() == Usage(prompt=10, usd=0.1) and held.used
        await held.draw(Bound(90, 0.9))
        assert held.total().tokens == 100  # a draw of which nothing was said counts in full

    asyncio.run(main())


def test_a_draw_beyond_the_grant_is_refused_where_nobody_can_be_asked():
    async def main() -> None:
        held = Purse(Bound(100))
        with pytest.raises(BudgetError, match="101 tokens"):
            await held.draw(Bound(101))
        with pytest.raises(BudgetError):
            await held.draw(Bound(1, 0.01))
        await held.draw(Bound(100))

    asyncio.run(main())


def test_only_the_first_word_on_a_draw_counts():
    async def main() -> None:
        held = Purse(Bound(100))
        draw = await held.draw(Bound(50))
        draw.forfeit()
        draw.release()
        draw.settle(Usage(prompt=1))
        assert held.total().tokens == 50

    asyncio.run(main())


def test_two_who_need_more_at_once_ask_each_for_its_own_share():
    async def main() -> None:
        asked: list[Bound] = []

        async def more(bound: Bound, *, optional: bool) -> bool:
            asked.append(bound)
            await asyncio.sleep(0)
            return True

        held = Purse(Bound(100), more)
        await asyncio.gather(*(held.draw(Bound(80)) for _ in range(3)))
        assert [bound.tokens for bound in asked] == [60, 80]
        assert held.granted.tokens == 240 == held.total().tokens

    asyncio.run(main())


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_what_was_sent_never_exceeds_what_was_granted(data):
    """Draws, grants, refusals, cancellations and settlements in any order."""

    async def main() -> None:
        asks: list[asyncio.Future[bool]] = []

        async def more(bound: Bound, *, optional: bool) -> bool:
            asks.append(asyncio.get_running_loop().create_future())
            return await asks[-1]

        held = Purse(Bound(data.draw(st.integers(0, 100))), more)
        drawing: list[asyncio.Task[Draw]] = []
        open_: list[Draw] = []
        for _ in range(data.draw(st.integers(1, 25))):
            match data.draw(st.sampled_from(["draw", "draw", "yes", "no", "cancel", "settle"])):
                case "draw":
                    drawing.append(asyncio.ensure_future(held.draw(Bound(data.draw(st.integers(1, 80))))))
                case "yes" | "no" as answer if asks:
                    if not (ask := asks.pop(data.draw(st.integers(0, len(asks) - 1)))).done():
                        ask.set_result(answer == "yes")
                case "cancel" if drawing:
                    drawing[data.draw(st.integers(0, len(drawing) - 1))].cancel()
                case "settle" if open_:
                    draw = open_.pop(data.draw(st.integers(0, len(open_) - 1)))
                    draw.settle(Usage(prompt=data.draw(st.integers(0, draw.bound.tokens))))
            for _ in range(3):
                await asyncio.sleep(0)
            done = [task for task in drawing if task.done()]
            drawing = [task for task in drawing if not task.done()]
            open_ += [task.result() for task in done if not task.cancelled() and task.exception() is None]
            assert held.spent.tokens + sum(draw.bound.tokens for draw in open_) <= held.granted.tokens
        for task in drawing:
            task.cancel()
        await asyncio.gather(*drawing, return_exceptions=True)
        assert held.total().tokens == held.spent.tokens + sum(draw.bound.tokens for draw in open_)
        assert held._asked == Bound()

    asyncio.run(main())


def test_a_draw_that_is_refused_waits_for_those_of_its_call_that_are_out():
    async def main() -> None:
        async def never(bound: Bound, *, optional: bool) -> bool:
            return False

        held = Purse(Bound(100), never)
        first = await held.draw(Bound(60))
        second, third = (asyncio.ensure_future(held.draw(Bound(60))) for _ in range(2))
        await asyncio.sleep(0.01)
        assert not second.done() and not third.done()
        first.settle(Usage(prompt=20))
        (await second).settle(Usage(prompt=30))  # 50 are spent and nothing is out: 60 will never fit
        with pytest.raises(BudgetError, match="may cost 60 tokens, which"):
            await third
        assert held.total().tokens == 50

    asyncio.run(main())


def test_who_is_cancelled_while_asking_holds_nothing():
    async def main() -> None:
        async def never(bound: Bound, *, optional: bool) -> bool:
            await asyncio.Event().wait()
            return True

        held = Purse(Bound(100), never)
        task = asyncio.ensure_future(held.draw(Bound(150)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert held.total().tokens == 0
        (await held.draw(Bound(100))).release()

    asyncio.run(main())


def test_the_ceiling_of_a_run_holds_for_its_debates():
    run = Ledger(tokens=100)
    debates = [Ledger(tokens=80, parent=run), Ledger(tokens=80, parent=run)]
    assert debates[0].reserve(Bound(70))
    assert not debates[1].reserve(Bound(40)) and debates[1].lacks(Bound(40)) == "tokens"
    debates[0].settle(Bound(70), Usage(generated=20))
    assert debates[1].reserve(Bound(80)) and run.left.tokens == 0


@pytest.mark.parametrize("run", [Ledger(tokens=100), RunLedger(tokens=100)])
def test_a_ceiling_is_not_reached_by_what_is_optional(run):
    async def main() -> None:
        own = Ledger(tokens=1000, parent=run)
        with spend(own, Bound(60)) as held:
            first = await held.draw(Bound(60))
            second = asyncio.ensure_future(held.draw(Bound(60), optional=True))
            await asyncio.sleep(0)
            assert not second.done() and own.reached is run.reached is None
            first.forfeit()
            with pytest.raises(BudgetError):
                await second
            assert own.reached is run.reached is None and run.reserved.tokens == 60
            with pytest.raises(BudgetError):
                await held.draw(Bound(60))
            assert own.reached == run.reached == "tokens"

    asyncio.run(main())


def test_what_another_run_took_meanwhile_is_not_reached_by_what_is_optional():
    run = RunLedger(tokens=100, note=lambda spent, aside: Bound(90).plus(spent).plus(aside))
    assert not run.reserve(Bound(20), optional=True) and run.reached is None and run.reserved == Bound()
    assert not run.reserve(Bound(20)) and run.reached == "tokens"


def test_what_does_not_fit_is_refused_in_figures_and_sets_nothing_aside():
    run = Ledger(tokens=100)
    own = Ledger(tokens=1000, parent=run)
    with pytest.raises(BudgetError, match="may need 120 tokens for the first call; the ceiling is 100"):
        spend(own, Bound(120))
    with spend(own, Bound(60)), pytest.raises(BudgetError, match="may need 60 tokens, 40 of 100 are left"):
        spend(own, Bound(60))
    assert (own.reserved, run.reserved) == (Bound(), Bound())
    with pytest.raises(
        BudgetError, match=r"may cost \$0\.3000 for the first call; the ceiling is \$0\.2000"
    ) as refused:
        spend(Ledger(usd=0.2), Bound(1, 0.3))
    assert refused.value.resource == "usd"


def test_what_a_call_was_granted_becomes_what_it_cost():
    async def main() -> None:
        ledger = Ledger(tokens=100)
        with spend(ledger, Bound(40)) as held:
            (await held.draw(Bound(40))).settle(Usage(prompt=5))
            await held.draw(Bound(60))  # 25 more are asked of the ledger; nobody says what became of it
            assert ledger.reserved.tokens == 65
        assert (ledger.spent.tokens, ledger.reserved.tokens) == (65, 0)
        held.close()
        assert ledger.spent.tokens == 65  # once

    asyncio.run(main())


@pytest.mark.parametrize(("free", "lost"), [(False, 50), (True, 0)])
def test_a_call_that_draws_nothing_counts_in_full_until_it_says_what_it_cost(free, lost):
    async def go(ask) -> Usage:
        call = reported(50, free, ask)
        assert call.bound == Bound(50)
        with spend(Ledger(), call.bound) as held:
            task = asyncio.ensure_future(call.make(held))
            await asyncio.sleep(0)
            assert held.total().tokens == lost and not held.used
            task.cancel() if ask is never else gate.set()
            await asyncio.gather(task, return_exceptions=True)
        return held.total()

    async def said():
        await gate.wait()
        return "yes", Usage(prompt=7, free=free)

    async def fails():
        await gate.wait()
        raise ValueError

    async def fails_at_a_price():
        await gate.wait()
        raise PaidFailure("no", Usage(generated=9))

    async def breaks_off():
        await gate.wait()
        raise Overloaded("502")

    async def never():
        await asyncio.Event().wait()

    found = []
    for ask in (said, fails, fails_at_a_price, breaks_off, never):
        gate = asyncio.Event()
        found.append(asyncio.run(go(ask)))
    assert [usage.tokens for usage in found] == [7, 0, 9, lost, lost]
    assert found[0].free == free
