"""Ratios, flags, dial updates and initialisation, by hand."""

import pytest

from helpers import closed_round
from maci.config import Config, Dials, Plateau, build
from maci.controller.dials import RoundDials, first_cl, first_tau_q
from maci.controller.policies import scheduler
from maci.moderator.gate import Candidate
from maci.moderator.signals import Progress, flags, information_gain, ratios


def rounds(*items):
    return [Progress(gain, capacity, before, after, shift) for gain, capacity, before, after, shift in items]


def test_ratios_by_hand():
    # Î = .10, .05 → MA .075; capacity .9, .8 → MA .85; r_I = .075/.851
    # falls = .3, .1 → MA .2; D before = .8, .5 → MA .65; r_D = .2/.651
    r_i, r_d = ratios(rounds((0.10, 0.9, 0.8, 0.5, 0.2), (0.05, 0.8, 0.5, 0.4, 0.1)), 3, 1e-3)
    assert r_i == pytest.approx(0.075 / 0.851)
    assert r_d == pytest.approx(0.2 / 0.651)


def test_a_rise_of_d_counts_as_no_fall():
    _, r_d = ratios(rounds((0, 1, 0.2, 0.5, 0)), 3, 1e-3)
    assert r_d == 0.0


def test_the_window_forgets():
    early = [(0.5, 1.0, 0.9, 0.9, 0.0)]
    late = [(0.0, 1.0, 0.9, 0.9, 0.0)] * 3
    assert ratios(rounds(*early, *late), 3, 1e-3)[0] == 0.0


def test_information_gain_by_hand():
    import numpy as np

    # H: 1 bit → 0.469 bits over 2 outcomes: Î = (1 − 0.469)/1
    assert information_gain(np.array([0.5, 0.5]), np.array([0.9, 0.1]), 2) == pytest.approx(0.531, abs=1e-3)
    assert information_gain(np.array([0.9, 0.1]), np.array([0.5, 0.5]), 2) == 0.0
    assert information_gain(np.array([1.0]), np.array([1.0]), 1) == 0.0


def test_no_flag_before_the_second_round():
    still = rounds((0, 1, 1.0, 1.0, 0))
    assert not flags(still, Plateau(), 0.3).pi_i and not flags(still, Plateau(), 0.3).pi_d
    assert flags(still, Plateau(mode="absolute"), 0.3).pi_i and flags(still, Plateau(mode="absolute"), 0.3).pi_d


def test_a_moving_mixture_is_not_stalled_even_at_constant_entropy():
    swapping = rounds((0, 1, 0.1, 0.1, 0.6), (0, 1, 0.1, 0.1, 0.6))
    assert not flags(swapping, Plateau(), 0.3).pi_i
    assert flags(swapping, Plateau(mode="relative"), 0.3).pi_i


def test_a_rise_of_d_clears_its_flag():
    at_once = rounds((0, 1, 0.1, 0.1, 0), (0, 1, 0.10, 0.16, 0))
    slowly = rounds((0, 1, 0.10, 0.13, 0), (0, 1, 0.13, 0.16, 0))
    wobble = rounds((0, 1, 0.10, 0.11, 0), (0, 1, 0.11, 0.12, 0))
    assert not flags(at_once, Plateau(), 0.3).pi_d
    assert not flags(slowly, Plateau(), 0.3).pi_d
    assert flags(wobble, Plateau(), 0.3).pi_d


def test_geometric_convergence_is_seen_by_default_and_not_by_the_relative_test():
    d = [0.20 * 0.8**t for t in range(5)]
    course = rounds(*[(0.0, 0.5, d[t], d[t + 1], 0.01) for t in range(4)])
    assert flags(course, Plateau(), 0.3).pi_d
    assert not flags(course, Plateau(mode="relative"), 0.3).pi_d  # r_D stays at 0.2


def test_an_undefined_d_never_counts_as_stalled():
    course = rounds((0, 1, None, None, 0), (0, 1, None, None, 0))
    assert not any(flags(course, Plateau(mode=mode), 0.3).pi_d for mode in ("default", "relative", "absolute"))


