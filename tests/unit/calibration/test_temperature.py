"""Softening many beliefs at once gives what softening each gives, in as many steps as there are sizes."""

from __future__ import annotations

import numpy as np
import pytest

from maci.calibration.temperature import Softening


def beliefs(n: int, sizes: tuple[int, ...]) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    drawn = (rng.dirichlet(np.ones(sizes[i % len(sizes)])).tolist() for i in range(n))
    return [{f"y{k}": p for k, p in enumerate(each)} for each in drawn]


@pytest.mark.parametrize(
    "softening", [Softening(), Softening(temperature=0.7), Softening(temperature=2.5, epsilon=0.01)]
)
def test_many_are_softened_as_each_is(softening: Softening) -> None:
    some = [*beliefs(60, (2, 3, 9, 41)), {"sure": 1.0, "no": 0.0}]
    together = softening.apply_all(some)
    assert together == [softening.apply(p) for p in some]
    assert [list(p) for p in together] == [list(p) for p in some]


def test_beliefs_over_equally_many_outcomes_are_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    logs, log = [], np.log
    monkeypatch.setattr("maci.calibration.temperature.np.log", lambda x: logs.append(x.shape) or log(x))
    Softening(temperature=2.0).apply_all(beliefs(100, (3, 5)))
    assert sorted(logs) == [(50, 3), (50, 5)]


def test_no_belief_stays_none() -> None:
    assert Softening(temperature=2.0).apply_all([{}, {"a": 1.0}]) == [{}, {"a": 1.0}]
