"""What makes a debate shorter: judging starts per turn, judges who cannot change anything are not waited for, a slow request is sent
twice, several arguments are scored in one call. None of it passes a ceiling, and every record replays and resumes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from helpers import arg, judge, of, open_debate, play, result, script, seat, settings, turn
from maci.agents.agent import Agent, Judge
from maci.agents.argument import Turn
from maci.agents.debater import Debater
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.agents.judges.llm import LlmJudge
from maci.config import build
from maci.controller.decisions import Gated
from maci.controller.events import Event, dump, is_decision, parse
from maci.controller.fold import start, step
from maci.controller.inputs import Exhausted, JudgeAbstention, Opened, Requested, Scored, Sent, TurnTaken, usage_of
from maci.debating.loop import debate
from maci.errors import ConfigError, InputError, Overloaded
from maci.llm.budget import Ledger, reported
from maci.llm.client import Client
from maci.llm.fake import FakeModel
from maci.llm.model import Message, Provider, Reply, Request
from maci.llm.usage import Bound, Usage
from maci.record.replay import replay, replay_with

TWO = (arg("It fits well.", "e4"), arg("It fits still.", "e4"))


class Slow(Judge):
    """Gives one score, at once or after a while; counts what was asked of it and what was given up."""

    family = "judge"

    def __init__(self, name: str, score: float, seconds: float = 0.0, most: int = 100) -> None:
        self.name, self._score, self._seconds, self._most = name, score, seconds, most
        self.asked = self.cut = 0

    def ceiling(self, request: ScoreRequest) -> int:
        return self._most

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        self.asked += 1
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.cut += 1
            raise
        x = self._score
        return CritScore(evidence=x, logic=x, relevance=x), Usage(generated=self._most // 2)


def two_agents(n: int = 1) -> list[Agent]:
    args = TWO[:n]
    return [script("x", turn(0.8, 0.1, 0.1, args=args)), script("y", turn(0.1, 0.8, 0.1, args=args))]


def check_record(events: Sequence[Event]) -> None:
    """The record replays to the same bytes, and a debate broken off anywhere in it can be continued from there."""
    assert replay(events).complete
    first, *inputs = (parse(dump(event)) for event in events if not is_decision(event))
    assert isinstance(first, Opened)
    state, decided = start(first), list[Event]()
    for item in inputs:
        state, more = step(state, item)
        decided += more
    assert [dump(event) for event in decided] == [dump(event) for event in events if is_decision(event)]
    for at in range(1, len(events)):
        replay(events[:at])


def peak(events: Sequence[Event]) -> int:
    """The most tokens that were spent and set aside at any time, by the record alone."""
    open_: dict[tuple[str, str, str], int] = {}
    spent = most = 0
    for event in events:
        if isinstance(event, Sent):
            for call in event.calls:
                open_[call.key] = open_.get(call.key, 0) + call.tokens
        elif isinstance(event, Scored | JudgeAbstention):
            open_.pop(("score", event.slot, event.argument), None)
            spent += usage_of(event).tokens
        elif isinstance(event, TurnTaken):
            open_.pop(("turn", event.agent, ""), None)
            spent += usage_of(event).tokens
        most = max(most, spent + sum(open_.values()))
    return most


# --- judging starts per turn -------------------------------------------------------------------------------------------------


def test_a_judge_is_asked_before_the_last_agent_has_answered() -> None:
    log, asked = list[str](), asyncio.Event()

    class Late(Agent):
        name = family = "late"

        async def turn(self, request: Any) -> Turn:
            if request.round:
                await asked.wait()  # would wait for ever if judging waited for it
            log.append(f"late {request.round}")
            return turn(0.1, 0.8, 0.1)

    def score(request: ScoreRequest) -> float:
        log.append("judge")
        asked.set()
        return 0.8

    async def go() -> None:
        table = seat([script("x", turn(0.8, 0.1, 0.1)), Late()], [judge("j", score)])
        async with asyncio.timeout(10):
            async for _ in debate(open_debate(table, settings("max_rounds=1", "min_rounds=1")), table):
                pass

    asyncio.run(go())
    assert log.index("judge") < log.index("late 1")


# --- K of N ------------------------------------------------------------------------------------------------------------------


def test_judges_who_cannot_change_the_admission_are_given_up_and_count_in_full() -> None:
    judges = [Slow("a", 0.9), Slow("b", 0.8), Slow("c", 0.1, seconds=60)]
    events = play(seat(two_agents(), judges), settings("max_rounds=2", "crit.enough=2"))
    waived = [event for event in of(JudgeAbstention, events) if event.waived]
    assert len(waived) == judges[2].asked == judges[2].cut == 4
    assert all(event.slot == "c#0" and event.usage.tokens == 100 for event in waived)
    (first, *_) = of(Gated, events)
    assert [a.admitted for a in first.admissions] == [True, True]
    assert [round(a.crit, 3) for a in first.admissions] == [0.85, 0.85] and not any(
        a.abstentions for a in first.admissions
    )
    assert result(events).tokens == 4 * (50 + 50 + 100)
    assert not any("scores are missing" in warning for warning in result(events).warnings)
    check_record(events)


def test_a_judge_who_can_still_change_it_is_waited_for() -> None:
    judges = [Slow("a", 0.5), Slow("b", 0.3), Slow("c", 0.0, seconds=0.05)]  # 0.8 / 3 < 0.3 ≤ 1.8 / 3
    events = play(seat(two_agents(), judges), settings("max_rounds=1", "min_rounds=1", "crit.enough=2"))
    assert not any(event.waived for event in of(JudgeAbstention, events)) and len(of(Scored, events)) == 6
    assert not any(a.admitted for gated in of(Gated, events) for a in gated.admissions)


def test_enough_judges_are_heard_even_where_no_score_could_matter() -> None:
    """An argument without a citation is rejected whatever judges say; two of them are heard all the same, and no more."""
    bare = [script("x", turn(0.8, 0.1, 0.1, args=[arg("So.")])), script("y", turn(0.1, 0.8, 0.1, args=[arg("No.")]))]
    judges = [Slow("a", 0.9, 0.01), Slow("b", 0.9, 0.01), Slow("c", 0.9, 60)]
    events = play(seat(bare, judges), settings("max_rounds=1", "min_rounds=1", "crit.enough=2"))
    assert len(of(Scored, events)) == 4 and sum(event.waived for event in of(JudgeAbstention, events)) == 2


@pytest.mark.parametrize(
    "scores", [(0.9, 0.7, 0.2), (0.3, 0.3, 0.3), (0.1, 0.0, 0.9), (0.31, 0.29, 0.3), (0.0, 0.9, 0.0)]
)
@pytest.mark.parametrize("sets", [(), ("crit.aggregation=reliability",)])
def test_what_is_admitted_is_what_all_judges_would_have_admitted(
    scores: tuple[float, ...], sets: tuple[str, ...]
) -> None:
    def admitted(enough: int) -> list[bool]:
        judges = [Slow(name, x, 0.002 * i) for i, (name, x) in enumerate(zip("abc", scores, strict=True))]
        events = play(
            seat(two_agents(2), judges), settings("max_rounds=1", "min_rounds=1", f"crit.enough={enough}", *sets)
        )
        return [a.admitted for gated in of(Gated, events) for a in gated.admissions]

    assert admitted(1) == admitted(2) == admitted(0)


def test_a_record_that_waives_a_score_which_mattered_is_refused() -> None:
    judges = [Slow("a", 0.9), Slow("b", 0.9, 60)]
    events = play(seat(two_agents(), judges), settings("max_rounds=1", "min_rounds=1", "crit.enough=1"))
    at = next(i for i, event in enumerate(events) if isinstance(event, Scored))
    state = replay(events[:at]).state  # before the first score
    forged = next(event for event in of(JudgeAbstention, events) if event.waived)
    with pytest.raises(InputError, match="not waiting"):
        step(state, forged)


def test_other_rules_end_where_a_score_that_was_not_waited_for_would_matter() -> None:
    judges = [Slow("a", 0.9), Slow("b", 0.8), Slow("c", 0.1, seconds=60)]
    rules = ("max_rounds=1", "min_rounds=1", "crit.enough=2")
    events = play(seat(two_agents(), judges), settings(*rules))
    assert (
        replay_with(events, settings(*rules, "tau_crit=0.5")).finished is not None
    )  # at least 1.7 / 3, whatever c says
    assert replay_with(events, settings(*rules, "tau_crit=0.7")).finished is None  # c decides, and nobody knows


# --- several arguments in one call ---------------------------------------------------------------------------------------------


def grades(request: Request, x: int = 80) -> dict[str, Any]:
    """Grades of the form that was asked for."""
    assert request.schema is not None

    def fill(form: Any) -> dict[str, Any]:
        shape = form["properties"]
        pieces, links = ["supports"] * shape["pieces"]["minItems"], [x] * shape["links"]["minItems"]
        return {"pieces": pieces, "links": links, "justification": "E1.", "evidence": x, "logic": x, "relevance": x}

    form = request.schema.json
    return fill(form) if "pieces" in form["properties"] else {k: fill(v) for k, v in form["properties"].items()}


def llm_judge(answer: Callable[[Request], Any] = grades, name: str = "j") -> tuple[LlmJudge, list[Request]]:
    seen: list[Request] = []

    def reply(request: Request) -> Reply:
        seen.append(request)
        return Reply(text=json.dumps(answer(request)), usage=Usage(prompt=60, generated=40))

    return LlmJudge(name, FakeModel(f"fake/{name}", f"family-{name}", reply, bound=Bound(1000, 0.01))), seen


def test_a_judge_scores_the_arguments_of_a_turn_in_one_call() -> None:
    alone, one_by_one = llm_judge()
    together, in_pairs = llm_judge()
    sets = ("max_rounds=2", "crit.k=1")
    apart = play(seat(two_agents(2), [alone]), settings(*sets))
    joined = play(seat(two_agents(2), [together]), settings(*sets, "crit.together=2"))
    assert len(one_by_one) == 8 and len(in_pairs) == 4
    assert len(of(Scored, joined)) == len(of(Scored, apart)) == 8
    assert [e.score.composite for e in of(Scored, joined)] == [e.score.composite for e in of(Scored, apart)]
    prompt = in_pairs[0].messages[-1].content
    assert prompt.count("# Question") == 1 and "# Item 1" in prompt and "# Item 2" in prompt
    assert in_pairs[0].max_tokens == 2 * one_by_one[0].max_tokens
    assert [e.usage.tokens for e in of(Scored, joined)] == [100, 0] * 4 and result(joined).tokens == 400
    assert sum(len(event.calls) for event in of(Sent, joined)) == 4
    check_record(joined)


def test_items_that_cannot_be_read_are_abstentions_of_all_of_them_and_cost_once() -> None:
    lonely, seen = llm_judge(lambda request: {"item_1": {}})
    events = play(
        seat(two_agents(2), [lonely]), settings("max_rounds=1", "min_rounds=1", "crit.k=1", "crit.together=2")
    )
    silent = of(JudgeAbstention, events)
    assert len(silent) == 4 and not of(Scored, events) and len(seen) == 4  # asked again once, each time
    assert [event.usage.tokens for event in silent] == [200, 0, 200, 0]


def test_who_takes_one_argument_at_a_time_is_asked_one_at_a_time() -> None:
    events = play(
        seat(two_agents(2), [Slow("a", 0.9)]), settings("max_rounds=1", "min_rounds=1", "crit.k=1", "crit.together=5")
    )
    assert len(of(Scored, events)) == 4 and len({(e.argument, e.slot) for e in of(Scored, events)}) == 4


def test_a_call_that_scores_several_is_given_up_only_when_none_of_them_matters() -> None:
    class Pair(Slow):
        def prepare_together(self, requests: Sequence[ScoreRequest]) -> Any:
            async def ask() -> tuple[list[CritScore], Usage]:
                scored = [await self.score(request) for request in requests]
                return [score for score, _ in scored], Usage(generated=10)

            return reported(100, False, ask)

    judges = [Pair("a", 0.9), Pair("b", 0.9), Pair("c", 0.9, 60)]
    events = play(
        seat(two_agents(2), judges), settings("max_rounds=1", "min_rounds=1", "crit.enough=2", "crit.together=2")
    )
    waived = [event for event in of(JudgeAbstention, events) if event.waived]
    assert [event.usage.tokens for event in waived] == [100, 0, 100, 0]
    assert replay(events).state.in_flight == {}
    check_record(events)


# --- a request sent twice ------------------------------------------------------------------------------------------------------


class Stalls(Provider):
    """Answers the first attempt at each request after a long time, the second at once."""

    name, origin, identity = "fake/slow", "slow", {"model": "slow"}

    def __init__(self, first: float = 60.0, fails: bool = False) -> None:
        self.sent: list[Request] = []
        self._first, self._fails, self.cut = first, fails, 0

    async def send(self, request: Request) -> Reply:
        attempt = self.sent.count(request)
        self.sent.append(request)
        try:
            await asyncio.sleep(self._first if attempt == 0 else 0)
        except asyncio.CancelledError:
            self.cut += 1
            raise
        if self._fails:
            raise Overloaded("no")
        return Reply(text="yes", usage=Usage(prompt=5, generated=1))


ASK = Request(messages=(Message("user", "Is it?"),), max_tokens=20)


def ask(provider: Stalls, hedge: float | None, ledger: Ledger, **more: Any) -> Reply:
    async def go() -> Reply:
        client = Client(provider, family="fake", **more).hedged(hedge)
        async with asyncio.timeout(10):
            return await client.prepare(ASK).within(ledger)

    return asyncio.run(go())


def test_a_slow_request_is_sent_twice_and_both_are_counted() -> None:
    provider, ledger = Stalls(), Ledger(tokens=1000)
    bound = Client(provider, family="fake").prepare(ASK).bound.tokens
    assert ask(provider, 0.02, ledger).text == "yes"
    assert len(provider.sent) == 2 and provider.cut == 1
    assert ledger.spent.tokens == 6 + bound and ledger.reserved.tokens == 0


def test_a_request_that_is_answered_in_time_is_sent_once() -> None:
    provider, ledger = Stalls(first=0.0), Ledger(tokens=1000)
    assert ask(provider, 5.0, ledger).text == "yes"
    assert len(provider.sent) == 1 and ledger.spent.tokens == 6


def test_the_second_is_not_sent_where_the_ledger_has_no_room_for_it() -> None:
    provider = Stalls(first=0.1)
    bound = Client(provider, family="fake").prepare(ASK).bound.tokens
    run = Ledger(tokens=2 * bound - 1)
    ledger = Ledger(parent=run)
    assert ask(provider, 0.01, ledger).text == "yes"
    assert len(provider.sent) == 1 and ledger.spent.tokens == 6
    assert ledger.reached is run.reached is None


def test_where_both_fail_the_error_is_the_first_ones() -> None:
    provider, ledger = Stalls(first=0.05, fails=True), Ledger(tokens=1000)
    with pytest.raises(Overloaded):
        ask(provider, 0.01, ledger, retries=0)
    assert len(provider.sent) == 2 and ledger.reserved.tokens == 0


class Sluggish(Stalls):
    """Every attempt takes a while, and the first ones fail."""

    def __init__(self, failing: int) -> None:
        super().__init__()
        self._failing = failing

    async def send(self, request: Request) -> Reply:
        self.sent.append(request)
        attempt = len(self.sent)
        await asyncio.sleep(0.1)
        if attempt <= self._failing:
            raise Overloaded("no")
        return Reply(text="yes", usage=Usage(prompt=5, generated=1))


async def at_once(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("retries", [0, 1, 2])
@pytest.mark.parametrize(("hedge", "each"), [(None, 1), (0.01, 2)])
def test_a_request_sent_twice_is_tried_again_as_often_as_one_sent_once(
    hedge: float | None, each: int, retries: int
) -> None:
    provider, ledger = Sluggish(failing=100), Ledger(tokens=10_000)
    with pytest.raises(Overloaded):
        ask(provider, hedge, ledger, retries=retries, clock=lambda: 1e6, sleep=at_once)
    assert len(provider.sent) == each * (1 + retries) and ledger.reserved.tokens == 0


def test_where_both_fail_a_later_attempt_is_the_answer() -> None:
    provider = Sluggish(failing=2)
    assert ask(provider, 0.01, Ledger(tokens=10_000), retries=1, clock=lambda: 1e6, sleep=at_once).text == "yes"
    assert len(provider.sent) == 4


def test_a_model_on_this_machine_is_never_asked_twice() -> None:
    provider, ledger = Stalls(first=0.05), Ledger(tokens=1000)
    provider.origin = "local"
    assert ask(provider, 0.001, ledger).text == "yes" and len(provider.sent) == 1


class Voice(Stalls):
    """A debater's model whose first attempts are slow."""

    async def send(self, request: Request) -> Reply:
        await super().send(request)
        argument = {"claim": "So it is.", "outcome": "dengue", "citations": [{"span": "E5"}], "reasons": []}
        belief = [{"outcome": "dengue", "percent": 80}, {"outcome": "zika", "percent": 20}]
        return Reply(text=json.dumps({"arguments": [argument], "belief": belief}), usage=Usage(prompt=50, generated=50))


