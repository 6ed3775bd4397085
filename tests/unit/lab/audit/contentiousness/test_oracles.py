"""The statistics of the dial's audit against SciPy and scikit-learn, on random data."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from maci.lab.audit.contentiousness.trends import (
    difference,
    macro_auc,
    permuted,
    resampled,
    spearman_of,
    spearman_within,
)
from maci.lab.audit.contentiousness.wording import fit

stats = pytest.importorskip("scipy.stats", reason="needs the extra eval: pip install '.[eval]'")
linear = pytest.importorskip("sklearn.linear_model", reason="needs the extra eval: pip install '.[eval]'")
metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra eval: pip install '.[eval]'")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("c", [0.3, 10.0])
def test_the_classifier_is_scikit_learns(seed: int, c: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, 12)), np.concatenate([np.arange(4), rng.integers(0, 4, 56)])
    x[:, :3] += y[:, None] * 0.5
    theirs = linear.LogisticRegression(C=c, tol=1e-8, max_iter=5000).fit(x, y)
    ours = fit(x, y, 4, c=c)
    assert ours.weights == pytest.approx(theirs.coef_, abs=2e-4)
    assert ours.probabilities(x) == pytest.approx(theirs.predict_proba(x), abs=2e-4)


def test_more_features_than_rows_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 400)), np.arange(30) % 5
    theirs = linear.LogisticRegression(C=1.0, tol=1e-8, max_iter=5000).fit(x, y)
    assert fit(x, y, 5).probabilities(x) == pytest.approx(theirs.predict_proba(x), abs=2e-4)


@pytest.mark.parametrize("seed", range(6))
def test_macro_auc_is_scikit_learns_in_one_fold_and_their_mean_in_several(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.tile(np.arange(5), 12)
    scores = rng.dirichlet(np.ones(5), 60).round(1)  # ties
    scores /= scores.sum(axis=1, keepdims=True)
    whole = float(macro_auc(scores, y, np.zeros(60))(np.ones((1, 60)))[0])
    assert whole == pytest.approx(metrics.roc_auc_score(y, scores, multi_class="ovr", average="macro"))
    folds = np.repeat(np.arange(4), 15)
    each = [metrics.roc_auc_score(y[folds == f], scores[folds == f], multi_class="ovr") for f in range(4)]
    assert float(macro_auc(scores, y, folds)(np.ones((1, 60)))[0]) == pytest.approx(np.mean(each))


@pytest.mark.parametrize("seed", range(4))
def test_a_resample_counts_rows_as_often_as_they_were_drawn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, scores = np.tile(np.arange(3), 10), rng.dirichlet(np.ones(3), 30)
    drawn = np.concatenate([np.arange(6), rng.integers(0, 30, 24)])
    ours = float(resampled(macro_auc(scores, y, np.zeros(30)), 30)(drawn[None])[0])
    assert ours == pytest.approx(metrics.roc_auc_score(y[drawn], scores[drawn], multi_class="ovr"))


def test_a_difference_is_of_the_two_parts_drawn_together() -> None:
    rng = np.random.default_rng(1)
    y, first, second = np.tile(np.arange(3), 6), rng.dirichlet(np.ones(3), 18), rng.dirichlet(np.ones(3), 18)
    both = difference(macro_auc(first, y, np.zeros(18)), macro_auc(second, y, np.zeros(18)), 18)
    expected = metrics.roc_auc_score(y, first, multi_class="ovr") - metrics.roc_auc_score(y, second, multi_class="ovr")
    assert float(both(np.ones((1, 36)))[0]) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_spearman_is_scipys_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    level, value = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 40), rng.normal(size=40).round(1)
    drawn = rng.integers(0, 40, (3, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [stats.spearmanr(level[i], value[i]).statistic for i in drawn]
    assert spearman_of(level, value)(drawn) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_spearman_within_blocks_is_scipys_in_each_and_nought_where_nothing_varies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.permutation(np.repeat(np.arange(7), [5, 5, 5, 4, 3, 5, 1]))
    level, value = rng.permutation(28) / 28, rng.normal(size=28).round(1)
    value[blocks == 5] = 0.3
    expected = [stats.spearmanr(level[at], value[at]).statistic for b in range(5) for at in [blocks == b]]
    found = dict(
        zip(
            [b for b in dict.fromkeys(blocks.tolist()) if b != 6],
            spearman_within(value, blocks.tolist())(level),
            strict=True,
        )
    )
    assert [found[b] for b in range(5)] == pytest.approx(expected) and found[5] == 0


def test_exchanging_levels_within_blocks_is_the_count_over_all_exchanges() -> None:
    rng = np.random.default_rng(5)
    level, value, blocks = np.tile([0.1, 0.5, 0.9], 4), rng.normal(size=12), np.repeat(np.arange(4), 3)
    value += level
    # the sum of level × value has, within blocks, the same order as any covariance; all 6⁴ exchanges, counted by hand
    middle = np.repeat(level.reshape(4, 3).mean(axis=1), 3)

    def statistic(x: np.ndarray) -> float:
        return float(((x - middle) * value).sum())

    orders = list(itertools.permutations(range(3)))
    reached = [
        abs(statistic(np.concatenate([level[3 * b + np.array(o)] for b, o in enumerate(chosen)])))
        >= abs(statistic(level)) - 1e-12
        for chosen in itertools.product(orders, repeat=4)
    ]
    found = permuted(statistic, level, np.arange(12), blocks.tolist(), rng, 4000)
    assert found == pytest.approx(np.mean(reached), abs=0.03)


def test_rows_of_one_debate_keep_one_level_when_levels_are_exchanged() -> None:
    seen: set[tuple[float, ...]] = set()

    def statistic(x: np.ndarray) -> float:
        seen.add(tuple(x.tolist()))
        return 1.0

    labels, debates = np.array([0.1, 0.1, 0.9, 0.9]), ["one", "one", "two", "two"]
    assert permuted(statistic, labels, debates, ["a"] * 4, np.random.default_rng(0), 50) == 1.0
    assert seen == {(0.1, 0.1, 0.9, 0.9), (0.9, 0.9, 0.1, 0.1)}
