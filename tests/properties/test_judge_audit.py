"""Statistics of the judge audit against independent implementations: SciPy, scikit-learn, `krippendorff`, plain loops."""

from __future__ import annotations

import math
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from maci.calibration.stats.paired import auc, partial, pearson, ranks, spearman
from maci.calibration.stats.resampling import Sampling
from maci.controller.inputs import Seat
from maci.lab.audit.judges import agreement, swaps
from maci.lab.audit.judges import swaps as bias
from maci.lab.audit.judges.agreement import Ratings, panel_mean
from planted_judges import subject

stats = pytest.importorskip("scipy.stats", reason="needs the extra `eval`")
metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra `eval`")

GRID = st.integers(0, 20).map(lambda k: k / 20)  # as judges score: few values, many ties


def columns(n_min: int = 3, n_max: int = 25, k: int = 2):
    return st.integers(n_min, n_max).flatmap(lambda n: arrays(float, (k, n), elements=GRID))


@st.composite
def gappy(draw, judges=(2, 5), items=(3, 20)):
    """Scores with some missing."""
    shape = draw(st.integers(*judges)), draw(st.integers(*items))
    scores = draw(arrays(float, shape, elements=GRID))
    return np.where(draw(arrays(bool, shape, elements=st.integers(0, 4).map(lambda x: x == 0))), np.nan, scores)


def rated(scores, *, families=None, words=None, agents=None, debates=None, **more) -> Ratings:
    judges, n = scores.shape
    items = tuple(
        subject(
            str(i),
            debate=debates[i] if debates else str(i),
            agent=agents[i] if agents else "a",
            family=families[i] if families else "x",
            words=words[i] if words else 10,
        )
        for i in range(n)
    )
    seats = tuple(Seat(f"j{k}", f"f{k}") for k in range(judges))
    return Ratings(judges=seats, items=items, plain=scores, **more)


@given(columns(1, 25, 1))
def test_ranks_are_scipy_s(x):
    assert ranks(x)[0].tolist() == stats.rankdata(x[0]).tolist()


@given(columns())
def test_pearson_and_spearman_are_scipy_s(xy):
    x, y = xy
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    assert pearson(x[None], y[None])[0] == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)
    assert spearman(x[None], y[None])[0] == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-9)


@given(gappy(judges=(2, 2)))
def test_missing_scores_are_left_out_pair_by_pair(xy):
    x, y = xy
    both = np.isfinite(x) & np.isfinite(y)
    assume(both.sum() >= 3 and np.ptp(x[both]) > 0 and np.ptp(y[both]) > 0)
    assert spearman(x[None], y[None])[0] == pytest.approx(stats.spearmanr(x[both], y[both])[0], abs=1e-9)


@given(columns(5, 25, 3))
def test_the_partial_rank_correlation_is_that_of_residuals(xyz):
    x, y, z = (stats.rankdata(row) for row in xyz)
    assume(min(np.ptp(x), np.ptp(y), np.ptp(z)) > 0)
    design = np.column_stack([np.ones(len(z)), z])
    rest_x, rest_y = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y))
    assume(np.std(rest_x) > 1e-6 and np.std(rest_y) > 1e-6)
    found = partial(xyz[0][None], xyz[1][None], xyz[2][None])[0]
    assert found == pytest.approx(stats.pearsonr(rest_x, rest_y)[0], abs=1e-7)


@given(columns(2, 25, 2))
def test_auc_is_scikit_learn_s(xy):
    score, label = xy[0], (xy[1] > 0.5).astype(float)
    assume(0 < label.sum() < len(label))
    assert auc(score[None], label[None])[0] == pytest.approx(metrics.roc_auc_score(label, score), abs=1e-12)


@given(gappy())
def test_alpha_is_krippendorff_s(scores):
    found = agreement.alpha_of(scores)(np.arange(scores.shape[1])[None])[0]
    paired = np.isfinite(scores).sum(axis=0) >= 2
    values = scores[:, paired][np.isfinite(scores[:, paired])]
    if len(values) < 2 or np.ptp(values) == 0:
        assert math.isnan(found)
        return
    expected = krippendorff.alpha(reliability_data=scores, level_of_measurement="interval")
    assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20)
@given(gappy(judges=(2, 3), items=(4, 12)), st.integers(0, 5))
def test_alpha_of_resamples_is_alpha_of_each(scores, seed):
    n = scores.shape[1]
    drawn = np.random.default_rng(seed).integers(0, n, (5, n))
    for row, found in zip(drawn, agreement.alpha_of(scores)(drawn), strict=True):
        assert found == pytest.approx(agreement.alpha_of(scores[:, row])(np.arange(n)[None])[0], abs=1e-9, nan_ok=True)


