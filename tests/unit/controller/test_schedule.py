from __future__ import annotations

from typing import Any

import pytest

from helpers import closed_round, settings
from maci.controller.dials import ClosedRound, RoundDials, first_cl, first_tau_q
from maci.controller.policies import next_gates, scheduler
from maci.controller.triage import regime
from maci.moderator.gate import Candidate


def after(
    dials: RoundDials,
    *,
    pi_i: bool = False,
    pi_d: bool = False,
    admitted: int = 2,
    scores: tuple[float, ...] = (0.9, 0.9),
    **more: Any,
) -> ClosedRound:
    return closed_round(
        round=1,
        dials=dials,
        q=0.7,
        d=0.5,
        o=0.5,
        crit=0.8,
        crit_variance=0.0,
        admitted=admitted,
        candidates=tuple(Candidate(f"1{who}1", who, s, s) for who, s in zip("AB", scores, strict=False)),
        pi_i=pi_i,
        pi_d=pi_d,
        same_top=False,
        **more,
    )


START = RoundDials(0.8, 0.5, 0.3)
PLATEAU, COURSE = settings("schedule=plateau"), settings("schedule=course")


@pytest.mark.parametrize(
    ("pi_i", "pi_d", "cl"), [(False, False, 0.8), (True, False, 0.6), (False, True, 0.6), (True, True, 0.4)]
)
def test_plateau_lowers_contentiousness_by_each_flag(pi_i: bool, pi_d: bool, cl: float) -> None:
    assert scheduler(PLATEAU).next([after(START, pi_i=pi_i, pi_d=pi_d)]).cl == cl


def test_plateau_stops_at_the_floor() -> None:
    assert scheduler(PLATEAU).next([after(RoundDials(0.2, 0.5, 0.3), pi_i=True, pi_d=True)]).cl == 0.1
    assert scheduler(settings(profile="paper")).next([after(RoundDials(0.2, 0.5, 0.3), pi_i=True, pi_d=True)]).cl == 0.0


def test_plateau_does_not_round_a_held_level_up() -> None:
    level = 0.22648190965161585
    assert scheduler(PLATEAU).next([after(RoundDials(level, 0.5, 0.3))]).cl <= level


@pytest.mark.parametrize(
    ("pi_i", "pi_d", "cl"), [(False, False, 0.6), (True, False, 0.6), (False, True, 0.6), (True, True, 0.4)]
)
def test_course_goes_down_every_round_and_by_one_step_more_while_both_flags_are_up(pi_i, pi_d, cl) -> None:
    assert scheduler(COURSE).next([after(START, pi_i=pi_i, pi_d=pi_d)]).cl == cl
    low = RoundDials(0.15, 0.5, 0.3)
    assert scheduler(COURSE).next([after(low, pi_i=pi_i, pi_d=pi_d)]).cl == 0.1
    assert scheduler(settings("schedule=course", "dials.alpha=0.1")).next([after(START)]).cl == 0.7


@pytest.mark.parametrize(
    ("d_before", "new_evidence", "cl"),
    [(0.4, True, 0.8), (0.4, False, 0.6), (0.5, True, 0.6), (0.6, True, 0.6), (None, True, 0.6)],
)
def test_course_holds_for_a_round_in_which_d_rose_on_newly_admitted_evidence(d_before, new_evidence, cl) -> None:
    opened = after(START, d_before=d_before, new_evidence=new_evidence)  # D is 0.5 now
    assert scheduler(COURSE).next([opened]).cl == cl
    assert scheduler(COURSE).next([opened, after(RoundDials(cl, 0.5, 0.3))]).cl == pytest.approx(cl - 0.2)


@pytest.mark.parametrize("name", ["course", "plateau", "ucb", "linucb"])
def test_a_first_level_that_is_set_comes_before_the_bins(name: str) -> None:
    assert scheduler(settings(f"schedule={name}", "cl_first=0.9")).first(0.8, 0.1) == 0.9
    assert scheduler(settings(f"schedule={name}")).first(0.8, 0.1) == 0.7


