"""What every agent and judge owes the controller; the fakes included, since users test with them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from hash_encoder import HashEncoder
from helpers import arg
from maci.agents.agent import Agent, FunctionAgent, FunctionJudge, Judge, ScriptedAgent, request_stub
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.agents.judges.reader import reader_judges
from maci.agents.library import Library
from maci.agents.reader import FAMILIES, Reader
from maci.cases.case import load_case
from maci.errors import InputError
from maci.evidence.span import Span
from maci.llm.budget import Ledger
from maci.llm.usage import Bound, Usage
from maci.seating.tables import Tables

YES = Turn(belief={"yes": 0.8, "no": 0.2}, arguments=(arg("So it is."),))
PAPER = {name: Tables("paper", HashEncoder()).table(load_case(name)) for name in ("paper-dengue", "paper-hepatitis")}

FACTS = [Span.of("Yes, it was so.", "a", 0, "yes"), Span.of("No, it was otherwise.", "a", 0, "no")]
LIBRARY = Library(FACTS, ("yes", "no"), HashEncoder())

AGENTS: list[Agent] = [
    *(Reader(family, LIBRARY, np.array([0, 1])) for family in FAMILIES),
    FunctionAgent("function", lambda request: YES),
    ScriptedAgent("scripted", [YES]),
    *(agent for table in PAPER.values() for agent in table.agents),
]
JUDGES: list[Judge] = [
    *reader_judges(FACTS),
    FunctionJudge("function", lambda request: 0.5),
    FunctionJudge("full", lambda request: CritScore(evidence=0.1, logic=0.2, relevance=0.3)),
    *(judge for table in PAPER.values() for judge in table.judges),
]


def score_request(claim: str) -> ScoreRequest:
    return ScoreRequest(question=request_stub().question, argument=arg(claim), spans=(Span.of("text"),))


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_has_a_name_a_family_and_a_ceiling_and_takes_turns(agent: Agent) -> None:
    assert agent.name and agent.family
    for round in range(4):
        request = request_stub(round)
        assert agent.ceiling(request) >= 0
        said = asyncio.run(agent.turn(request))
        assert isinstance(said, Turn)
        assert isinstance(said.usage, Usage)
        assert said.usage.tokens <= agent.ceiling(request)
        assert sum(said.belief.values()) == pytest.approx(1, abs=0.1)
        assert said == asyncio.run(agent.turn(request))  # the same request, the same turn


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_a_judge_scores_within_range_or_abstains(judge: Judge) -> None:
    assert judge.name and judge.family
    request = score_request("Nobody ever said this.")
    assert judge.ceiling(request) >= 0
    try:
        score, usage = asyncio.run(judge.score(request))
    except JudgeAbstained as abstained:
        assert "script" in str(abstained)  # noqa: PT017
        return
    assert 0 <= score.composite <= 1
    assert usage.tokens <= judge.ceiling(request)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_a_prepared_turn_is_the_turn_and_its_purse_says_what_it_cost(agent: Agent) -> None:
    request, ledger = request_stub(1), Ledger()
    call = agent.prepare(request)
    said = asyncio.run(call.within(ledger))
    assert said == asyncio.run(agent.turn(request))
    assert ledger.spent == said.usage and ledger.spent.tokens <= call.bound.tokens == agent.ceiling(request)
    assert ledger.reserved == Bound()


@pytest.mark.parametrize("judge", JUDGES[:5], ids=lambda judge: judge.name)
def test_a_prepared_score_is_the_score_and_its_purse_says_what_it_cost(judge: Judge) -> None:
    request, ledger = score_request("It was so."), Ledger()
    call = judge.prepare(request)
    assert (asyncio.run(call.within(ledger)), ledger.spent) == asyncio.run(judge.score(request))
    assert ledger.spent.tokens <= call.bound.tokens


def test_an_agent_that_only_takes_turns_has_everything_else_by_default() -> None:
    class Mine(Agent):
        name, family = "mine", "own"

        async def turn(self, request: TurnRequest) -> Turn:
            return YES

    mine = Mine()
    assert (mine.free, mine.prompts, mine.ceiling(request_stub())) == (False, (), 0)
    assert mine.redrawn(1) is None and mine.as_copy_of(mine) is None and mine.styled("calmly") is mine
    assert asyncio.run(mine.prepare(request_stub()).within()) is YES


@pytest.mark.parametrize("kind", ["Agent", "Judge"])
def test_a_table_refuses_who_is_not_derived_and_says_what_to_do(kind: str) -> None:
    class Stranger:
        name, family = "x", "y"

        def ceiling(self, request: object) -> int:
            return 0

    seats = {"agents": [], "judges": [], f"{kind.lower()}s": [Stranger()]}
    with pytest.raises(InputError, match=f"Stranger is not a maci.{kind}: derive it from maci.{kind}"):
        replace(PAPER["paper-dengue"], **seats)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_judges_score_every_argument_of_its_script_with_some_variance(name: str) -> None:
    table = PAPER[name]
    for agent in table.agents:
        for round in range(5):
            for argument in asyncio.run(agent.turn(request_stub(round))).arguments:
                marks = [asyncio.run(j.score(score_request(argument.claim)))[0].composite for j in table.judges]
                assert len(set(marks)) == 3


def test_fakes_keep_what_they_were_asked() -> None:
    agent, judge = ScriptedAgent("a", [YES]), FunctionJudge("j", lambda request: 1.0)
    asyncio.run(agent.turn(request_stub(2)))
    asyncio.run(judge.score(score_request("c")))
    assert [r.round for r in agent.history] == [2]
    assert [r.argument.claim for r in judge.history] == ["c"]


def test_a_script_plays_one_turn_a_round_repeats_the_last_and_raises_its_errors() -> None:
    no = Turn(belief={"no": 1.0})
    agent = ScriptedAgent("a", [YES, ValueError("lost the thread"), no])
    assert asyncio.run(agent.turn(request_stub(0))) is YES
    with pytest.raises(ValueError, match="lost the thread"):
        asyncio.run(agent.turn(request_stub(1)))
    assert asyncio.run(agent.turn(request_stub(9))) is no
    with pytest.raises(ValueError, match="scripted agent 'a' has no turns"):
        ScriptedAgent("a", [])


def test_a_fake_judge_that_scores_out_of_range_raises() -> None:
    with pytest.raises(Exception, match="must be between 0 and 1"):
        asyncio.run(FunctionJudge("j", lambda request: 1.2).score(score_request("c")))


def test_usage_adds_up_and_knows_whether_it_was_paid() -> None:
    total = Usage(prompt=3, cached=1, generated=2, usd=0.5) + Usage(prompt=1)
    assert (total.tokens, total.cached, total.usd, total.paid) == (6, 1, 0.5, True)
    assert not Usage(cached=5).paid
    assert Usage(usd=0.001).paid
