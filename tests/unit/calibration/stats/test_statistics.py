"""Intervals and tests beside SciPy's, and by hand where SciPy has none."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from maci.calibration.stats import (
    FDR,
    RESAMPLES,
    benjamini_hochberg,
    bootstrap,
    bootstrap_mean,
    mcnemar,
    mean_of,
    multiplied,
    ratio_of,
    wilcoxon,
    wilson,
)
from maci.calibration.stats.sums import Draws, bootstrap_all, bootstrap_sums, ratio_sums
from maci.errors import InputError
from maci.lab.study.metrics import ece_of, ece_sums


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def scipy_bootstrap(data, statistic, method="BCa", resamples=RESAMPLES, level=0.95, seed=0, **more):
    found = stats.bootstrap(
        data, statistic, method=method, n_resamples=resamples, confidence_level=level, rng=rng(seed), **more
    )
    return found.confidence_interval


# Wilson


@pytest.mark.parametrize(("k", "n", "level"), [(0, 10, 0.95), (10, 10, 0.95), (3, 7, 0.9), (61, 1500, 0.99)])
def test_wilson_is_that_of_scipy(k, n, level):
    theirs = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    ours = wilson(k, n, level)
    assert (ours.value, ours.n, ours.how) == (k / n, n, "Wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_proportion_of_nothing_is_undefined():
    found = wilson(0, 0)
    assert math.isnan(found.value) and math.isnan(found.low) and math.isnan(found.high) and found.n == 0


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_counts_that_cannot_be_are_refused(k, n):
    with pytest.raises(InputError, match="successes is"):
        wilson(k, n)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_is_a_share(level):
    with pytest.raises(InputError, match="level is"):
        wilson(1, 2, level)


# bootstrap


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("draw", [lambda r: r.normal(size=40), lambda r: r.exponential(size=75), lambda r: r.random(9)])
def test_with_the_same_resamples_the_interval_is_that_of_scipy(method, draw):
    x = draw(rng(7))
    name = {"bca": "BCa", "percentile": "percentile"}[method]
    theirs = scipy_bootstrap((x,), np.mean, name, vectorized=True)
    ours = bootstrap(mean_of(x), len(x), rng(), method=method)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert (ours.value, ours.n, ours.how) == (pytest.approx(x.mean()), len(x), name)


def test_resamples_drawn_in_many_batches_are_the_same(monkeypatch):
    x = rng(3).exponential(size=30)
    whole = bootstrap(mean_of(x), 30, rng(), resamples=500)
    monkeypatch.setattr("maci.calibration.stats.resampling.CELLS", 100)
    assert bootstrap(mean_of(x), 30, rng(), resamples=500) == whole


# bootstrap of functions of sums


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("draw", [lambda r: r.normal(size=40), lambda r: r.exponential(size=75), lambda r: r.random(9)])
def test_a_mean_from_sums_is_that_of_scipy(method, draw):
    x = np.round(1024 * draw(rng(7))) / 1024  # sums without rounding, so that ties are ties for SciPy too
    name = {"bca": "BCa", "percentile": "percentile"}[method]
    theirs = scipy_bootstrap((x,), np.mean, name, vectorized=True)
    ours = bootstrap_sums(ratio_sums(x, np.ones(len(x))), Draws(), method=method)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert (ours.value, ours.n, ours.how) == (pytest.approx(x.mean()), len(x), name)


def test_ratios_and_differences_from_sums_are_those_of_scipy():
    x, y, z = (rng(i).gamma(2, size=50) for i in (1, 2, 3))
    ratio, less = bootstrap_all(
        [ratio_sums(x, y), ratio_sums(x, np.ones(len(x))).less(ratio_sums(z, np.ones(len(z))))], Draws()
    )
    theirs = scipy_bootstrap((x, y), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, vectorized=True)
    assert (ratio.low, ratio.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    theirs = scipy_bootstrap((x - z,), np.mean, vectorized=True)
    assert (less.low, less.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.parametrize("sizes", [[1] * 90, [3] * 40, [1, 2, 3, 4] * 10])
def test_a_calibration_error_from_sums_is_the_general_one_over_whole_cases(sizes):
    case = np.repeat(np.arange(len(sizes)), sizes)
    confidence = rng(1).uniform(0.3, 1, len(case))
    right = (rng(2).uniform(size=len(case)) < confidence - 0.1).astype(float)
    general = bootstrap(ece_of(confidence, right), len(case), rng(), groups=case.tolist(), resamples=700)
    ours = bootstrap_sums(ece_sums(confidence, right, case, len(sizes)), Draws(0, 700), rows=len(case))
    assert (ours.value, ours.low, ours.high) == pytest.approx((general.value, general.low, general.high), abs=1e-12)
    assert (ours.n, ours.how) == (general.n, general.how)


def test_undefined_ratios_of_sums_are_left_out_and_counted_as_in_general():
    x, y = [10, 20, 30, 40, 50], [1, 0, 0, 0, 0]
    assert bootstrap_sums(ratio_sums(x, y), Draws(0, 1000)) == bootstrap(ratio_of(x, y), 5, rng(), resamples=1000)
    assert math.isnan(bootstrap_sums(ratio_sums([1, 2], [0, 0]), Draws()).value)
    nothing = bootstrap_sums(ratio_sums([], np.ones(len([]))), Draws())
    assert (nothing.n, nothing.how) == (0, "no cases") and math.isnan(nothing.value)
    assert bootstrap_sums(ratio_sums([0.4], np.ones(len([0.4]))), Draws()).how == "point: no resample differs"


@pytest.mark.parametrize("cells", [("_KEPT", 0), ("_READY", 0), ("resampling.CELLS", 100)])
def test_however_few_resamples_are_held_at_once_the_sums_are_the_same(monkeypatch, cells):
    x = rng(3).integers(0, 9, (30, 2)).astype(float)
    whole = Draws(5, 500).sums(x)
    monkeypatch.setattr(f"maci.calibration.stats.sums.{cells[0]}", cells[1])
    some = Draws(5, 500)
    assert (some.sums(x) == whole).all() and (some.sums(x) == whole).all()


@pytest.mark.parametrize("values", [np.arange(40.0), np.arange(40.0) / 7, np.full(40, 2.0**20)])
def test_sums_are_those_of_the_drawn_cases_in_whichever_precision(values):
    """Whole numbers are multiplied in single precision: what would not be exact there is not."""
    draws, cases = rng(5).integers(0, 40, (300, 40)), values[:, None]
    assert Draws(5, 300).sums(cases).ravel().tolist() == pytest.approx(values[draws].sum(axis=1).tolist(), rel=1e-14)
    whole = values % 1 == 0
    if whole.all():
        assert Draws(5, 300).sums(cases).ravel().tolist() == values[draws].sum(axis=1).tolist()


def test_bca_is_not_the_percentile_interval_on_skewed_data():
    x = rng(3).exponential(size=30) ** 2
    bca, percentile = (bootstrap(mean_of(x), 30, rng(), method=m) for m in ("bca", "percentile"))
    assert bca.low > percentile.low and bca.high > percentile.high  # moved towards the long tail


def test_a_ratio_of_sums_is_that_of_scipy():
    x, y = rng(1).gamma(2, size=50), rng(2).gamma(3, size=50)
    theirs = scipy_bootstrap((x, y), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, vectorized=True)
    ours = bootstrap(ratio_of(x, y), 50, rng())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert ours.value == pytest.approx(x.sum() / y.sum())


def test_a_calibration_error_is_bootstrapped_over_resampled_sets():
    confidence = rng(1).uniform(0.3, 1, 120)
    right = (rng(2).uniform(size=120) < confidence - 0.1).astype(float)

    def slow(i):
        """Bin by bin, one set at a time."""
        c, y, total = confidence[i], right[i], 0.0
        for b in range(15):
            inside = (c >= b / 15) & (c < (b + 1) / 15)
            if inside.any():
                total += inside.mean() * abs(c[inside].mean() - y[inside].mean())
        return total

    theirs = scipy_bootstrap((np.arange(120),), slow, resamples=400, vectorized=False)
    ours = bootstrap(ece_of(confidence, right), 120, rng(), resamples=400)
    assert ours.value == pytest.approx(slow(np.arange(120)))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_a_paired_difference_is_the_percentile_interval_of_differences():
    a, b = rng(1).normal(0.3, 1, 60), rng(2).normal(size=60)
    theirs = scipy_bootstrap((a - b,), np.mean, "percentile", vectorized=True)
    ours = bootstrap(mean_of(a - b), 60, rng(), method="percentile")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert ours.how == "percentile" and ours.value == pytest.approx(a.mean() - b.mean())
    assert bootstrap(mean_of(a - b), 60, rng()).how == "BCa"


def test_equal_values_fall_back_to_wilson_for_proportions_and_to_the_point_for_others():
    right = bootstrap_mean([True] * 12, rng())
    assert (right.value, right.low, right.high) == (1.0, wilson(12, 12).low, 1.0) and "Wilson" in right.how
    wrong = bootstrap_mean([False] * 12, rng())
    assert (wrong.value, wrong.low, wrong.high) == (0.0, 0.0, wilson(0, 12).high)
    point = bootstrap_mean([1.0] * 12, rng())
    assert (point.low, point.high, point.how) == (1.0, 1.0, "point: no resample differs")
    assert bootstrap_mean([True, False], rng()).how == "BCa"


def test_wilson_counts_cases_not_seeds():
    found = bootstrap_mean([True] * 12, rng(), groups=[i // 3 for i in range(12)])
    assert (found.low, found.n) == (wilson(4, 4).low, 12) and found.how == "Wilson: all equal, 4 clusters"


def test_one_case_is_a_point():
    assert bootstrap(mean_of([0.4]), 1, rng()).how == "point: no resample differs"


def test_no_cases_are_undefined():
    for found in (bootstrap_mean([], rng()), bootstrap(ratio_of([], []), 0, rng())):
        assert math.isnan(found.value) and math.isnan(found.low) and found.n == 0


def test_undefined_resamples_are_left_out_and_counted():
    # one right answer in five: a resample without it has no tokens per right answer; leaving it out has none either
    found = bootstrap(ratio_of([10, 20, 30, 40, 50], [1, 0, 0, 0, 0]), 5, rng(), resamples=1000)
    missing = int((~(rng().integers(0, 5, (1000, 5)) == 0).any(axis=1)).sum())
    assert found.value == 150 and missing > 250  # about (4/5)⁵ = 33 %
    assert found.how == (
        f"percentile: undefined without some case, BCa undefined; {missing} of 1000 resamples undefined"
    )
    undefined = bootstrap(ratio_of([1, 2], [0, 0]), 2, rng())
    assert math.isnan(undefined.value) and math.isnan(undefined.high) and undefined.n == 2


def test_a_value_outside_of_all_resamples_has_no_bca():
    # the number of distinct cases: every resample with a repeat has fewer
    found = bootstrap(lambda i: np.array([len(set(row)) for row in i.tolist()], dtype=float), 20, rng(), resamples=50)
    assert found.how == "percentile: no resample on one side, BCa undefined"


def test_the_paper_s_twenty_resamples_can_be_asked_for():
    x = rng(1).normal(size=40)
    theirs = scipy_bootstrap((x,), np.mean, resamples=20, vectorized=True)
    ours = bootstrap_mean(x, rng(), resamples=20)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_groups_of_one_change_nothing():
    x = rng(1).normal(size=25)
    assert bootstrap(mean_of(x), 25, rng(), groups=list("abcdefghijklmnopqrstuvwxy")) == bootstrap(
        mean_of(x), 25, rng()
    )


@pytest.mark.parametrize("sizes", [[3] * 20, [1, 2, 3, 4] * 5])
def test_whole_groups_are_drawn_and_left_out(sizes):
    """The mean of rows under drawn groups is a ratio of sums over groups: SciPy resamples the groups."""
    groups = [f"case {g}" for g, size in enumerate(sizes) for _ in range(size)]
    x = np.repeat(rng(1).normal(size=20), sizes) + rng(2).normal(0, 0.1, sum(sizes))
    totals = np.array([x[np.array(groups) == f"case {g}"].sum() for g in range(20)])
    theirs = scipy_bootstrap(
        (totals, np.array(sizes)), lambda t, s, axis: t.sum(axis) / s.sum(axis), paired=True, vectorized=True
    )
    mixed = rng(4).permutation(len(x))  # rows of one case need not be neighbours
    first = {groups[i]: None for i in mixed}  # but groups are numbered as they appear
    order = np.array([int(name.split()[1]) for name in first])
    theirs_mixed = scipy_bootstrap(
        (totals[order], np.array(sizes)[order]),
        lambda t, s, axis: t.sum(axis) / s.sum(axis),
        paired=True,
        vectorized=True,
    )
    ours = bootstrap(mean_of(x), len(x), rng(), groups=groups)
    ours_mixed = bootstrap(mean_of(x[mixed]), len(x), rng(), groups=[groups[i] for i in mixed])
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert (ours_mixed.low, ours_mixed.high) == pytest.approx((theirs_mixed.low, theirs_mixed.high), abs=1e-9)
    assert ours.how == "BCa, 20 clusters" and ours.n == sum(sizes)


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (lambda: bootstrap(mean_of([1, 2]), 2, rng(), groups=["a"]), "groups has 1 entries for 2 rows"),
        (lambda: bootstrap(mean_of([1, 2]), 2, rng(), method="t"), "method is 't'"),
        (lambda: bootstrap(mean_of([1, 2]), 2, rng(), resamples=1), "resamples is 1"),
        (lambda: bootstrap(mean_of([1, 2]), 2, rng(), level=95), "level is 95"),
        (lambda: ratio_of([1, 2], [1]), "numerator has 2 values"),
        (lambda: wilcoxon([1, 2], [1]), "same order"),
        (lambda: wilcoxon([1, math.nan], [1, 1]), "undefined value"),
        (lambda: mcnemar([1, 0.5], [1, 1]), "a holds values other than"),
        (lambda: mcnemar([1], [1], method="chi"), "method is 'chi'"),
        (lambda: wilcoxon([1], [1], zeros="zsplit"), "zeros is 'zsplit'"),
        (lambda: wilcoxon([1], [1], method="approx"), "method is 'approx'"),
        (lambda: wilcoxon([1.0, 2, 2], [1, 1, 1], method="exact"), "ties or zeros"),
        (lambda: benjamini_hochberg([0.2, 1.2]), "between 0 and 1"),
    ],
)
def test_wrong_arguments_are_named(of, message):
    with pytest.raises(InputError, match=message):
        of()


# McNemar


def table(n10: int, n01: int, same: int = 5):
    a = [1] * n10 + [0] * n01 + [1] * same
    b = [0] * n10 + [1] * n01 + [1] * same
    return a, b


@pytest.mark.parametrize(("n10", "n01"), [(5, 1), (1, 5), (3, 3), (40, 22), (0, 9), (260, 310)])
def test_mcnemar_exact_is_the_binomial_test(n10, n01):
    found = mcnemar(*table(n10, n01))
    n = n10 + n01
    assert found.p == pytest.approx(stats.binomtest(n10, n).pvalue, rel=1e-9)
    assert (found.statistic, found.n, found.how) == (n10 - n01, n + 5, "McNemar exact")
    # mid-p: half of the chance of the table at hand, and of its mirror image
    less = stats.binom.pmf(min(n10, n01), n, 0.5) * (0.5 if n10 == n01 else 1)
    assert mcnemar(*table(n10, n01), method="mid-p").p == pytest.approx(found.p - less, rel=1e-9)


def test_mcnemar_with_continuity_is_the_chi_square_and_near_exact_when_large():
    found = mcnemar(*table(700, 640))
    assert found.how == "McNemar continuity"
    assert found.p == pytest.approx(stats.chi2.sf((60 - 1) ** 2 / 1340, 1), rel=1e-9)
    assert mcnemar(*table(700, 640), method="exact").p == pytest.approx(found.p, abs=1e-3)
    assert mcnemar(*table(3, 3), method="continuity").p == 1.0


def test_mcnemar_without_discordant_cases():
    assert mcnemar(*table(0, 0)).p == 1.0
    nothing = mcnemar([], [])
    assert math.isnan(nothing.p) and nothing.n == 0


def test_mcnemar_flips_whole_cases():
    # differences of four cases under three seeds: +3, +2, −1, 0. By hand over all signs:
    rows = [(1, 0)] * 3 + [(1, 0), (1, 0), (1, 1)] + [(0, 1), (0, 0), (1, 1)] + [(1, 0), (0, 1), (1, 1)]
    a, b = zip(*rows, strict=True)
    groups = [i // 3 for i in range(12)]
    sums = [abs(3 * x + 2 * y + z) for x, y, z in product((1, -1), repeat=3)]
    found = mcnemar(a, b, groups=groups)
    assert found.p == pytest.approx(sum(s >= 4 for s in sums) / 8) == 0.5
    assert found.how == "McNemar exact, by clusters" and found.statistic == 4
    assert mcnemar(a, b, groups=groups, method="mid-p").p == pytest.approx(0.5 - sum(s == 4 for s in sums) / 16)
    assert mcnemar(a, b, groups=groups, method="continuity").p == pytest.approx(stats.chi2.sf(3**2 / (9 + 4 + 1), 1))


def test_copies_of_a_case_are_no_evidence():
    a, b = table(8, 1)
    once = mcnemar(a, b)
    thrice = [x for x in a for _ in range(3)], [x for x in b for _ in range(3)]
    groups = [i for i in range(len(a)) for _ in range(3)]
    assert mcnemar(*thrice, groups=groups).p == pytest.approx(once.p)
    assert mcnemar(*thrice).p < once.p / 10


# Wilcoxon


@pytest.mark.parametrize("n", [1, 5, 12, 30, 50])
def test_wilcoxon_exact_is_that_of_scipy(n):
    a, b = rng(n).normal(0.4, 1, n), rng(n + 1).normal(size=n)
    theirs = stats.wilcoxon(a, b, method="exact")
    found = wilcoxon(a, b)
    assert found.p == pytest.approx(theirs.pvalue, rel=1e-9) and found.how == "Wilcoxon exact" and found.n == n


def test_wilcoxon_is_normal_for_more_than_fifty():
    a, b = rng(1).normal(0.1, 1, 400), rng(2).normal(size=400)
    found = wilcoxon(a, b)
    assert found.p == pytest.approx(stats.wilcoxon(a, b, method="approx", correction=False).pvalue, rel=1e-9)
    assert found.how.startswith("Wilcoxon normal")
    few = a[:40], b[:40]
    assert wilcoxon(*few, method="normal").p == pytest.approx(wilcoxon(*few).p, abs=0.01)


@pytest.mark.parametrize("zeros", ["pratt", "wilcox"])
@pytest.mark.parametrize("n", [12, 200])
def test_ties_and_zeros_are_corrected_for_as_in_scipy(zeros, n):
    a, b = rng(n).integers(0, 5, n).astype(float), rng(n + 1).integers(0, 4, n).astype(float)
    assert (a == b).any()
    theirs = stats.wilcoxon(a, b, zero_method=zeros, method="approx", correction=False)
    assert wilcoxon(a, b, zeros=zeros).p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_the_two_ways_with_zeros_differ_and_pratt_is_the_default():
    a, b = [3.0, 4, 5, 7, -1, -2, 9, 8], [0.0, 0, 5, 7, 0, 0, 9, 1]
    assert wilcoxon(a, b) == wilcoxon(a, b, zeros="pratt")
    assert wilcoxon(a, b, zeros="wilcox").p != pytest.approx(wilcoxon(a, b).p, abs=1e-3)


def test_wilcoxon_of_no_differences_and_of_nothing():
    assert wilcoxon([1, 2], [1, 2]).p == wilcoxon([1, 2], [1, 2], zeros="wilcox").p == 1.0
    assert math.isnan(wilcoxon([], []).p)


def test_rounding_error_is_no_difference_and_breaks_no_tie():
    a = np.full(20, 0.3)
    assert wilcoxon(np.full(20, 0.1 + 0.2), a).p == 1.0  # 0.30000000000000004, twenty times on the same side
    ties, same = np.array([0.3, 0.1 + 0.2, -0.3, 0.7]), np.array([0.3, 0.3, -0.3, 0.7])
    assert wilcoxon(ties, np.zeros(4)) == wilcoxon(same, np.zeros(4))


def test_wilcoxon_takes_the_mean_difference_of_each_case():
    a, b = rng(1).normal(0.4, 1, 30), rng(2).normal(size=30)
    means = (a - b).reshape(10, 3).mean(1)
    found = wilcoxon(a, b, groups=[i // 3 for i in range(30)])
    assert found.p == pytest.approx(stats.wilcoxon(means, method="exact").pvalue) and found.n == 10


# Benjamini–Hochberg


def test_adjusted_p_are_those_of_scipy():
    p = rng(1).uniform(size=40) ** 2
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    assert (benjamini_hochberg(p) >= p).all()


def test_adjusted_p_by_hand_and_undefined_ones_are_not_counted():
    # sorted .01 .02 .04 .5: ·4/1, ·4/2, ·4/3, ·4/4 = .04 .04 .0533 .5
    p = [0.5, 0.01, math.nan, 0.04, 0.02]
    assert benjamini_hochberg(p) == pytest.approx([0.5, 0.04, math.nan, 0.16 / 3, 0.04], nan_ok=True)
    assert (benjamini_hochberg(p) <= FDR).sum() == 2
    assert benjamini_hochberg([]).size == 0 and benjamini_hochberg([0.9, 0.8]).max() <= 1


@pytest.mark.parametrize("shape", [(3, 4, 2), (400, 300, 5), (50, 20_000, 3)])
def test_a_product_in_pieces_is_the_product(shape):
    n, k, m = shape
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (n, k)).astype(float), rng.integers(0, 9, (k, m)).astype(float)
    assert (multiplied(a, b) == a @ b).all()
