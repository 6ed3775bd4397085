from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import linregress, t

from maci.config import build
from maci.lab.theory.termination import (
    contraction,
    disjoint,
    general,
    halves,
    relative_alone,
    restless,
    slope,
    stubborn,
)
from theory_helpers import verdicts


@pytest.mark.parametrize("n", [3, 5, 9, 30])
def test_slope_and_its_interval_are_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.random(n), rng.random(n)
    line = linregress(x, y)
    half = t.ppf(0.975, min(n - 2, 15)) * line.stderr  # from 15 degrees of freedom on the last one is used
    assert slope(x, y) == pytest.approx((line.slope, line.slope - half, line.slope + half), rel=1e-3)


def test_two_points_have_a_slope_and_no_interval() -> None:
    assert slope([0, 2], [1, 5])[0] == 2
    assert np.isnan(slope([0, 2], [1, 5])[1])


@pytest.mark.parametrize("d", [0.0, 1e-6, 0.3, 0.999, 1.0])
def test_halves_have_the_jsd_asked_for(d: float) -> None:
    ((p, q),) = halves([d])
    h = -sum(v * np.log2(v) for v in p if v > 0)
    assert 1 - h == pytest.approx(d, abs=1e-9)
    assert p.tolist() == q[::-1].tolist()


def test_the_worst_course_takes_two_over_epsilon_rounds() -> None:
    """Round 1 still, round 2 falls by ε, and so on: 1/ε − 1 falls of just over ε fit, then two still rounds: 2(1/ε − 1) + 2."""
    found = verdicts(general)["termination-general"]
    assert found.passed
    assert found.figures["worst"] == [20, 40, 100]
    assert all(min(rounds) > 2 for rounds in found.figures["random"])


def test_rounds_under_contraction_are_linear_in_the_logarithm() -> None:
    found = verdicts(contraction)["termination-contraction"]
    assert found.passed
    rounds = found.figures["rounds"]
    assert rounds["0.2"][-1] > rounds["0.7"][-1]
    assert rounds["0.2"][-1] < 50 * rounds["0.2"][0]  # 1/ε grew by 100,000


@pytest.mark.parametrize(
    ("check", "claim"),
    [
        (relative_alone, "relative-test"),
        (stubborn, "change-test"),
        (disjoint, "overlap-blocks"),
        (restless, "gain-not-monotone"),
    ],
)
def test_negative_findings_are_shown_beside_the_default_rule(check, claim: str) -> None:
    found = verdicts(check)[claim]
    assert found.passed, found.measured
    assert found.kind == "negative"
    assert "default" in found.measured


def test_a_default_rule_without_impasse_would_fail_the_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(profile, values):
        config = build(profile, values)
        return config.model_copy(update={"stop": config.stop.model_copy(update={"impasse": False})})

    monkeypatch.setattr("maci.lab.theory.termination.build", without)
    monkeypatch.setattr("maci.lab.theory.termination._LONG", {"stop.max_rounds": 30})
    assert not verdicts(stubborn)["change-test"].passed
    assert not verdicts(disjoint)["overlap-blocks"].passed


def test_a_default_rule_that_is_the_relative_test_fails_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.lab.theory.termination.build", lambda profile, values: build("paper", values))
    assert not verdicts(relative_alone)["relative-test"].passed
