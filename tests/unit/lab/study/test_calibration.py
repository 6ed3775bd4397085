"""The one calibration of a study: finds a known temperature, keeps the order of outcomes, and never sees the test part."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from maci.calibration.temperature import ENOUGH, Softening, fit_softening
from maci.errors import InputError
from maci.lab.study.metrics import score
from maci.lab.study.report.arena import Learner, calibrations
from maci.lab.study.study import Row

LABELS = "abcdef"


def drawn(n: int, sharp: float, seed: int = 3):
    """Beliefs that are the truth to the power of ``sharp``, and outcomes drawn from the truth."""
    chance = np.random.default_rng(seed)
    truth = chance.dirichlet(np.ones(len(LABELS)) * 0.7, n)
    gold = [LABELS[chance.choice(len(LABELS), p=row)] for row in truth]
    stated = truth**sharp / (truth**sharp).sum(axis=1, keepdims=True)
    return [dict(zip(LABELS, row, strict=True)) for row in stated.tolist()], gold


def nll(beliefs, gold, calibration: Softening) -> float:
    return float(np.mean([score(calibration.apply(p), y).nll for p, y in zip(beliefs, gold, strict=True)]))


@pytest.mark.parametrize("sharp", [0.5, 1.0, 2.5])
def test_a_known_temperature_is_found(sharp):
    beliefs, gold = drawn(3000, sharp)
    assert fit_softening(beliefs, gold).temperature == pytest.approx(sharp, rel=0.12)


def test_no_better_point_is_found_by_a_general_optimiser():
    beliefs, gold = drawn(400, 2.0)
    found = fit_softening(beliefs, gold)

    def loss(x):
        return nll(beliefs, gold, Softening(temperature=math.exp(x[0]), epsilon=1 / (1 + math.exp(-x[1])) / 2))

    best = min(minimize(loss, start, method="Nelder-Mead").fun for start in ([0.0, -3.0], [0.7, -8.0]))
    assert nll(beliefs, gold, found) <= best + 1e-4


def test_a_share_for_outcomes_of_probability_zero_is_learnt():
    # a vote of 1 for "a" that is right three times in four: p' of the gold must be 0.75 and 0.25
    beliefs = [{"a": 1.0, "b": 0.0}] * 40
    gold = ["a"] * 30 + ["b"] * 10
    found = fit_softening(beliefs, gold)
    assert found.apply(beliefs[0])["a"] == pytest.approx(0.75, abs=0.005)


def test_applied_by_hand():
    # ε = 0.2 over two outcomes: 0.8 · 0.9 + 0.1 = 0.82 and 0.18; T = 0.5 squares them
    found = Softening(temperature=0.5, epsilon=0.2).apply({"a": 0.9, "b": 0.1})
    assert found["a"] == pytest.approx(0.82**2 / (0.82**2 + 0.18**2))
    assert sum(found.values()) == pytest.approx(1)


def test_a_well_calibrated_set_is_left_nearly_alone():
    beliefs, gold = drawn(3000, 1.0)
    found = fit_softening(beliefs, gold)
    assert nll(beliefs, gold, found) == pytest.approx(nll(beliefs, gold, Softening()), abs=0.002)


def test_too_few_dev_answers_give_the_identity_and_say_so():
    beliefs, gold = drawn(ENOUGH - 1, 3.0)
    found = fit_softening(beliefs, gold)
    assert (found.temperature, found.epsilon) == (1.0, 0.0)
    assert "19 dev answers name the truth, 20 are needed" in found.note
    assert found.apply(beliefs[0]) == beliefs[0]


def test_answers_that_never_named_the_truth_teach_nothing():
    beliefs, gold = drawn(60, 2.0)
    assert fit_softening(beliefs + [{"a": 0.5, "b": 0.5}] * 30, gold + ["elsewhere"] * 30) == fit_softening(
        beliefs, gold
    )


def test_one_gold_for_each_belief():
    with pytest.raises(InputError, match="beliefs has 1 entries and gold 0"):
        fit_softening([{"a": 1.0}], [])


def rows(part: str, beliefs, gold, **changes) -> list[Row]:
    fields = {"data": "d", "seed": 0, "part": part, "method": "m", **changes}
    return [
        Row(item=f"{part}{i}", gold=y, belief=p, **fields) for i, (p, y) in enumerate(zip(beliefs, gold, strict=True))
    ]


def test_only_dev_rows_of_the_same_method_data_and_seed_teach():
    dev, gold = drawn(80, 2.5)
    other, truth = drawn(80, 0.4, seed=9)
    own = calibrations(rows("dev", dev, gold))[Learner("d", 0, "m")]
    more = rows("dev", dev, gold) + rows("test", other, truth)
    for change in ({"method": "n"}, {"seed": 1}, {"data": "e"}):
        more += rows("dev", other, truth, **change)
    found = calibrations(more)
    assert own.temperature > 1.5
    assert found[Learner("d", 0, "m")] == own
    assert {who for who, c in found.items() if c.temperature < 1} == {
        Learner("d", 0, "n"), Learner("d", 1, "m"), Learner("e", 0, "m"),
    }  # fmt: skip


def test_failed_dev_rows_do_not_teach():
    dev, gold = drawn(40, 2.5)
    failed = [
        row.model_copy(update={"status": "failed", "belief": None, "item": f"x{row.item}"})
        for row in rows("dev", dev, gold)
    ]
    assert calibrations(rows("dev", dev, gold) + failed) == calibrations(rows("dev", dev, gold))
