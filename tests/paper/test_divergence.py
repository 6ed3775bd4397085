"""D10: the paper's printed beliefs, and what their divergences are (δ = 0, beliefs rescaled to sum 1)."""

import numpy as np
import pytest
import scipy.stats

from maci.moderator.belief import entropy
from maci.moderator.divergence import cross_entropy, dispersion, jsd, shared_information, wasserstein, weighted_jsd

# columns: Dengue, Chikungunya, Zika, Viral, Autoimmune, Bacterial
GPT_1 = [0.60, 0.25, 0.15, 0, 0, 0]
GEMINI_1 = [0, 0, 0, 0.60 / 0.95, 0.20 / 0.95, 0.15 / 0.95]
GPT_2, GEMINI_2 = GPT_1, [0.50, 0.30, 0, 0.20, 0, 0]
GPT_3 = GEMINI_3 = [0.60, 0.35, 0.05, 0, 0, 0]


@pytest.mark.parametrize(("a", "b", "bits"), [(GPT_1, GEMINI_1, 1.0), (GPT_2, GEMINI_2, 0.180), (GPT_3, GEMINI_3, 0.0)])
def test_jsd_of_the_printed_dengue_beliefs(a, b, bits):
    assert jsd(np.array([a, b])) == pytest.approx(bits, abs=5e-4)


def test_jsd_of_the_printed_hepatitis_beliefs_of_round_1():
    # columns: HCV, HBV, cirrhosis, obstructive, liver failure, alcoholic, HAV
    gpt, claude = [0.40, 0.30, 0.15, 0.10, 0.05, 0, 0], [0.25, 0.35, 0, 0.20, 0, 0.15, 0.05]
    assert jsd(np.array([gpt, claude])) == pytest.approx(0.226, abs=5e-4)


def test_jsd_by_hand_for_three_agents():
    # p̄ = (1/3, 1/3, 1/3): H = log2 3; each p_u has H = 0; JSD = log2 3, divided by log2 3 it is 1
    assert jsd(np.eye(3)) == pytest.approx(1.0)
    # two equal and one opposed: p̄ = (2/3, 1/3), H = 0.9183 bits, /log2 3 = 0.5794
    assert jsd(np.array([[1.0, 0], [1, 0], [0, 1]])) == pytest.approx(0.9183 / 1.58496, abs=1e-4)


def test_dispersion_is_mean_kl_to_the_mixture():
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]])
    assert dispersion(p) == pytest.approx(np.mean([scipy.stats.entropy(row, p.mean(axis=0), base=2) for row in p]))


def test_weighted_jsd_with_equal_weights_is_jsd():
    p = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert weighted_jsd(p, np.array([0.5, 0.5])) == pytest.approx(jsd(p))


def test_weighted_jsd_is_undefined_when_one_agent_has_all_the_weight():
    assert weighted_jsd(np.eye(2), np.array([1.0, 0.0])) is None


def test_wasserstein_by_hand():
    # all mass moves 1 of the 4 units of the scale for half of it: 0.5 * 1 / 4
    scale = np.array([-2.0, -1, 0, 1, 2])
    p, q = np.array([0, 0, 1.0, 0, 0]), np.array([0, 0, 0.5, 0.5, 0])
    assert wasserstein(p, q, scale) == pytest.approx(0.125)


def test_shared_information_by_hand():
    # p = (.5, .5), q = (.75, .25): Σ min·log2(1/max) = .5·log2(4/3) + .25·1 = .20752 + .25; max H = 1
    assert shared_information(np.array([0.5, 0.5]), np.array([0.75, 0.25])) == pytest.approx(0.45752, abs=1e-5)


def test_smoothing_stays_inside_divergences():
    p = np.array([1.0, 0.0])
    assert cross_entropy(p, np.array([0.0, 1.0]), 2, 1e-6) < np.inf
    assert entropy(p) == 0.0
