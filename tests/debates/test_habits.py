"""Debates between models with known habits, in this process and through a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence

import pytest

from fake_server import FakeServer
from helpers import judge, make_case, of, open_debate, result, seat, settings
from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.cases.outcomes import OutcomeSpace
from maci.controller.decisions import Gated
from maci.controller.events import Event
from maci.controller.inputs import TurnTaken
from maci.debating.loop import debate
from maci.evidence.span import CASE
from maci.llm.catalogue import FREE
from maci.llm.client import Client
from maci.llm.fake import FakeModel
from maci.llm.model import Model
from maci.llm.providers import Http, OpenAI
from maci.seating.table import Table
from scripted_debaters import (
    Habit,
    answers,
    case_quoter,
    identity_leaker,
    model,
    obliging,
    stubborn,
    synonym_user,
    thinker,
    truncated,
)

CASE_TOLD = make_case(context="A traveller has had fever and a rash for five days.")
ROUNDS = ("min_rounds=2", "max_rounds=3", "tau_q=0", "plan.enabled=false")


async def _debate(models: Mapping[str, Model], case, sets: Sequence[str]) -> list[Event]:
    table = seat([Debater(name, each) for name, each in models.items()], [judge()], case=case)
    return await _played(table, case, sets)


async def _played(table: Table, case=CASE_TOLD, sets: Sequence[str] = ()) -> list[Event]:
    return [event async for event in debate(open_debate(table, settings(*ROUNDS, *sets), case), table)]


async def _through_a_server(habits: Mapping[str, Habit], case, sets: Sequence[str]) -> list[Event]:
    async with FakeServer(answer=answers(habits)) as server:
        http = Http()
        try:
            models = {
                name: Client(
                    OpenAI(model=name, base_url=f"{server.url}/v1", http=http), family=f"family-{name}", price=FREE
                )
                for name in habits
            }
            return await _debate(models, case, sets)
        finally:
            await http.aclose()


@pytest.fixture(params=["in process", "through a server"])
def play(request):
    """Runs a debate of models by name."""

    def run(case=CASE_TOLD, sets=(), **habits: Habit) -> list[Event]:
        if request.param == "in process":
            return asyncio.run(_debate({name: model(name, habit) for name, habit in habits.items()}, case, sets))
        return asyncio.run(_through_a_server(habits, case, sets))

    return run


def turns(events: Sequence[Event], agent: str) -> list:
    return [event.turn for event in of(TurnTaken, events) if event.agent == agent]


def test_two_stubborn_models_answer_each_other_and_never_agree(play) -> None:
    events = play(x=stubborn("dengue"), y=stubborn("zika"))
    end = result(events)
    assert (end.stop_reason, end.rounds) == ("stalemate", 2) and {m.agent for m in end.minority} <= {"x", "y"}
    said = [turn.arguments[0].answers for turn in turns(events, "y")]
    assert said == [(), ("0A1",), ("1A1",)]  # openings can be answered in round 1
    assert all(a.answers for gated in of(Gated, events) for a in gated.admissions)


def test_an_obliging_model_goes_over_to_the_stubborn_one(play) -> None:
    events = play(x=stubborn("dengue"), y=obliging("zika"))
    leads = [max(turn.belief, key=turn.belief.get) for turn in turns(events, "y")]
    assert leads[:2] == ["zika", "dengue"]
    assert result(events).answer == "dengue"


def test_a_model_with_other_names_for_an_outcome_is_understood_where_they_differ_by_letters(play) -> None:
    case = make_case(OutcomeSpace(kind="open"))
    events = play(case, x=stubborn("Dengue"), y=synonym_user("dengue", "DENGUE", "Dengué"))
    assert set(result(events).distribution) <= {"Dengue", "other", "something else"}
    assert result(events).answer == "Dengue"


@pytest.mark.parametrize(
    "names",
    [
        ("Dengue", "Dengue fever", "dengue fever"),
        ("Gastroesophageal reflux disease", "GERD", "gastro-oesophageal reflux disease"),
        ("Heart attack", "Myocardial infarction", "acute myocardial infarction"),
        ("Dengue fever", "1. Dengue fever", "Likely dengue fever", "Diagnosis: Dengue fever (probable)"),
    ],
)
def test_a_model_with_other_words_for_an_outcome_is_of_one_mind_with_the_other(play, names: tuple[str, ...]) -> None:
    case = make_case(OutcomeSpace(kind="open"))
    end = result(play(case, x=stubborn(names[0]), y=synonym_user(*names[1:])))
    assert end.answer == names[0] and end.distribution[names[0]] >= 0.79 and end.agreed
    assert set(end.distribution) <= {names[0], "other", "something else"}


def test_a_model_that_gives_the_case_back_cites_nothing_else(play) -> None:
    events = play(x=case_quoter("dengue"), y=stubborn("zika"))
    spans = {span.id: span for event in events if event.type == "retrieved" for span in event.spans}
    cited = {spans[c.span].source for turn in turns(events, "x") for a in turn.arguments for c in a.citations}
    assert cited == {CASE}


def test_a_model_that_says_who_it_is_debates_under_a_neutral_name(play) -> None:
    events = play(x=identity_leaker("dengue"), y=stubborn("zika"))
    assert [turn.arguments[0].answers for turn in turns(events, "y")][1] == ("0A1",)
    assert result(events).stop_reason != "error"


def test_who_a_model_is_and_what_it_thinks_of_the_judge_never_reach_the_judge() -> None:
    grades = {
        "pieces": ["supports"],
        "links": [50],
        "justification": "E1.",
        "evidence": 60,
        "logic": 60,
        "relevance": 60,
    }
    grading = FakeModel("fake/judge", "family-judge", lambda request: json.dumps(grades))
    debaters = [Debater(n, model(n, habit)) for n, habit in (("x", identity_leaker("dengue")), ("y", stubborn("zika")))]
    table = seat(debaters, [LlmJudge("judge", grading)], case=CASE_TOLD)
    events = asyncio.run(_played(table))
    asked = [message.content for request in grading.history for message in request.messages]
    assert any("GPT-6" in a.claim for turn in turns(events, "x") for a in turn.arguments)  # it does say so
    assert asked and not any(word in text for text in asked for word in ("GPT-6", "OpenAI", "dear judge", "I am GPT"))


def test_what_a_model_thinks_aloud_is_on_record_and_nowhere_else(play) -> None:
    events = play(x=thinker("dengue"), y=stubborn("zika"))
    mine = turns(events, "x")
    assert mine and all("PRIVATE THOUGHT" in turn.raw and "<think>" in turn.raw for turn in mine)
    assert "PRIVATE" not in repr([turn.arguments for turn in mine])
    assert "PRIVATE" not in repr(of(Gated, events))


def test_a_model_that_never_comes_to_its_answer_sits_out_and_the_result_says_why(play) -> None:
    end = result(play(x=truncated("dengue"), y=stubborn("zika"), z=stubborn("zika")))
    assert end.answer == "zika"
    assert any("x abstained" in warning and "agents.max_tokens" in warning for warning in end.warnings)
