from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from maci.lab.theory.bandits import _season, bound, budget, context_matters, regret, regrets
from theory_helpers import verdicts


def by_hand(rewards: list[list[float]], horizon: int) -> list[int]:
    """UCB of arms that always pay the same, in plain Python; the first of equals, to nine digits."""
    sums, pulls, chosen = [0.0] * len(rewards), [0] * len(rewards), []
    for t in range(1, horizon + 1):
        index = [s / max(1, n) + sqrt(2 * log(t) / max(1, n)) for s, n in zip(sums, pulls, strict=True)]
        k = max(range(len(index)), key=lambda i: (round(index[i], 9), -i))
        sums[k] += rewards[k]
        pulls[k] += 1
        chosen.append(k)
    return chosen


def test_regret_on_arms_without_luck_is_that_of_a_plain_loop() -> None:
    means = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    found, first = regrets(means, (50, 400), np.random.default_rng(0))
    for run, row in enumerate(means.tolist()):
        chosen = by_hand(row, 400)
        assert (first[:, run] // 2).tolist() == chosen[:300]
        assert found[:, run].tolist() == [sum(1 - row[k] for k in chosen[:mark]) for mark in (50, 400)]


def test_the_bound_by_hand() -> None:
    """T = e: 2√(8·9·e·1) + (1 + π²/3)·9 = 2·√195.716 + 9 + 3π² = 27.9797 + 9 + 29.6088."""
    assert bound(np.e) == pytest.approx(66.5885, abs=1e-3)


def test_regret_is_measured_and_holds() -> None:
    found = verdicts(regret)["regret"]
    assert found.passed, found.measured
    assert found.figures["same_as_arms"]
    assert found.n == 2 * 4 * 6
    worst = found.figures["exponents"]["worst gaps"]
    assert 0.4 < worst[1] <= worst[0] <= worst[2] <= 0.6


def test_context_and_budget_hold() -> None:
    found = {**verdicts(context_matters, horizons=(1_000,)), **verdicts(budget)}
    assert found["linucb"].passed and found["linucb"].figures["low"] > 0
    assert found["budget"].passed and found["budget"].n >= 300
    assert found["budget-broken-promise"].figures["0.2"]["debates"] > 0


def test_a_promise_broken_in_every_round_breaks_budgets() -> None:
    tally = _season(np.random.default_rng(0), 200, breach=1.0)
    assert tally.broken > 0 and tally.worst > 0
    assert tally.rounds >= 200 and tally.debates >= tally.broken + tally.stopped
