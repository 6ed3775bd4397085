"""Utilities: read, checked, laid over the labels of a debate; and what they say to do."""

from __future__ import annotations

import numpy as np
import pytest

from maci.acquisition.gain import (
    Stakes,
    Utilities,
    check_stakes,
    favoured,
    gain,
    load_stakes,
    read_stakes,
    utilities_of,
    value,
    with_silence,
)
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError

SPACE = OutcomeSpace(labels=("Malaria", "Gout", "no"), aliases={"podagra": "Gout"})
GIVEN = {"treat": {"malaria": 10, "otherwise": -2}, "wait": {"Malaria": -20, "podagra": -1, "otherwise": 0}}


def test_names_are_matched_as_labels_are_and_the_rest_is_otherwise():
    found = utilities_of(read_stakes(GIVEN, "u.yaml"), SPACE.labels, SPACE)
    assert found.actions == ("treat", "wait")
    assert found.table == ((10, -2, -2), (-20, -1, 0))


def test_a_unit_of_cost_takes_a_hundredth_of_what_is_at_stake_unless_it_is_said():
    # the choice matters most under malaria: 10 − (−20) = 30
    assert utilities_of(read_stakes(GIVEN, "u"), SPACE.labels, SPACE).cost == pytest.approx(0.3)
    assert utilities_of(read_stakes({**GIVEN, "cost": 2}, "u"), SPACE.labels, SPACE).cost == 2
    named = read_stakes({**GIVEN, "cost": {"otherwise": 1}}, "u")  # an action that is called so
    assert (list(named.actions), named.cost) == (["treat", "wait", "cost"], None)


def test_the_favoured_action_has_the_highest_expected_utility():
    found = favoured(np.array([0.2, 0.3, 0.5]), utilities_of(read_stakes(GIVEN, "u"), SPACE.labels, SPACE))
    # treat: .2·10 − .3·2 − .5·2 = .4; wait: −.2·20 − .3·1 = −4.3
    assert found.action == "treat"
    assert found.expected == pytest.approx(0.4)
    assert found.actions == {"treat": pytest.approx(0.4), "wait": pytest.approx(-4.3)}


def test_of_equal_actions_the_first_is_favoured():
    same = Utilities(actions=("a", "b"), table=((1, 0), (0, 1)))
    assert favoured(np.array([0.5, 0.5]), same).action == "a"


def test_yes_and_no_of_yaml_and_numbers_are_names(tmp_path):
    (tmp_path / "u.yaml").write_text("go: {yes: 1, no: -1, 2: 0}\nstay: {otherwise: 0}\n", encoding="utf-8")
    assert load_stakes(tmp_path / "u.yaml").actions["go"] == {"yes": 1.0, "no": -1.0, "2": 0.0}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([1, 2], "u.yaml: name at least two actions"),
        ({"a": {"Gout": 1}}, "u.yaml: name at least two actions"),
        ({"a": {}, "b": {"Gout": 1}}, "u.yaml: name at least two actions"),
        ({"a": {"Gout": True}, "b": {"Gout": 1}}, r"u.yaml: a.Gout is True, not a number"),
        ({"a": {"Gout": float("nan")}, "b": {"Gout": 1}}, r"u.yaml: a.Gout is nan, not a number"),
        ({**GIVEN, "cost": -1}, "u.yaml: cost is -1"),
        ({**GIVEN, "cost": "much"}, "u.yaml: cost is 'much'"),
    ],
)
def test_data_that_cannot_be_utilities_is_refused(data, says):
    with pytest.raises(InputError, match=says):
        read_stakes(data, "u.yaml")


def test_utilities_that_do_not_fit_the_outcomes_are_refused_with_action_and_outcome():
    typo = Stakes(actions={"treat": {"Malria": 1.0, "otherwise": 0.0}, "wait": {"otherwise": 0.0}})
    with pytest.raises(InputError, match=r"u.yaml: treat.Malria is not an outcome"):
        check_stakes(typo, SPACE, "u.yaml")
    gap = Stakes(actions={"treat": {"Malaria": 1.0}, "wait": {"otherwise": 0.0}})
    with pytest.raises(InputError, match=r"u.yaml: treat has none for Gout"):
        check_stakes(gap, SPACE, "u.yaml")


def test_an_open_space_needs_otherwise_and_may_leave_names_to_come():
    space = OutcomeSpace(kind="open")
    with pytest.raises(InputError, match="treat needs `otherwise"):
        check_stakes(Stakes(actions={"treat": {"Malaria": 1.0}, "wait": {"otherwise": 0.0}}), space, "u")
    early = read_stakes(GIVEN, "u")
    check_stakes(early, space, "u")
    assert utilities_of(early, ("Gout", "other"), space, lenient=True).table == ((-2, -2), (0, 0))
    with pytest.raises(InputError, match="malaria is not an outcome"):
        utilities_of(early, ("Gout", "other"), space)


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_a_chance_of_no_answer_takes_its_share_of_gain_and_value(chance):
    """By enumeration: with probability 1 − π the posterior is the prior, whatever the outcome."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        p, table = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3), size=4)
        utility = rng.normal(size=(3, 4))
        silent = with_silence(table, chance)
        assert np.allclose(silent.sum(axis=1), 1)
        assert gain(p, silent) == pytest.approx(chance * gain(p, table), abs=1e-12)
        assert value(p, silent, utility) == pytest.approx(chance * value(p, table, utility), abs=1e-12)
