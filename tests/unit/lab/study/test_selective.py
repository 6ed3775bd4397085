"""Selective accuracy and the risk–coverage area, against plain loops over all orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from maci.errors import InputError
from maci.lab.study.report.selective import aurc_of, chosen, curve


def slow_aurc(confidence, correct) -> float:
    """The mean over every order of the equally sure."""
    n = len(confidence)
    found = []
    for order in itertools.permutations(range(n)):
        if all(confidence[a] >= confidence[b] for a, b in itertools.pairwise(order)):
            wrong = np.cumsum([1 - correct[i] for i in order])
            found.append(float(np.mean(wrong / np.arange(1, n + 1))))
    return float(np.mean(found))


def test_the_area_is_the_mean_over_all_orders_of_the_equally_sure() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 7))
        sure, right = rng.integers(0, 3, n) / 3, rng.integers(0, 2, n)
        assert aurc_of(sure, right)(np.arange(n)[None])[0] == pytest.approx(slow_aurc(sure, right))


def test_every_resample_is_ranked_anew() -> None:
    sure, right = [0.9, 0.8, 0.7], [1, 0, 1]
    both = aurc_of(sure, right)(np.array([[0, 1, 2], [1, 1, 0]]))
    assert both == pytest.approx([slow_aurc(sure, right), slow_aurc([0.8, 0.8, 0.9], [0, 0, 1])])


def test_confidence_that_says_nothing_gives_the_share_of_errors() -> None:
    assert aurc_of([0.5] * 8, [1, 0, 1, 1, 0, 0, 1, 1])(np.arange(8)[None])[0] == pytest.approx(3 / 8)


def test_the_surest_are_chosen_and_equals_share_the_last_places() -> None:
    assert chosen([0.2, 0.9, 0.5, 0.5], 0.75).tolist() == [0.0, 1.0, 1.0, 1.0]
    assert chosen([0.2, 0.9, 0.5, 0.5], 0.5).tolist() == [0.0, 1.0, 0.5, 0.5]
    assert chosen([0.2, 0.9], 0.01).tolist() == [0.0, 1.0]  # at least one
    assert curve([0.2, 0.9, 0.5, 0.5], [0, 1, 1, 0], [0.25, 0.5, 1.0]) == pytest.approx([1.0, 0.75, 0.5])
    with pytest.raises(InputError, match="coverage is 0: give a share above 0"):
        chosen([0.5], 0)
    with pytest.raises(InputError, match="confidence has 2 values and correct 1"):
        aurc_of([0.5, 0.5], [1])
