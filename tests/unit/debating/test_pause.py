"""A person's pause: nothing new is sent, what was sent comes in, the clock of the budget stands still."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from helpers import open_debate, play, script, seat, settings, turn, write
from maci.agents.agent import Agent
from maci.agents.argument import Turn
from maci.controller.decisions import Finished, Initialized
from maci.controller.inputs import Intervened, TurnTaken
from maci.debating.calls import Calls
from maci.debating.loop import debate
from maci.record.replay import replay
from maci.record.transcript import read

LABELS = ("yes", "no")


class Counting(Agent):
    """Counts how often it is asked, and waits a little."""

    family = "counting"

    def __init__(self, name: str, wait: float = 0.0) -> None:
        self.name, self.asked, self.wait = name, 0, wait

    def ceiling(self, request: object) -> int:
        return 0

    async def turn(self, request: object) -> Turn:
        self.asked += 1
        await asyncio.sleep(self.wait)
        return turn(0.6, 0.4)


def test_nothing_is_sent_while_a_debate_is_paused_and_it_goes_on_afterwards() -> None:
    first, second = Counting("x"), Counting("y")
    table = seat([first, second])

    async def go() -> tuple[int, int, list]:
        hand: asyncio.Queue[Intervened] = asyncio.Queue()
        events: list = []
        held = asyncio.Event()

        async def watch() -> None:
            async for event in debate(open_debate(table, settings("max_rounds=3")), table, hand=hand):
                events.append(event)
                if isinstance(event, Intervened):
                    held.set()
                if isinstance(event, TurnTaken) and event.round == 1 and event.agent == "x":
                    hand.put_nowait(Intervened(pause=True, by="Ada"))

        task = asyncio.ensure_future(watch())
        await held.wait()
        for _ in range(20):
            await asyncio.sleep(0.005)
        then = first.asked, len(events)
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert (first.asked, len(events)) == then
        hand.put_nowait(Intervened(pause=False, by="Ada"))
        await task
        return then[0], first.asked, events

    at_pause, at_end, events = asyncio.run(go())
    assert at_pause == 2  # the opening and round 1
    assert at_end > at_pause
    assert isinstance(events[-1], Finished) and events[-1].stop_reason != "stopped_by_user"
    assert replay(events).complete


def test_a_paused_debate_can_be_stopped() -> None:
    table = seat([Counting("x"), Counting("y")])
    events = play(table, hand=[Intervened(pause=True), Intervened(stop=True, by="Ada")])
    assert events[-1].stop_reason == "stopped_by_user"
    assert not any(isinstance(event, TurnTaken) for event in events)


def test_seconds_of_a_pause_are_not_the_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("maci.debating.calls.monotonic", lambda: clock[0])
    table = seat([Counting("x"), Counting("y")])

    async def go() -> Finished:
        hand: asyncio.Queue[Intervened] = asyncio.Queue()
        hand.put_nowait(Intervened(pause=True))
        config = settings("max_rounds=2", "budget.seconds=60")
        last = None
        async for last in debate(open_debate(table, config), table, hand=hand):
            if isinstance(last, Intervened) and last.pause:
                asyncio.get_running_loop().call_later(0.05, later, hand)
        return last

    def later(hand: asyncio.Queue[Intervened]) -> None:
        clock[0] = 1000.0
        hand.put_nowait(Intervened(pause=False))

    assert asyncio.run(go()).stop_reason != "budget"


def test_a_pause_alone_leaves_the_dials_to_the_schedule() -> None:
    plain = play(seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]), settings("max_rounds=3"))
    held = play(
        seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]),
        settings("max_rounds=3"),
        hand=[Intervened(pause=True), Intervened(pause=False)],
    )
    dialled = [[event for event in events if event.type == "dialled"] for events in (plain, held)]
    assert dialled[0] == dialled[1] != []
    assert not any(event.by_hand for event in dialled[1])


def test_going_on_with_a_debate_that_broke_off_in_a_pause_ends_the_pause_on_record(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    whole = write(path, seat([Counting("x"), Counting("y")]), settings("max_rounds=2"))
    cut = [*whole[:2], Intervened(pause=True, by="Ada")]
    assert replay(cut).state.paused
    events = play(seat([Counting("x"), Counting("y")]), recorded=cut)  # nobody's hand is there to end it
    assert events[3] == Intervened(pause=False, by="going on with it")
    assert isinstance(events[-1], Finished)
    assert replay(events).complete
    assert read(path).events == tuple(whole)


def test_waiting_for_replies_and_for_a_hand_does_not_spin(monkeypatch: pytest.MonkeyPatch) -> None:
    rung = 0
    ring = Calls._ring

    def counted(self: Calls, *args: object) -> None:
        nonlocal rung
        rung += 1
        ring(self, *args)

    monkeypatch.setattr(Calls, "_ring", counted)
    table = seat([Counting("x", 0.05), Counting("y", 0.1)])

    async def go() -> int:
        hand: asyncio.Queue[Intervened] = asyncio.Queue()
        return len([e async for e in debate(open_debate(table, settings("max_rounds=2")), table, hand=hand)])

    events = asyncio.run(go())
    assert (
        rung <= 2 * events
    )  # at most once for what happens, and once for who listens; a spinning loop rings thousands of times


def test_what_a_person_does_twice_in_a_moment_is_heard_in_order() -> None:
    gate, said = (
        asyncio.Event(),
        [Intervened(cl=0.35), Intervened(pause=True), Intervened(pause=False), Intervened(stop=True)],
    )

    class Waiting(Counting):
        async def turn(self, request: Any) -> Turn:
            if request.round:
                await gate.wait()
            return await super().turn(request)

    async def go() -> list:
        hand: asyncio.Queue[Intervened] = asyncio.Queue()
        table, heard = seat([Waiting("x"), Waiting("y")]), []
        async for event in debate(open_debate(table, settings("max_rounds=3")), table, hand=hand):
            if isinstance(event, Initialized):
                asyncio.get_running_loop().call_later(0.05, lambda: [hand.put_nowait(item) for item in said])
            if isinstance(event, Intervened):
                heard.append(event)
        return heard

    assert asyncio.run(go()) == said
