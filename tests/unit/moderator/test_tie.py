"""Ties by hand: equal probabilities, and a lead that the weights' own error can undo."""

from __future__ import annotations

import numpy as np
import pytest

from maci.moderator.belief import contenders, lead, level, standard_error


def test_a_tie_is_no_lead() -> None:
    assert lead(np.array([0.4, 0.4, 0.2])) is None
    assert lead(np.array([0.4, 0.41, 0.19])) == 1
    assert level(np.array([0.4, 0.4 + 9e-7, 0.2])) == (0, 1)
    assert level(np.array([0.4, 0.4 + 2e-6, 0.2])) == (1,)


def test_the_standard_error_of_three_scores() -> None:
    # mean 0.6, squared distances 0.04 + 0 + 0.04 = 0.08, variance 0.04, 0.2 / √3
    assert standard_error([0.4, 0.6, 0.8]) == pytest.approx(0.11547, abs=1e-5)


def test_a_lead_as_large_as_its_error_is_a_tie_and_a_larger_one_is_not() -> None:
    # lead 0.6·0.8 − 0.5·0.8 = 0.08; its error √((s·0.8)² + (s·0.8)²) = 1.1314·s, which is 0.08 at s = 0.0707
    apart = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert contenders(apart, [0.6, 0.5], [0.0708, 0.0708]) == (0, 1)
    assert contenders(apart, [0.6, 0.5], [0.0706, 0.0706]) == (0,)


def test_agents_of_one_mind_leave_no_tie_however_they_are_weighed() -> None:
    together = np.array([[0.51, 0.49], [0.9, 0.1], [0.6, 0.4]])
    assert contenders(together, [0.5, 0.5, 0.5], [0.2, 0.2, 0.2]) == (0,)
