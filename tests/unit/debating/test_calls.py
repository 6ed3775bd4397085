"""Input and output of a debate: the budget, replies in flight, and agents that answer outside the protocol."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from helpers import arg, judge, make_case, of, open_debate, play, result, script, seat, settings, turn
from maci.agents.agent import Agent, FunctionAgent, Judge
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore
from maci.controller.decisions import Gated, Initialized, Weighed
from maci.controller.inputs import Exhausted, Intervened, JudgeAbstention, Scored, TurnFailed, TurnTaken
from maci.debating.loop import debate
from maci.errors import ConfigError, InputError
from maci.evidence.span import CaseEvidence
from maci.llm.usage import PaidFailure, Usage
from maci.record.replay import replay
from maci.seating.table import Table


class Costly(Agent):
    """An agent that may cost up to its ceiling and does cost ``used``."""

    def __init__(self, name: str, used: int, ceiling: int, delay: int = 0) -> None:
        self.name, self.family, self.asked = name, f"family-{name}", 0
        self._used, self._ceiling, self._delay = used, ceiling, delay

    def ceiling(self, request) -> int:
        return self._ceiling

    async def turn(self, request) -> Turn:
        self.asked += 1
        for _ in range(self._delay):
            await asyncio.sleep(0)
        if self._used < 0:
            raise PaidFailure("paid and broken", Usage(generated=-self._used))
        return turn(0.6, 0.4, args=[arg(f"{self.name}{request.round}", "e4")], tokens=self._used)


class CostlyJudge(Judge):
    def __init__(self, name: str, used: int, ceiling: int) -> None:
        self.name, self.family, self._used, self._ceiling = name, "judges", used, ceiling

    def ceiling(self, request) -> int:
        return self._ceiling

    async def score(self, request) -> tuple[CritScore, Usage]:
        return CritScore(evidence=0.8, logic=0.8, relevance=0.8), Usage(prompt=self._used)


# --- the budget -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, 1, 9, 10, 19, 20, 25, 37, 50, 77, 100, 150])
@pytest.mark.parametrize("used", [10, 3, -4])
def test_a_ceiling_is_never_exceeded_by_agents_and_judges_that_keep_to_theirs(budget: int, used: int) -> None:
    agents = [Costly("x", used, 10), Costly("y", 7, 10, delay=3)]
    events = play(seat(agents, [CostlyJudge("j", 2, 5)]), settings(f"budget.tokens={budget}", "max_rounds=4"))
    end = result(events)
    assert end.tokens <= budget
    spent = sum(e.turn.usage.tokens for e in of(TurnTaken, events)) + sum(
        e.usage.tokens for kind in (TurnFailed, Scored, JudgeAbstention) for e in of(kind, events)
    )
    assert end.tokens == spent
    if budget < 10:
        assert (end.stop_reason, end.answer) == ("budget", None)
    if end.stop_reason == "budget":
        assert of(Exhausted, events)[0].resource == "tokens"
        assert "out of tokens" in end.detail
    assert replay(events).complete


def test_the_budget_stops_with_the_best_answer_so_far() -> None:
    events = play(seat([Costly("x", 10, 10), Costly("y", 10, 10)]), settings("budget.tokens=45", "max_rounds=8"))
    end = result(events)
    assert (end.stop_reason, end.answer, end.tokens, end.rounds) == ("budget", "dengue", 40, 1)
    assert end.detail == "out of tokens: x may need 10 tokens, 5 of 45 are left"


def test_half_an_opening_is_an_answer_too() -> None:
    events = play(seat([Costly("x", 10, 10), Costly("y", 10, 10)]), settings("budget.tokens=15"))
    end = result(events)
    assert (end.stop_reason, end.answer, end.rounds) == ("budget", "dengue", 0)
    assert of(Initialized, events)[0].abstained == {"y": "not asked: out of budget"}


def test_replies_in_flight_when_the_budget_ends_are_recorded() -> None:
    # x and y are under way (20 of 25 set aside) when nothing more fits: both replies are kept before the debate ends.
    agents = [Costly("x", 10, 10), Costly("y", 10, 10, delay=5), Costly("z", 10, 10)]
    events = play(seat(agents), settings("budget.tokens=25"))
    assert [e.agent for e in of(TurnTaken, events)] == ["x", "y"]
    assert [a.asked for a in agents] == [1, 1, 0]
    assert result(events).tokens == 20


def test_what_was_set_aside_and_not_used_can_be_spent() -> None:
    agents = [Costly("x", 1, 10), Costly("y", 1, 10)]
    events = play(seat(agents), settings("budget.tokens=14", "max_rounds=2"))
    assert result(events).stop_reason != "budget" or result(events).tokens > 2
    assert result(events).rounds >= 1


def test_agents_that_cost_nothing_are_not_stopped_by_an_empty_budget() -> None:
    end = result(
        play(
            seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]),
            settings("budget.tokens=0", "max_rounds=2"),
        )
    )
    assert end.rounds == 2


def test_a_resumed_debate_counts_what_was_spent_before() -> None:
    def table() -> Table:
        return seat([Costly("x", 10, 10), Costly("y", 10, 10)])

    config = settings("budget.tokens=45", "max_rounds=8")
    whole = play(table(), config)
    for cut in range(1, len(whole)):
        resumed = play(table(), config, recorded=whole[:cut])
        assert result(resumed).tokens == 40
        assert result(resumed).stop_reason == "budget"


class Clock:
    """monotonic() that only moves when told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("maci.debating.calls.monotonic", lambda: self.now)