def hedged_debate(ceiling: int, run: Ledger | None = None) -> tuple[list[Event], Voice]:
    provider = Voice(first=0.3)

    async def go() -> list[Event]:
        slow = Client(provider, family="slow").hedged(0.02)
        table = seat([Debater("x", slow), script("y", turn(0.1, 0.8, 0.1))], [judge("j")])
        rules = settings("max_rounds=2", f"budget.tokens={ceiling}", "crit.k=1")
        return [event async for event in debate(open_debate(table, rules), table, ledger=run)]

    return asyncio.run(go()), provider


def test_a_run_goes_on_where_it_had_room_for_every_request_and_not_for_sending_it_twice() -> None:
    run = Ledger(tokens=10_000)
    events, provider = hedged_debate(100_000, run)
    assert 3 <= len(provider.sent) < 6 and not of(Exhausted, events)
    assert run.reached is None and run.spent.tokens <= 10_000
    check_record(events)


def test_in_a_debate_the_second_is_on_record_before_it_is_sent_and_inside_the_ceiling() -> None:
    events, provider = hedged_debate(100_000)
    calls = [call for event in of(Sent, events) for call in event.calls if call.key == ("turn", "x", "")]
    assert len(calls) == 2 * 3 == len(provider.sent)
    assert {request.attempts for event in of(Requested, events) for request in event.requests} == {2}
    assert peak(events) <= 100_000
    check_record(events)


