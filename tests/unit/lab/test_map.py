"""The map: habits from records, simulated agents, sweep, predictions, and the command."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maci.agents.anchor import Admitted, Anchor, Opponent, Question, TurnRequest
from maci.agents.argument import Argument
from maci.calibration.stats.estimate import Estimate
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.errors import InputError
from maci.evidence.span import Citation, Span
from maci.lab.datasets import TaskItem
from maci.lab.datasets.dataset import Recorded, RecordedTurn
from maci.lab.map import CHANGES, METHODS, VOTE, CellResult, causes, cells, kept, run_cell, sweep
from maci.lab.map import habits as known
from maci.lab.map.habits import predict
from maci.lab.map.pages import build_map, difference, drawings, winner
from maci.lab.map.simulated import Planted, SimulatedAgent, SimulatedPanel, World
from maci.lab.methods import build
from maci.lab.methods.method import Bench, MethodAnswer
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


def test_an_agent_that_another_agrees_with_is_not_counted_among_those_that_stand_alone() -> None:
    debates = [
        # in each: c stands alone and gives up, then a, which b agrees with, stands against d and gives up in one debate of four
        recorded("a", {"x": "a", "y": "a", "z": "b"}, ("z", "a"), ("z", "b"), ("x", "b" if n == 0 else "a"))
        for n in range(4)
    ]
    found = known.from_recorded(debates, debates)
    assert found["yields_wrong"].value == 1.0
    assert found["backed"].value == pytest.approx(0.25)
    assert found["yields_right"].n == 0  # nobody stood alone with a right answer


def test_pairs_say_nothing_of_agents_with_company() -> None:
    debates = [recorded("a", {"x": "a", "y": "b"}, ("x", "b")) for _ in range(3)]
    assert known.from_recorded(debates, debates)["backed"].n == 0


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


def _switched(world: World, cases: int = 400) -> float:
    """How often the first two of three agents, right and of one mind, move to what the third says."""
    moved = []
    for number in range(cases):
        planted = Planted(world=world, number=number)
        leads = {"A": planted.truth, "B": planted.truth, "C": planted.lure}
        for seat, name in enumerate("AB"):
            request = TurnRequest(
                round=1, seat=name, question=Question("", "", "closed", planted.labels),
                anchor=Anchor((), 0.5, None, None), evidence=(), belief={planted.truth: 0.8, planted.lure: 0.2},
                others={other: Opponent(((lead, 0.8),)) for other, lead in leads.items() if other != name},
            )  # fmt: skip
            belief = asyncio.run(SimulatedAgent.at(planted, seat).turn(request)).belief
            moved.append(max(belief, key=lambda y: belief[y]) != planted.truth)
    return float(np.mean(moved))


def test_agents_with_company_yield_less_readily() -> None:
    assert _switched(World.of(known.assumed(), yields_right=0.6, backed=1.0)) == pytest.approx(0.6, abs=0.06)
    assert _switched(World.of(known.assumed(), yields_right=0.6, backed=0.25)) == pytest.approx(0.15, abs=0.05)


def test_evidence_counts_as_new_only_if_it_exists_and_is_about_the_outcome() -> None:
    planted = Planted(world=World.of(known.assumed(), follows_right=1.0, yields_right=0.0), number=1)
    about, other = Span("e2.1", "", "planted", 0, planted.lure), Span("e2.2", "", "planted", 0, planted.truth)

    def moved(cited: str) -> bool:
        said = Argument(claim="", citations=(Citation(cited),), outcome=planted.lure)
        request = TurnRequest(
            round=1, seat="A", question=Question("", "", "closed", planted.labels),
            anchor=Anchor((Admitted("0C1", "C", 0, said),), 0.5, None, None), evidence=(about, other),
            belief={planted.truth: 0.8, planted.lure: 0.2}, others={"C": Opponent(((planted.lure, 0.8),))},
        )  # fmt: skip
        belief = asyncio.run(SimulatedAgent.at(planted, 0).turn(request)).belief
        return max(belief, key=lambda y: belief[y]) == planted.lure

    assert moved("e2.1")
    assert not moved("e2.2")  # it is about the truth
    assert not moved("made-up")


def test_without_agents_that_move_a_debate_gives_what_the_average_gives() -> None:
    found = {each.what: each for each in causes(known.assumed(), cases=6, every=97, seed=0)}
    still = found["neither: nobody moves"]
    assert (still.lost, still.mended, still.before) == (0, 0, still.after)
    assert found["as on the map"].after != found["as on the map"].before
    assert len(found) == len(CHANGES)


def test_a_vote_can_get_worse_while_its_agents_get_better() -> None:
    debates = [
        recorded("a", {"x": "a", "y": "a", "z": "b"}, ("x", "b"), ("y", "b")),  # 2 right of 3, then none
        recorded("a", {"x": "a", "y": "b", "z": "c"}, ("y", "a"), ("z", "a")),  # 1 right, a third of the vote; then all
        recorded("a", {"x": "a", "y": "a"}, ("x", "b")),  # two agents have no majority
    ]
    found = known.convergence(debates)
    assert found["agents, openings"].n == 2
    assert found["vote, openings"].value == pytest.approx((1 + 1 / 3) / 2)
    assert found["vote, end"].value == 0.5
    assert found["agents, end less openings"].value == pytest.approx(0.0)


def test_a_cell_holds_every_method_on_the_same_cases_and_the_vote_has_the_tokens_of_maci() -> None:
    result = run_cell(next(cells()), known.assumed(), 4, 0)
    assert {len(marks) for marks in result.right.values()} == {4}
    assert set(result.right) == {use for use, _ in METHODS} | {VOTE}
    assert result.tokens[VOTE] == pytest.approx(result.tokens["maci"], rel=0.1)


def test_methods_are_not_handed_the_true_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    handed = []

    class Asked:
        async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
            handed.append(case.gold)
            return MethodAnswer(belief=None, reason="")

    monkeypatch.setattr("maci.lab.map.build", lambda use, options: Asked())
    monkeypatch.setattr("maci.lab.map._tokens", lambda answers: 1.0)
    run_cell(next(cells()), known.assumed(), 2, 0)
    assert handed
    assert set(handed) == {None}


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
    never = {"yields_right": zero, "yields_wrong": zero, "backed": zero}
    assert all(each.holds for each in predict(stubborn, never) if each.recorded.defined)
    assert next(p for p in predict(half, {**never, "yields_right": some}) if p.what == "spoilt").holds
    assert not next(p for p in predict(half, never) if p.what == "spoilt").holds


def test_the_report_says_where_nothing_is_decided(tmp_path: Path) -> None:
    found = sweep(tmp_path / "c.jsonl", known.assumed(), cases=2, seed=0, every=243, told=lambda *_: None)
    report = build_map(found, known.assumed(), {}, about="a test")
    assert "undecided" in on_screen(report, plain=True)
    json.dumps([line.name for section in report.sections for table in section.tables for line in table.lines])


def test_the_report_sets_maci_beside_the_plain_average_and_shows_what_both_cost() -> None:
    cell = _cell("1100", "1110", "1111")
    cell = replace(cell, tokens=dict.fromkeys(cell.right, 100.0) | {"maci": 700.0})
    said = on_screen(build_map([cell], known.assumed(), {}, about="a test"), plain=True)
    assert "less the plain average of the openings, which costs 14% of the tokens" in " ".join(said.split())
    assert "Every method, and what it costs" in said


def test_charts_are_drawn_with_intervals(tmp_path: Path) -> None:
    found = sweep(tmp_path / "c.jsonl", known.assumed(), cases=2, seed=0, every=97, told=lambda *_: None)
    drawn = drawings(found)
    assert {"map-susceptibility.svg", "map-evidence.svg", "earned-susceptibility.svg"} <= set(drawn)
    assert all("whisker" in text for text in drawn.values())