def test_time_that_is_up_ends_the_debate_with_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    def late(event, queue) -> None:
        if isinstance(event, Gated) and event.round == 1:
            clock.now += 60

    events = play(seat([Costly("x", 1, 1), Costly("y", 1, 1)]), settings("budget.seconds=60"), watch=late)
    end = result(events)
    assert (end.stop_reason, end.detail, end.rounds) == ("budget", "out of seconds: 60 s are over", 1)


def test_a_reply_that_is_in_is_recorded_even_if_time_ran_out_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    def late(event, queue) -> None:
        if isinstance(event, TurnTaken) and event.round == 0 and event.agent == "x":
            clock.now += 60  # y's reply has come in at the same moment and was paid for

    events = play(seat([Costly("x", 10, 10), Costly("y", 10, 10)]), settings("budget.seconds=60"), watch=late)
    assert [e.agent for e in of(TurnTaken, events)] == ["x", "y"]
    assert result(events).tokens == 20


def test_a_reply_that_is_in_is_recorded_even_if_a_person_stops_meanwhile() -> None:
    def stop(event, queue) -> None:
        if isinstance(event, TurnTaken) and event.agent == "x":
            queue.put_nowait(Intervened(stop=True))

    events = play(seat([Costly("x", 10, 10), Costly("y", 10, 10)]), watch=stop)
    assert [e.agent for e in of(TurnTaken, events)] == ["x", "y"]
    assert result(events).stop_reason == "stopped_by_user"


# --- agents and judges outside the protocol ---------------------------------------------------------------------------------


def odd(reply: object) -> Table:
    return seat([FunctionAgent("x", lambda request: reply, family="f"), script("y", turn(0.1, 0.9))])  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (None, "turn() gave NoneType, not a Turn"),
        ({"belief": {"dengue": 1.0}}, "turn() gave dict, not a Turn"),
        (Turn(belief={"dengue": 1.0}, raw="\ud800"), "cannot be recorded"),
        (Turn(belief={"dengue": 1.0}, arguments=("just text",)), "cannot be recorded"),  # type: ignore[arg-type]
        (Turn(belief=[0.5, 0.5]), "AttributeError"),  # type: ignore[arg-type]
    ],
)
def test_a_reply_that_is_no_turn_is_a_failed_turn(reply: object, why: str) -> None:
    events = play(odd(reply), settings("max_rounds=2"))
    assert why in of(TurnFailed, events)[0].error
    assert result(events).answer == "chikungunya"
    assert replay(events).complete


def test_a_refused_turn_is_still_paid_for() -> None:
    events = play(odd(Turn(belief={"dengue": None}, usage=Usage(generated=9))), settings("max_rounds=2"))  # type: ignore[dict-item]
    assert result(events).tokens == 9 * 3


@pytest.mark.parametrize("numbers", [{"dengue": np.float32(1)}, {"dengue": 1}, {"dengue": "1.0"}, {"dengue": True}])
def test_beliefs_in_other_numeric_types_are_read_as_numbers(numbers: dict) -> None:
    events = play(odd(Turn(belief=numbers)), settings("max_rounds=2"))
    assert of(Initialized, events)[0].beliefs["x"]["dengue"] == 1.0


