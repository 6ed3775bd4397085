"""What a study learns of its agents from dev items."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hash_encoder import HashEncoder
from helpers import arg
from maci.agents.agent import FunctionAgent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.calibration.weights import learn_agents
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import build
from maci.errors import BudgetError, ConfigError, InputError, UnknownModel
from maci.evidence.span import CaseEvidence
from maci.lab.datasets import TaskItem
from maci.lab.methods.baselines import Average
from maci.lab.methods.method import Bench
from maci.lab.study.learning import DevLesson, learn, learn_stages
from maci.lab.study.store import SqliteStore
from maci.lab.study.study import Study
from maci.lab.study.worker import Worker
from maci.llm.budget import Ledger
from maci.llm.usage import Usage
from maci.seating.table import Table
from study_helpers import kept, make_study, run, write_cases

SPACE = OutcomeSpace(labels=("a", "b", "c"))


def item(n: int) -> TaskItem:
    """Item n is truly ``abc[n % 3]``, and says so only to those who look at its number."""
    return TaskItem(case=Case(question=f"Item {n}?", outcomes=SPACE, gold="abc"[n % 3], id=f"i{n:03}"))


def says(name: str, wrong: int, tokens: int = 0) -> FunctionAgent:
    """Names the true outcome, but in one of ``wrong`` cases the next."""

    def reply(request: TurnRequest) -> Turn:
        n = int(request.question.question.split()[1].rstrip("?"))
        answer = "abc"[(n + (n % wrong == 0)) % 3]
        return Turn(belief={answer: 1.0}, arguments=(arg("So."),), usage=Usage(generated=tokens))

    return FunctionAgent(name, reply, ceiling=tokens)


class Seats:
    def __init__(self, *agents: FunctionAgent) -> None:
        self.agents = agents

    def table(self, case: Case, *, seed: int = 0) -> Table:
        assert case.gold is None, "nobody may see the answer"
        return Table(agents=self.agents, judges=(), evidence=CaseEvidence(case), encoder=HashEncoder())


def lesson(items: Sequence[TaskItem], *agents: FunctionAgent, **more: object) -> DevLesson:
    return asyncio.run(learn(items, Bench(panel=Seats(*agents), **more), 0))  # type: ignore[arg-type]


def test_it_is_what_the_openings_teach() -> None:
    items = [item(n) for n in range(60)]
    learnt = lesson(items, says("good", 10), says("poor", 2))
    openings = [
        {"good": {"abc"[(n + (n % 10 == 0)) % 3]: 1.0}, "poor": {"abc"[(n + (n % 2 == 0)) % 3]: 1.0}} for n in range(60)
    ]
    by_hand = learn_agents(openings, ["abc"[n % 3] for n in range(60)], [SPACE.labels] * 60)
    assert learnt.settings == by_hand.settings() and learnt.n == learnt.items == 60
    assert learnt.settings["calibration.doubt"]["good"] < learnt.settings["calibration.doubt"]["poor"]
    build("default", learnt.settings)  # they are settings


def test_the_order_of_items_makes_no_difference() -> None:
    items = [item(n) for n in range(40)]
    assert lesson(items, says("x", 3), says("y", 4)) == lesson(items[::-1], says("x", 3), says("y", 4))


def test_what_was_learnt_before_does_not_colour_the_openings() -> None:
    items, agents = [item(n) for n in range(30)], (says("x", 3), says("y", 4))
    coloured = build("default", {"calibration.doubt": {"x": 0.9}, "reliability.prior": {"y": 5.0}})
    assert lesson(items, *agents, config=coloured) == lesson(items, *agents)


def test_it_asks_what_every_method_asks_first() -> None:
    agents = (says("x", 3), says("y", 4))
    lesson([item(7)], *agents)
    asyncio.run(Average().answer(Case(question="Item 7?", outcomes=SPACE, id="i007"), Bench(panel=Seats(*agents)), 0))
    for agent in agents:
        first, second = agent.history
        assert first == second  # so a response cache has it


def test_what_it_costs_is_counted_and_kept_within_the_budget() -> None:
    items, agents = [item(n) for n in range(30)], (says("x", 3, 10), says("y", 4, 10))
    enough = Ledger(600)
    learnt = lesson(items, *agents, ledger=enough)
    assert learnt.calls == 60 and learnt.usage.tokens == 600 == enough.spent.tokens
    short = Ledger(595)
    with pytest.raises(BudgetError, match="ended while learning from dev items"):
        lesson(items, *agents, ledger=short)
    assert short.spent.tokens <= 595


def test_an_agent_that_fails_has_abstained() -> None:
    def fails(request: TurnRequest) -> Turn:
        raise ValueError("no")

    learnt = lesson([item(n) for n in range(30)], says("x", 3), FunctionAgent("broken", fails))
    assert "broken: 0 dev answers, 20 are needed" in learnt.notes[0]
    assert "broken" not in learnt.settings.get("calibration.doubt", {})


def test_what_would_end_every_answer_is_raised() -> None:
    def gone(request: TurnRequest) -> Turn:
        raise UnknownModel("no such model")

    with pytest.raises(UnknownModel):
        lesson([item(n) for n in range(30)], says("x", 3), FunctionAgent("gone", gone))


def test_items_without_a_truth_teach_nothing() -> None:
    blank = TaskItem(case=Case(question="Item 1?", outcomes=SPACE, id="z"))
    learnt = lesson([blank, item(1)], says("x", 3), says("y", 4))
    assert learnt.items == 1 and learnt.calls == 2


# --- in a study --------------------------------------------------------------------------------------------------------------


def taught_study(folder: Path, **changes: Any) -> Study:
    if not (folder / "cases.jsonl").exists():
        write_cases(folder, 90)
    methods = [{"use": "average"}, {"use": "weighted_average"}]
    return make_study(folder, **{"learn": {"agents": True}, "methods": methods, "seeds": [0], **changes})


def lessons(folder: Path) -> dict[int, DevLesson]:
    with SqliteStore(folder / "results.sqlite", make=False) as store:
        meta = store.meta()
        assert meta is not None
        return dict(meta.learnt["tiny"])


def test_a_study_answers_with_what_its_dev_items_taught(tmp_path: Path) -> None:
    study = taught_study(tmp_path)
    run(study, tmp_path)
    lesson = lessons(tmp_path)[0]
    assert lesson.items >= 20 and lesson.calls == 3 * lesson.items
    weights = lesson.settings["reliability.prior"]
    assert len(set(weights.values())) > 1
    rows = [row for row in kept(tmp_path).values() if row["method"] == "weighted_average"]
    for row in rows:
        (course,) = row["course"]
        agents = list(course["beliefs"])
        pooled = np.average(
            [list(course["beliefs"][a].values()) for a in agents], axis=0, weights=[weights[a] for a in agents]
        )
        assert list(row["belief"].values()) == pytest.approx(pooled.tolist())


def test_without_learning_nothing_changes(tmp_path: Path) -> None:
    run(taught_study(tmp_path, learn={}), tmp_path)
    with SqliteStore(tmp_path / "results.sqlite", make=False) as store:
        meta = store.meta()
        assert meta is not None and meta.learnt == {} and "learn" not in meta.identity and "limit" not in meta.identity
    by = {(row["item"], row["method"]): row["belief"] for row in kept(tmp_path).values()}
    for item in {item for item, _ in by}:
        assert by[item, "average"] == pytest.approx(by[item, "weighted_average"])


def test_what_was_learnt_is_kept_and_a_later_run_goes_on_with_it(tmp_path: Path) -> None:
    """Another process, or this one after a kill, must answer with the same settings: here the kept ones are made odd to see it."""
    study = taught_study(tmp_path)
    run(study, tmp_path)
    odd = lessons(tmp_path)[0].model_copy(update={"settings": {"reliability.prior": {"lexical": 900.0}}})
    other = tmp_path / "other"
    other.mkdir()
    with SqliteStore(tmp_path / "results.sqlite") as store, SqliteStore(other / "results.sqlite") as fresh:
        meta = store.meta()
        assert meta is not None
        fresh.begin(meta.model_copy(update={"learnt": {"tiny": {0: odd}}}))
    run(study, other)
    assert lessons(other) == {0: odd}
    assert kept(other) != kept(tmp_path)


def test_several_processes_answer_alike(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, jobs in ((one, 1), (two, 2)):
        folder.mkdir()
        run(taught_study(folder, limit=25), folder, jobs=jobs)
    assert kept(one) == kept(two) and lessons(one) == lessons(two)


def test_more_seeds_are_learnt_when_they_come(tmp_path: Path) -> None:
    run(taught_study(tmp_path), tmp_path)
    first = lessons(tmp_path)[0]
    with SqliteStore(tmp_path / "results.sqlite") as store:
        known = store.meta()
        assert known is not None
        worker = Worker(taught_study(tmp_path, seeds=[0, 1]))
        found = asyncio.run(worker.learn(known.learnt))
    assert found["tiny"][0] == first and set(found["tiny"]) == {0, 1}


def test_another_limit_is_another_study_since_it_teaches_something_else(tmp_path: Path) -> None:
    run(taught_study(tmp_path, limit=25), tmp_path)
    with pytest.raises(InputError, match="limit was 25, is 26"):
        run(taught_study(tmp_path, limit=26), tmp_path)


def test_what_is_learnt_may_not_be_set_as_well(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"\[learn\] agents = true learns what \[set\] 'reliability.prior.*leave one out"
    ):
        taught_study(tmp_path, set={"reliability.prior": "lexical=2"})


def test_a_run_that_cannot_pay_for_learning_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="ended while learning from dev items"):
        run(taught_study(tmp_path, budget={"tokens": 500}), tmp_path)
    assert kept(tmp_path) == {}


def test_whole_debates_on_dev_teach_when_they_are_needed() -> None:
    items = [item(n) for n in range(60)]
    bench = Bench(
        panel=Seats(says("good", 10, 7), says("poor", 2, 7)), config=build("default", {"crit.enabled": False})
    )
    first = asyncio.run(learn(items, bench, 0))
    both = asyncio.run(learn_stages(first, items, bench, 0))
    assert both.settings == first.settings
    # `good` weighs most, so it is asked first; it is wrong on 6 of 60, and nobody ever moves
    assert both.triage["triage.learned_from"] == 60
    assert both.debates[0].startswith("right on these cases: one agent 0.900")
    assert both.triage["triage.whole_rescue"] < 0.25
    assert both.usage.tokens > first.usage.tokens == 60 * 2 * 7
    build("default", both.taught)  # they are settings


def test_debates_that_exceed_the_run_teach_nothing() -> None:
    items = [item(n) for n in range(20)]
    bench = Bench(panel=Seats(says("x", 3, 7), says("y", 4, 7)), config=build("default", {"crit.enabled": False}))
    first = asyncio.run(learn(items, bench, 0))
    with pytest.raises(BudgetError, match="learning from dev debates"):
        asyncio.run(learn_stages(first, items, replace(bench, ledger=Ledger(tokens=100)), 0))
