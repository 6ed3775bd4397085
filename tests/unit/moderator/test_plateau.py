from __future__ import annotations

import itertools

import pytest

from maci.config import Plateau
from maci.moderator.signals import Progress, flags, moving_average, ratios

DEFAULT, RELATIVE, ABSOLUTE = Plateau(), Plateau(mode="relative"), Plateau(mode="absolute")


def rounds(*d: float, gain: float = 0.0, capacity: float = 0.5, shift: float = 0.0) -> list[Progress]:
    return [Progress(gain, capacity, before, after, shift) for before, after in itertools.pairwise(d)]


def test_moving_average_takes_the_last_w_or_fewer() -> None:
    assert moving_average([4.0], 3) == 4
    assert moving_average([9.0, 1.0, 2.0, 3.0], 3) == 2
    assert moving_average([], 3) == 0


def test_ratios_by_hand() -> None:
    # Î 0.2, 0.1; capacity 0.9, 0.7; D 0.5 → 0.3 → 0.4: falls 0.2, 0 over 0.5, 0.3
    history = [Progress(0.2, 0.9, 0.5, 0.3, 0), Progress(0.1, 0.7, 0.3, 0.4, 0)]
    r_i, r_d = ratios(history, 3, 1e-3)
    assert r_i == pytest.approx(0.15 / 0.801)
    assert r_d == pytest.approx(0.1 / 0.401)


def test_r_d_is_undefined_while_d_never_was_defined() -> None:
    assert ratios([Progress(0.1, 0.5, None, None, 0)], 3, 1e-3)[1] is None
    assert not flags([Progress(0, 0.5, None, None, 0)] * 3, DEFAULT, 0.3).pi_d


def test_no_flag_before_round_2_in_the_default_mode_only() -> None:
    once = rounds(0.5, 0.5)
    assert (flags(once, DEFAULT, 0.3).pi_i, flags(once, DEFAULT, 0.3).pi_d) == (False, False)
    assert (flags(once, RELATIVE, 0.3).pi_i, flags(once, RELATIVE, 0.3).pi_d) == (True, True)


def test_stubborn_agents_at_d_1_have_stalled() -> None:
    found = flags(rounds(1.0, 1.0, 1.0), DEFAULT, 0.3)
    assert found.pi_i and found.pi_d  # r_D = 0 < ε_D: stalled; agreement is the stop rule's business


def test_a_rise_of_d_clears_the_flag_by_default_but_not_literally() -> None:
    rising = rounds(0.2, 0.3, 0.4)
    assert not flags(rising, DEFAULT, 0.3).pi_d
    assert flags(rising, RELATIVE, 0.3).pi_d


def test_mass_that_swaps_outcomes_at_constant_entropy_is_no_stall_of_information() -> None:
    assert not flags(rounds(0.2, 0.2, 0.2, shift=0.2), DEFAULT, 0.3).pi_i
    assert flags(rounds(0.2, 0.2, 0.2, shift=0.09), DEFAULT, 0.3).pi_i


def test_small_changes_of_a_large_d_are_no_stall_unless_the_ratio_says_so() -> None:
    slow = rounds(0.60, 0.56, 0.52)  # r_D = 0.04 / 0.581 = 0.069 > ε_D and D > 0.3
    assert not flags(slow, DEFAULT, 0.3).pi_d
    assert flags(rounds(0.30, 0.26, 0.22), DEFAULT, 0.3).pi_d  # |ΔD| < ε_D and D ≤ 0.3


def test_absolute_mode_looks_at_the_change_of_the_mean_gain() -> None:
    assert flags(rounds(0.5, 0.5, gain=0.1), ABSOLUTE, 0.3).pi_i is False  # 0.1 - 0 = 0.1
    assert flags(rounds(0.5, 0.5, 0.5, gain=0.1), ABSOLUTE, 0.3).pi_i is True  # steady