@pytest.mark.parametrize(
    "error", [RuntimeError("bad \ud800 text"), asyncio.CancelledError(), TimeoutError(), Exception()]
)
def test_an_agent_that_raises_anything_sits_the_round_out(error: BaseException) -> None:
    def fail(request) -> Turn:
        raise error

    events = play(seat([FunctionAgent("x", fail, family="f"), script("y", turn(0.1, 0.9))]), settings("max_rounds=2"))
    assert of(TurnFailed, events)[0].error.startswith(type(error).__name__)
    assert set(of(Weighed, events)[0].beliefs) == {"y"}
    assert replay(events).complete


def test_an_agent_or_judge_whose_ceiling_raises_fails_only_itself() -> None:
    class NoCeiling(Costly):
        def ceiling(self, request) -> int:
            raise LookupError("no price list")

    class JudgeWithoutCeiling(CostlyJudge):
        def ceiling(self, request) -> int:
            raise LookupError("no price list")

    bad = NoCeiling("x", 1, 1)
    events = play(
        seat([bad, script("y", turn(0.1, 0.9))], [judge("j"), JudgeWithoutCeiling("k", 1, 1)]), settings("max_rounds=2")
    )
    assert bad.asked == 0
    assert {e.error for e in of(TurnFailed, events)} == {"LookupError: no price list"}
    assert {e.slot for e in of(JudgeAbstention, events)} == {"k#0"}
    assert result(events).rounds == 2


def test_a_ceiling_below_zero_makes_no_room() -> None:
    class Liar(Costly):
        def ceiling(self, request) -> int:
            return -1000

    events = play(seat([Liar("x", 0, 0), Costly("y", 10, 10)]), settings("budget.tokens=5"))
    assert [e.agent for e in of(TurnTaken, events)] == ["x"]


@pytest.mark.parametrize("reply", [None, 0.5, (0.5, Usage()), (CritScore(evidence=1, logic=1, relevance=1),), "good"])
def test_a_score_outside_the_protocol_is_an_abstention(reply: object) -> None:
    class Odd(CostlyJudge):
        async def score(self, request):
            return reply

    agents = [script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]
    events = play(seat(agents, [Odd("j", 0, 0), judge("k")]), settings("max_rounds=2"))
    assert {e.slot for e in of(JudgeAbstention, events)} == {"j#0", "j#1"}
    assert all(e.reason for e in of(JudgeAbstention, events))
    assert of(Gated, events)[0].admissions[0].crit == pytest.approx(0.8)


def test_a_refused_score_is_still_paid_for() -> None:
    class Odd(CostlyJudge):
        async def score(self, request):
            return 0.5, Usage(prompt=3)

    agents = [script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]
    events = play(seat(agents, [Odd("j", 0, 0)]), settings("max_rounds=2"))
    assert result(events).tokens == 3 * len(of(JudgeAbstention, events)) > 0


def test_a_table_that_is_not_the_recorded_one_is_refused() -> None:
    events = play(seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]), settings("max_rounds=2"))
    with pytest.raises(ConfigError, match="the record is of a debate between"):
        play(seat([script("x", turn(1.0)), script("z", turn(1.0))]), recorded=events[:3])


def test_evidence_that_breaks_is_no_agents_fault_and_the_record_can_be_resumed() -> None:
    class Broken(CaseEvidence):
        def retrieve(self, query, k, max_tokens):
            raise InputError("the index is gone")

    table = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))], evidence=Broken(make_case()))
    kept: list = []

    class Keep:
        def append(self, event, *, sync=False) -> None:
            kept.append(event)

        def flush(self) -> None: ...

    with pytest.raises(InputError, match="the index is gone"):
        play(table, record=Keep())
    assert len(kept) == 1
    whole = play(seat(table.agents), settings("max_rounds=2"), recorded=kept)
    assert result(whole).answer


# --- cancelling -------------------------------------------------------------------------------------------------------------


def test_leaving_a_debate_cancels_what_is_under_way_and_leaves_no_task_behind() -> None:
    cancelled: list[str] = []

    class Slow(Costly):
        async def turn(self, request):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(self.name)
                raise

    async def go() -> set:
        table = seat([Slow("x", 1, 1), script("y", turn(0.1, 0.9))])
        queue: asyncio.Queue[Intervened] = asyncio.Queue()
        stream = debate(open_debate(table), table, hand=queue)

        async def watch() -> None:
            async for _ in stream:
                pass

        task = asyncio.ensure_future(watch())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await stream.aclose()
        queue.put_nowait(Intervened(stop=True))
        await asyncio.sleep(0.01)
        assert queue.qsize() == 1  # nobody still listens
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(go()) == set()
    assert cancelled == ["x"]
