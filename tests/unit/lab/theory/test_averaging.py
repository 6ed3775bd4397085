from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from maci.lab.theory.lemma import averaged, dispersions, gate_in_debates, lemma_noiseless, lemma_noisy, noise, openings
from maci.moderator.divergence import dispersion, wasserstein
from theory_helpers import verdicts


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_dispersions_are_the_products_and_scipys(rng: np.random.Generator) -> None:
    tables = openings(rng, 40, 5, 12)
    tables[1] = 1 / 12
    by_hand = [np.mean([entropy(p, table.mean(axis=0), base=2) for p in table]) for table in tables]
    assert dispersions(tables) == pytest.approx(by_hand, abs=1e-12)
    assert dispersions(tables) == pytest.approx([dispersion(table) for table in tables], abs=1e-12)
    assert dispersions(tables)[1] < 1e-15


@pytest.mark.parametrize("outcomes", [2, 3, 7, 1000])
def test_openings_are_beliefs_and_some_are_certain(rng: np.random.Generator, outcomes: int) -> None:
    p = openings(rng, 16, 3, outcomes)
    assert p.min() >= 0
    assert p.sum(axis=-1) == pytest.approx(1)
    assert (p[0].max(axis=-1) == 1).all()


def test_averaging_moves_each_table_by_its_own_step_and_keeps_the_mean() -> None:
    p = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]]])
    after = averaged(p, np.array([1.0, 0.5]))
    assert after[0] == pytest.approx(0.5)
    assert after[1] == pytest.approx(np.array([[0.875, 0.125], [0.625, 0.375]]))
    assert after.mean(axis=1) == pytest.approx(p.mean(axis=1))


@pytest.mark.parametrize("seed", range(20))
def test_moving_to_any_common_point_contracts_and_on_a_scale_exactly(seed: int) -> None:
    """docs/theory.md: Lemma 1 holds for any q, and W̃₁ falls by exactly 1 − β."""
    rng = np.random.default_rng(seed)
    p, q, beta = openings(rng, 2, 4, 6)[1], openings(rng, 2, 1, 6)[1], rng.uniform(0.02, 1)
    after = (1 - beta) * p + beta * q
    assert dispersion(after) <= (1 - beta) * dispersion(p) + 1e-12
    scale = np.sort(rng.random(6))
    near, far = (wasserstein(table[0], table[1], scale) for table in (after, p))
    assert near == pytest.approx((1 - beta) * far, abs=1e-12)


def test_noise_moves_half_of_sigma_between_two_outcomes_either_way(rng: np.random.Generator) -> None:
    x = np.broadcast_to([0.7, 0.3], (400, 1, 2))
    xi = noise(x, np.full(400, 0.2), rng)
    assert np.abs(xi) == pytest.approx(0.1)  # ‖ξ‖₁ = 0.2
    assert 120 < (xi[:, 0, 0] > 0).sum() < 280  # both ways; six standard deviations of a fair coin are 60


@pytest.mark.parametrize("outcomes", [2, 3, 8, 101])
def test_noise_keeps_beliefs_on_the_simplex_within_sigma_and_has_mean_zero(
    rng: np.random.Generator, outcomes: int
) -> None:
    x = np.repeat(openings(rng, 9, 2, outcomes)[1:2], 4000, axis=0)
    xi = noise(x, np.full(len(x), 0.3), rng)
    assert (x + xi).min() >= -1e-15
    assert np.abs(xi.sum(axis=-1)).max() < 1e-12
    assert np.abs(xi).sum(axis=-1).max() <= 0.3 + 1e-12
    error = xi.std(axis=0) / np.sqrt(len(x))
    assert (np.abs(xi.mean(axis=0)) <= 6 * error + 1e-12).all()


def test_certain_beliefs_have_no_room_for_noise(rng: np.random.Generator) -> None:
    assert not noise(np.eye(4)[None], np.array([0.3]), rng).any()


def test_the_noise_bound_of_one_bit_is_reached_by_half_and_half() -> None:
    """x = (½, ½), σ = 1 on one of two agents: half the time each ends certain. E ΔKL(· ‖ p̄) = 1 bit = σ."""
    x = np.broadcast_to([0.5, 0.5], (2000, 1, 2))
    xi = noise(x, np.full(2000, 1.0), np.random.default_rng(0))
    gain = [entropy(row[0], [0.5, 0.5], base=2) for row in x + xi]
    assert gain == pytest.approx([1.0] * 2000)


def test_all_claims_hold_at_a_small_size() -> None:
    found = {**verdicts(lemma_noiseless), **verdicts(lemma_noisy), **verdicts(gate_in_debates)}
    assert set(found) == {"lemma1-exact", "lemma1-noisy", "dispersion-gate", "dispersion-gate-debates"}
    assert [name for name, verdict in found.items() if not verdict.passed] == []
    assert found["lemma1-exact"].n == 120
    assert found["lemma1-exact"].figures["steps"] == 120 * 8
    assert found["dispersion-gate"].figures["would_rise"] > 0  # there was something to stop
    assert 0 < found["lemma1-noisy"].figures["c"] < 1


def test_noise_that_is_not_fair_breaks_the_noisy_lemma(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 32 agents is always pushed to an outcome of its own: σ/2 · log₂32 is added at most, 2.5σ, and the check says so."""

    def unfair(x: np.ndarray, sigma: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        own = np.eye(x.shape[-1])[: x.shape[1]]
        return sigma[:, None, None] / 2 * (own - x)

    monkeypatch.setattr("maci.lab.theory.lemma.noise", unfair)
    found = verdicts(lemma_noisy, spaces=(200,), agents=(32,), noisy=40, rounds=20)["lemma1-noisy"]
    assert not found.passed and 1 < found.figures["c"] < 2.5
