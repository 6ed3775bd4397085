"""Against people's choices on pairs of arguments."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from maci.agents.agent import FunctionJudge
from maci.lab.audit.judges.agreement import pair_accuracy
from maci.lab.audit.judges.convarg import Pair, compare, folds


def made(n=8, sides=12):
    """People choose by a hidden mark at the end of an argument; the longer one wins in 3 of 4 pairs."""
    rng = np.random.default_rng(0)
    found = []
    for side in range(sides):
        for pair in range(n):
            longer = f"{side}.{pair} " + "word " * int(rng.integers(30, 50))
            shorter = f"{side}.{pair} " + "word " * int(rng.integers(5, 20))
            marks = ("!9", "!1") if pair % 4 else ("!1", "!9")
            texts = longer + marks[0], shorter + marks[1]
            first = bool(rng.integers(2))
            one, two = texts if first else texts[::-1]
            found.append(Pair(f"side-{side}", one, two, one.endswith("!9"), dev=side < 4))
    return found


def test_a_judge_that_knows_beats_length_and_one_that_does_not_is_named():
    knows = FunctionJudge("knows", lambda request: int(request.argument.claim[-1]) / 10)
    flat = FunctionJudge("flat", lambda request: 0.5)
    found = asyncio.run(compare(made(), [knows, flat], resamples=200))
    assert found.longer.value == 0.75 and found.sides == 12 and found.pairs == 96
    by = {versus.judge: versus for versus in found.judges}
    assert by["knows"].accuracy.value == 1.0 and by["knows"].test.n == 64
    assert by["knows"].less_length.value == pytest.approx(0.25)
    assert by["knows"].with_length.value == pytest.approx(0.25)  # both together are never wrong
    assert by["flat"].accuracy.value == 0.5  # ties count half
    assert set(by["knows"].by_side) == {f"side-{i}" for i in range(12)}
    assert "mean of the judges" in by
    assert not knows.history[0].spans  # models are shown the argument and no evidence


def test_reader_judges_are_given_the_argument_as_their_evidence():
    found = asyncio.run(compare(made(4, 3), resamples=50))
    assert [versus.judge for versus in found.judges] == ["letters", "words", "phrases", "mean of the judges"]
    assert found.abstained == 0 and all(versus.accuracy.defined for versus in found.judges)


def test_folds_are_scikit_learn_s_logistic_regression():
    linear = pytest.importorskip("sklearn.linear_model", reason="needs the extra `eval`")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 2)) * [1.0, 5.0]
    y = (x @ [1.0, 0.2] + rng.logistic(size=200) > 0).astype(float)
    groups = [str(i % 4) for i in range(200)]
    found = folds(x, y, groups)
    for g in "0123":
        inside = np.array(groups) == g
        size = x[~inside].std(axis=0)
        model = linear.LogisticRegression(fit_intercept=False, C=1 / (1e-3 * (~inside).sum()), tol=1e-10)
        model.fit(x[~inside] / size, y[~inside])
        assert found[inside] == pytest.approx(model.decision_function(x[inside] / size), abs=1e-3)


def test_pair_accuracy_is_the_share_over_all_pairs_with_groups_resampled():
    hits = [1.0, 0.0, 1.0, 1.0, 0.5]
    found = pair_accuracy(hits, ["a", "a", "b", "b", "c"], resamples=2000)
    assert found.value == pytest.approx(3.5 / 5) and found.n == 5 and "3 groups" in found.how
    # group b alone is all right, group a or c alone is half: the interval's ends
    assert found.low == pytest.approx(0.5, abs=0.05) and found.high == pytest.approx(1.0, abs=0.1)
    assert not pair_accuracy([], []).defined
