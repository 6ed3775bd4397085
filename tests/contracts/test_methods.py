"""What every method owes a study, whatever it does inside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hash_encoder import HashEncoder
from helpers import arg
from maci.agents.agent import FunctionAgent, FunctionJudge
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.agents.debater import Debater
from maci.calibration.profile import nonconformity_of, observe
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.cli.batch.run import row as result_row
from maci.config import build as settings
from maci.debating.batch import BatchCase, Done
from maci.errors import ModelError, UnknownModel
from maci.evidence.encode import Encoder
from maci.evidence.span import CaseEvidence, Span
from maci.lab.datasets import TaskItem
from maci.lab.methods import build, entries
from maci.lab.methods.maci import Maci, played
from maci.lab.methods.method import Bench, Method, MethodAnswer, Unfit
from maci.lab.study.study import RowKey
from maci.lab.study.worker import row_of
from maci.llm.budget import Ledger
from maci.llm.model import Request
from maci.llm.usage import Usage
from maci.seating.models import ReaderPanel
from maci.seating.table import Table
from maci.story.report.page import Entry as IndexEntry
from maci.story.report.page import index_markdown
from maci.story.report.verdict import answered
from maci.story.story import Story
from scripted_debaters import model, stubborn

ALL = [build(entry.name) for entry in entries()]
NEEDS_DRAWS = {"majority_vote", "self_consistency"}
NEEDS_COPIES = {"du_debate"}
every_method = pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)

CASE = Case(
    question="Which animal is it?",
    context="It has stripes, it hunts at night and it swims well.",
    outcomes=OutcomeSpace(labels=("cat", "tiger", "zebra")),
    gold="tiger",
)
FACTS = {
    "cat": ("A cat hunts at night.", "A cat purrs and hates water.", "Cats climb.", "A cat sleeps all day."),
    "tiger": ("A tiger has stripes.", "A tiger swims well.", "Tigers hunt at night.", "A tiger roars."),
    "zebra": ("A zebra has stripes.", "Zebras graze by day.", "A zebra lives in herds.", "Zebras cannot swim."),
}


@cache
def panel() -> ReaderPanel:
    spans = [Span.of(text, "book", n, label) for label, texts in FACTS.items() for n, text in enumerate(texts)]
    return ReaderPanel(spans, HashEncoder())


class Seats:
    """The same fake agents and one fake judge for every case."""

    def __init__(self, *agents: FunctionAgent, encoder: Encoder | None = None) -> None:
        self.agents, self.encoder = agents, encoder or HashEncoder()

    def table(self, case: Case, *, seed: int = 0) -> Table:
        judges = [FunctionJudge(f"judge {n}", lambda request: 0.8) for n in range(3)]
        return Table(agents=self.agents, judges=judges, evidence=CaseEvidence(case), encoder=self.encoder)


def run(method: Method, bench: Bench, case: Case = CASE, seed: int = 0) -> MethodAnswer:
    return asyncio.run(method.answer(case, bench, seed))


def says(name: str, reply: Callable[..., Turn], ceiling: int = 0) -> FunctionAgent:
    return FunctionAgent(name, reply, ceiling=ceiling)


def turn(cat: float, tiger: float, zebra: float, tokens: int = 0) -> Turn:
    belief = {"cat": cat, "tiger": tiger, "zebra": zebra}
    return Turn(belief=belief, arguments=(arg("So it is."),), usage=Usage(generated=tokens))


@every_method
def test_a_method_answers_with_a_belief_over_the_outcomes_and_counts_its_calls(method: Method) -> None:
    answer = run(method, Bench(panel=panel()))
    assert answer.belief is not None
    assert list(answer.belief) == list(CASE.outcomes.labels)
    assert sum(answer.belief.values()) == pytest.approx(1)
    assert answer.calls >= 1 and answer.usage.tokens > 0 and answer.reason
    for step in answer.course:
        assert sum(step.belief.values()) == pytest.approx(1)


@every_method
def test_the_same_seed_gives_the_same_answer(method: Method) -> None:
    assert run(method, Bench(panel=panel()), seed=3) == run(method, Bench(panel=panel()), seed=3)


@every_method
def test_a_method_never_sees_the_gold_answer(method: Method) -> None:
    told = Case(question=CASE.question, context=CASE.context, outcomes=CASE.outcomes, gold="zebra")
    ours, theirs = run(method, Bench(panel=panel())), run(method, Bench(panel=panel()), told)
    assert (ours.belief, ours.calls) == (theirs.belief, theirs.calls)


@every_method
def test_a_ceiling_is_never_exceeded_and_ends_with_the_best_answer_so_far(method: Method) -> None:
    whole = run(method, Bench(panel=panel()))
    for share in (0.0, 0.2, 0.6, 0.9):
        ceiling = int(share * (whole.usage.tokens + whole.judge_usage.tokens))
        ledger = Ledger(tokens=ceiling)
        answer = run(method, Bench(panel=panel(), ledger=ledger))
        assert answer.usage.tokens + answer.judge_usage.tokens == ledger.spent.tokens <= ceiling
        assert answer.out_of_budget
        assert ledger.reserved.tokens == 0
        if share == 0:
            assert answer.belief is None and "token" in answer.reason


def fakes_for(method: Method) -> bool:
    return method.name not in NEEDS_DRAWS | NEEDS_COPIES


@every_method
def test_agents_that_cannot_do_what_a_method_needs_are_refused_with_the_reason(method: Method) -> None:
    seats = Seats(says("a", lambda r: turn(0.2, 0.7, 0.1)), says("b", lambda r: turn(0.3, 0.5, 0.2)))
    if fakes_for(method):
        assert run(method, Bench(panel=seats)).belief is not None
        return
    with pytest.raises(Unfit, match=r"answer again|copied"):
        run(method, Bench(panel=seats))


@every_method
def test_an_agent_that_fails_is_left_out_and_if_all_fail_there_is_no_answer(method: Method) -> None:
    def fails(request: object) -> Turn:
        raise RuntimeError("no idea")

    if not fakes_for(method):
        return
    broken = [says(name, fails) for name in ("a", "b", "c")]
    answer = run(method, Bench(panel=Seats(*broken)))
    assert answer.belief is None and "no idea" in answer.reason
    some = Seats(says("a", lambda r: turn(0.2, 0.7, 0.1)), broken[1], says("c", lambda r: turn(0.1, 0.8, 0.1)))
    answer = run(method, Bench(panel=some))
    assert answer.belief is not None and max(answer.belief, key=lambda y: answer.belief[y]) == "tiger"


@every_method
def test_a_belief_that_is_none_is_not_counted(method: Method) -> None:
    if not fakes_for(method):
        return
    odd = says("b", lambda r: turn(0.9, float("nan"), 0.1))
    seats = Seats(says("a", lambda r: turn(0.2, 0.7, 0.1)), odd, says("c", lambda r: turn(0.1, 0.8, 0.1)))
    answer = run(method, Bench(panel=seats))
    assert answer.belief is not None and answer.belief["cat"] < 0.3


@every_method
def test_a_wrong_key_or_model_is_raised_not_scored(method: Method) -> None:
    def unknown(request: object) -> Turn:
        raise UnknownModel("there is no such model")

    if not fakes_for(method):
        return
    seats = Seats(*(says(name, unknown) for name in ("a", "b", "c")))
    with pytest.raises(ModelError, match="no such model") as raised:
        run(method, Bench(panel=seats))
    assert raised.value.fatal


@every_method
def test_an_agents_own_temperature_counts_in_every_method(method: Method) -> None:
    if not fakes_for(method):
        return
    seats = Seats(*(says(name, lambda r: turn(0.1, 0.8, 0.1)) for name in ("a", "b", "c")))
    sharp = settings("default", {"calibration.agents": dict.fromkeys("abc", 0.5)})
    answer = run(method, Bench(panel=seats, config=sharp))
    # softmax(log p / 0.5) = p² / Σp² = 0.64 / 0.66
    assert answer.belief is not None and answer.belief["tiger"] == pytest.approx(0.64 / 0.66)


class Models:
    """Three language models that never change their mind, and what they were asked."""

    def __init__(self) -> None:
        self.models = [model(name, stubborn(lead)) for name, lead in (("a", "cat"), ("b", "tiger"), ("c", "tiger"))]

    def table(self, case: Case, *, seed: int = 0) -> Table:
        agents = [Debater(each.name, each, temperature=0.2, belief="verbalised") for each in self.models]
        judges = [FunctionJudge(f"judge {n}", lambda request: 0.8) for n in range(3)]
        return Table(agents=agents, judges=judges, evidence=CaseEvidence(case), encoder=HashEncoder())

    @property
    def asked(self) -> list[Request]:
        return [request for each in self.models for request in each.history]


@every_method
def test_only_a_moderated_debate_is_told_of_gates_and_every_model_may_think_first(method: Method) -> None:
    models, book = Models(), Document("A tiger has stripes and swims well. A cat purrs.")
    bench = Bench(panel=models, config=settings("default", {"max_rounds": 3}))
    assert run(method, bench, replace(CASE, evidence=(book,))).belief is not None
    told = ["pass review" in message.content for request in models.asked for message in request.messages]
    assert any(told) == (isinstance(method, Maci) and method.name != "unscheduled")  # which has both gates off
    for request in models.asked:
        assert request.schema is not None and next(iter(request.schema.json["properties"])) == "reasoning"


@pytest.mark.parametrize("name", sorted(NEEDS_DRAWS))
def test_draws_of_a_model_are_warm_and_have_seeds_of_their_own(name: str) -> None:
    models = Models()
    run(build(name), Bench(panel=models))
    drawn = [request for request in models.models[0].history if request.temperature != 0.2]
    assert drawn and min(request.temperature or 0 for request in drawn) >= 0.7
    assert len({request.seed for request in models.models[0].history}) == len(models.models[0].history)


OPEN = Case(question="What is it?", context="Chest pain.", outcomes=OutcomeSpace(kind="open"), gold="HEART ATTACK")


class Synonyms(HashEncoder):
    """Knows that a myocardial infarction is a heart attack."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().encode([text.replace("myocardial infarction", "heart attack") for text in texts])


