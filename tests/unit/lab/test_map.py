"""The map: habits from records, simulated agents, sweep, predictions, and the command."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path

import numpy as np
import pytest

from maci.calibration.stats.estimate import Estimate
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.errors import InputError
from maci.lab.datasets import TaskItem
from maci.lab.datasets.dataset import Recorded, RecordedTurn
from maci.lab.map import METHODS, VOTE, CellResult, cells, kept, run_cell, sweep
from maci.lab.map import habits as known
from maci.lab.map.habits import predict
from maci.lab.map.pages import build_map, difference, winner
from maci.lab.map.simulated import Planted, SimulatedPanel, World
from maci.lab.methods import build
from maci.lab.methods.method import Bench
from maci.render.text import on_screen


def recorded(gold: str, openings: dict[str, str], *turns: tuple[str, str]) -> TaskItem:
    said = {model: RecordedTurn(answer=answer) for model, answer in openings.items()}
    later = tuple((model, RecordedTurn(answer=answer)) for model, answer in turns)
    case = Case(question="Which?", outcomes=OutcomeSpace(labels=("a", "b", "c")), gold=gold)
    return TaskItem(case=case, recorded=Recorded(openings=said, turns=later))


def test_yielding_is_counted_over_turns_that_meet_another_answer() -> None:
    debates = [
        recorded("a", {"x": "a", "y": "b"}, ("x", "b"), ("y", "b")),  # x gives up a right answer; then nobody differs
        recorded("a", {"x": "a", "y": "b"}, ("x", "a"), ("y", "a")),  # x stands; y gives up a wrong one
        recorded("b", {"x": "a", "y": "a"}, ("x", "b")),  # nobody stood against x
    ]
    found = known.from_recorded(debates, debates)
    assert found["yields_right"].value == 0.5
    assert found["yields_wrong"].value == 1.0
    assert found["skill"].value == pytest.approx(2 / 6)
    assert found["follows_right"].n == 0


def test_a_habit_that_no_record_tells_is_assumed_and_says_so() -> None:
    counted = {"skill": Estimate(0.9, 0.8, 1.0, 50, "Wilson"), "lure": Estimate(math.nan, math.nan, math.nan, 0, "no")}
    found = known.known(counted)
    assert (found["skill"].value, found["skill"].n) == (0.9, 50)
    assert (found["lure"].n, found["lure"].how) == (0, known.ASSUMED)
    assert set(found) == set(known.HABITS)


def test_shipped_habits_are_read_and_a_file_without_them_is_an_error(tmp_path: Path) -> None:
    shipped = known.read(known.SHIPPED)
    assert shipped["yields_right"].n > 100
    assert shipped["again"].how == known.ASSUMED
    (tmp_path / "no.json").write_text('{"habits": {}}')
    with pytest.raises(InputError, match="maci lab habits"):
        known.read(tmp_path / "no.json")
    known.write(tmp_path / "yes.json", shipped, made_by="a test")
    assert known.read(tmp_path / "yes.json")["skill"] == shipped["skill"]


def _openings(world: World, cases: int = 2000) -> np.ndarray:
    planted = [Planted(world=world, number=n) for n in range(cases)]
    return np.array([[p.opening(seat) == p.truth for seat in range(2)] for p in planted], float)


@pytest.mark.parametrize("together", [0.0, 0.5])
def test_planted_openings_have_the_skill_and_correlation_that_were_asked_for(together: float) -> None:
    right = _openings(World.of(known.assumed(), skill=0.7, together=together))
    assert right.mean() == pytest.approx(0.7, abs=0.03)
    assert np.corrcoef(right.T)[0, 1] == pytest.approx(together, abs=0.06)


def test_two_wrong_openings_agree_as_often_as_asked_for() -> None:
    world = World.of(known.assumed(), skill=0.0, together=0.0, lure=0.6, outcomes=6)
    planted = [Planted(world=world, number=n) for n in range(2000)]
    assert np.mean([p.opening(0) == p.opening(1) for p in planted]) == pytest.approx(0.6, abs=0.04)


def _accuracy(use: str, **habits: float) -> float:
    planted = [Planted(world=World.of(known.assumed(), **habits), number=n) for n in range(150)]
    bench = Bench(panel=SimulatedPanel.of(planted), config=Config())

    async def answers() -> list[bool]:
        method, right = build(use, {}), []
        for each in planted:
            belief = (await method.answer(each.case, bench, 0)).belief
            assert belief is not None
            right.append(max(belief, key=lambda y: belief[y]) == each.truth)
        return right

    return float(np.mean(asyncio.run(answers())))


def test_debate_pays_for_agents_that_follow_good_evidence_and_not_for_those_that_only_yield() -> None:
    followers = {"yields_right": 0.0, "yields_wrong": 0.0, "follows_right": 0.0, "follows_wrong": 1.0, "sound": 1.0}
    assert _accuracy("maci", **followers) > _accuracy("average", **followers) + 0.1
    yielders = {"yields_right": 0.4, "yields_wrong": 0.4, "follows_right": 0.4, "follows_wrong": 0.4, "sound": 0.0}
    assert _accuracy("maci", **yielders) < _accuracy("maci", **followers) - 0.1


def test_a_cell_holds_every_method_on_the_same_cases_and_the_vote_has_the_tokens_of_maci() -> None:
    result = run_cell(next(cells()), known.assumed(), 4, 0)
    assert {len(marks) for marks in result.right.values()} == {4}
    assert set(result.right) == {use for use, _ in METHODS} | {VOTE}
    assert result.tokens[VOTE] == pytest.approx(result.tokens["maci"], rel=0.1)


def test_a_sweep_goes_on_with_the_cells_that_are_missing_and_leaves_out_a_torn_line(tmp_path: Path) -> None:
    path, told = tmp_path / "cells.jsonl", []
    first = sweep(path, known.assumed(), cases=2, seed=0, every=243, told=lambda *now: told.append(now))
    path.write_text(path.read_text() + '{"levels": {"susc')
    assert len(kept(path)) == len(first) == 2
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[-1]]) + "\n")
    assert sweep(path, known.assumed(), cases=2, seed=0, every=243, told=lambda *_: None) == first
    assert told[0] == (0, 2)
    assert told[-1] == (2, 2)


def test_cells_of_other_habits_are_not_taken_for_these(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    sweep(path, known.assumed(), cases=2, seed=0, every=486, told=lambda *_: None)
    other = {**known.assumed(), "skill": Estimate(0.99, 0.9, 1.0, 9, "x")}
    found = sweep(path, other, cases=2, seed=0, every=486, told=lambda *_: None)
    assert found == [run_cell(found[0].levels, other, 2, 0)]


def _cell(maci: str, vote: str, average: str = "0000") -> CellResult:
    right = {use: "0000" for use, _ in METHODS} | {"maci": maci, VOTE: vote, "average": average}
    levels = next(cells())
    return CellResult(levels=levels, cases=4, seed=0, right=right, brier={}, tokens={}, rounds={}, votes=3, habits="")


def test_differences_are_paired_and_leave_out_cases_without_an_answer() -> None:
    found = difference([_cell("1-10", "0110")], "maci", VOTE)
    assert found.value == pytest.approx(1 / 3)  # +1, 0, 0
    assert found.n == 3
    assert difference([_cell("1110", "1110")], "maci", VOTE).value == 0
    assert winner([_cell("0000", "0000", "1111")])[0] == "average"


def test_what_agents_of_known_habits_do_is_predicted_and_what_others_do_is_not() -> None:
    rng = np.random.default_rng(1)
    stubborn = [recorded("a", {"x": "a", "y": "b"}, ("x", "a"), ("y", "b")) for _ in range(60)]
    half = [
        recorded("a", {"x": "a", "y": "b"}, ("x", "b" if rng.random() < 0.4 else "a"), ("y", "b")) for _ in range(200)
    ]
    zero = Estimate(0.0, 0.0, 0.0, 10, "x")
    some = Estimate(0.4, 0.3, 0.5, 10, "x")
    never = {"yields_right": zero, "yields_wrong": zero}
    assert all(each.holds for each in predict(stubborn, never) if each.recorded.defined)
    assert next(p for p in predict(half, {**never, "yields_right": some}) if p.what == "spoilt").holds
    assert not next(p for p in predict(half, never) if p.what == "spoilt").holds


def test_the_report_says_where_nothing_is_decided(tmp_path: Path) -> None:
    found = sweep(tmp_path / "c.jsonl", known.assumed(), cases=2, seed=0, every=243, told=lambda *_: None)
    report = build_map(found, known.assumed(), {}, about="a test")
    assert "undecided" in on_screen(report, plain=True)
    json.dumps([line.name for section in report.sections for table in section.tables for line in table.lines])
