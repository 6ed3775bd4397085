"""Scores of single answers by hand and against scikit-learn; sets of them; nothing undefined that reads as a number."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, top_k_accuracy_score

from maci.calibration.stats import wilson
from maci.calibration.temperature import FLOOR, ece
from maci.errors import BeliefError, InputError
from maci.lab.study.metrics import BINS, ece_of, per_case, reliability, score
from maci.lab.study.report.conditions import agreement, strata
from maci.lab.study.report.estimates import ALIKE, Estimates

LABELS = ("a", "b", "c", "d", "e")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def drawn():
    """300 beliefs over five outcomes and their gold, drawn from them: (n, 5), (n,)."""
    chance = np.random.default_rng(1)
    p = chance.dirichlet(np.ones(5), 300)
    return p, np.array([chance.choice(5, p=row) for row in p])


@pytest.fixture(scope="module")
def scored(drawn):
    p, gold = drawn
    return [score(dict(zip(LABELS, row, strict=True)), LABELS[y]) for row, y in zip(p.tolist(), gold, strict=True)]


# one answer


def test_a_wrong_answer_by_hand():
    s = score({"a": 0.5, "b": 0.3, "c": 0.2}, "c")
    assert (s.answer, s.confidence, s.correct, s.top3, s.rank, s.p_gold) == ("a", 0.5, False, True, 3.0, 0.2)
    assert s.reciprocal_rank == pytest.approx(1 / 3)
    assert s.brier == pytest.approx(0.25 + 0.09 + 0.64)
    assert s.brier_top == pytest.approx(0.25)
    assert s.nll == pytest.approx(-math.log(0.2))


def test_the_fourth_outcome_is_not_among_the_first_three():
    s = score({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}, "d")
    assert (s.top3, s.rank, s.reciprocal_rank) == (False, 4.0, 0.25)


def test_a_gold_outcome_never_named_is_wrong_and_costs_one_more_in_brier():
    s = score({"a": 0.5, "other": 0.5}, "gout")
    assert (s.correct, s.top3, s.rank, s.reciprocal_rank, s.p_gold) == (False, False, None, 0.0, 0.0)
    assert s.brier == pytest.approx(0.25 + 0.25 + 1)
    assert s.nll == pytest.approx(-math.log(FLOOR))


def test_naming_an_outcome_with_zero_scores_as_not_naming_it():
    assert score({"a": 1.0, "gout": 0.0}, "gout") == score({"a": 1.0}, "gout")


def test_of_equals_the_first_in_order_leads_and_the_rank_is_their_mean():
    first, second = score({"a": 0.5, "b": 0.5}, "a"), score({"a": 0.5, "b": 0.5}, "b")
    assert (first.correct, second.correct) == (True, False)
    assert first.rank == second.rank == 1.5
    quarter = {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}
    assert [score(quarter, y).top3 for y in quarter] == [True, True, True, False]
    assert {score(quarter, y).rank for y in quarter} == {2.5}
    # places 2, 3 and 4 are shared: rank 3
    assert score({"a": 0.2, "b": 0.4, "c": 0.2, "d": 0.2}, "d").rank == 3.0


def test_without_gold_nothing_about_truth_is_said():
    s = score({"a": 0.5, "b": 0.5}, None)
    assert {s.correct, s.top3, s.rank, s.reciprocal_rank, s.p_gold, s.brier, s.brier_top, s.nll} == {None}


def test_what_is_not_a_belief_is_refused():
    with pytest.raises(BeliefError, match="empty"):
        score({}, "a")
    with pytest.raises(BeliefError, match="sum to"):
        score({"a": 0.5, "b": 0.3}, "a")
    with pytest.raises(BeliefError, match="below 0"):
        score({"a": 1.5, "b": -0.5}, "a")


FEW = Estimates(resamples=100)
METRICS = ("acc1", "acc3", "mrr", "ece", "ece_adaptive", "brier", "brier_top", "nll", "mad", "partisan_gap")


def value(metric, scored):
    return FEW.metric(metric, scored, range(len(scored))).value


SCALE = {"-2": -2.0, "-1": -1.0, "0": 0.0, "1": 1.0, "2": 2.0}


def test_an_ordered_answer_by_hand():
    s = score({"-2": 0.5, "0": 0.25, "1": 0.25}, "-2", SCALE, {"D": -1.5, "R": 0.5})
    assert s.correct is True
    assert s.expected == pytest.approx(-0.75)
    assert s.from_centre == pytest.approx(0.75)
    assert s.from_raters == pytest.approx({"D": 0.75, "R": 1.25})
    assert s.partisan_gap == pytest.approx(0.5)


def test_the_centre_is_the_middle_of_the_scale_not_zero():
    assert score({"1": 1.0}, None, {"1": 1, "3": 3, "5": 5}).from_centre == 2.0


def test_the_gap_needs_two_raters_and_is_their_distance_on_the_side_of_one():
    assert score({"0": 1.0}, None, SCALE, {"D": 1.0}).partisan_gap is None
    assert score({"2": 1.0}, None, SCALE, {"D": -1.0, "R": 2.0}).partisan_gap == 3.0


def test_an_outcome_off_the_scale_and_raters_without_a_scale_are_refused():
    with pytest.raises(BeliefError, match="'other' has no position"):
        score({"0": 0.5, "other": 0.5}, None, SCALE)
    with pytest.raises(InputError, match="no positions"):
        score({"a": 1.0}, "a", None, {"D": 1.0})


# sets


def test_sets_agree_with_scikit_learn(drawn, scored):
    p, gold = drawn
    assert value("acc1", scored) == pytest.approx(np.mean(p.argmax(1) == gold))
    assert value("acc3", scored) == pytest.approx(top_k_accuracy_score(gold, p, k=3, labels=range(5)))
    assert value("brier", scored) == pytest.approx(brier_score_loss(gold, p, labels=range(5), scale_by_half=False))
    assert value("brier_top", scored) == pytest.approx(brier_score_loss(p.argmax(1) == gold, p.max(1)))
    assert value("nll", scored) == pytest.approx(log_loss(gold, p, labels=range(5)))
    ranks = 1 + (p > p[np.arange(len(p)), gold][:, None]).sum(1)
    assert value("mrr", scored) == pytest.approx(np.mean(1 / ranks))


def test_calibration_error_is_that_of_calibration(drawn, scored):
    p, gold = drawn
    assert value("ece", scored) == pytest.approx(ece(list(p), gold.tolist()), abs=1e-15)
    assert math.isnan(ece([], []))


def test_calibration_error_by_hand():
    # bins of 1/15: 0.90 is in [0.867, 0.933), 0.60 in [0.6, 0.667); gaps 0.9·4 − 3 and 0.6·2 − 0, over 6
    confidence, right = [0.9] * 4 + [0.6] * 2, [1, 1, 1, 0, 0, 0]
    statistic = ece_of(confidence, right)
    assert statistic(np.arange(6)[None])[0] == pytest.approx((0.6 + 1.2) / 6)
    # a resample of only the first four, and one of only the last two
    resampled = statistic(np.array([[0, 1, 2, 3, 3, 3], [4, 5, 4, 5, 4, 5]]))
    assert resampled == pytest.approx([(5.4 - 3) / 6, 0.6])


def slow_equal_mass(confidence, right, bins):
    """Sort, cut in equal pieces: for distinct confidences whose number divides into bins."""
    order = np.argsort(confidence)
    parts = np.split(np.asarray(confidence)[order] - np.asarray(right, dtype=float)[order], bins)
    return sum(abs(part.sum()) for part in parts) / len(confidence)


def test_adaptive_calibration_error_cuts_equal_pieces():
    chance = rng()
    confidence, right = chance.uniform(0.2, 1, 150), chance.uniform(size=150) < 0.6
    found = ece_of(confidence, right, adaptive=True)(np.arange(150)[None])[0]
    assert found == pytest.approx(slow_equal_mass(confidence, right, 15))
    assert found != pytest.approx(ece_of(confidence, right)(np.arange(150)[None])[0])


def test_adaptive_bins_do_not_depend_on_the_order_of_cases_and_are_found_anew_in_each_resample():
    chance = rng()
    confidence = chance.integers(4, 11, 200) / 10
    right = chance.uniform(size=200) < 0.5
    statistic = ece_of(confidence, right, adaptive=True)
    assert statistic(chance.permutation(200)[None])[0] == pytest.approx(statistic(np.arange(200)[None])[0])
    picked = chance.integers(0, 200, (3, 200))
    alone = [ece_of(confidence[i], right[i], adaptive=True)(np.arange(200)[None])[0] for i in picked]
    assert statistic(picked) == pytest.approx(alone)


def test_equal_confidences_share_a_bin():
    # one confidence: one bin, so errors cancel within it
    assert ece_of([0.5] * 8, [1, 0] * 4, adaptive=True)(np.arange(8)[None])[0] == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_the_metric_of_nothing_is_undefined(metric):
    assert math.isnan(value(metric, []))
    for found in (FEW.metric(metric, [], []), FEW.difference(metric, [], [], [])):
        assert math.isnan(found.value) and math.isnan(found.low) and math.isnan(found.high) and found.n == 0


def test_cases_without_the_metric_are_not_counted():
    mixed = [score({"a": 0.6, "b": 0.4}, "a"), score({"a": 0.6, "b": 0.4}, None), score({"a": 0.6, "b": 0.4}, "b")]
    found = FEW.metric("acc1", mixed, range(3))
    assert (found.value, found.n) == (0.5, 2)
    assert math.isnan(value("mad", mixed)) and FEW.metric("mad", mixed, range(3)).n == 0


def test_distance_from_a_rater_is_a_metric():
    cases = [score({"0": 1.0}, None, SCALE, {"D": d}) for d in (1.0, 2.0)]
    assert value("mad:D", cases) == 1.5
    assert math.isnan(value("mad:R", cases))


@pytest.mark.parametrize("of", [lambda s: value("f1", s), lambda s: per_case("ece", s), lambda s: value("f1", [])])
def test_an_unknown_metric_is_refused(of, scored):
    with pytest.raises(InputError, match="choose one of"):
        of(scored)


@pytest.mark.parametrize("metric", ["acc1", "mrr", "ece", "ece_adaptive", "brier"])
def test_an_interval_holds_its_value_and_is_repeatable(metric, scored):
    found = Estimates(resamples=2000).metric(metric, scored, range(300))
    assert found.value == pytest.approx(value(metric, scored))
    assert found.low < found.value < found.high and found.n == 300 and found.how == "BCa"
    assert Estimates(resamples=2000).metric(metric, scored, range(300)) == found
    assert Estimates(seed=5, resamples=2000).metric(metric, scored, range(300)) != found


def test_accuracy_without_a_miss_has_the_wilson_interval():
    found = FEW.metric("acc1", [score({"a": 1.0}, "a")] * 20, range(20))
    assert (found.low, found.high) == (wilson(20, 20).low, 1.0)


def test_seeds_of_one_case_widen_the_interval(scored):
    thrice = [s for s in scored[:100] for _ in range(3)]
    cases = [i for i in range(100) for _ in range(3)]
    apart, together = (Estimates().metric("brier", thrice, by) for by in (range(300), cases))
    # three copies of a case: √3 too narrow if taken for three cases
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(math.sqrt(3), rel=0.05)
    assert together.how == "BCa, 100 clusters"
    flat = [score({"a": 0.5, "b": 0.5}, "a")] * 300
    apart, together = (Estimates().difference("brier", thrice, flat, by) for by in (range(300), cases))
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(math.sqrt(3), rel=0.05)


def test_a_comparison_is_paired(scored):
    worse = [score({"a": 0.5, "b": 0.5}, "a")] * 10
    better = [score({"a": 0.5 + 0.01 * k, "b": 0.5 - 0.01 * k}, "a") for k in range(1, 11)]
    found = FEW.difference("nll", better, worse, range(10))
    assert found.value == pytest.approx(value("nll", better) - value("nll", worse)) and found.high < 0
    for metric in ("ece", "ece_adaptive"):
        same = FEW.difference(metric, scored, scored, range(300))
        assert same.value == 0 and same.how == ALIKE  # unpaired resamples would differ


def test_the_bars_of_a_reliability_diagram_add_up_to_the_calibration_error(scored):
    bars = reliability(scored)
    assert len(bars) == BINS and sum(b.n for b in bars) == 300
    assert all(b.upper == c.lower for b, c in pairwise(bars))
    total = sum(b.n / 300 * abs(b.confidence - b.accuracy.value) for b in bars if b.n)
    assert total == pytest.approx(value("ece", scored))
    full = max(bars, key=lambda b: b.n)
    assert full.lower <= full.confidence < full.upper
    assert full.accuracy == wilson(round(full.accuracy.value * full.n), full.n)
    empty = bars[0]  # five outcomes: the top one has at least 0.2
    assert empty.n == 0 and math.isnan(empty.confidence) and math.isnan(empty.accuracy.value)
    assert [b.n for b in reliability([])] == [0] * BINS


def test_strata_are_thirds():
    names, cuts = strata([x / 30 for x in range(30)])
    assert [names.count(x) for x in ("low", "middle", "high")] == [10, 10, 10]
    assert names[0] == "low" and names[-1] == "high" and cuts == pytest.approx((29 / 90, 58 / 90))
    assert strata([0.5] * 4)[0] == ("high",) * 4  # equals are never split


def test_agreement_by_hand():
    found = agreement([0.2, 0.4, 0.6])
    assert (found.n, found.value, found.low, found.high) == (3, *map(pytest.approx, (0.4, 0.3, 0.5)))
    assert agreement([]).n == 0 and agreement([]).value is None


def test_a_calibrated_belief_changes_confidence_and_losses_and_no_rank():
    belief, soft = {"a": 0.6, "b": 0.4, "c": 0.0}, {"a": 0.5, "b": 0.375, "c": 0.125}
    plain, found = score(belief, "b"), score(belief, "b", calibrated=soft)
    assert (found.answer, found.rank, found.top3) == (plain.answer, plain.rank, plain.top3)
    assert found.confidence == 0.5 and found.brier_top == 0.25 and found.p_gold == 0.375
    assert score(belief, "c", calibrated=soft).rank is None