def test_ladder_goes_down_one_rung_a_round_and_stays_at_the_last() -> None:
    plan, levels = scheduler(settings("schedule=ladder")), []
    cl = plan.first(None, None)
    for _ in range(6):
        levels.append(cl)
        cl = plan.next([after(RoundDials(cl, 0.5, 0.3))]).cl
    assert levels == [0.9, 0.7, 0.5, 0.3, 0.3, 0.3]


def test_fixed_holds_its_level_and_moves_the_gates() -> None:
    plan = scheduler(settings("schedule=fixed", "cl_fixed=0.35"))
    assert plan.first(0.9, 0.0) == 0.35
    assert plan.next([after(RoundDials(0.35, 0.5, 0.3), pi_i=True, pi_d=True)]) == RoundDials(0.35, 0.6, 0.4)


def test_gates_rise_by_gamma_while_information_has_stalled_up_to_tau_max() -> None:
    assert next_gates([after(START)], settings()) == (0.5, 0.3)
    assert next_gates([after(START, pi_i=True)], settings()) == (0.6, 0.4)
    assert next_gates([after(RoundDials(0.5, 0.75, 0.75), pi_i=True)], settings()) == (0.8, 0.8)
    assert next_gates([after(RoundDials(0.5, 0.95, 0.3), pi_i=True, scores=(1, 1))], settings()) == (
        0.95,
        0.4,
    )  # never lowered


def test_gates_hold_rather_than_starve_the_debate_unless_literal() -> None:
    starving = [after(START, pi_i=True, scores=(0.9, 0.55))]
    assert next_gates(starving, settings()) == (0.5, 0.3)
    assert next_gates(starving, settings(profile="paper")) == (0.6, 0.4)
    assert next_gates([after(START, pi_i=True, admitted=0)], settings()) == (0.5, 0.3)


def test_first_contentiousness_by_bins() -> None:
    dials = settings().dials
    assert first_cl(0.7, 0.3, dials) == 0.7
    assert first_cl(0.5, 0.5, dials) == 0.9
    assert first_cl(0.7, 0.31, dials) == 0.8
    assert first_cl(0.51, 0.5, dials) == 0.8
    assert first_cl(None, 0.9, dials) == first_cl(0.1, None, dials) == 0.8


def test_first_gate_is_fitted_to_the_evidence_and_said_so() -> None:
    tau, note = first_tau_q([0.1, 0.2, 0.9], settings())
    assert tau == 0.2
    assert note is not None and "no calibration profile" in note and "0.200" in note
    assert first_tau_q([0.9, 0.9], settings())[0] == 0.5
    assert first_tau_q([-0.9, -0.9], settings())[0] == 0
    assert first_tau_q([], settings()) == (0.5, None)
    assert first_tau_q([0.1], settings("fit_tau_q=false")) == (0.5, None)


@pytest.mark.parametrize(
    ("size", "q0", "d0", "o0", "sources", "sets", "kind"),
    [
        (20, 0.5, 0.5, None, 1, (), "debate"),
        (20, 0.6, 0.5, None, 1, (), "depends"),
        (3, 0.9, 0.1, 0.1, 2, (), "debate"),
        (3, 0.9, 0.1, 0.1, 1, (), "vote"),
        (3, None, None, None, 1, ("vote_ece=0.2",), "debate"),
        (4, None, None, None, 1, (), "vote"),
        (5, None, None, None, 1, (), "depends"),
        (21, None, None, None, 1, (), "debate"),
        (100, 0.9, 0.0, 0.9, 1, (), "debate"),
    ],
)
def test_regime_says_which_and_why(size, q0, d0, o0, sources, sets, kind) -> None:
    found = regime(size, q0, d0, o0, sources, settings(*sets))
    assert found.kind == kind
    assert all(found.why) and found.why
