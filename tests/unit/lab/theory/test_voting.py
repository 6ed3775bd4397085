from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from maci.lab.theory.voting import _counted, ballots, condorcet, crossover, exact, voting
from theory_helpers import verdicts


@pytest.mark.parametrize(("voters", "p"), [(1, 0.6), (3, 0.7), (21, 0.55), (21, 0.4)])
def test_the_exact_majority_is_the_binomials_tail(voters: int, p: float) -> None:
    assert exact(voters, p) == pytest.approx(binom.sf(voters // 2, voters, p))


def test_ballots_are_counted_as_by_hand() -> None:
    """Case 1: 0 0 0 1, case 2: 0 1 1 2, case 3: 0 0 1 1 (a tie), case 4: 1 2 3 4."""
    votes = np.array([[0, 0, 0, 1], [0, 1, 1, 2], [0, 0, 1, 1], [1, 2, 3, 4]])
    found = _counted(votes, np.array([True, False, True, False]), 5)
    assert found.single.tolist() == [0.75, 0.25, 0.5, 0]
    assert found.plurality.tolist() == [1, 0, 0.5, 0]
    assert found.majority.tolist() == [True, False, False, False]
    assert found.right.tolist() == [True, False, False, False]
    assert found.agreement == pytest.approx([6 / 12, 2 / 12, 4 / 12, 0])


def test_one_voter_over_two_outcomes_is_right_as_the_normal_distribution_says() -> None:
    """The true score leads by a, and the difference of two unit normals has variance 2: Φ(a/√2)."""
    found = ballots(np.random.default_rng(0), 20_000, 2, 1.0, voters=1)
    truth = norm.cdf(1 / np.sqrt(2))
    assert found.single.mean() == pytest.approx(truth, abs=5 * np.sqrt(truth * (1 - truth) / 20_000))
    assert np.isnan(found.agreement).all()  # there are no pairs


def test_voters_who_share_all_noise_agree_always() -> None:
    found = ballots(np.random.default_rng(0), 100, 10, 1.0, shared=1.0)
    assert (found.agreement == 1).all() and found.majority.all()
    assert (found.plurality == found.pooled).all()


def test_cases_are_all_voted_on_when_they_come_in_pieces() -> None:
    assert len(ballots(np.random.default_rng(0), 333, 1000, 1.0).single) == 333


def test_a_gain_that_is_lost_twice_crosses_where_it_is_first_lost() -> None:
    assert crossover((1, 10, 100, 1000), [0.1, -0.1, 0.1, -0.1]) == pytest.approx(np.sqrt(10), abs=1e-5)
    assert crossover((2, 4), [-0.1, -0.2]) is None


def test_claims_about_voting_hold() -> None:
    found = {**verdicts(condorcet), **verdicts(voting, spaces=(2, 4, 30, 100, 400))}
    assert [name for name, verdict in found.items() if not verdict.passed] == []
    crossing = found["crossover"].figures["crossover"]
    assert 4 < crossing["1.5"] < crossing["2.0"] < 100