def summary(cl=0.9, tau_q=0.5, tau_crit=0.3, pi_i=True, pi_d=True, admitted=2, q=0.9, crit=0.9, round=2):
    candidates = (Candidate("1A1", "a", q, crit), Candidate("1B1", "b", q, crit))
    return closed_round(
        round=round, dials=RoundDials(cl, tau_q, tau_crit), q=q, d=0.5, o=1.0, crit=crit, crit_variance=0.0,
        admitted=admitted, candidates=candidates, pi_i=pi_i, pi_d=pi_d, same_top=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pi_i", "pi_d", "cl", "tau"),
    [(False, False, 0.9, 0.5), (True, False, 0.7, 0.6), (False, True, 0.7, 0.5), (True, True, 0.5, 0.6)],
)
def test_dials_move_by_their_steps(pi_i, pi_d, cl, tau):
    dials = scheduler(build("default", {"dials.schedule": "plateau"})).next([summary(pi_i=pi_i, pi_d=pi_d)])
    assert (dials.cl, dials.tau_q) == (pytest.approx(cl), pytest.approx(tau))


def test_cl_and_gates_keep_their_bounds():
    dials = scheduler(build("default", {"dials.schedule": "plateau"})).next([summary(cl=0.2, tau_q=0.75, tau_crit=0.8)])
    assert dials == RoundDials(0.1, 0.8, 0.8)


def test_gates_hold_when_recent_candidates_would_not_pass():
    dials = scheduler(Config()).next([summary(q=0.55)])
    assert (dials.tau_q, dials.tau_crit) == (0.5, 0.3)
    literal = scheduler(build("paper", {})).next([summary(q=0.55)])
    assert literal.tau_q == pytest.approx(0.6)


def test_gates_hold_when_nothing_was_admitted():
    assert scheduler(Config()).next([summary(admitted=0)]).tau_q == 0.5


def test_gates_hold_when_one_agent_would_be_silenced():
    one_sided = summary()
    weak = tuple(Candidate(f"1B{i}", "b", 0.55, 0.9) for i in range(1))
    strong = tuple(Candidate(f"1A{i}", "a", 0.9, 0.9) for i in range(5))
    from dataclasses import replace

    assert scheduler(Config()).next([replace(one_sided, candidates=strong + weak)]).tau_q == 0.5


def test_ladder_takes_one_step_a_round_and_fixed_none():
    ladder, fixed = (
        scheduler(build("default", {"dials.schedule": "ladder"})),
        scheduler(build("default", {"dials.schedule": "fixed"})),
    )
    assert ladder.first(None, None) == 0.9
    seen = [0.9]
    for _ in range(4):
        seen.append(ladder.next([summary(cl=seen[-1])]).cl)
    assert seen == [0.9, 0.7, 0.5, 0.3, 0.3]
    assert fixed.next([summary(cl=fixed.first(None, None))]).cl == 0.9


@pytest.mark.parametrize(
    ("q", "d", "cl"), [(0.7, 0.3, 0.7), (0.5, 0.5, 0.9), (0.6, 0.4, 0.8), (0.9, 0.9, 0.8), (0.1, 0.1, 0.8)]
)
def test_initial_contentiousness(q, d, cl):
    assert first_cl(q, d, Dials()) == cl


def test_the_first_gate_is_fitted_only_without_a_calibration():
    assert first_tau_q([0.1, 0.3, 0.9], Config())[0] == 0.3
    assert first_tau_q([0.8, 0.9], Config())[0] == 0.5
    assert first_tau_q([0.1], build("default", {"calibration.made_for": "x", "gate.tau_q": 0.5})) == (0.5, None)
    temperature_alone = build("default", {"calibration.made_for": "x", "calibration.temperature": 2.0})
    assert first_tau_q([0.1], temperature_alone)[0] == 0.1
    asked_for = {"calibration.made_for": "x", "gate.tau_q": 0.5, "gate.fit_tau_q": True}
    assert first_tau_q([0.1], build("default", asked_for))[0] == 0.1
    assert first_tau_q([0.1], build("paper", {})) == (0.5, None)
