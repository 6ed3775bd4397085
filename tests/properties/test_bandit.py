"""Whatever was learned, spent and seen: only what fits is chosen, dials stay in range, states add up, records replay."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import closed_round, judge, of, open_debate, script, seat, turn
from helpers import settings as configure
from maci.calibration.schedules import summed
from maci.controller.bandit import (
    ACTIONS,
    Arms,
    Choice,
    Context,
    Learned,
    Lesson,
    Steps,
    choose,
    estimates,
    feasible,
    moved,
    reward,
    ucb,
)
from maci.controller.decisions import Dialled, Finished
from maci.controller.dials import ClosedRound, RoundDials
from maci.controller.events import dump, parse
from maci.controller.policies import Learning, arms_of, decide, lessons
from maci.debating.loop import debate
from maci.llm.usage import Bound
from maci.moderator.gate import Candidate
from maci.record.replay import replay

MANY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))

shares = st.floats(0, 1)
signals = st.none() | shares
changes = st.none() | st.floats(-1, 1)
contexts = st.builds(
    Context, d=signals, d_change=changes, q=changes, q_change=changes, gain=signals, gain_change=changes, budget=shares
)
taught = st.builds(
    Lesson,
    action=st.integers(0, len(ACTIONS) - 1),
    context=contexts,
    reward=signals,
    cost=st.integers(0, 10**6).map(float),
    growth=st.none() | st.floats(0, 10),
)
starts = st.lists(taught, max_size=30).map(
    lambda told: Learned(task="t", debate="d", debates=1, arms=summed(told).records())
)


@given(st.lists(st.sampled_from(ACTIONS), max_size=30))
@MANY
def test_steps_stay_between_0_and_1(actions) -> None:
    steps = Steps(0.2, 0.1)
    for action in actions:
        steps = moved(steps, action)
        assert 0 <= steps.alpha <= 1
        assert 0 <= steps.gamma <= 1


@given(signals, signals, signals, signals, st.floats(0, 1e6), st.floats(1, 1e6), shares, shares, shares)
@MANY
def test_rewards_are_between_0_and_1_or_undefined(i0, i1, d0, d1, cost, c_max, w1, w2, weight) -> None:
    earned = reward((i0, i1), (d0, d1), cost, c_max, w_gain=w1, w_drop=w2, cost_weight=weight)
    assert (earned is None) == (None in (i0, i1, d0, d1))
    assert earned is None or 0 <= earned <= 1


@given(st.lists(taught, max_size=12), st.randoms(use_true_random=False))
@MANY
def test_states_add_up_in_any_order(told, rng) -> None:
    shuffled = list(told)
    rng.shuffle(shuffled)
    cut = rng.randint(0, len(told))
    whole, parts = summed(told), summed(shuffled[cut:]).plus(summed(shuffled[:cut]))
    for name in ("pulls", "costs", "dearest", "growth"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    for name in ("reward", "cost", "design", "response"):
        assert np.allclose(getattr(whole, name), getattr(parts, name), rtol=1e-9, atol=1e-9), name


@given(starts)
@MANY
def test_what_is_recorded_is_what_was_learned(learned) -> None:
    arms = arms_of(learned)
    assert arms.records() == learned.arms
    assert not np.isnan(ucb(arms.reward, arms.pulls, arms.t)).any()


def closed(draw: st.DrawFn, t: int, dials: RoundDials, choice: Choice | None, spent: int) -> ClosedRound:
    cost = draw(st.integers(0, 3000))
    score = draw(shares)
    return closed_round(
        round=t, dials=dials, q=draw(signals), d=draw(signals), o=None, crit=score, crit_variance=0.0, admitted=2,
        candidates=(Candidate(f"{t}A1", "a", score, score), Candidate(f"{t}B1", "b", score, score)),
        pi_i=draw(st.booleans()), pi_d=draw(st.booleans()), same_top=False, gain=draw(shares), d_before=draw(signals),
        cost=Bound(cost), spent=Bound(spent + cost), choice=choice,
    )  # fmt: skip


@given(st.data(), starts, st.sampled_from(["ucb", "linucb"]), st.sampled_from(["default", "paper"]))
@MANY
def test_no_infeasible_action_is_taken_and_dials_stay_in_range(data, learned, kind, profile) -> None:
    config = configure(f"schedule={kind}", "budget.tokens=15000", profile=profile)
    plan = Learning(config, learned)
    dials = RoundDials(plan.first(None, None), 0.4, 0.3)
    history: list[ClosedRound] = []
    choice: Choice | None = None
    for t in range(1, 8):
        history.append(closed(data.draw, t, dials, choice, history[-1].spent.tokens if history else 0))
        choice = decide(history, config, learned)
        left = 15000 - history[-1].spent.tokens
        fits = [k for k, estimate in enumerate(choice.estimate) if estimate <= left]
        assert list(choice.feasible) == fits
        if choice.action is None:
            assert not fits
            break
        assert choice.action in fits
        assert round(choice.index[choice.action], 9) == max(round(choice.index[k], 9) for k in fits)
        after = plan.follow(history, choice)
        assert config.dials.cl_min <= after.cl <= max(dials.cl, config.dials.cl_min)
        assert dials.tau_q <= after.tau_q <= max(dials.tau_q, config.gate.tau_max)
        assert dials.tau_crit <= after.tau_crit <= max(dials.tau_crit, config.gate.tau_max)
        dials = after
    assert len(lessons(history, config, arms_of(learned))) == len(history) - 1


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=60), st.integers(1000, 20000), st.floats(1, 3))
@MANY
def test_the_budget_holds_whatever_costs_are_inside_the_promise(shares, budget, headroom) -> None:
    arms, left, dearest = Arms.fresh(), float(budget), 100.0
    left -= dearest
    for share in itertools.cycle(shares):
        estimate = estimates(arms, dearest, headroom=headroom)
        k = choose(ucb(arms.reward, arms.pulls, arms.t), feasible(estimate, left))
        if k is None:
            assert left < estimate.min()
            break
        cost = max(1.0, share * float(estimate[k]))  # an adversary stays below the estimate
        arms = arms.learn(k, 0.5, cost=cost, growth=cost / dearest)
        left, dearest = left - cost, max(dearest, cost)
        assert left >= 0


@given(
    st.lists(st.tuples(shares, shares, st.integers(1, 2000)), min_size=9, max_size=9),
    starts,
    st.sampled_from(["ucb", "linucb"]),
    st.integers(4000, 40000),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_debate_replays_from_its_record(course, learned, kind, budget) -> None:
    config = configure(f"schedule={kind}", "max_rounds=8", f"budget.tokens={budget}")
    one = script("one", *(turn(p, 1 - p, 0.0, tokens=n) for p, _, n in course))
    two = script("two", *(turn(p, 0.0, 1 - p, tokens=n) for _, p, n in course))
    table = seat([one, two], [judge()])
    opened = open_debate(table, config, learned=learned)

    async def go() -> list:
        return [event async for event in debate(opened, table)]

    events = [parse(dump(event)) for event in asyncio.run(go())]
    done = replay(events)
    assert done.complete
    for event in of(Dialled, events):
        assert event.choice.action in event.choice.feasible
    assert isinstance(events[-1], Finished)