class Patient(FunctionAgent):
    """Says the same as often as it is asked, in whatever manner, once others have had time to speak before it."""

    def __init__(self, name: str, outcome: str, moments: int = 0) -> None:
        super().__init__(name, lambda request: Turn(belief={outcome: 1.0}, arguments=(arg("So it is."),)))
        self.moments = moments

    async def turn(self, request: TurnRequest) -> Turn:
        for _ in range(self.moments):
            await asyncio.sleep(0)
        return await super().turn(request)

    def redrawn(self, seed: int) -> Patient:
        return self

    def as_copy_of(self, other: FunctionAgent) -> Patient:
        return self


def open_seats(first: str = "heart attack", then: str = "myocardial infarction") -> Seats:
    return Seats(Patient("a", first, moments=3), Patient("b", then), encoder=Synonyms())


@every_method
def test_names_with_one_meaning_are_one_outcome_in_every_method_named_as_the_first_seat_names_it(
    method: Method,
) -> None:
    answer = run(method, Bench(panel=open_seats()), OPEN)
    assert answer.belief == {"other": 0.0, "heart attack": 1.0}
    for step in answer.course:
        assert step.belief == {"other": 0.0, "heart attack": 1.0}


@pytest.mark.parametrize("name", ["average", "majority_vote", "du_debate", "maci"])
def test_names_that_differ_in_meaning_stay_apart(name: str) -> None:
    answer = run(build(name), Bench(panel=open_seats(then="broken rib")), OPEN)
    assert answer.belief == pytest.approx({"other": 0.0, "heart attack": 0.5, "broken rib": 0.5})


