"""The harm monitor's formulas, one round at a time."""

from __future__ import annotations

import pytest

from maci.moderator.harm import collapsed, conformed, hollow, majority, same_words, stubborn, words


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ({"x": 0, "y": 1}, 1),  # the only other one
        ({"x": 0, "y": 1, "z": 2}, None),  # 1 of 2 is not more than half
        ({"x": 0, "y": 1, "z": 1, "w": 2}, 1),  # 2 of 3
        ({"x": 0, "y": None, "z": None, "w": 2}, None),  # most lead with nothing
        ({"x": 0}, None),
    ],
)
def test_the_majority_is_more_than_half_of_the_others(leads, expected) -> None:
    assert majority(leads, "x") == expected


def test_only_a_move_to_the_former_majority_without_new_evidence_is_conformity() -> None:
    before = {"x": 0, "y": 1, "z": 1}
    assert conformed(before, {"x": 1, "y": 1, "z": 1}, {}) == {"x": (0, 1)}
    assert conformed(before, {"x": 1, "y": 1, "z": 1}, {"x": {1}}) == {}  # shown something
    assert conformed(before, {"x": 1, "y": 1, "z": 1}, {"x": {0, 2}}) == {"x": (0, 1)}  # but not for that
    assert conformed(before, {"x": 2, "y": 1, "z": 1}, {}) == {}  # elsewhere
    assert conformed(before, {"x": 0, "y": 0, "z": 1}, {}) == {}  # y's others were split
    assert conformed({"x": None, "y": 1, "z": 1}, {"x": 1, "y": 1, "z": 1}, {}) == {}  # came from nowhere


def test_stubborn_is_not_moving_although_shown_and_without_anything_new_of_ones_own() -> None:
    leads = {"x": 0, "y": 1, "z": 1}
    assert stubborn(leads, leads, {"x": {1}}, {"x": 0.01}, 0.02) == {"x": (0, 1)}
    assert stubborn(leads, leads, {"x": {1}}, {"x": 0.03}, 0.02) == {}  # it moved a little
    assert stubborn(leads, leads, {"x": {0, 1}}, {"x": 0.0}, 0.02) == {}  # it has a case
    assert stubborn(leads, leads, {"x": set()}, {"x": 0.0}, 0.02) == {}  # nothing was shown


def test_collapse_needs_a_large_gain_and_no_new_span() -> None:
    assert collapsed(0.3, 0, 0.3)
    assert not collapsed(0.29, 0, 0.3)
    assert not collapsed(0.9, 1, 0.3)


@pytest.mark.parametrize(
    ("d", "o", "q", "expected"),
    [
        ((0.5, 0.4), (0.1, 0.1), (0.5, 0.5), True),
        ((0.5, 0.41), (0.1, 0.1), (0.5, 0.5), False),  # hardly fell
        ((0.5, 0.1), (0.1, 0.12), (0.5, 0.5), False),  # O rose by 0.02
        ((0.5, 0.1), (0.1, 0.1), (0.5, 0.6), False),  # Q rose
        ((0.5, 0.1), (0.4, 0.1), (0.5, 0.4), True),  # both fell
        ((0.5, 0.1), (None, None), (None, None), True),  # nobody cites anything
        ((0.5, 0.1), (None, 0.5), (None, None), False),  # they share evidence now
        ((0.5, 0.1), (None, 0.0), (None, None), True),
        ((None, 0.1), (0.1, 0.1), (0.5, 0.5), False),
        ((0.5, None), (0.1, 0.1), (0.5, 0.5), False),
    ],
)
def test_a_consensus_is_hollow_when_disagreement_fell_and_evidence_did_not_rise(d, o, q, expected) -> None:
    assert hollow(d, o, q, fall=0.1 - 1e-12, rise=0.02 - 1e-12) is expected


def test_words_ignore_case_order_and_marks() -> None:
    assert same_words(words("Dengue, it IS."), words("it is dengue")) == 1.0
    assert same_words(words(""), words("")) == 1.0
    assert same_words(words("a b c"), words("c d")) == 0.25
