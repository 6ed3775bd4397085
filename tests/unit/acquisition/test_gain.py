"""Expected information gain against brute force, batches, and value of information."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maci.acquisition.gain import added_gains, choose, gain, gain_each, gains, posterior, value
from maci.errors import InputError
from maci.moderator.belief import entropy


def brute(p: np.ndarray, tables: list[np.ndarray]) -> float:
    """H(p) − E[H(p | answers)] by enumerating every combination of answers."""
    expected = 0.0
    for answers in product(*(range(t.shape[1]) for t in tables)):
        joint = p.copy()
        for table, a in zip(tables, answers, strict=True):
            joint = joint * table[:, a]
        if joint.sum() > 0:
            expected += joint.sum() * entropy(joint / joint.sum())
    return entropy(p) - expected


def joint_gain(p, tables):
    return sum(added_gains(p, tables))


def spaces(questions: int) -> st.SearchStrategy[tuple[np.ndarray, list[np.ndarray]]]:
    def build(seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
        rng = np.random.default_rng(seed)
        outcomes = int(rng.integers(2, 5))
        p = rng.dirichlet(np.full(outcomes, rng.choice([0.2, 1.0, 5.0])))
        tables = []
        for _ in range(questions):
            table = rng.dirichlet(np.full(int(rng.integers(2, 4)), rng.choice([0.1, 1.0])), size=outcomes)
            tables.append(np.eye(table.shape[1])[table.argmax(axis=1)] if rng.random() < 0.2 else table)
        return p, tables

    return st.integers(0, 10**9).map(build)


@given(spaces(3))
@settings(max_examples=200, deadline=None)
def test_gain_equals_enumeration_and_is_never_negative(space):
    p, tables = space
    for table in tables:
        assert gain(p, table) == pytest.approx(brute(p, [table]), abs=1e-9)
        assert gain(p, table) >= 0
    assert joint_gain(p, tables) == pytest.approx(brute(p, tables), abs=1e-9)
    assert joint_gain(p, tables) <= entropy(p) + 1e-9


@given(spaces(12))
@settings(max_examples=100, deadline=None)
def test_many_gains_at_once_are_those_of_each_to_the_last_bit(space):
    """A plan is recomputed from the record: one bit less, and two equal items change places."""
    p, tables = space
    assert gain_each(p, tables) == [gain(p, table) for table in tables]


@given(spaces(4))
@settings(max_examples=100, deadline=None)
def test_an_answer_adds_less_the_more_is_known(space):
    """Submodular and monotone: f(A + x) − f(A) ≥ f(B + x) − f(B) ≥ 0 for A ⊆ B."""
    p, (*known, x) = space
    for size in range(len(known) + 1):
        for small in combinations(known, size):
            added = joint_gain(p, [*small, x]) - joint_gain(p, list(small))
            more = joint_gain(p, [*known, x]) - joint_gain(p, known)
            assert added >= more - 1e-9
            assert more >= -1e-9


@given(spaces(5))
@settings(max_examples=100, deadline=None)
def test_lazy_greedy_is_greedy_and_near_the_best_batch(space):
    p, tables = space
    picked = choose(p, tables, [1.0] * 5, 2)
    held: list[int] = []
    got = 0.0
    for which, added in picked:  # each is the best addition at its turn
        best = max(joint_gain(p, [tables[j] for j in (*held, i)]) for i in range(5) if i not in held)
        held.append(which)
        got += added
        assert joint_gain(p, [tables[j] for j in held]) == pytest.approx(best, abs=1e-9)
        assert got == pytest.approx(best, abs=1e-9)
    best = max(joint_gain(p, [tables[i], tables[j]]) for i, j in combinations(range(5), 2))
    assert got >= (1 - 1 / np.e) * best - 1e-9


def test_a_batch_does_not_ask_the_same_thing_twice():
    p = np.array([0.4, 0.3, 0.3])
    first = np.array([[0.95, 0.05], [0.05, 0.95], [0.05, 0.95]])
    second = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    picked = [which for which, _ in choose(p, [first, first, second], [1.0, 1.0, 1.0], 2)]
    assert sorted(picked) == [0, 2]
    assert gain(p, first) > gain(p, second)  # one by one, the first twice would have come first


def test_cost_decides_between_equal_gains():
    p, sharp = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])
    assert [which for which, _ in choose(p, [sharp, sharp], [3.0, 1.0], 1)] == [1]


def test_many_at_once_agree_with_one_by_one():
    rng = np.random.default_rng(0)
    p, present = rng.dirichlet(np.ones(6)), rng.random((20, 6))
    present[0] = 1.0
    one = [gain(p, np.stack([row, 1 - row], axis=1)) for row in present]
    assert gains(p, present).tolist() == pytest.approx(one, abs=1e-12)
    assert one[0] == 0.0


def test_value_of_information_by_hand():
    """Treat is worth 10 if ill and −5 if not; p(ill) = 0.2: treating is worth −2, waiting 0. A test with P(+|ill) = 0.9 and
    P(+|well) = 0.1: treat after +, worth 0.2·0.9·10 − 0.8·0.1·5 = 1.4, else wait."""
    p, table = np.array([0.2, 0.8]), np.array([[0.9, 0.1], [0.1, 0.9]])
    utility = np.array([[10.0, -5.0], [0.0, 0.0]])
    assert value(p, table, utility) == pytest.approx(1.4)
    assert value(p, np.full((2, 2), 0.5), utility) == 0.0
    assert value(p, table, np.array([[1.0, 1.0], [0.0, 0.0]])) == 0.0  # nothing could change what is done


def test_an_impossible_answer_leaves_the_belief():
    p = np.array([1.0, 0.0])
    chance, after = posterior(p, np.array([[1.0, 0.0], [0.0, 1.0]]), 1)
    assert chance == 0.0
    assert after.tolist() == p.tolist()


@pytest.mark.parametrize("table", [np.ones((2, 2)), np.array([[1.5, -0.5], [0.5, 0.5]]), np.ones((3, 1))])
def test_what_is_no_table_of_answers_is_refused(table):
    with pytest.raises(InputError, match="table of answers"):
        gain(np.array([0.5, 0.5]), table)


def test_utilities_of_another_space_are_refused():
    with pytest.raises(InputError, match="utilities"):
        value(np.array([0.5, 0.5]), np.eye(2), np.ones((2, 3)))
