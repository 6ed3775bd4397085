from __future__ import annotations

import sys

import numpy as np
import pytest

from maci.errors import MissingExtra
from maci.moderator.divergence import (
    analyse,
    cross_entropy,
    disagreement,
    dispersion,
    jsd,
    shared_information,
    transport,
    wasserstein,
    weighted_jsd,
)
from maci.moderator.signals import (
    evidence_quality,
    information_gain,
    jaccard,
    normalised_entropy,
    overlap,
    update,
    weights,
)


def unit(*x: float) -> np.ndarray:
    v = np.array(x, np.float32)
    return v / np.linalg.norm(v)


def test_quality_of_nothing_is_undefined_not_zero() -> None:
    assert evidence_quality([], unit(1, 0)) is None
    assert evidence_quality([np.zeros(2, np.float32)], unit(1, 0)) is None
    assert evidence_quality([unit(1, 0)], np.zeros(2, np.float32)) is None


def test_quality_is_the_cosine_of_the_mean_span() -> None:
    assert evidence_quality([unit(3, 4)], unit(1, 0)) == pytest.approx(0.6, abs=1e-6)
    assert evidence_quality([unit(1, 0), unit(-1, 0.0)], unit(1, 0)) is None  # they cancel
    assert evidence_quality([unit(-1, 0)], unit(1, 0)) == pytest.approx(-1)


def test_overlap_is_the_mean_over_pairs_that_cite_anything() -> None:
    assert jaccard(set(), set()) is None
    assert jaccard({"a"}, set()) == 0
    assert overlap([{"a", "b"}, {"b", "c"}]) == pytest.approx(1 / 3)
    assert overlap([set(), set(), set()]) is None
    assert overlap([{"a"}, {"a"}, set()]) == pytest.approx(1 / 3)


def test_gain_uses_one_size_and_never_counts_a_rise_of_entropy() -> None:
    flat, sure = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert information_gain(flat, sure, 2) == 1
    assert information_gain(flat, sure, 4) == 0.5
    assert information_gain(sure, flat, 2) == 0
    assert normalised_entropy(flat, 1) == 0


def test_jsd_of_three_agents_each_certain_of_another_outcome_is_1() -> None:
    assert jsd(np.eye(3)) == pytest.approx(1)
    assert dispersion(np.eye(3)) == pytest.approx(np.log2(3))


def test_jsd_of_three_agents_of_whom_two_agree_by_hand() -> None:
    # p̄ = (2/3, 1/3): H = log2(3) - 2/3 = 0.918 bits; each row is certain; divided by log2(3) = 1.585
    assert jsd(np.array([[1.0, 0], [1, 0], [0, 1]])) == pytest.approx((np.log2(3) - 2 / 3) / np.log2(3))


def test_weighted_jsd_ignores_an_agent_without_weight() -> None:
    p = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    assert weighted_jsd(p, np.array([0.5, 0.5, 0.0])) == pytest.approx(0, abs=1e-12)
    assert weighted_jsd(p, np.array([1.0, 0.0, 0.0])) is None


def test_distance_on_a_scale_knows_near_from_far_and_jsd_does_not() -> None:
    x = np.array([-2.0, -1, 0, 1, 2])
    near, far = np.eye(5)[[0, 1]], np.eye(5)[[0, 4]]
    assert disagreement(near, x) == 0.25
    assert disagreement(far, x) == 1
    assert jsd(near) == jsd(far) == 1
    assert wasserstein(np.eye(5)[0], np.full(5, 0.2), x) == pytest.approx(0.5)


def test_shared_information_by_hand() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.0, 0.5])
    assert shared_information(p, q) == pytest.approx(0.5)  # min .5 · log2(1/.5) over max(1, 1)
    assert shared_information(np.array([1.0, 0]), np.array([0, 1.0])) == 0


def test_cross_entropy_without_smoothing_is_infinite_not_nan_where_the_truth_is_ruled_out() -> None:
    truth, mixture = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert cross_entropy(truth, mixture, 2, 0.0) == float("inf")
    assert cross_entropy(truth, truth, 2, 0.0) == 0
    assert cross_entropy(truth, mixture, 2, 1e-6) == pytest.approx(np.log2(2e6), rel=1e-3)
    assert cross_entropy(truth, mixture, 1, 0.0) == 0


def test_transport_under_a_users_metric() -> None:
    metric = np.array([[0, 1, 4], [1, 0, 4], [4, 4, 0]], float)
    eye = np.eye(3)
    assert transport(eye[0], eye[1], metric) == pytest.approx(0.25)
    assert transport(eye[0], eye[2], metric) == pytest.approx(1)
    assert transport(eye[0], (eye[0] + eye[1]) / 2, metric) == pytest.approx(0.125)


def test_transport_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[eval\]"):
        transport(np.eye(2)[0], np.eye(2)[1], np.array([[0.0, 1], [1, 0]]))


def test_analysis_of_one_agent_leaves_pairs_undefined() -> None:
    p = np.array([[0.5, 0.5]])
    found = analyse(p, np.array([1.0]), p[0], p[0], size=2, delta=1e-6, gold=1, positions=None, metric=None)
    assert (found.kl_forward, found.kl_backward, found.shared_information, found.w1_agents) == (None,) * 4
    assert found.correct is False  # a tie goes to the first label
    assert found.w1_mixture == 0


def test_reliability_forgets_by_lambda_and_holds_without_scores() -> None:
    assert update(0.5, None, decay=0.8) == 0.5
    assert update(0.5, 1.0, decay=0.8) == pytest.approx(0.6)
    assert weights([0.0, 0.0], floor=1e-6).tolist() == [0.5, 0.5]
    assert weights([1.0, 0.0], floor=1e-6)[1] > 0