@settings(max_examples=20)
@given(gappy(judges=(2, 4), items=(6, 15)), st.booleans())
def test_pairwise_correlations_are_the_mean_of_scipy_s(scores, by_rank):
    one = stats.spearmanr if by_rank else stats.pearsonr
    found = []
    for x, y in combinations(scores, 2):
        both = np.isfinite(x) & np.isfinite(y)
        if both.sum() >= 2 and np.ptp(x[both]) > 0 and np.ptp(y[both]) > 0:
            found.append(one(x[both], y[both])[0])
    assume(found)
    sampling = Sampling(tuple(range(scores.shape[1])), resamples=20)
    estimate = agreement.pairwise(scores, sampling, by_rank=by_rank)
    assert estimate.value == pytest.approx(np.mean(found), abs=1e-7)


def test_intervals_of_correlations_are_the_quantiles_of_resampled_ones():
    rng = np.random.default_rng(3)
    quality = rng.uniform(size=60)
    scores = np.stack([quality + rng.normal(0, 0.2, 60) for _ in range(3)])
    estimate = agreement.pairwise(scores, Sampling(tuple(range(60)), seed=1, resamples=4000), by_rank=True)

    def mean_rho(rows):
        return np.mean([stats.spearmanr(x[rows], y[rows])[0] for x, y in combinations(scores, 2)])

    drawn = [mean_rho(rng.integers(0, 60, 60)) for _ in range(1500)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert estimate.value == pytest.approx(mean_rho(np.arange(60)))
    assert estimate.low == pytest.approx(low, abs=0.05) and estimate.high == pytest.approx(high, abs=0.05)


@given(gappy(judges=(3, 4), items=(12, 20)), st.data())
def test_same_family_bias_is_a_difference_of_differences(scores, data):
    n = scores.shape[1]
    families = data.draw(st.lists(st.sampled_from(["f0", "g"]), min_size=n, max_size=n))
    found = bias.own_family(rated(scores, families=families), 0, Sampling(tuple(range(n)), resamples=20))
    own, rest = [], []
    for i in range(n):
        others = [x for x in scores[1:, i] if np.isfinite(x)]
        if np.isfinite(scores[0, i]) and others:
            (own if families[i] == "f0" else rest).append(scores[0, i] - sum(others) / len(others))
    if len(own) < 5 or len(rest) < 5:
        assert not found.defined and found.how
    else:
        assert found.value == pytest.approx(np.mean(own) - np.mean(rest), abs=1e-9)


@given(gappy(judges=(2, 2), items=(2, 20)))
def test_order_swap_counts_what_a_loop_counts(xy):
    x, y = xy
    gaps = [abs(a - b) for a, b in zip(x, y, strict=True) if np.isfinite(a) and np.isfinite(b)]
    found = swaps.order_swap(x, y, Sampling(tuple(range(len(x))), resamples=20))
    if not gaps:
        assert not found.mean.defined and not found.close.defined
        return
    assert found.mean.value == pytest.approx(np.mean(gaps), abs=1e-12)
    # on a grid of twentieths a gap of exactly 0.05 is not "below 0.05"
    assert found.close.value == pytest.approx(np.mean([round(20 * g) < 1 for g in gaps]))


@given(st.lists(arrays(float, (1, 8), elements=GRID), min_size=2, max_size=4))
def test_self_consistency_is_the_pooled_standard_deviation(draws):
    found = bias.within(rated(draws[0], again=tuple(draws[1:])), 0, Sampling(tuple(range(8)), resamples=20))
    pooled = math.sqrt(np.mean([np.var([d[0, i] for d in draws], ddof=1) for i in range(8)]))
    assert found.value == pytest.approx(pooled, abs=1e-12)


@given(st.data())
def test_winner_flips_are_what_a_loop_finds(data):
    n = 24
    scores = data.draw(arrays(float, (2, n), elements=st.integers(0, 50).map(lambda k: k / 50)))
    agents, debates = ["ab"[i % 2] for i in range(n)], [str(i // 4) for i in range(n)]
    (found,) = swaps.judge_swap(rated(scores, agents=agents, debates=debates))
    forgiven = counted = 0
    for d in range(6):
        leads = []
        for row in scores:
            mean = {a: np.mean([row[i] for i in range(n) if debates[i] == str(d) and agents[i] == a]) for a in "ab"}
            gap = mean["a"] - mean["b"]
            leads.append(0 if abs(gap) <= 0.02 + 1e-9 else 1 if gap > 0 else -1)
        forgiven += leads[0] * leads[1] == -1
        counted += leads[0] != leads[1]
    assert (found.forgiven.value, found.counted.value) == pytest.approx((forgiven / 6, counted / 6))
    assert found.forgiven.n == 6


@given(gappy())
def test_the_panel_s_mean_leaves_out_who_abstained(scores):
    found = panel_mean(scores)
    for i, column in enumerate(scores.T):
        given_ = column[np.isfinite(column)]
        assert found[i] == pytest.approx(given_.mean() if len(given_) else math.nan, nan_ok=True)


@given(columns(2, 20, 1))
def test_the_spread_is_numpy_s(x):
    found = agreement.spread(x[0], Sampling(tuple(range(x.shape[1])), resamples=20))
    assert found.value == pytest.approx(np.std(x[0], ddof=1), abs=1e-12)
