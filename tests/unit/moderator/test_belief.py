from __future__ import annotations

import math

import numpy as np
import pytest

from maci.errors import BeliefError
from maci.moderator.belief import entropy, read, smooth, temper


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({}, "the belief is empty: state a probability"),
        ({"a": -0.1, "b": 1.1}, "the probability of 'a' is -0.1, below 0"),
        ({"a": math.nan, "b": 1.0}, "the probability of 'a' is nan, not a number"),
        ({"a": math.inf}, "the probability of 'a' is inf, not a number"),
        ({"a": -math.inf, "b": 1.0}, "the probability of 'a' is -inf"),
        ({"a": 0.25, "b": 0.25}, "probabilities sum to 0.5, not to 1 (tolerance 0.1)"),
        ({"a": 0.7, "b": 0.4001}, "probabilities sum to 1.1, not to 1"),
        ({"a": 0.0, "b": 0.0}, "probabilities sum to 0, not to 1"),
    ],
)
def test_a_belief_that_is_no_distribution_is_refused_with_its_figure(stated: dict, says: str) -> None:
    with pytest.raises(BeliefError) as error:
        read(stated, 0.1)
    assert says in str(error.value)


@pytest.mark.parametrize("total", [0.95, 1.05, 0.9, 1.1])
def test_a_sum_within_tolerance_is_rescaled_and_noted_in_a_closed_space(total: float) -> None:
    p, note = read({"a": total / 4, "b": total * 3 / 4}, 0.1)
    assert p == pytest.approx({"a": 0.25, "b": 0.75})
    assert note == f"probabilities sum to {total:.4g}; rescaled to 1"


def test_a_shortfall_goes_to_the_rest_of_an_open_space_and_an_excess_is_rescaled() -> None:
    p, note = read({"a": 0.95}, 0.1, "other")
    assert p == pytest.approx({"a": 0.95, "other": 0.05})
    assert note is not None and "shortfall goes to 'other'" in note
    p, _ = read({"a": 0.5, "other": 0.45}, 0.1, "other")
    assert p["other"] == pytest.approx(0.5)
    p, note = read({"a": 1.05}, 0.1, "other")
    assert p == {"a": 1.0}
    assert note is not None and "rescaled" in note


def test_an_exact_belief_is_taken_as_stated_without_a_note() -> None:
    assert read({"a": 0.1, "b": 0.2, "c": 0.7}, 0.1) == ({"a": 0.1, "b": 0.2, "c": 0.7}, None)
    assert read({"a": 1, "b": 0}, 0.0) == ({"a": 1, "b": 0}, None)


def test_entropy_counts_bits_and_ignores_zeros() -> None:
    assert entropy(np.array([0.25] * 4)) == 2
    assert entropy(np.array([1.0, 0.0])) == 0


def test_smoothing_by_nothing_changes_nothing() -> None:
    p = np.array([1.0, 0.0])
    assert smooth(p, 0) is p
    assert smooth(p, 0.1).tolist() == pytest.approx([0.95, 0.05])


def test_tempering_sharpens_below_1_and_flattens_above() -> None:
    p = np.array([0.6, 0.4])
    assert temper(p, 0.5)[0] > 0.6 > temper(p, 2)[0] > 0.5
    assert temper(np.array([1.0, 0.0]), 0.01).tolist() == [1.0, 0.0]
