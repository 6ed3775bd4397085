"""Calls that a debate does not wait for: they are ended, and counted for what they may have cost."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from helpers import of, open_debate, play, result, script, seat, settings, turn
from maci.agents.agent import Agent
from maci.agents.argument import Turn
from maci.controller.decisions import Finished
from maci.controller.inputs import Exhausted
from maci.debating.loop import debate
from maci.errors import BudgetError, Interrupted, WrongKey
from maci.llm.budget import Call, Ledger, Purse
from maci.llm.usage import Bound
from maci.record.replay import replay


class Paid(Agent):
    """An agent whose calls cost something and never come back; it draws on its purse, or does not know of it."""

    def __init__(self, name: str, *, draws: int = 0, deaf: int = 0, bound: int = 1000) -> None:
        self.name, self.family, self._draws, self._deaf, self._bound = name, f"family-{name}", draws, deaf, bound

    def ceiling(self, request: Any) -> Bound:
        return Bound(self._bound)

    async def turn(self, request: Any) -> Turn:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self._deaf -= 1
                if self._deaf < 0:
                    raise

    def prepare(self, request: Any) -> Call[Turn]:
        if not self._draws:
            return super().prepare(request)

        async def make(purse: Purse) -> Turn:
            for _ in range(self._draws):
                (await purse.draw(Bound(self._bound))).forfeit()
            return await self.turn(request)

        return Call(Bound(self._bound), make)


def test_when_time_is_over_an_agent_without_a_purse_counts_in_full() -> None:
    events = play(seat([Paid("x"), script("y", turn(0.1, 0.9))]), settings("budget.seconds=0.1"))
    assert result(events).tokens == 1000
    assert replay(events).complete


def test_when_time_is_over_what_ran_out_of_budget_before_is_counted_too() -> None:
    short = Paid("x", draws=5)  # forfeits 1000, is refused the next
    events = play(seat([short, Paid("y", draws=1)]), settings("budget.seconds=0.1", "budget.tokens=2500"))
    assert of(Exhausted, events)[0].resource == "seconds"
    assert result(events).tokens == 2000


def test_an_agent_that_overhears_a_cancellation_is_cancelled_again() -> None:
    events = play(seat([Paid("x", deaf=2), script("y", turn(0.1, 0.9))]), settings("budget.seconds=0.05"))
    assert result(events).stop_reason == "budget"


@pytest.mark.parametrize("how", ["late", "fatal", "left"])
def test_what_was_set_aside_in_the_ledger_of_the_run_is_given_back(how: str) -> None:
    class Fails(Paid):
        async def turn(self, request: Any) -> Turn:
            if how == "fatal":
                await asyncio.sleep(0.01)
                raise WrongKey("no such key")
            raise Interrupted("cut short")

    async def go() -> Ledger:
        run = Ledger(tokens=10_000)
        table = seat([Paid("x", draws=1), Fails("y", bound=500)])
        config = settings("budget.seconds=0.05" if how == "late" else "budget.seconds=60")
        stream = debate(open_debate(table, config), table, ledger=run)
        async for event in stream:
            if isinstance(event, Finished) or (how == "left" and event.type == "turn_failed"):
                break
        await stream.aclose()
        return run

    run = asyncio.run(go())
    assert run.reserved.tokens == 0
    assert run.spent.tokens >= 1000


@pytest.mark.parametrize("steps", range(8))
def test_an_attempt_that_is_given_up_while_it_asks_for_more_gives_back_what_it_is_granted(steps: int) -> None:
    """It is cancelled before it is granted, between the grant and the record, or after both."""

    class Hurried(Paid):
        def prepare(self, request: Any) -> Call[Turn]:
            async def make(purse: Purse) -> Turn:
                asking = asyncio.ensure_future(purse.draw(Bound(5 * self._bound)))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    (await asking).release()
                return turn(0.9, 0.1)

            return Call(Bound(self._bound), make)

    async def go() -> Ledger:
        run = Ledger(tokens=100_000)
        table = seat([Hurried("x"), script("y", turn(0.9, 0.1), turn(0.9, 0.1))])
        config = settings("budget.seconds=60", "stop.min_rounds=1", "stop.max_rounds=1")
        async for _ in debate(open_debate(table, config), table, ledger=run):
            pass
        return run

    run = asyncio.run(go())
    assert run.reserved.tokens == 0


@pytest.mark.parametrize("steps", range(8))
def test_what_is_on_record_as_sent_stays_set_aside_until_its_call_is_over(steps: int) -> None:
    """Were the debate killed now, an attempt that is given up after it was recorded would count: nobody else may have its room."""

    class Rash(Paid):
        def prepare(self, request: Any) -> Call[Turn]:
            async def make(purse: Purse) -> Turn:
                if self.name == "y":
                    await asyncio.sleep(0.05)
                    with suppress(BudgetError):
                        (await purse.draw(Bound(8000))).release()
                    return turn(0.1, 0.9)
                asking = asyncio.ensure_future(purse.draw(Bound(6000)))
                for _ in range(steps):
                    await asyncio.sleep(0)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    (await asking).release()
                await asyncio.sleep(0.2)
                return turn(0.9, 0.1)

            return Call(Bound(1000), make)

    table = seat([Rash("x"), Rash("y")])
    events = play(table, settings("budget.tokens=10000", "stop.min_rounds=1", "stop.max_rounds=1"))
    for n in range(1, len(events)):
        state = replay(events[:n]).state
        assert sum((usage.tokens for usage in state.in_flight.values()), state.usage.tokens) <= 10_000
