"""Conformal sets: scores and quantiles by hand, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maci.errors import InputError
from maci.moderator.conformal import COVERAGES, nonconformity, prediction_set, quantile, sizes, smallest, threshold


def slow_aps(p, y):
    """The p of all outcomes at least as probable as y."""
    return sum(x for x in p if x >= p[y] - 1e-9)


def test_scores_equal_a_plain_loop_on_random_beliefs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.dirichlet(np.ones(rng.integers(1, 7)))
        if rng.random() < 0.5:
            p = np.round(p, 1)  # ties, and sums that are not quite 1
        assert nonconformity(p, "lac") == pytest.approx([1 - x for x in p])
        assert nonconformity(p, "aps") == pytest.approx([min(1.0, slow_aps(p, y)) for y in range(len(p))])


def test_equal_outcomes_have_equal_scores() -> None:
    assert nonconformity(np.array([0.25, 0.5, 0.25]), "aps").tolist() == [1.0, 0.5, 1.0]


def test_the_quantile_is_corrected_for_few_cases() -> None:
    scores = np.arange(1, 20) / 20  # n = 19: k = ⌈20 × coverage⌉
    assert quantile(scores, 0.9) == pytest.approx(18 / 20)
    assert quantile(scores, 0.95) == pytest.approx(19 / 20)
    assert quantile(scores, 0.951) == math.inf  # k = 20 > 19
    assert quantile(scores, 0.05) == pytest.approx(1 / 20)
    assert quantile([], 0.5) == math.inf
    assert quantile([0.1, math.inf], 0.6) == math.inf  # a truth that nobody named
    with pytest.raises(InputError, match="coverage is 1: give a number above 0 and below 1"):
        quantile(scores, 1)


def test_a_set_has_what_is_within_the_limit_and_always_the_lead() -> None:
    p = np.array([0.1, 0.6, 0.3])
    assert prediction_set(p, 0.7, "lac") == [1, 2]
    assert prediction_set(p, 0.1, "lac") == [1]  # 1 − 0.6 > 0.1, and yet
    assert prediction_set(p, 0.9, "aps") == [1, 2]
    assert prediction_set(p, math.inf, "aps") == [1, 2, 0]


def test_a_coverage_between_two_thresholds_takes_the_safer_one() -> None:
    known = {"0.8": 0.3, "0.9": 0.5, "0.95": 0.9}
    assert threshold(known, 0.9) == (0.9, 0.5)
    assert threshold(known, 0.91) == (0.95, 0.9)
    assert threshold(known, 0.96) is None


def drawn(rng, n, outcomes=6):
    """Beliefs of a sharp, biased model, and truths that follow something else."""
    logits = rng.normal(size=(n, outcomes))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    said = np.exp(2.5 * logits + 0.3) / np.exp(2.5 * logits + 0.3).sum(axis=1, keepdims=True)
    gold = [int(rng.choice(outcomes, p=p)) for p in truth]
    return list(said), gold


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_coverage_is_as_stated_by_simulation_though_the_model_is_overconfident(score, coverage) -> None:
    rng = np.random.default_rng(1)
    hits = total = 0
    for _ in range(150):
        p, gold = drawn(rng, 60)
        limit = quantile([nonconformity(q, score)[y] for q, y in zip(p, gold, strict=True)], coverage)
        new, true = drawn(rng, 40)
        hits += sum(y in prediction_set(q, limit, score) for q, y in zip(new, true, strict=True))
        total += 40
    # E = k/(n+1), k = ⌈61 c⌉ for continuous scores: .803 and .902. The mean of 150 Beta(k, 61 − k) draws has a standard error of
    # √(c(1−c)/62/150) ≈ .0041 (.0031), and 6,000 tests add √(c(1−c)/6000) ≈ .0052 (.0039): 4 of both together is .026 (.020).
    exact = math.ceil(61 * coverage) / 61
    assert hits / total >= exact - 0.026
    if score == "lac":  # aps without its random part, and the lead that is always in, may only cover more
        assert hits / total <= exact + 0.03


def test_the_smaller_sets_are_chosen_and_too_few_cases_choose_nothing() -> None:
    p, gold = drawn(np.random.default_rng(2), 80)
    found = {score: sizes(p, gold, 0.9, score) for score in ("lac", "aps")}
    assert smallest(p, gold) == min(found, key=lambda score: found[score])
    assert math.isnan(sizes(p[:5], gold[:5], 0.9, "lac"))
    assert smallest(p[:5], gold[:5]) == "lac"


def test_a_calibration_keeps_thresholds_that_can_be_compared() -> None:
    assert list(COVERAGES) == sorted(COVERAGES) and 0.9 in COVERAGES
