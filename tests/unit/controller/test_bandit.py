"""The learned schedules' arithmetic: indices, updates, rewards, estimates, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maci.controller.bandit import (
    ACTIONS,
    FEATURES,
    Action,
    Arms,
    Context,
    Lesson,
    Steps,
    bonus,
    choose,
    estimates,
    feasible,
    linucb,
    moved,
    reward,
    ucb,
)

CONTEXT = Context(d=0.5, d_change=None, q=0.7, q_change=0.1, gain=0.2, gain_change=-0.1, budget=0.9)


def test_nine_actions_the_first_of_which_moves_nothing() -> None:
    assert len(set(ACTIONS)) == 9
    assert {a.alpha for a in ACTIONS} == {a.gamma for a in ACTIONS} == {-0.2, 0.0, 0.2}
    assert ACTIONS[0] == Action(0, 0)


@pytest.mark.parametrize(
    ("steps", "action", "after"),
    [
        (Steps(0.2, 0.1), Action(0.2, 0.2), Steps(0.4, 0.3)),
        (Steps(0.2, 0.1), Action(-0.2, -0.2), Steps(0.0, 0.0)),  # 0.1 − 0.2 is clipped
        (Steps(0.9, 1.0), Action(0.2, 0.2), Steps(1.0, 1.0)),
        (Steps(0.6000000000000001, 0.1), Action(0.2, 0.0), Steps(0.8, 0.1)),
    ],
)
def test_steps_move_and_stay_in_range(steps, action, after) -> None:
    assert moved(steps, action) == after


def test_reward_by_hand() -> None:
    # 0.5·(0.30 − 0.05) + 0.5·(0.6 − 0.4) − 0.1·(900/1200) = 0.125 + 0.1 − 0.075
    assert reward((0.05, 0.30), (0.6, 0.4), 900, 1200) == pytest.approx(0.15)
    # weights: 1·0.25 + 0·0.2 − 0.4·0.75 < 0
    assert reward((0.05, 0.30), (0.6, 0.4), 900, 1200, w_gain=1, w_drop=0, cost_weight=0.4) == 0
    # a fall of Î and a rise of D are not punished
    assert reward((0.9, 0.1), (0.1, 0.9), 0, 1200) == 0
    # never above 1
    assert reward((0, 1), (1, 0), 0, 1, w_gain=1, w_drop=1) == 1


@pytest.mark.parametrize("hole", range(4))
def test_reward_is_undefined_where_a_signal_is(hole) -> None:
    signals = [0.1, 0.2, 0.5, 0.4]
    signals[hole] = None
    assert reward((signals[0], signals[1]), (signals[2], signals[3]), 10, 100) is None


def test_a_debate_that_costs_nothing_pays_nothing() -> None:
    assert reward((0, 0.2), (0, 0), 0, 0) == pytest.approx(0.1)


def test_ucb_index_by_hand() -> None:
    # t = 11: ln 11 = 2.397895; 0.4 + √(2·2.397895/4), 0.2 + √(2·2.397895/6), untried √(2·2.397895/1)
    index = ucb(np.array([1.6, 1.2, 0.0]), np.array([4, 6, 0]), 11)
    assert index.tolist() == pytest.approx([0.4 + 1.094964, 0.2 + 0.894035, 2.189929], abs=1e-6)


def test_exploration_scales_the_bonus_only() -> None:
    sums, pulls = np.array([1.0, 0.0]), np.array([2, 1])
    assert ucb(sums, pulls, 5, exploration=0).tolist() == [0.5, 0.0]
    assert (ucb(sums, pulls, 5, exploration=2) - ucb(sums, pulls, 5, exploration=1)).tolist() == pytest.approx(
        bonus(pulls, 5).tolist()
    )


def test_ucb_takes_many_states_at_once() -> None:
    sums, pulls, t = np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([[2, 0], [0, 4]]), np.array([[3.0], [5.0]])
    both = ucb(sums, pulls, t)
    assert both[0].tolist() == ucb(sums[0], pulls[0], 3).tolist()
    assert both[1].tolist() == ucb(sums[1], pulls[1], 5).tolist()


def test_every_action_is_tried_before_long() -> None:
    arms, seen = Arms.fresh(), []
    for _ in range(60):
        k = choose(ucb(arms.reward, arms.pulls, arms.t), np.ones(9, bool))
        seen.append(k)
        arms = arms.learn(k, 0.2)
    assert seen[0] == 0
    assert set(seen) == set(range(9))


def test_linucb_index_by_hand() -> None:
    # one feature pair, arm 0 saw x = (1, 0) twice with rewards 0.5 and 0.7; A = diag(3, 1), b = (1.2, 0)
    arms = Arms.fresh(2, 2)
    x = np.array([1.0, 0.0])
    arms = arms.learn(0, 0.5, x).learn(0, 0.7, x)
    # x: θ = (0.4, 0); 0.4 + √(1/3); untried: 0 + √1
    assert linucb(arms.design, arms.response, x).tolist() == pytest.approx([0.4 + math.sqrt(1 / 3), 1.0])
    # y = (3, 4): 1.2 + √(9/3 + 16); untried: √25
    y = np.array([3.0, 4.0])
    assert linucb(arms.design, arms.response, y).tolist() == pytest.approx([1.2 + math.sqrt(19), 5.0])
    assert linucb(arms.design, arms.response, y, exploration=0).tolist() == pytest.approx([1.2, 0.0])
    # ridge 2: A = diag(4, 2)
    assert linucb(arms.design, arms.response, y, ridge=2)[0] == pytest.approx(0.9 + math.sqrt(9 / 4 + 16 / 2))


def test_linucb_forecasts_as_ridge_regression_does() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    xs, ys = rng.normal(size=(40, 5)), rng.uniform(size=40)
    arms = Arms.fresh(1, 5)
    for x, y in zip(xs, ys, strict=True):
        arms = arms.learn(0, float(y), x)
    model = linear_model.Ridge(alpha=1.0, fit_intercept=False).fit(xs, ys)
    new = rng.normal(size=5)
    assert linucb(arms.design, arms.response, new, exploration=0)[0] == pytest.approx(model.predict([new])[0])


def test_undefined_signals_are_marked_in_the_context() -> None:
    x = dict(zip(FEATURES, CONTEXT.vector().tolist(), strict=True))
    assert (x["ΔD"], x["ΔD?"]) == (0, 1)
    assert (x["D"], x["D?"]) == (0.5, 0)
    zero = Context(d=0.5, d_change=0.0, q=0.7, q_change=0.1, gain=0.2, gain_change=-0.1, budget=0.9)
    assert zero.vector().tolist() != CONTEXT.vector().tolist()  # no change is not an unknown change


def test_learning_counts_rewards_and_costs_apart() -> None:
    arms = Arms.fresh().learn(4, None, CONTEXT.vector(), cost=300, growth=1.5).learn(4, 0.4, cost=100, growth=0.5)
    assert (arms.pulls[4], arms.costs[4], arms.t) == (1, 2, 2)
    assert (arms.mean[4], arms.cost[4], arms.dearest[4], arms.growth[4]) == (0.4, 400, 300, 1.5)
    assert math.isnan(arms.mean[0])
    assert not arms.design.any()  # neither a lesson without a reward nor one without a context


def test_learning_leaves_the_state_before_as_it_was() -> None:
    before = Arms.fresh()
    before.learn(1, 0.5, CONTEXT.vector(), cost=10, growth=1.0)
    assert before.records() == Arms.fresh().records()


def test_records_keep_everything() -> None:
    arms = Arms.fresh()
    for k, r in ((1, 0.5), (1, 0.25), (7, None)):
        arms = arms.taught(Lesson(action=k, context=CONTEXT, reward=r, cost=100.0 * k, growth=1.1))
    again = Arms.of(arms.records())
    for name in ("pulls", "reward", "costs", "cost", "dearest", "growth", "design", "response"):
        assert np.array_equal(getattr(again, name), getattr(arms, name)), name
    assert all(not arm.design for arm in arms.records(contexts=False))


def test_estimates_keep_what_the_promise_says() -> None:
    arms = Arms.fresh(3).learn(0, 0.1, cost=500, growth=2.0).learn(1, 0.1, cost=400, growth=0.5)
    # shown growth 2; below 1 counts as 1; untried takes the largest anybody has shown
    assert estimates(arms, 1000, headroom=1.5).tolist() == [3000, 1500, 3000]
    assert estimates(Arms.fresh(2), 1000, headroom=1.25).tolist() == [1250, 1250]


def test_only_what_fits_is_feasible() -> None:
    assert feasible(np.array([100.0, 101.0, 99.0]), 100).tolist() == [True, False, True]


def test_the_best_allowed_action_is_chosen_and_the_first_of_equals() -> None:
    assert choose(np.array([3.0, 2.0, 1.0]), np.array([False, True, True])) == 1
    assert choose(np.array([1.0, 1.0 + 1e-12, 0.5]), np.ones(3, bool)) == 0
    assert choose(np.array([1.0, 2.0]), np.zeros(2, bool)) is None
