from __future__ import annotations

import numpy as np
import pytest

from maci.errors import InputError
from maci.lab.theory import FULL, QUICK
from maci.lab.theory.suite import CHECKS, check, named
from theory_helpers import SMALL


def test_names_are_distinct_and_an_unknown_one_is_an_error_that_lists_them() -> None:
    assert len({one.name for one in CHECKS}) == len(CHECKS)
    assert [one.name for one in named(["budget", "lemma"])] == ["lemma", "budget"]
    assert named([]) == CHECKS
    with pytest.raises(InputError, match=r"'gates'.*lemma, noise"):
        named(["gates"])


def test_a_check_says_the_same_alone_and_with_others_and_under_its_seed_only() -> None:
    def measured(names: list[str], seed: int) -> list[str]:
        return [v.measured for one, found in check(named(names), SMALL, seed) if one.name == "noise" for v in found]

    assert measured(["noise"], 1) == measured(["lemma", "noise"], 1)
    assert measured(["noise"], 1) != measured(["noise"], 2)


def test_the_full_size_is_what_the_claims_promise() -> None:
    assert (FULL.noiseless, FULL.noisy, FULL.budget_rounds, FULL.horizons[-1]) == (10_000, 2_000, 100_000, 100_000)
    assert (min(FULL.spaces), max(FULL.spaces), min(FULL.agents), max(FULL.agents)) == (2, 1000, 2, 7)
    assert QUICK.spaces == FULL.spaces and QUICK.agents == FULL.agents


def test_every_trajectory_is_in_a_cell() -> None:
    from maci.lab.theory.lemma import _cells

    for size in (FULL, QUICK, SMALL):
        cells = list(_cells(size, size.noiseless))
        assert sum(n for _, _, n in cells) == size.noiseless
        assert len(cells) == len(size.spaces) * len(size.agents)
    assert np.isclose(sum(n for _, _, n in _cells(SMALL, 3)), 3)
