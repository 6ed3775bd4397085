"""Off-policy evaluation: what records can tell, by hand, and what they cannot."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import judge, play, script, seat, settings, turn
from maci.calibration.schedule_value import CANDIDATES, ENOUGH, SEEN, Logged, evaluate, logged
from maci.controller.bandit import Arms, Context


def row(
    debate: int,
    action: int | None,
    earns: float,
    d: float = 0.5,
    *,
    cost: float = 0.0,
    left: float = 1e6,
    course: bool = False,
) -> Logged:
    """A round whose reward is ``earns``: a fall of D by twice that, with the weight 0.5, and no cost."""
    seen = Context(d=d, d_change=0.0, q=0.7, q_change=0.0, gain=0.1, gain_change=0.0, budget=0.9)
    return Logged(
        debate=f"d{debate:03}", action=action, course=course, context=seen, gain=(0.1, 0.1), d=(0.9, 0.9 - 2 * earns), cost=cost,
        dearest=100, left=left,
    )  # fmt: skip


def by_name(result) -> dict:
    return {one.name: one for one in result.candidates}


def test_staying_is_scored_on_the_rounds_that_stayed() -> None:
    rows = [row(n, n % 2, 0.2 if n % 2 == 0 else 0.4) for n in range(80)]
    found = evaluate(rows, settings())
    stay = by_name(found)["stay"]
    assert (stay.replay.value, stay.replay.n) == (pytest.approx(0.2), 40)
    assert found.logger.value == pytest.approx(0.3)
    assert found.actions[:2] == (40, 40)
    assert stay.replay.low <= 0.2 <= stay.replay.high


def test_too_few_matching_rounds_give_no_number() -> None:
    rows = [row(n, 0 if n < ENOUGH - 1 else 3, 0.2) for n in range(100)]
    stay = by_name(evaluate(rows, settings()))["stay"]
    assert stay.replay.value is None
    assert stay.replay.why == f"not enough matching rounds: {ENOUGH - 1}, {ENOUGH} are needed"
    rows[-1] = row(99, 0, 0.2)
    assert by_name(evaluate(rows, settings()))["stay"].replay.value == pytest.approx(0.2)


def test_what_is_hardly_on_record_is_not_forecast() -> None:
    rows = [row(n, 0, 0.2) for n in range(80)]
    ucb = by_name(evaluate(rows, settings()))["ucb"]
    assert ucb.direct.value is None
    assert f"{SEEN} are needed" in ucb.direct.why


def test_the_forecast_knows_that_rewards_depend_on_the_context() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for n in range(400):
        d, action = float(rng.uniform(0.1, 0.9)), n % 9
        rows.append(row(n, action, 0.4 * d if action == 0 else 0.1, d))
    stay = by_name(evaluate(rows, settings("ridge=0.01")))["stay"]
    assert stay.direct.value == pytest.approx(np.mean([0.4 * r.context.d for r in rows]), abs=0.01)


def test_forecasts_are_made_without_the_debate_they_are_for() -> None:
    # every debate has its own level; a regression that had seen it would forecast it
    rows = [row(n, 0, 0.4 if n == 0 else 0.0) for n in range(40) for _ in range(5)]
    stay = by_name(evaluate(rows, settings("ridge=0.000001")))["stay"]
    # debate 0 is forecast as 0 by the others, the others of its fold as 0, those of other folds as 5·0.4/155 or so
    assert stay.direct.value < 0.4 / 40 + 1e-3


def test_a_learner_finds_the_better_action_where_the_record_tries_all() -> None:
    rng = np.random.default_rng(1)
    rows = [row(n, int(rng.integers(9)), 0.0) for n in range(6000)]
    rows = [row(int(r.debate[1:]), r.action, 0.45 if r.action == 5 else 0.05) for r in rows]
    found = by_name(evaluate(rows, settings("exploration=0.3")))
    assert found["ucb"].replay.value > 0.3 > found["stay"].replay.value
    assert found["ucb"].direct.value > found["stay"].direct.value


def test_learners_start_from_what_is_known() -> None:
    arms = Arms.fresh()
    for k in range(9):
        for _ in range(1000):
            arms = arms.learn(k, 0.9 if k == 4 else 0.0)
    rows = [row(n, 4, 0.2) for n in range(60)]
    assert by_name(evaluate(rows, settings(), arms))["ucb"].replay.n == 60
    assert by_name(evaluate(rows, settings()))["ucb"].replay.n < 60


def test_rounds_without_a_reward_are_counted_and_left_out() -> None:
    holes = [
        Logged(
            debate="h",
            action=0,
            course=False,
            context=row(0, 0, 0.1).context,
            gain=(0.1, 0.1),
            d=(None, 0.5),
            cost=1,
            dearest=1,
            left=9,
        )
    ]
    found = evaluate([row(n, 0, 0.2) for n in range(40)] + holes, settings())
    assert (found.rounds, found.undefined) == (40, 1)


def test_a_candidate_stops_where_nothing_fits() -> None:
    rows = [row(n, 0, 0.2, left=100) for n in range(40)]  # a round may need 150
    found = by_name(evaluate(rows, settings()))
    assert found["ucb"].infeasible == 40
    assert found["ucb"].replay.value is None


def test_nothing_on_record_is_no_number() -> None:
    found = evaluate([], settings())
    assert found.logger.value is None
    assert [one.name for one in found.candidates] == list(CANDIDATES)
    assert all(one.replay.value is None and one.direct.value is None for one in found.candidates)


def test_few_debates_have_no_interval() -> None:
    found = evaluate([row(n % 3, 0, 0.2) for n in range(60)], settings())
    assert found.logger.value == pytest.approx(0.2)
    assert found.logger.low is None
    assert "3 debates" in found.logger.why


# --- from records -----------------------------------------------------------------------------------------------------------------


def record(*sets: str) -> list:
    agents = [
        script("one", *(turn(p, 1 - p, 0.0, tokens=1000) for p in (0.9, 0.9, 0.8, 0.7, 0.7))),
        script("two", *(turn(p, 1 - p, 0.0, tokens=1000) for p in (0.1, 0.1, 0.2, 0.3, 0.3))),
    ]
    return play(seat(agents, [judge()]), settings("max_rounds=4", "impasse=false", *sets))


def test_a_plateau_record_is_one_of_staying() -> None:
    rows, why = logged(record("schedule=plateau"), "x")
    assert why == ""
    assert [r.action for r in rows] == [0, 0, 0]
    assert [r.cost for r in rows] == [2000] * 3
    assert rows[0].left == 100_000 - 4000


def test_a_learners_record_has_its_actions() -> None:
    rows, _ = logged(record("schedule=ucb"), "x")
    assert len(rows) == 3
    assert rows[0].action == 0
    assert any(r.action != 0 for r in rows)


def test_a_record_of_the_course_counts_for_it_and_where_the_plateau_would_have_done_the_same_for_staying_too() -> None:
    events = record("schedule=course", "cl_first=0.9")
    rows, why = logged(events, "x")
    assert why == "" and [r.course for r in rows] == [True] * 3
    flags = [e.pi_i + e.pi_d for e in events if e.type == "measured"][:-1]
    assert flags == [0, 1, 1]  # rounds 2, 3 and 4 follow these
    assert [r.action for r in rows] == [None, 0, 0]  # without a flag the plateau would have stayed where it was
    events = record("schedule=course", "cl_first=0.9", "epsilon_d=0.5", "epsilon_i=0.5")
    assert [e.pi_i + e.pi_d for e in events if e.type == "measured"][:-1] == [0, 2]
    assert [r.action for r in logged(events, "x")[0]] == [None, 0]  # both fall by two steps


def test_the_course_is_a_candidate_scored_on_the_rounds_that_follow_it() -> None:
    rows = [row(n, None if n % 4 else 0, 0.3, course=True) for n in range(40)]
    rows += [row(40 + n, 0, 0.1) for n in range(40)]
    found = evaluate(rows, settings())
    course, stay = by_name(found)["course"], by_name(found)["stay"]
    assert (course.replay.value, course.replay.n, found.course) == (pytest.approx(0.3), 40, 40)
    assert (stay.replay.n, found.actions[0]) == (50, 50) and stay.replay.value == pytest.approx(
        (10 * 0.3 + 40 * 0.1) / 50
    )
    assert course.direct.value is not None and course.direct.n == 80
    rare = by_name(evaluate([row(n, 0, 0.1) for n in range(40)], settings()))["course"]
    assert rare.replay.value is None and "course (0)" in rare.direct.why


@pytest.mark.parametrize("kind", ["ladder", "fixed"])
def test_other_schedules_are_left_out(kind: str) -> None:
    rows, why = logged(record(f"schedule={kind}"), "x")
    assert rows == []
    assert why == f"schedule {kind}: neither the course nor steps of the plateau's"
    assert logged(record("schedule=plateau", "alpha_i=0.1"), "x")[1].startswith("α_I and α_D differ")
