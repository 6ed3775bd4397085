"""Tables of harm, of selective accuracy and of prediction sets, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from maci.controller.caution import HarmReport
from maci.lab.methods.method import Step
from maci.lab.study.report.arena import arenas
from maci.lab.study.report.estimates import Estimates
from maci.lab.study.report.harm import harm_table, hollow_table, rollback_table, seat_table
from maci.lab.study.report.selective import conformal_table, selective_table
from maci.lab.study.study import Row
from report_helpers import belief, row, study

FEW = Estimates(resamples=50)


def harm(**changes: Any) -> HarmReport:
    plain: dict[str, Any] = {
        "moves": 0, "conformed": 0, "stubborn": (), "arguments": 0, "repeated": 0, "collapses": (), "hollow": False,
        "openings": {}, "opening_answer": "a", "support": 0.0, "opening_support": 0.0, "harmed": None, "mended": None,
        "mixture": None,
    }  # fmt: skip
    return HarmReport(**{**plain, **changes})


def course(*rounds: str) -> tuple[Step, ...]:
    """A round for each word; its letters are what agents x, y, z … lead with."""
    return tuple(
        Step(belief=belief(word[0]), beliefs={"xyzvw"[i]: belief(y) for i, y in enumerate(word)}) for word in rounds
    )


def debate(item: str, answer: str, *rounds: str, **more: Any) -> Row:
    return row("maci", item, answer, course=course(*rounds), **more)


def arena(rows: list[Row]):
    (gathered,) = study(rows, ["maci"])
    (found,), _ = arenas(gathered, "maci")
    return gathered, found


def cells(table, name: str = "maci") -> dict[str, Any]:
    (line,) = [line for line in table.lines if line.name == name]
    return {column.key: cell.value for column, cell in zip(table.columns, line.cells, strict=True)}


def test_moves_are_counted_from_round_to_round() -> None:
    # gold is a. 1: z goes b → a (to the majority, mended), then back (harmed, away from it). 2: x goes a → b against y, z … no majority
    # but theirs: y and z led with b, so to the majority (harmed).
    rows = [
        debate("1", "a", "aab", "aaa", "aab", harm=harm(moves=2, conformed=1)),
        debate("2", "b", "abb", "bbb", harm=harm(moves=1, conformed=0)),
        debate("3", "a", "aaa", "aaa", harm=harm()),
    ]
    found = cells(harm_table(arena(rows)[1], FEW))
    assert (found["n"], found["moves"]) == (3, 1.0)
    assert found["to_majority"] == pytest.approx(2 / 3)
    assert found["conformity"] == pytest.approx(1 / 3)
    assert (found["agents_harmed"], found["agents_mended"]) == (2, 1)
    # right before: 2 + 3 (case 1), 1 (case 2), 3 (case 3); wrong before: 1, 2
    assert found["agents_harmed_share"] == pytest.approx(2 / 9)
    assert found["agents_mended_share"] == pytest.approx(1 / 3)


def test_a_method_that_admits_nothing_has_moves_but_no_conformity() -> None:
    found = cells(harm_table(arena([debate("1", "a", "aab", "aaa")])[1], FEW))
    assert found["conformity"] is None and found["to_majority"] == 1.0
    assert harm_table(arena([row("maci", "1", "a")])[1], FEW).lines == ()


def test_hollow_and_solid_consensus_are_scored_apart() -> None:
    rows = [
        debate("1", "b", "ab", "bb", harm=harm(hollow=True)),
        debate("2", "a", "ab", "aa", harm=harm(hollow=True)),
        debate("3", "a", "ab", "aa", harm=harm()),
        debate("4", "a", "aa", "aa", harm=harm()),  # agreed from the start
        debate("5", "a", "ab", "ab", harm=harm()),  # never agreed
    ]
    found = cells(hollow_table(arena(rows)[1], FEW))
    assert (found["agreed"], found["hollow_n"]) == (3, 2)
    assert found["hollow"] == pytest.approx(2 / 3)
    assert (found["acc1:hollow"], found["acc1:solid"]) == (0.5, 1.0)


def test_seats_win_where_openings_differ() -> None:
    rows = [
        debate("1", "a", "abb", "aaa"),  # the first seat alone
        debate("2", "b", "abb", "bbb"),  # the other two
        debate("3", "b", "aba", "bbb"),
        debate("4", "a", "aaa", "aaa"),  # nothing to win
        debate("5", "d", "abc", "ddd"),  # nobody's
    ]
    found = cells(seat_table(arena(rows)[1], FEW))
    assert found["n"] == 3
    assert (found["first_seat"], found["last_seat"]) == pytest.approx((1 / 3, 1 / 3))
    assert found["any_seat"] == pytest.approx((1 / 3 + 2 / 3 + 1 / 3) / 3)


def test_rollback_is_worth_what_the_round_0_vote_would_have_changed() -> None:
    worse, equal = {"support": 1.0, "opening_support": 2.0}, {"support": 1.0, "opening_support": 1.0}
    rows = [
        debate("1", "b", "aa", "bb", harm=harm(**worse)),  # +1
        debate("2", "c", "aa", "cc", harm=harm(**equal)),  # +1, unearned only
        debate("3", "a", "bb", "aa", harm=harm(opening_answer="b", **equal)),  # −1, unearned only
        debate("4", "a", "bb", "aa", harm=harm(opening_answer="b", support=3.0)),  # earned
        debate("5", "a", "aa", "aa", harm=harm(**worse)),  # never left
    ]
    found = cells(rollback_table(arena(rows)[1], FEW))
    assert (found["n"], found["left"], found["rollback"], found["unearned"]) == (5, 4, 1, 3)
    assert found["rollback_gain"] == pytest.approx(1 / 5)
    assert found["unearned_gain"] == pytest.approx(1 / 5)


def test_accuracy_of_the_surest_answers() -> None:
    sure = (0.9, 0.8, 0.6, 0.5, 0.4, 0.35, 0.3, 0.28)
    rows = [
        row("maci", f"t{i}", None, status="done", belief=belief("a" if right else "b", p))
        for i, (p, right) in enumerate(zip(sure, (1, 1, 1, 0, 1, 0, 1, 0), strict=True))
    ]
    table, chart = selective_table(arena(rows)[1], FEW)
    found = cells(table)
    assert (found["acc1:coverage 1"], found["acc1:coverage 0.5"], found["acc1:coverage 0.25"]) == (5 / 8, 0.75, 1.0)
    wrong = [0, 0, 0, 1, 1, 2, 2, 3]
    assert found["aurc"] == pytest.approx(sum(w / k for k, w in enumerate(wrong, 1)) / 8)
    assert chart.series[0].points[-1].y == 5 / 8


def test_prediction_sets_are_counted_on_test_and_too_few_cases_are_said() -> None:
    dev = [row("maci", f"d{i}", "a" if i % 4 else "b", part="dev") for i in range(80)]
    test = [row("maci", f"t{i}", "a" if i % 4 else "b") for i in range(40)]
    table = conformal_table(*arena([*dev, *test]), FEW)
    lines = {round(line.cells[0].value, 2): line.cells for line in table.lines}
    assert set(lines) == {0.8, 0.9, 0.95}
    for promised, line in lines.items():
        assert line[1].value >= promised - 0.15 and line[3].value == "kept"
    few = conformal_table(*arena([*dev[:12], *test]), FEW)
    last = few.lines[-1].cells
    assert last[3].value == "too few cases" and last[4].value == 4.0 and last[1].value == 1.0
    assert not conformal_table(*arena(test), FEW).lines  # nothing to learn from
