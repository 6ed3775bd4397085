"""Learned schedules in the fold: contexts, lessons, choices, and a debate that ends because nothing fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import closed_round, judge, of, open_debate, play, result, script, seat, settings, turn
from maci.controller import policies as learning
from maci.controller.bandit import ACTIONS, Arms, Choice, Context, Learned, Lesson, Steps
from maci.controller.decisions import Dialled
from maci.controller.dials import ClosedRound, Measured, RoundDials
from maci.controller.inputs import Intervened
from maci.controller.policies import Learning, context, decide, lessons, scheduler
from maci.errors import ConfigError, ReplayMismatch
from maci.llm.usage import Bound
from maci.moderator.gate import Candidate
from maci.record.replay import replay

UCB = settings("schedule=ucb", "budget.tokens=10000")
SEEN = Context(d=0.5, d_change=None, q=0.7, q_change=None, gain=0.1, gain_change=None, budget=0.9)


def closed(
    t: int, *, d=0.5, d_before=0.6, q=0.7, gain=0.1, cost=1000, spent=None, choice=None, pi_i=True, pi_d=True
) -> ClosedRound:
    return closed_round(
        round=t, dials=RoundDials(0.8, 0.5, 0.3), q=q, d=d, o=0.5, crit=0.8, crit_variance=0.0, admitted=2,
        candidates=(Candidate("1A1", "a", 0.9, 0.9), Candidate("1B1", "b", 0.9, 0.9)), pi_i=pi_i, pi_d=pi_d,
        same_top=False, gain=gain, d_before=d_before, cost=Bound(cost), spent=Bound(cost * t if spent is None else spent),
        choice=choice,
    )  # fmt: skip


def chose(action: int, steps: Steps = Steps(0.2, 0.1), *, counts: bool = True) -> Choice:
    return Choice(
        action=action, steps=steps, t=1, context=SEEN, index=(), estimate=(), feasible=(), left=0, counts=counts
    )


def test_the_context_says_what_is_known() -> None:
    seen = context([closed(1, d=0.5, q=0.7, gain=0.1), closed(2, d=0.4, q=None, gain=0.3, spent=2500)], UCB)
    assert seen.d_change == pytest.approx(0.4 - 0.6)  # from the D the round began with
    assert (seen.q, seen.q_change) == (None, None)
    assert seen.gain_change == pytest.approx(0.2)
    assert seen.budget == 0.75


def test_after_round_one_changes_of_q_and_gain_are_undefined() -> None:
    seen = context([closed(1)], UCB)
    assert (seen.q_change, seen.gain_change) == (None, None)


def test_the_budget_left_is_that_of_the_scarcest_resource() -> None:
    poor = replace(closed(1), spent=Bound(1000, 0.75))
    assert context([poor], settings("budget.tokens=10000", "budget.usd=1")).budget == 0.25
    assert context([poor], settings("budget.tokens=500")).budget == 0


def test_lessons_by_hand() -> None:
    history = [
        closed(1, d=0.6, gain=0.05, cost=1000),
        closed(2, d=0.4, gain=0.30, cost=1500, choice=chose(3)),
        closed(3, d=None, gain=0.10, cost=500, choice=chose(4)),
    ]
    one, two = lessons(history, UCB, Arms.fresh())
    # C_max is the dearest so far, 1500: 0.5·0.25 + 0.5·0.2 − 0.1·1
    assert (one.action, one.reward, one.cost, one.growth) == (3, pytest.approx(0.125), 1500, 1.5)
    assert (two.action, two.reward, two.growth) == (4, None, pytest.approx(1 / 3))


def test_c_max_is_the_calibrations_where_there_is_one_and_else_the_dearest_known() -> None:
    history = [closed(1, d=0.6, gain=0.0, cost=1000), closed(2, d=0.2, gain=0.0, cost=1000, choice=chose(0))]
    (one,) = lessons(history, settings("schedule=ucb", "regime.c_max=4000"), Arms.fresh())
    assert one.reward == pytest.approx(0.2 - 0.1 / 4)
    (one,) = lessons(history, UCB, Arms.fresh().learn(5, 0.1, cost=2000))
    assert one.reward == pytest.approx(0.2 - 0.1 / 2)


def test_rounds_whose_dials_a_person_set_teach_nothing() -> None:
    history = [closed(1), closed(2, choice=chose(3, counts=False)), closed(3)]
    assert lessons(history, UCB, Arms.fresh()) == ()


def test_the_first_choice_moves_nothing_and_costs_are_estimated_from_this_debate() -> None:
    choice = decide([closed(1, cost=1000)], UCB, None)
    assert (choice.action, choice.steps, choice.t) == (0, Steps(0.2, 0.1), 1)
    assert choice.estimate == (1500.0,) * 9
    assert choice.feasible == tuple(range(9))
    assert choice.left == 9000


def test_what_was_learned_before_decides() -> None:
    arms = Arms.fresh()
    for k in range(9):
        for _ in range(200):
            arms = arms.learn(k, 0.9 if k == 6 else 0.1, cost=100, growth=1.0)
    learned = Learned(task="t", debate="d", debates=600, arms=arms.records())
    choice = decide([closed(1)], UCB, learned)
    assert choice.action == 6
    assert choice.steps == Steps(0.0, 0.3)  # α 0.2 − 0.2, γ 0.1 + 0.2
    assert choice.t == 1801


def test_a_debate_learns_from_its_own_rounds() -> None:
    history = [closed(1, d=0.9, gain=0.0), closed(2, d=0.1, gain=0.5, choice=chose(0))]
    choice = decide(history, UCB, None)
    assert choice.t == 2
    assert choice.lesson is not None
    assert choice.lesson.reward == pytest.approx(0.5 * 0.5 + 0.5 * 0.8 - 0.1)
    # action 0: 0.55 + √(2 ln 2), the others √(2 ln 2)
    assert choice.index[0] - choice.index[1] == pytest.approx(0.55)


def test_linucb_sees_the_context_and_ucb_does_not() -> None:
    good = Context(d=0.9, d_change=0.0, q=0.5, q_change=0.0, gain=0.0, gain_change=0.0, budget=0.9)
    arms = Arms.fresh()
    for k in range(9):
        for _ in range(30):
            arms = arms.taught(Lesson(action=k, context=good, reward=0.1 * (k == 4), cost=10, growth=1.0))
            bad = replace(good, d=0.1)
            arms = arms.taught(Lesson(action=k, context=bad, reward=0.1 * (k == 2), cost=10, growth=1.0))
    learned = Learned(task="t", debate="d", debates=1, arms=arms.records())
    exploit = settings("schedule=linucb", "exploration=0", "ridge=0.001")

    def best(d: float, config=exploit) -> int | None:
        return decide([closed(1), closed(2, d=d, d_before=d, q=0.7, gain=0.1)], config, learned).action

    assert (best(0.9), best(0.1)) == (4, 2)
    plain = settings("schedule=ucb", "exploration=0")
    assert best(0.9, plain) == best(0.1, plain)


def test_an_infeasible_action_is_never_chosen() -> None:
    arms = Arms.fresh()
    for k in range(9):
        for _ in range(10):
            arms = arms.learn(k, 0.9 if k == 8 else 0.2, cost=100, growth=4.0 if k == 8 else 1.0)
    learned = Learned(task="t", debate="d", debates=1, arms=arms.records())
    rich, poor = settings("schedule=ucb"), settings("schedule=ucb", "budget.tokens=5000")
    assert decide([closed(1, cost=1000)], rich, learned).action == 8
    choice = decide([closed(1, cost=1000)], poor, learned)  # 4000 left; 8 may need 1.5 · 4 · 1000
    assert choice.action != 8
    assert choice.feasible == tuple(range(8))


def test_without_the_feasible_filter_that_test_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "feasible", lambda estimate, left: estimate >= 0)
    with pytest.raises(AssertionError):
        test_an_infeasible_action_is_never_chosen()


def test_without_the_bonus_untried_actions_would_never_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    from maci.controller import bandit

    def tried() -> set[int | None]:
        arms, seen = Arms.fresh(), set()
        for _ in range(60):
            learned = Learned(task="t", debate="d", debates=1, arms=arms.records(contexts=False))
            k = decide([closed(1)], UCB, learned).action
            seen.add(k)
            arms = arms.learn(k, 0.2)
        return seen

    assert tried() == set(range(9))
    monkeypatch.setattr(bandit, "bonus", lambda pulls, t: 0.0 * pulls)
    assert tried() == {0}


def test_dollars_bind_too() -> None:
    dear = replace(closed(1, cost=10), cost=Bound(10, 0.5), spent=Bound(10, 0.5))
    assert decide([dear], settings("schedule=ucb", "budget.usd=1.3"), None).action == 0  # 0.8 left, 0.75 may be needed
    assert decide([dear], settings("schedule=ucb", "budget.usd=1.2"), None).action is None


def test_steps_go_on_from_the_round_before() -> None:
    history = [closed(1), closed(2, choice=chose(4, Steps(0.9, 0.3)))]
    choice = decide(history, UCB, None)
    action = ACTIONS[choice.action]
    assert choice.steps == Steps(min(1.0, round(0.9 + action.alpha, 12)), max(0.0, round(0.3 + action.gamma, 12)))


def test_dials_follow_the_chosen_steps() -> None:
    plan = scheduler(settings("schedule=ucb"))
    assert isinstance(plan, Learning)
    dials = plan.follow([closed(1)], chose(0, Steps(0.3, 0.2)))  # 0.8 − 2 · 0.3; gates + 0.2
    assert (dials.cl, dials.tau_q, dials.tau_crit) == (pytest.approx(0.2), pytest.approx(0.7), pytest.approx(0.5))
    held = plan.follow([closed(1, pi_i=False, pi_d=False)], chose(0, Steps(0.3, 0.2)))
    assert held == RoundDials(0.8, 0.5, 0.3)


def test_two_steps_for_one_dial_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"alpha_i = 0.3 and dials.alpha_d = 0.2 must be the same"):
        settings("schedule=ucb", "alpha_i=0.3")


# --- in debates -------------------------------------------------------------------------------------------------------------------


def table(tokens: int = 1000):
    """Two agents that come closer slowly and never meet; every turn costs the same."""
    turns = [[turn(p, 1 - p, 0.0, tokens=tokens) for p in seen] for seen in ([0.9] * 10, [0.1] * 10)]
    return seat([script("one", *turns[0]), script("two", *turns[1])], [judge()])


def test_every_choice_is_on_record_and_replay_computes_the_same() -> None:
    events = play(table(), settings("schedule=ucb", "max_rounds=4", "impasse=false"))
    dialled = of(Dialled, events)
    assert dialled[0].choice.action == 0
    assert all(event.choice is not None and len(event.choice.index) == 9 for event in dialled)
    done = replay(events)
    assert done.complete
    assert [s.cost.tokens for s in done.state.history] == [2000] * 4


def test_a_debate_ends_when_no_round_fits_any_more() -> None:
    # openings 2000, rounds 2000 each; a round may need 1.5 · 2000: after round 2, 6000 are spent and 2500 left
    events = play(table(), settings("schedule=ucb", "max_rounds=8", "impasse=false", "budget.tokens=8500"))
    last = result(events)
    assert last.stop_reason == "budget"
    assert "3000 tokens, 2500 of 8500 are left" in last.detail
    assert last.answer is not None
    assert (last.rounds, last.tokens) == (2, 6000)
    assert replay(events).complete


def test_agreement_is_not_a_budget_stop() -> None:
    same = [turn(0.98, 0.02, 0.0, tokens=1000) for _ in range(6)]
    both = seat([script("one", *same), script("two", *same)], [judge()])
    events = play(
        both, settings("schedule=ucb", "budget.tokens=7500")
    )  # after round 2 nothing fits, and nothing is wanted
    assert result(events).stop_reason == "consensus"


def test_what_a_debate_starts_from_is_on_record() -> None:
    arms = Arms.fresh().learn(0, 0.0, cost=10, growth=1.0)
    learned = Learned(task="t", debate="d", debates=1, arms=arms.records())
    seated, config = table(), settings("schedule=ucb", "max_rounds=3", "impasse=false")
    opened = open_debate(seated, config, learned=learned)
    events = play(seated, config)
    other = [opened, *events[1:]]
    assert of(Dialled, events)[0].choice.t == 1
    with pytest.raises(ReplayMismatch, match="choice"):  # another start leads to other choices
        replay(other)


def test_a_hand_on_the_dials_keeps_the_round_from_teaching() -> None:
    def watch(event, queue) -> None:
        if isinstance(event, Measured) and event.round == 1:
            queue.put_nowait(Intervened(cl=0.4))

    events = play(table(), settings("schedule=ucb", "max_rounds=4", "impasse=false"), watch=watch)
    by_hand = [event for event in of(Dialled, events) if event.by_hand]
    assert len(by_hand) == 1
    assert by_hand[0].choice.counts is False
    history = replay(events).state.history
    taught = lessons(history, settings("schedule=ucb"), Arms.fresh())
    assert len(taught) == len(history) - 2
