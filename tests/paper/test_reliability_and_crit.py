"""CRIT's worked example, the EMA, the weights and the mixture, by hand."""

import numpy as np
import pytest

from maci.agents.judges.crit import CritScore, verdict
from maci.moderator.signals import update, weights


def test_the_papers_example_has_composite_0_92():
    score = CritScore(evidence=0.90, logic=0.85, relevance=1.00)  # 2.75 / 3 = 0.91667
    assert score.composite == pytest.approx(0.91667, abs=1e-5)
    assert round(score.composite, 2) == 0.92


def test_ema_by_hand_over_three_rounds():
    # 0.5 → 0.8·0.5 + 0.2·0.75 = 0.55 → 0.44 + 0.164 = 0.604 → 0.4832 + 0.174 = 0.6572
    gamma = 0.5
    for crit, expected in [(0.75, 0.55), (0.82, 0.604), (0.87, 0.6572)]:
        gamma = update(gamma, crit, decay=0.8)
        assert gamma == pytest.approx(expected)


def test_reliability_is_unchanged_where_nothing_was_scored():
    assert update(0.61, None, decay=0.8) == 0.61


def test_weights_and_mixture_by_hand():
    # Γ = .6, .4 → ω = .6, .4; p = .6·(.7,.3) + .4·(.2,.8) = (.50, .50)
    omega = weights([0.6, 0.4], floor=1e-6)
    assert omega == pytest.approx([0.6, 0.4], abs=1e-6)
    assert omega @ np.array([[0.7, 0.3], [0.2, 0.8]]) == pytest.approx([0.5, 0.5], abs=1e-6)


def test_an_agent_without_any_credit_keeps_a_positive_weight():
    assert weights([0.0, 1.0], floor=1e-6)[0] == pytest.approx(1e-6, rel=1e-3)


def test_an_abstention_is_neither_zero_nor_half():
    said = verdict(
        [CritScore(evidence=0.9, logic=0.9, relevance=0.9), None, CritScore(evidence=0.7, logic=0.7, relevance=0.7)]
    )
    assert said.mean == pytest.approx(0.8)
    assert said.variance == pytest.approx(0.02)  # unbiased: ((.1)² + (.1)²) / 1
    assert (said.scores, said.abstained) == (2, 1)
