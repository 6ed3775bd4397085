"""The stop rules on courses whose right end is known (D2, D3, D4), the literal rules beside the default ones."""

import pytest

from maci.config import build
from maci.lab.theory.trajectories import TRAJECTORIES, play

LONG = {"stop.max_rounds": 40}
DEFAULT = build("default", LONG)
RELATIVE = build("paper", LONG)
ABSOLUTE = build("paper", {**LONG, "plateau.mode": "absolute"})
COURSE = {t.name: t for t in TRAJECTORIES}


def end(name, config):
    state = play(COURSE[name], config)
    return state.finished.stop_reason, len(state.history)


def test_stubborn_agents_end_in_an_impasse_with_a_minority_report():
    state = play(COURSE["stubborn"], DEFAULT)
    assert state.finished.stop_reason == "impasse"
    assert state.finished.minority
    assert end("stubborn", ABSOLUTE) == ("plateau", 2)


def test_rising_disagreement_is_not_a_plateau_while_it_rises():
    state = play(COURSE["rising D"], DEFAULT)
    assert state.finished.stop_reason == "impasse"
    assert state.history[-1].signals.d - state.history[-3].signals.d < 0.05
    assert end("rising D", ABSOLUTE) == ("plateau", 2)


def test_steady_gains_are_not_cut_short():
    reason, rounds = end("steady gains", DEFAULT)
    assert reason == "consensus" and rounds > 4
    assert end("steady gains", ABSOLUTE)[1] <= 3


def test_mass_that_swaps_outcomes_at_constant_entropy_is_not_a_plateau():
    assert end("swapping mass", DEFAULT) == ("max_rounds", 40)
    assert end("swapping mass", RELATIVE) == ("plateau", 2)


@pytest.mark.parametrize("rate", ["0.3", "0.5", "0.7", "0.9"])
def test_geometric_convergence_is_seen_within_a_few_rounds(rate):
    reason, rounds = end(f"geometric {rate}", DEFAULT)
    assert reason in {"consensus", "plateau", "crit_stable"} and rounds <= 6
    assert end(f"geometric {rate}", RELATIVE)[1] > rounds


def test_the_relative_test_alone_runs_for_dozens_of_rounds():
    assert end("geometric 0.9", RELATIVE)[1] >= 24


def test_disjoint_evidence_never_counts_as_agreement():
    state = play(COURSE["disjoint evidence"], DEFAULT)
    assert state.finished.stop_reason == "impasse"
    assert state.history[-1].signals.d < 0.02 and state.history[-1].signals.o == 0


def test_gates_do_not_outrun_reachable_scores():
    state = play(COURSE["gates outrun scores"], DEFAULT)
    assert all(s.admitted for s in state.history)
    literal = play(COURSE["gates outrun scores"], RELATIVE)
    assert not any(s.admitted for s in literal.history[-3:])
    assert literal.finished.stop_reason == "crit_stable"  # low CRIT alone is a stalemate there, and scores are fair
    starved = build("paper", {**LONG, "stop.starved": True})
    assert end("gates outrun scores", starved)[0] == "stalemate"


@pytest.mark.parametrize("course", COURSE)
@pytest.mark.parametrize("config", [build("default", {}), build("paper", {})], ids=["default", "paper"])
def test_every_course_ends_by_max_rounds_for_one_reason(course, config):
    state = play(COURSE[course], config)
    assert state.finished.stop_reason and len(state.history) <= config.stop.max_rounds
