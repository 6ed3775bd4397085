"""What the intervals and tests promise, by simulation: coverage, size, false discoveries.

A promise "with chance c" kept in S independent trials is kept X ~ Bin(S, c) times; X must lie within the central 99.9 % of that, and
seeds are fixed. Each promise is also shown to be broken by the procedure one might have used instead.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from maci.calibration.stats import (
    FDR,
    benjamini_hochberg,
    bootstrap,
    bootstrap_mean,
    mcnemar,
    mean_of,
    ratio_of,
    wilcoxon,
    wilson,
)
from maci.calibration.temperature import equal_width
from maci.lab.study.metrics import ece_of

TRIALS = 1000
TAIL = 0.0005


def within(kept: int, chance: float, trials: int = TRIALS) -> bool:
    low, high = stats.binom.ppf([TAIL, 1 - TAIL], trials, chance)
    return bool(low <= kept <= high)


def at_most(kept: int, chance: float, trials: int = TRIALS) -> bool:
    return bool(kept <= stats.binom.ppf(1 - TAIL, trials, chance))


# Wilson


def wald(k: int, n: int) -> tuple[float, float]:
    p = k / n
    half = stats.norm.ppf(0.975) * np.sqrt(p * (1 - p) / n)
    return p - half, p + half


def mean_coverage(interval, n: int) -> float:
    """The chance that a proportion drawn evenly from [0, 1] is covered: given k of n it is Beta(k+1, n−k+1), and k is even."""
    ends = np.array([interval(k, n) for k in range(n + 1)])
    k = np.arange(n + 1)
    return float(np.mean(np.diff(stats.beta.cdf(ends.clip(0, 1), (k + 1)[:, None], (n - k + 1)[:, None]))))


def ends_of_wilson(k: int, n: int) -> tuple[float, float]:
    found = wilson(k, n)
    return found.low, found.high


@pytest.mark.parametrize("n", [10, 40, 200])
def test_wilson_covers_a_proportion_in_95_of_100(n):
    rng = np.random.default_rng(n)
    p = rng.uniform(size=TRIALS)
    k = rng.binomial(n, p)
    kept = {
        name: sum(low <= x <= high for (low, high), x in zip((f(int(y), n) for y in k), p, strict=True))
        for name, f in (("wilson", ends_of_wilson), ("wald", wald))
    }
    assert within(kept["wilson"], mean_coverage(ends_of_wilson, n))  # the simulation agrees with the integral
    assert within(kept["wilson"], 0.95)
    if n == 10:
        assert not within(kept["wald"], 0.95)


def test_the_exact_coverage_of_wilson_is_nearer_than_that_of_wald():
    for n in (10, 20, 50, 200):
        ours, theirs = mean_coverage(ends_of_wilson, n), mean_coverage(wald, n)
        assert abs(ours - 0.95) < abs(theirs - 0.95), (n, ours, theirs)


# bootstrap


def covered(of, truth: float, seed: int) -> int:
    rng = np.random.default_rng(seed)
    found = [of(rng) for _ in range(TRIALS)]
    return sum(x.low <= truth <= x.high for x in found)


def test_bca_covers_a_mean_and_the_paper_s_twenty_resamples_do_not():
    def interval(resamples):
        return lambda rng: bootstrap_mean(rng.normal(size=100), rng, resamples=resamples)

    assert within(covered(interval(1000), 0.0, 1), 0.95)
    assert not within(covered(interval(20), 0.0, 1), 0.95)


def test_bca_covers_an_accuracy():
    assert within(covered(lambda rng: bootstrap_mean(rng.uniform(size=100) < 0.8, rng, resamples=1000), 0.8, 2), 0.95)


def test_bca_covers_a_skewed_ratio():
    def interval(rng):
        tokens, right = rng.exponential(1000, 150), rng.uniform(size=150) < 0.7
        return bootstrap(ratio_of(tokens, right), 150, rng, resamples=1000)

    assert within(covered(interval, 1000 / 0.7, 3), 0.95)


def test_a_paired_difference_is_covered():
    def interval(rng):
        case = rng.normal(0, 3, 100)  # shared by both methods
        difference = (case + rng.normal(0.5, 1, 100)) - (case + rng.normal(0, 1, 100))
        return bootstrap(mean_of(difference), 100, rng, method="percentile", resamples=1000)

    assert within(covered(interval, 0.5, 4), 0.95)


def test_with_groups_a_mean_over_seeds_is_covered_and_without_them_it_is_not():
    groups = [i for i in range(60) for _ in range(3)]

    def interval(by):
        def of(rng):
            x = np.repeat(rng.normal(size=60), 3) + rng.normal(0, 0.2, 180)
            return bootstrap(mean_of(x), 180, rng, groups=by, resamples=1000)

        return of

    assert within(covered(interval(groups), 0.0, 5), 0.95)
    naive = covered(interval(None), 0.0, 5)
    # var of the mean is (1 + .04/3)/60, taken for (1 + .04)/180
    chance = 2 * stats.norm.cdf(1.96 * np.sqrt((1.04 / 180) / ((1 + 0.04 / 3) / 60))) - 1
    assert within(naive, chance) and not within(naive, 0.95)


@pytest.mark.parametrize("n", [300, 1200])
def test_a_calibrated_method_shows_a_calibration_error_and_its_interval_misses_zero(n):
    """Not a promise but its limit, as ``ece_of`` documents it.

    The gap of a bin is a sum of independent errors of variance c(1−c), so its size is √(2/π) times their standard deviation.
    """
    rng = np.random.default_rng(10)
    found, expected = [], []
    for _ in range(60):
        confidence = rng.uniform(0.3, 1, n)
        right = rng.uniform(size=n) < confidence
        found.append(bootstrap(ece_of(confidence, right), n, rng, resamples=200))
        variance = np.bincount(equal_width(confidence), weights=confidence * (1 - confidence))
        expected.append(np.sqrt(2 / np.pi * variance).sum() / n)
    surplus = np.array([x.value for x in found]) - expected
    assert abs(surplus.mean()) < stats.norm.ppf(1 - TAIL) * surplus.std(ddof=1) / np.sqrt(60)
    assert np.mean(expected) == pytest.approx({300: 0.063, 1200: 0.032}[n], abs=0.002)  # what the docstring says
    assert all(x.low > 0 for x in found)


# tests: size


def size_of_mcnemar(n: int, method: str) -> float:
    """The chance of p ≤ 0.05 over all outcomes of n fair flips: exact, not simulated."""
    p = [mcnemar([1] * k + [0] * (n - k), [0] * k + [1] * (n - k), method=method).p for k in range(n + 1)]
    return float(stats.binom.pmf(np.arange(n + 1), n, 0.5)[np.array(p) <= 0.05].sum())


def test_mcnemar_rejects_at_most_5_of_100_whatever_the_number_of_discordant_cases_and_mid_p_comes_nearer():
    exact, mid = (np.array([size_of_mcnemar(n, method) for n in range(1, 61)]) for method in ("exact", "mid-p"))
    assert (exact <= 0.05).all() and (exact <= mid).all()
    assert np.abs(mid - 0.05).mean() < np.abs(exact - 0.05).mean()


def test_mcnemar_by_clusters_keeps_its_size_where_rows_taken_for_cases_do_not():
    rng = np.random.default_rng(6)
    groups = [i for i in range(60) for _ in range(3)]
    rejected = {"clusters": 0, "rows": 0}
    for _ in range(TRIALS):
        # each case suits one method or the other, in most of its seeds
        a, b = (rng.uniform(size=180) < np.repeat(rng.choice([0.05, 0.95], 60), 3) for _ in range(2))
        rejected["clusters"] += mcnemar(a, b, groups=groups).p <= 0.05
        rejected["rows"] += mcnemar(a, b).p <= 0.05
    assert at_most(rejected["clusters"], 0.05)
    assert not at_most(rejected["rows"], 0.05)


@pytest.mark.parametrize("kind", ["exact", "ties and zeros"])
def test_wilcoxon_rejects_5_of_100_without_a_difference_and_more_with_one(kind):
    rng = np.random.default_rng(7)

    def pair(shift):
        a, b = rng.normal(shift, 1, 40), rng.normal(size=40)
        return (a, b) if kind == "exact" else (a.round(), b.round())

    assert within(sum(wilcoxon(*pair(0)).p <= 0.05 for _ in range(TRIALS)), 0.05)
    assert not at_most(sum(wilcoxon(*pair(0.5)).p <= 0.05 for _ in range(TRIALS)), 0.05)


# false discoveries


def test_without_any_effect_a_study_claims_one_in_at_most_5_of_100():
    """All nulls true: the share of false discoveries is 1 whenever there is one, and BH makes one with chance exactly q."""
    p = np.random.default_rng(8).uniform(size=(TRIALS, 20))
    adjusted = sum((benjamini_hochberg(row) <= FDR).any() for row in p)
    raw = int((p <= FDR).any(axis=1).sum())
    assert within(adjusted, FDR)
    assert within(raw, 1 - 0.95**20) and not at_most(raw, FDR)


def test_with_some_effects_at_most_a_share_q_of_the_claims_is_false():
    z = np.random.default_rng(9).normal(size=(TRIALS, 20))
    z[:, :10] += 3.0  # ten real effects, ten nulls: FDR = q/2
    p = 2 * stats.norm.sf(np.abs(z))

    def false_share(claims):
        return claims[:, 10:].sum(axis=1) / np.maximum(1, claims.sum(axis=1))

    def bound(share):
        return FDR / 2 + stats.norm.ppf(1 - TAIL) * share.std(ddof=1) / np.sqrt(TRIALS)

    adjusted = np.array([benjamini_hochberg(row) for row in p]) <= FDR
    share, raw = false_share(adjusted), false_share(p <= FDR)
    assert share.mean() <= bound(share)
    assert raw.mean() > bound(raw)
    assert adjusted[:, :10].mean() > (p <= FDR / 20)[:, :10].mean()  # and finds more than Bonferroni
