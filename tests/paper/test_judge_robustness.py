"""The paper's appendix on CRIT's robustness: intervals it prints, and what they rest on."""

from __future__ import annotations

import numpy as np
import pytest

from maci.calibration.stats.resampling import share
from maci.controller.inputs import Seat
from maci.lab.audit.judges.agreement import Ratings, scores_needed
from maci.lab.audit.judges.swaps import judge_swap
from planted_judges import subject


@pytest.mark.parametrize(("flips", "low", "high"), [(2, 0.55, 7.00), (3, 1.03, 8.45)])
def test_wilson_intervals_of_winner_flips(flips, low, high):
    found = share(flips, 100, "debates")
    assert [round(100 * found.low, 2), round(100 * found.high, 2)] == [low, high]


def test_both_tie_handlings_from_a_hundred_debates():
    """97 debates agree by a wide margin; two have clear and opposite winners, one is a winner for one judge and a tie for the other.

    So 2 flips with ties forgiven, 3 with ties counted: the paper's two figures.
    """
    first = [0.7, 0.4] * 100
    second = [0.7, 0.4] * 97 + [0.50, 0.56] * 2 + [0.50, 0.49]
    items = tuple(subject(f"{d}{a}", debate=str(d), agent=a) for d in range(100) for a in "ab")
    ratings = Ratings(
        judges=(Seat("gemini", "gemini"), Seat("claude", "claude")), items=items, plain=np.array([first, second])
    )
    (found,) = judge_swap(ratings)
    assert (found.forgiven.value, found.counted.value) == (0.02, 0.03)
    assert (round(found.counted.low, 4), round(found.counted.high, 4)) == (0.0103, 0.0845)
    assert found.margin == pytest.approx(0.3)


def test_three_judges_at_the_paper_s_agreement_are_enough():
    # Spearman-Brown: K r / (1 + (K-1) r) >= 0.8 at r = 0.71 needs K = 1.63, so 2; at half of it 7.3, so 8
    assert scores_needed(0.71) == 2 and scores_needed(0.355) == 8
