"""Prediction sets of a study's answers: learnt on dev alone, and as good as promised on test by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maci.lab.study.report.selective import learn_sets, usual_range
from maci.lab.study.study import Row

LABELS = tuple("abcdef")


def drawn(rng, n: int, part: str) -> list[Row]:
    """Answers of an overconfident method."""
    rows = []
    for i in range(n):
        logits = rng.normal(size=len(LABELS))
        truth, said = (np.exp(k * logits) / np.exp(k * logits).sum() for k in (1.0, 2.0))
        gold = LABELS[int(rng.choice(len(LABELS), p=truth))]
        belief = dict(zip(LABELS, said.tolist(), strict=True))
        rows.append(Row(data="toy", seed=0, part=part, item=f"{part}{i}", method="m", gold=gold, belief=belief))
    return rows


def covered(sets, rows, promised) -> float:
    return float(np.mean([row.gold in sets.of(row.belief, promised) for row in rows]))


def test_coverage_on_new_cases_is_as_promised_by_simulation() -> None:
    rng = np.random.default_rng(0)
    found, expected = [], []
    for _ in range(60):
        sets = learn_sets(drawn(rng, 120, "dev"))
        found.append(covered(sets, drawn(rng, 50, "test"), 0.9))
        n = len(sets.scores)
        expected.append(math.ceil((n + 1) * 0.9) / (n + 1))
    # 60 draws of Beta (sd ≤ .04) with 50 tests each (sd .042): standard error of the mean ≤ .058/√60 ≈ .0075; 4 of them
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.03)


def test_test_rows_teach_nothing_and_halves_of_dev_are_apart() -> None:
    rng = np.random.default_rng(1)
    dev, test = drawn(rng, 120, "dev"), drawn(rng, 40, "test")
    alone, both = learn_sets(dev), learn_sets([*test, *dev])
    assert alone.calibration == both.calibration and alone.scores.tolist() == both.scores.tolist()
    assert alone.calibration.n + len(alone.scores) == 120
    assert 35 < len(alone.scores) < 85


def test_failed_answers_and_those_without_gold_are_left_out() -> None:
    rows = drawn(np.random.default_rng(2), 40, "dev")
    rows[0] = rows[0].model_copy(update={"status": "failed", "belief": None})
    rows[1] = rows[1].model_copy(update={"gold": None})
    sets = learn_sets(rows)
    assert sets.calibration.n + len(sets.scores) == 38


def test_a_truth_nobody_named_counts_as_not_held() -> None:
    rows = [row.model_copy(update={"gold": "unnamed"}) for row in drawn(np.random.default_rng(3), 100, "dev")]
    sets = learn_sets(rows)
    assert np.isinf(sets.scores).all() and math.isinf(sets.limit(0.5))
    assert len(sets.of(rows[0].belief, 0.5)) == len(LABELS)


def test_the_usual_range_is_that_of_the_beta_binomial() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    n, m, c = 79, 200, 0.9
    k = math.ceil((n + 1) * c)
    exact = scipy_stats.betabinom(m, k, n + 1 - k).ppf([0.025, 0.975]) / m
    assert usual_range([n], [m], c, np.random.default_rng(0)) == pytest.approx(exact, abs=0.0101)  # two cases
    assert usual_range([5], [10], 0.99, np.random.default_rng(0)) == (1.0, 1.0)  # too few: everything is in
    assert all(math.isnan(x) for x in usual_range([], [], 0.9, np.random.default_rng(0)))
