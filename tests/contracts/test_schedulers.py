"""What every schedule owes the controller."""

from __future__ import annotations

import itertools

import pytest

from helpers import closed_round, settings
from maci.controller.dials import RoundDials
from maci.controller.policies import scheduler
from maci.moderator.gate import Candidate

SCHEDULES = ["course", "plateau", "ladder", "fixed", "ucb", "linucb"]


def rounds(first: float, plan, flags: list[tuple[bool, bool]]) -> list[RoundDials]:
    dials, history, seen = RoundDials(first, 0.5, 0.3), [], [RoundDials(first, 0.5, 0.3)]
    for t, (pi_i, pi_d) in enumerate(flags, 1):
        history.append(
            closed_round(
                round=t, dials=dials, q=0.8, d=0.4, o=0.5, crit=0.9, crit_variance=0.0, admitted=2,
                candidates=(Candidate(f"{t}A1", "x", 0.95, 0.95), Candidate(f"{t}B1", "y", 0.95, 0.95)),
                pi_i=pi_i, pi_d=pi_d, same_top=False,
            )
        )  # fmt: skip
        dials = plan.next(history)
        seen.append(dials)
    return seen


FLAGS = [
    [(False, False)] * 6,
    [(True, True)] * 6,
    [(True, False), (False, True)] * 3,
]


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("profile", ["default", "paper"])
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize(("q0", "d0"), [(None, None), (0.9, 0.0), (0.1, 0.9)])
def test_dials_stay_in_range_and_gates_never_loosen(name, profile, flags, q0, d0) -> None:
    config = settings(f"schedule={name}", profile=profile)
    plan = scheduler(config)
    seen = rounds(plan.first(q0, d0), plan, flags)
    assert all(0 <= d.cl <= 1 for d in seen)
    for before, after in itertools.pairwise(seen):
        assert before.cl >= after.cl
        assert before.tau_q <= after.tau_q <= config.gate.tau_max
        assert before.tau_crit <= after.tau_crit <= config.gate.tau_max


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_same_history_always_gives_the_same_dials(name) -> None:
    config = settings(f"schedule={name}")
    one, two = scheduler(config), scheduler(config)
    assert rounds(one.first(0.6, 0.4), one, FLAGS[2]) == rounds(two.first(0.6, 0.4), two, FLAGS[2])


@pytest.mark.parametrize("name", SCHEDULES)
def test_without_a_stalled_gain_gates_are_held(name) -> None:
    plan = scheduler(settings(f"schedule={name}"))
    seen = rounds(plan.first(None, None), plan, [(False, True)] * 4)
    assert {(d.tau_q, d.tau_crit) for d in seen} == {(0.5, 0.3)}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_level_set_by_hand_is_where_the_schedule_goes_on_from(name) -> None:
    plan = scheduler(settings(f"schedule={name}"))
    last = rounds(0.45, plan, [(False, False)])[-1]
    assert last.cl <= 0.45