@pytest.mark.parametrize("name", ["average", "maci"])
def test_doubt_is_spread_over_all_outcomes_named_at_the_same_time(name: str) -> None:
    doubtful = settings("default", {"calibration.doubt": {"a": 0.3, "b": 0.3}})
    answer = run(build(name), Bench(panel=open_seats(then="broken rib"), config=doubtful), OPEN)
    # each agent: 0.7 + 0.3 / 3 on its own outcome, 0.3 / 3 on the two others
    assert answer.course[0].belief == pytest.approx({"other": 0.1, "heart attack": 0.45, "broken rib": 0.45})
    assert answer.course[0].beliefs["a"] == pytest.approx({"other": 0.1, "heart attack": 0.8, "broken rib": 0.1})


@pytest.mark.parametrize("name", ["average", "majority_vote", "maci"])
def test_the_gold_outcome_of_an_open_case_is_found_under_the_spelling_that_was_named(name: str) -> None:
    item = TaskItem(case=OPEN)
    row = row_of(RowKey("data", 0, "test", "one", name), item, run(build(name), Bench(panel=open_seats()), OPEN), 0.1)
    assert row.belief is not None and row.belief[row.gold or ""] == 1


def test_batches_calibrations_and_reports_find_the_gold_outcome_under_that_spelling_too() -> None:
    events = asyncio.run(played(OPEN, Bench(panel=open_seats()), 0))
    seen = observe(events)
    assert seen is not None and seen.labels[seen.gold] == "heart attack"
    assert nonconformity_of(Story.of(events), "lac") == 0  # 1 - p of the truth
    done = Done(entry=BatchCase(1, OPEN, Path("1")), status="done", events=tuple(events))
    assert result_row(done)["correct"] is True
    story = Story.of(events)
    assert "| right |" in index_markdown([IndexEntry(name="one", story=story)], "All")
    assert story.result is not None and "This is right" in str(answered(story))
