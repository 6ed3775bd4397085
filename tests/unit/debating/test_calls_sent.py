"""Calls that cost something are on record before they are made, and whatever happens they are counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from helpers import arg, judge, make_case, of, open_debate, play, result, seat, settings, turn
from maci.agents.agent import Agent
from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.controller.decisions import Finished, Weighed
from maci.controller.inputs import Exhausted, Lost, Scored, Sent, TurnFailed, TurnTaken
from maci.debating.loop import debate
from maci.errors import Interrupted, Overloaded, RateLimited, WrongKey
from maci.llm.budget import Ledger
from maci.llm.catalogue import Price
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request
from maci.llm.usage import Bound, Usage
from maci.record.replay import replay
from maci.seating.table import Table

BOUND = Bound(1000, 0.01)


def said(p: int = 80) -> str:
    shares = [{"outcome": "dengue", "percent": p}, {"outcome": "zika", "percent": 100 - p}]
    argument = {"claim": "So it is.", "outcome": "dengue", "citations": [{"span": "E5"}], "reasons": []}
    return json.dumps({"arguments": [argument], "belief": shares})


def grades() -> str:
    grade = {"evidence": 80, "logic": 80, "relevance": 80}
    return json.dumps({"pieces": ["supports"], "links": [], "justification": "E1.", **grade})


async def nothing(seconds: float) -> None:
    await asyncio.sleep(0)


def model(name: str, replies: Any, **more: Any) -> FakeModel:
    return FakeModel(f"fake/{name}", f"family-{name}", replies, bound=BOUND, sleep=nothing, **more)


def reply(text: str, tokens: int = 100) -> Reply:
    return Reply(text=text, usage=Usage(prompt=tokens - 40, generated=40))


def table(x: Any = None, y: Any = None, j: Any = None, **more: Any) -> Table:
    voices = [model(n, r or (lambda request: reply(said())), **more) for n, r in (("x", x), ("y", y))]
    judges = [LlmJudge("j", model("j", j or (lambda request: reply(grades())), **more))]
    return seat([Debater(v.name, v) for v in voices], judges)


def test_every_paid_call_is_on_record_before_its_answer() -> None:
    events = play(table(), settings("max_rounds=2", "crit.k=2"))
    sent: set[tuple[int, str, str, str]] = set()
    for event in events:
        if isinstance(event, Sent):
            sent |= {(event.round, *call.key) for call in event.calls}
            assert all((call.tokens, call.usd) == BOUND for call in event.calls)
        if isinstance(event, TurnTaken):
            assert (event.round, "turn", event.agent, "") in sent
        if isinstance(event, Scored):
            assert (event.round, "score", event.slot, event.argument) in sent
    assert len(of(TurnTaken, events)) == 6 and len(of(Scored, events)) == 8
    assert replay(events).state.in_flight == {}


def test_a_call_is_not_made_before_its_line_was_handed_to_the_record() -> None:
    log: list[str] = []

    class Record:
        def append(self, event: Any, *, sync: bool = False) -> None:
            log.append(event.type)

        def flush(self, *, now: bool = False) -> None:
            if now:
                log.append("flushed")

    def heard(request: Request) -> Reply:
        log.append("called")
        return reply(said())

    play(table(heard, heard), settings("max_rounds=1", "min_rounds=1"), record=Record())
    first = log.index("called")
    assert log[:first][-2:] == ["sent", "flushed"]


def test_where_the_tokens_went_is_in_the_result() -> None:
    end = result(play(table(), settings("max_rounds=1", "min_rounds=1", "crit.k=1")))
    assert end.spent is not None
    assert (end.tokens, end.spent.prompt, end.spent.generated, end.spent.judges, end.spent.lost) == (
        600,
        360,
        240,
        200,
        0,
    )


def test_an_attempt_whose_cost_nobody_knows_counts_in_full_and_the_next_is_recorded_too() -> None:
    def flaky() -> Callable[[Request], Reply]:
        calls = iter([Interrupted("reset"), Overloaded("busy"), RateLimited("slowly")])

        def answer(request: Request) -> Reply:
            for error in calls:
                raise error
            return reply(said())

        return answer

    events = play(table(flaky(), retries=4), settings("max_rounds=1", "min_rounds=1", "crit.k=1"))
    opening = next(e for e in of(TurnTaken, events) if e.agent == "fake/x" and e.round == 0)
    assert (
        opening.turn.usage.tokens == 2 * 1000 + 100
    )  # reset and overload in full, the refusal nothing, the answer as it was
    attempts = [call for e in of(Sent, events) if e.round == 0 for call in e.calls if call.who == "fake/x"]
    assert [call.tokens for call in attempts] == [1000, 1000, 1000]
    assert replay(events).complete


def test_another_attempt_that_does_not_fit_ends_the_debate_as_budget_with_everything_counted() -> None:
    def broken(request: Request) -> Reply:
        raise Interrupted("reset")

    events = play(table(broken, retries=4), settings("budget.tokens=2500"))
    end = result(events)
    assert (end.stop_reason, end.answer, end.rounds) == ("budget", "dengue", 0)  # y's opening stands
    assert "fake/x" in end.detail and "may cost 1000 tokens" in end.detail
    assert end.tokens == 2 * 1000 + 100 <= 2500
    assert of(Exhausted, events)[0].usage.tokens == 2000
    both = play(table(broken, broken, retries=4), settings("budget.tokens=2500"))
    assert (result(both).stop_reason, result(both).answer, result(both).tokens) == ("budget", None, 2000)


def drawing(draws: int, **more: Any) -> Table:
    """Two who argue, the first of whom then draws its belief."""

    def answer(request: Request) -> Reply:
        return reply(said() if request.schema and request.schema.name == "turn" else "dengue")

    x, y = model("x", answer, **more), model("y", lambda request: reply(said()))
    return seat([Debater("fake/x", x, belief="sampled", draws=draws), Debater("fake/y", y)], [])


def openings(events: list[Any]) -> dict[str, TurnTaken]:
    return {event.agent: event for event in of(TurnTaken, events) if event.round == 0}


NO_JUDGES = ("crit.enabled=false", "max_rounds=1", "min_rounds=1")


def test_draws_that_do_not_fit_at_once_wait_for_those_that_are_out() -> None:
    # x: 100 for its arguments and 5 draws of 100, each with 1,000 set aside: 5,100 at once, 1,600 one after the other
    events = play(drawing(5), settings("budget.tokens=2400", *NO_JUDGES))
    turn = openings(events)["fake/x"].turn
    assert (turn.belief, turn.usage.tokens) == ({"dengue": 1.0}, 600) and "draws" not in turn.note
    assert not of(Exhausted, [e for e in events if getattr(e, "round", 1) == 0])
    assert result(events).tokens <= 2400


def test_half_of_the_draws_are_a_belief_when_the_budget_ends() -> None:
    # 100 tokens go for the arguments and 100 for each draw; the 5th would need 1,000 where 950 of 1,450 are left
    events = play(drawing(6), settings("budget.tokens=1450", *NO_JUDGES))
    turn = openings(events)["fake/x"].turn
    assert turn.belief == {"dengue": 1.0}
    assert "belief from 4 of 6 draws (another attempt may cost 1000 tokens" in turn.note


def test_who_was_asked_is_not_said_to_have_not_been() -> None:
    events = play(drawing(40), settings("budget.tokens=2400", *NO_JUDGES))  # not half of them fit
    end = result(events)
    assert (end.stop_reason, end.answer) == ("budget", "dengue")
    assert any("fake/x abstained: the budget ran out before it had answered" in note for note in end.warnings)
    alone = play(table(), settings("budget.tokens=1000", *NO_JUDGES[1:]))
    assert any("fake/y abstained: not asked: out of budget" in note for note in result(alone).warnings)


def test_an_attempt_waits_for_room_that_others_under_way_will_make() -> None:
    gate = asyncio.Event()

    async def slow(request: Request) -> Reply:
        await gate.wait()
        return reply(said())

    tries = iter([Interrupted("reset")])

    async def flaky(request: Request) -> Reply:
        for error in tries:
            asyncio.get_running_loop().call_later(0.02, gate.set)
            raise error
        return reply(said())

    events = play(table(flaky, slow, retries=2), settings("budget.tokens=2500", "max_rounds=1", "min_rounds=1"))
    taken = [e.agent for e in of(TurnTaken, events) if e.round == 0]
    assert taken == ["fake/y", "fake/x"]  # 2000 of 2500 were set aside: x's second attempt fits once y has answered


def test_dollars_are_a_ceiling_too() -> None:
    price = Price(input=10.0, output=10.0)
    events = play(table(price=price), settings("budget.usd=0.025", "max_rounds=8"))
    end = result(events)
    assert end.stop_reason == "budget" and "$" in end.detail
    assert 0 < end.usd <= 0.025
    assert of(Exhausted, events)[0].resource == "usd"


def test_what_a_call_cost_beyond_what_was_set_aside_is_a_warning_in_the_result() -> None:
    def endless(request: Request) -> Reply:
        return reply(said(), tokens=1500)

    few = settings("max_rounds=1", "min_rounds=1", "crit.k=1")
    end = result(events := play(table(endless), few))
    assert [note for note in end.warnings if "set aside" in note or "ceiling" in note] == [
        "fake/x cost 1,000 tokens more than was set aside, in 2 calls: its server does not keep to the limit it is given, or counts "
        "what cannot be foreseen"
    ]
    assert replay(events).complete
    assert not [note for note in result(play(table(), few)).warnings if "set aside" in note or "ceiling" in note]
    judged = result(play(table(j=lambda request: reply(grades(), tokens=1001)), few))
    assert any(note.startswith("j cost 2 tokens more than was set aside, in 2 calls") for note in judged.warnings)


def test_a_ceiling_that_did_not_hold_is_a_warning_in_the_result() -> None:
    def endless(request: Request) -> Reply:
        return reply(said(), tokens=30_000)

    end = result(
        play(table(endless, price=Price(input=1.0, output=1.0)), settings("budget.tokens=2500", "budget.usd=0.021"))
    )
    assert (end.stop_reason, end.tokens) == ("budget", 30_100)
    assert "the ceiling of 2,500 tokens was exceeded: 30,100 are counted" in end.warnings
    assert "the ceiling of $0.0210 was exceeded: $0.0301 are counted" in end.warnings
    assert any(
        note.startswith("fake/x cost 29,000 tokens and $0.0200 more than was set aside, in 1 call:")
        for note in end.warnings
    )


def test_a_ceiling_of_the_run_holds_for_all_its_debates_together() -> None:
    async def both() -> tuple[list[Finished], Ledger]:
        run = Ledger(tokens=2600)

        async def one() -> Finished:
            own = table(y=lambda request: reply(said(10)))
            async for event in debate(open_debate(own, settings("max_rounds=8")), own, ledger=run):
                last = event
            assert isinstance(last, Finished)
            return last

        return list(await asyncio.gather(one(), one())), run

    ends, run = asyncio.run(both())
    assert sum(end.tokens for end in ends) == run.spent.tokens <= 2600
    assert {end.stop_reason for end in ends} == {"budget"}
    assert any("of 2,600 are left" in end.detail for end in ends)


def test_a_resumed_debate_counts_in_full_what_was_under_way_and_asks_again() -> None:
    whole = play(table(), settings("max_rounds=2", "crit.k=1"))
    for cut in range(1, len(whole)):
        begun = whole[:cut]
        before = replay(begun)
        events = play(table(), settings("max_rounds=2", "crit.k=1"), recorded=begun)
        gone = sum(usage.tokens for usage in before.state.in_flight.values())
        assert len(of(Lost, events)) == (1 if before.state.in_flight else 0)
        end = result(events)
        assert end.tokens == result(whole).tokens + gone
        assert end.spent is not None and end.spent.lost == gone
        assert (end.answer, end.distribution) == (result(whole).answer, result(whole).distribution)
        assert replay(events).complete


def test_time_that_is_up_counts_what_was_under_way() -> None:
    async def forever(request: Request) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    events = play(table(y=forever), settings("budget.seconds=0.2"))
    end = result(events)
    assert (end.stop_reason, end.answer) == ("budget", "dengue")
    assert end.tokens == 100 + 1000
    assert end.spent is not None and end.spent.lost == 1000


def test_a_wrong_key_ends_the_debate_at_once_with_one_message() -> None:
    def locked(request: Request) -> Reply:
        raise WrongKey("the key of fake/x is not accepted: set FAKE_KEY")

    end = result(play(table(locked)))
    assert (end.stop_reason, end.detail) == ("error", "fake/x: the key of fake/x is not accepted: set FAKE_KEY")
    judged = play(table(j=locked), settings("crit.k=3"))
    assert result(judged).stop_reason == "error" and result(judged).answer == "dengue"
    assert result(judged).detail.startswith("j: the key")


def test_readers_and_agents_that_cost_nothing_leave_no_lines() -> None:
    from helpers import script

    events = play(
        seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]), settings("max_rounds=1", "min_rounds=1")
    )
    assert not of(Sent, events)


def test_an_agent_that_fails_is_charged_for_what_its_attempts_cost() -> None:
    events = play(table(lambda request: reply("nonsense", 50)), settings("max_rounds=1", "min_rounds=1", "crit.k=1"))
    failed = of(TurnFailed, events)
    assert [f.usage.tokens for f in failed] == [100, 100]  # one repair each
    assert of(Weighed, events)[0].abstained.keys() == {"fake/x"}


@pytest.mark.parametrize("bound", [Bound(5, 0.0), 5])
def test_a_ceiling_may_be_tokens_or_tokens_and_dollars(bound: int | Bound) -> None:
    class Plain(Agent):
        name, family = "x", "x"

        def ceiling(self, request: object) -> int | Bound:
            return bound

        async def turn(self, request: object) -> Any:
            return turn(0.9, 0.1, args=[arg("So.", "e4")], tokens=5)

    other = Plain()
    other.name = other.family = "y"
    end = result(play(seat([Plain(), other], [judge()], make_case()), settings("budget.tokens=12")))
    assert (end.stop_reason, end.tokens) == ("budget", 10)


def test_one_call_that_was_lost_is_one() -> None:
    def wrong(request: Request) -> Reply:
        raise WrongKey("no such key")

    async def never(request: Request) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    end = result(play(table(wrong, never), settings("max_rounds=1", "min_rounds=1")))
    assert end.stop_reason == "error"
    assert any(
        note.startswith("1 call was sent and not waited for: 1000 tokens, the most it can") for note in end.warnings
    )
