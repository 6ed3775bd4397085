from __future__ import annotations

import pytest

from maci.moderator.gate import Candidate, Thresholds, passes, rejection, reverts, rises

GATE = Thresholds(0.5, 0.3)


def candidate(q: float | None, crit: float | None, agent: str = "x") -> Candidate:
    return Candidate("1A1", agent, q, crit)


def test_gate_admits_when_both_pass_exactly() -> None:
    assert rejection(candidate(0.5, 0.3), GATE) is None


def test_gate_rejects_when_only_crit_passes() -> None:
    assert rejection(candidate(0.49, 0.9), GATE) == "q 0.490 < τ_Q 0.500"


def test_gate_rejects_when_only_evidence_passes() -> None:
    assert rejection(candidate(0.9, 0.29), GATE) == "CRIT 0.290 < τ_CRIT 0.300"


def test_gate_names_both_reasons() -> None:
    assert rejection(candidate(0.1, 0.1), GATE) == "q 0.100 < τ_Q 0.500; CRIT 0.100 < τ_CRIT 0.300"


def test_what_is_undefined_passes_no_gate_even_at_zero() -> None:
    assert rejection(candidate(None, None), Thresholds(0.0, 0.0)) == "no verified citation; every judge abstained"


def test_a_gate_that_is_off_asks_nothing() -> None:
    assert passes(candidate(None, None), Thresholds(None, None))
    assert passes(candidate(None, 0.9), Thresholds(None, 0.3))
    assert not passes(candidate(None, 0.9), Thresholds(0.5, None))


@pytest.mark.parametrize(
    ("recent", "admitted", "rise"),
    [
        ([(0.9, "x"), (0.9, "y")], 2, True),
        ([(0.9, "x"), (0.9, "y")], 0, False),  # nothing was admitted now: hold
        ([(0.9, "x"), (0.1, "y")], 1, False),  # half pass, but none of y's
        ([(0.9, "x"), (0.9, "y"), (0.1, "x"), (0.1, "y")], 1, True),  # exactly half
        ([(0.9, "x"), (0.9, "y"), (0.1, "x"), (0.1, "y"), (0.1, "y")], 1, False),  # less than half
        ([], 1, False),
    ],
)
def test_gates_rise_only_if_half_of_the_candidates_and_one_per_agent_still_pass(recent, admitted, rise) -> None:
    candidates = [candidate(q, 0.9, agent) for q, agent in recent]
    assert rises(candidates, admitted, Thresholds(0.6, 0.4), share=0.5) is rise


def test_dispersion_gate_keeps_a_backed_dissent_and_reverts_the_rest() -> None:
    rise = {"before": 0.2, "after": 0.4, "nu": 0.0}
    assert reverts({"x", "y"}, {"x"}, **rise, mode="backed") == {"y"}
    assert reverts({"x", "y"}, {"x"}, **rise, mode="all") == {"x", "y"}
    assert reverts({"x", "y"}, {"x"}, **rise, mode="off") == set()


def test_dispersion_gate_tolerates_a_rise_of_nu() -> None:
    assert reverts({"x"}, set(), before=0.2, after=0.3, nu=0.1, mode="all") == set()
    assert reverts({"x"}, set(), before=0.2, after=0.3001, nu=0.1, mode="all") == {"x"}


def test_an_argument_that_rests_on_the_span_the_gate_was_fitted_to_is_admitted() -> None:
    """τ_Q may be the cosine of that very span, computed among others: a difference of rounding must not reject it."""
    gate = Thresholds(0.4321, 0.3)
    assert passes(Candidate("1A1", "x", 0.4321 - 1e-13, 0.3 - 1e-13), gate)
    assert not passes(Candidate("1A1", "x", 0.4320, 0.3), gate)
