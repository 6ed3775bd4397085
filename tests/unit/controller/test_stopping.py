"""Stop rules on rounds written by hand: each clause alone decides."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import closed_round, settings
from maci.controller.dials import ClosedRound, RoundDials
from maci.controller.stop import stop_reason


def at(round: int, **changes: object) -> ClosedRound:
    """A round that gives no reason to stop."""
    plain: dict[str, Any] = {
        "round": round,
        "dials": RoundDials(0.8, 0.5, 0.3),
        "q": 0.7,
        "d": 0.25,
        "o": 0.6,
        "crit": 0.7,
        "crit_variance": 0.05,
        "admitted": 2,
        "candidates": (),
        "pi_i": False,
        "pi_d": False,
        "same_top": True,
    }
    return closed_round(**{**plain, **changes})


def why(*rounds: ClosedRound, sets: tuple[str, ...] = ()) -> str | None:
    return stop_reason(rounds, settings(*sets))


STALLED = {"pi_i": True, "pi_d": True}


def test_progress_goes_on() -> None:
    assert why(at(1), at(2), at(3)) is None


def test_consensus_once_at_d_once_or_twice_at_d_twice() -> None:
    assert why(at(1), at(2, d=0.02)) == "consensus"
    assert why(at(1), at(2, d=0.021)) is None
    assert why(at(1, d=0.05), at(2, d=0.05)) == "consensus"
    assert why(at(1, d=0.051), at(2, d=0.05)) is None


@pytest.mark.parametrize(
    "lacking", [{"same_top": False}, {"q": 0.49}, {"q": None}, {"o": 0.29}, {"o": None}, {"d": None}]
)
def test_consensus_needs_the_same_answer_evidence_and_overlap(lacking: dict) -> None:
    assert why(at(1), at(2, **{"d": 0.0, **lacking})) is None


def test_no_agreement_before_round_2_whatever_min_rounds_says() -> None:
    assert why(at(1, d=0.0), sets=("min_rounds=1",)) is None
    assert why(at(1), at(2, d=0.0), sets=("min_rounds=3",)) is None


def test_plateau_needs_both_flags_for_tau_stop_rounds_and_closeness() -> None:
    assert why(at(1), at(2, **STALLED), at(3, **STALLED)) == "plateau"
    assert why(at(1), at(2, pi_i=True), at(3, **STALLED)) is None
    assert why(at(2, **STALLED), at(3, **STALLED, d=0.31)) is None
    assert why(at(2, **STALLED), at(3, **STALLED, d=0.31), sets=("d_max=1",)) == "plateau"
    assert why(at(2, **STALLED), at(3, **STALLED, o=0.2)) is None


def test_the_q_clause_is_measured_with_the_gate_of_the_round() -> None:
    high = RoundDials(0.8, 0.75, 0.3)
    assert why(at(2, **STALLED), at(3, **STALLED, dials=high)) is None
    assert why(at(2, **STALLED), at(3, **STALLED, dials=high), sets=("q_gate=false",)) == "plateau"
    assert why(at(2, **STALLED), at(3, **STALLED, q=None), sets=("q_gate=false",)) is None


def test_impasse_is_a_stall_without_agreement_at_low_contentiousness() -> None:
    low = {"dials": RoundDials(0.5, 0.5, 0.3)}
    assert why(at(2, **STALLED), at(3, **STALLED, d=0.9, **low)) == "impasse"
    assert why(at(2, **STALLED), at(3, **STALLED, o=0.0, **low)) == "impasse"
    assert why(at(2, **STALLED), at(3, **STALLED, d=0.9)) is None
    assert why(at(2, **STALLED), at(3, **STALLED, d=0.9, **low), sets=("impasse=false",)) is None


def test_an_impasse_needs_progress_to_have_ended_and_not_only_the_clock() -> None:
    # under `course` CL is at 0.5 by the third round, whatever happened
    levels = [RoundDials(cl, 0.5, 0.3) for cl in (0.9, 0.7, 0.5, 0.3, 0.1)]
    apart = {"d": 0.9, "o": 0.0}
    moving = [at(t, **apart, pi_i=t % 2 == 0, pi_d=t % 2 == 1, dials=level) for t, level in enumerate(levels, 1)]
    assert why(*moving, sets=("schedule=course",)) is None
    assert (
        why(*moving[:4], at(5, **apart, **STALLED, dials=levels[4]), sets=("schedule=course",)) is None
    )  # for one round
    still = [at(t, **apart, **STALLED, dials=level) for t, level in enumerate(levels[:3], 1)]
    assert why(*still, sets=("schedule=course",)) == "impasse"


def test_crit_stable_needs_settled_judges_for_two_rounds_and_both_flags() -> None:
    calm = {"crit_variance": 0.005}
    rounds = [at(1, **calm), at(2, **calm), at(3, **calm, **STALLED)]
    assert why(*rounds) == "crit_stable"
    assert why(*rounds[:2], at(3, **calm, pi_i=True)) is None
    assert why(rounds[0], at(2, crit=0.73, **calm), rounds[2]) is None  # Γ̄ moved by δ_v or more
    assert why(*rounds[:2], at(3, crit_variance=0.01, **STALLED)) is None
    assert why(*rounds[:2], at(3, crit_variance=None, **STALLED)) is None
    assert why(*rounds[1:]) is None  # two changes need three rounds
    assert why(*rounds, sets=("crit_stable=false",)) is None


def test_stalemate_is_weak_argument_or_nothing_admitted_for_tau_stop_rounds() -> None:
    assert why(at(1, admitted=0), at(2, admitted=0)) == "stalemate"
    assert why(at(1), at(2, admitted=0)) is None
    assert why(at(1, crit=0.29), at(2, crit=0.29)) == "stalemate"
    assert why(at(1, crit=0.29), at(2, crit=0.30)) is None
    assert why(at(1, crit=None), at(2, crit=None)) is None  # undefined is not weak


def test_stalemate_is_measured_with_the_first_gate_not_a_risen_one() -> None:
    risen = RoundDials(0.8, 0.5, 0.6)
    assert why(at(1, crit=0.5, dials=risen), at(2, crit=0.5, dials=risen)) is None


def test_the_last_round_is_the_last() -> None:
    assert why(at(3), sets=("max_rounds=3",)) == "max_rounds"
    assert why(at(1), sets=("max_rounds=1", "min_rounds=1")) == "max_rounds"


def test_precedence_is_consensus_plateau_crit_stable_impasse_stalemate_max_rounds() -> None:
    everything = {
        **STALLED,
        "d": 0.0,
        "crit": 0.1,
        "crit_variance": 0.0,
        "dials": RoundDials(0.3, 0.5, 0.3),
    }
    rounds = [at(t, **everything) for t in (1, 2, 3)]
    found = []
    for off in (
        (),
        ("consensus=false",),
        ("consensus=false", "tau_o=1", "crit_agreement=false"),
        ("consensus=false", "tau_o=1", "crit_stable=false"),
        ("consensus=false", "tau_o=1", "crit_stable=false", "impasse=false"),
        ("consensus=false", "tau_o=1", "crit_stable=false", "impasse=false", "tau_crit=0"),
    ):
        found.append(why(*rounds, sets=("max_rounds=3", *off)))
    assert found == ["consensus", "plateau", "crit_stable", "impasse", "stalemate", "max_rounds"]


def test_crit_stable_asks_for_agreement_too_unless_told_otherwise() -> None:
    calm = {"crit_variance": 0.005}
    apart = [at(1, **calm), at(2, **calm), at(3, **calm, **STALLED, d=0.9)]
    assert why(*apart) is None
    assert why(*apart, sets=("crit_agreement=false",)) == "crit_stable"