@pytest.mark.parametrize("ceiling", [9_000, 12_000, 15_000, 20_000])
def test_no_ceiling_is_passed_by_requests_sent_twice(ceiling: int) -> None:
    events, _ = hedged_debate(ceiling)
    assert result(events).tokens <= ceiling and peak(events) <= ceiling
    check_record(events)


# --- all of them ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ceiling", [350, 700, 1_100, 100_000])
@pytest.mark.parametrize("sets", [("crit.enough=1",), ("crit.enough=2",), ("crit.enough=2", "crit.together=2")])
def test_no_ceiling_is_passed_by_calls_that_are_given_up(ceiling: int, sets: tuple[str, ...]) -> None:
    judges = [Slow("a", 0.9), Slow("b", 0.8, 0.002), Slow("c", 0.1, 5)]
    events = play(seat(two_agents(2), judges), settings("max_rounds=2", f"budget.tokens={ceiling}", *sets))
    assert result(events).tokens <= ceiling and peak(events) <= ceiling
    check_record(events)


def test_a_debate_broken_off_anywhere_ends_the_same_way() -> None:
    """Resumed after every event of the record: all judges who were given up are given up again, or not asked."""
    sets = settings("max_rounds=1", "min_rounds=1", "crit.enough=2")

    def table() -> Any:
        return seat(two_agents(), [Slow("a", 0.9), Slow("b", 0.8), Slow("c", 0.1, 60)])

    whole = play(table(), sets)
    for at in range(1, len(whole) - 1):
        again = play(table(), sets, recorded=whole[:at], opened=whole[0])
        assert result(again).answer == result(whole).answer
        assert [a.admitted for g in of(Gated, again) for a in g.admissions] == [True, True]


@pytest.mark.parametrize(("key", "value"), [("crit.enough", 2), ("crit.together", 2), ("budget.hedge", 5)])
def test_the_profile_of_the_paper_has_none_of_them(key: str, value: float) -> None:
    assert build("default", {key: value})
    with pytest.raises(ConfigError, match=f"{key} = {value}.*profile paper"):
        build("paper", {key: value})
