"""Schedules that learn, in studies: taught on dev in an order of their own, frozen on test, the same whoever asks first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from maci.controller.bandit import Learned
from maci.errors import BudgetError
from maci.lab.datasets import TaskItem
from maci.lab.methods.maci import changed
from maci.lab.methods.method import MethodAnswer
from maci.lab.study import learning as schedules
from maci.lab.study.learning import LESSONS, Course, course
from maci.lab.study.spec import load_spec
from maci.lab.study.worker import Worker, limited
from study_helpers import kept, make_study, run

UCB = {"use": "maci", "name": "learning", "settings": {"dials.schedule": "ucb", "stop.min_rounds": 3}}
LINUCB = {"use": "maci", "name": "linear", "settings": {"dials.schedule": "linucb", "stop.min_rounds": 3}}


def group(folder: Path, *methods: dict[str, Any]):
    study = make_study(folder, methods=list(methods) or [UCB], seeds=[0])
    return Worker(study).group("tiny", 0)


def taught(found, name: str = "learning", dev: tuple[TaskItem, ...] | None = None) -> Course:
    made = course(found.methods[name][1], found.bench, found.task.dev if dev is None else dev, 0)
    assert made is not None
    return made


def telling(answer: MethodAnswer) -> tuple[Any, ...]:
    return answer.belief, answer.rounds, answer.reason, [step.cl for step in answer.course], answer.usage.tokens


def ask(one: Course, items: list[tuple[str, TaskItem]]) -> dict[tuple[str, str], tuple[Any, ...]]:
    async def go() -> dict[tuple[str, str], tuple[Any, ...]]:
        return {(part, item.id): telling(await one.answer(item, part)) for part, item in items}

    return asyncio.run(go())


def test_only_schedules_that_learn_have_a_course(tmp_path: Path) -> None:
    found = group(tmp_path, UCB, {"use": "maci"}, {"use": "average"})
    assert taught(found)
    for name in ("maci", "average"):
        assert course(found.methods[name][1], found.bench, found.task.dev, 0) is None


@pytest.mark.parametrize("method", [UCB, LINUCB], ids=["ucb", "linucb"])
def test_answers_do_not_depend_on_who_asks_first(tmp_path: Path, method: dict[str, Any]) -> None:
    found = group(tmp_path, method)
    items = [("dev", item) for item in found.task.dev] + [("test", item) for item in found.task.test]
    name = method["name"]
    forwards = ask(taught(found, name), items)
    backwards = ask(taught(found, name), items[::-1])
    assert forwards == backwards
    assert len(found.task.dev) > 2


def test_dev_items_are_learned_from_in_order_and_test_items_are_not(tmp_path: Path, monkeypatch) -> None:
    starts: list[Learned] = []
    real = schedules.opening

    def watched(*args: Any, **more: Any) -> Any:
        starts.append(more["learned"])
        return real(*args, **more)

    monkeypatch.setattr(schedules, "opening", watched)
    found = group(tmp_path)
    one = taught(found)
    ask(one, [("test", item) for item in found.task.test])
    dev, test = starts[: len(found.task.dev)], starts[len(found.task.dev) :]
    assert [start.debates for start in dev] == list(range(len(dev)))
    assert {start.debates for start in test} == {len(dev)}
    assert len({start.arms for start in test}) == 1  # frozen
    assert [start.debate for start in dev] == [f"dev/{item.id}" for item in found.task.dev]
    assert one._arms.pulls.sum() >= 2 * len(dev)  # rounds 2 and 3


def test_a_dev_item_that_fails_teaches_nothing_and_fails_again(tmp_path: Path, monkeypatch) -> None:
    found = group(tmp_path)
    one, (first, second, *_) = taught(found), found.task.dev
    real = one._play

    async def play(item: TaskItem, part: str) -> Any:
        if item.id == first.id:
            raise ValueError("no such thing")
        return await real(item, part)

    monkeypatch.setattr(one, "_play", play)
    with pytest.raises(ValueError, match="no such thing"):
        asyncio.run(one.answer(first, "dev"))
    assert asyncio.run(one.answer(second, "dev")).belief is not None


def test_the_end_of_the_runs_budget_is_no_lesson(tmp_path: Path, monkeypatch) -> None:
    found = group(tmp_path)
    one = taught(found)

    async def broke(item: TaskItem, part: str) -> Any:
        raise BudgetError("the run's budget is spent")

    monkeypatch.setattr(one, "_play", broke)
    with pytest.raises(BudgetError):
        asyncio.run(one.answer(found.task.test[0], "test"))
    monkeypatch.undo()
    assert asyncio.run(one.answer(found.task.test[0], "test")).belief is not None  # taught in full the next time


def test_lessons_are_drawn_by_ids_and_enough(tmp_path: Path) -> None:
    found = group(tmp_path)
    assert limited(found.task.dev, LESSONS, 0) == found.task.dev


SPECS = sorted((Path(__file__).parents[4] / "studies").glob("scheduler-*.toml"))


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_diagnostics_can_be_run_and_compare_a_learned_schedule_with_a_fixed_one(path: Path) -> None:
    spec = load_spec(path, quick=True)
    kinds = {changed(spec.config(), method.options.get("settings", {})).dials.schedule for method in spec.methods}
    assert "plateau" in kinds
    assert "ucb" in kinds


def test_there_is_a_study_for_every_diagnostic() -> None:
    agents = {f"scheduler-agents-{n}" for n in (2, 3, 5)}
    assert {path.stem for path in SPECS} >= agents | {"scheduler-versus-fixed", "scheduler-budget", "scheduler-weights"}


def test_a_study_teaches_on_dev_before_it_answers_on_test(tmp_path: Path, monkeypatch) -> None:
    starts: list[Learned] = []
    real = schedules.opening

    def watched(*args: Any, **more: Any) -> Any:
        starts.append(more["learned"])
        return real(*args, **more)

    monkeypatch.setattr(schedules, "opening", watched)
    run(make_study(tmp_path, methods=[UCB], seeds=[0], parts=["test"]), tmp_path)
    dev = [start for start in starts if start.debate.startswith("dev/")]
    test = [start for start in starts if start.debate.startswith("test/")]
    assert dev
    assert {start.debates for start in test} == {len(dev)}
    assert len(test) == len(kept(tmp_path))


def test_a_study_gives_the_same_rows_whatever_was_run_before(tmp_path: Path) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    methods = [UCB, {"use": "maci"}]
    run(make_study(tmp_path, methods=methods), tmp_path / "whole")
    run(make_study(tmp_path, methods=methods, limit=2), tmp_path / "parts")
    run(make_study(tmp_path, methods=methods, parts=["dev", "test"], limit=None), tmp_path / "parts")
    whole = kept(tmp_path / "whole")
    assert kept(tmp_path / "parts") == whole
    assert {key.method for key in whole} == {"learning", "maci"}
    assert all(row["status"] == "done" for row in whole.values())


def test_two_processes_give_the_rows_of_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    study = make_study(tmp_path, methods=[LINUCB], seeds=[0])
    run(study, tmp_path / "one")
    run(study, tmp_path / "two", jobs=2)
    assert kept(tmp_path / "one") == kept(tmp_path / "two")
