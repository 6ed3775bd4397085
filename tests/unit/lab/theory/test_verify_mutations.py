"""A broken product is caught: take the gate, the feasible filter or the bonus away, and a claim of `maci verify` fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maci.controller import bandit
from maci.lab.theory import bandits, lemma, termination
from maci.moderator import divergence, gate, signals
from theory_helpers import break_everywhere, verdicts


def test_without_the_dispersion_gate_dispersion_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {**verdicts(lemma.lemma_noisy), **verdicts(lemma.gate_in_debates)}
    assert whole["dispersion-gate"].passed and whole["dispersion-gate-debates"].passed
    assert break_everywhere(monkeypatch, gate.reverts, lambda *args, **rule: frozenset()) >= 3
    broken = {**verdicts(lemma.lemma_noisy), **verdicts(lemma.gate_in_debates)}
    assert not broken["dispersion-gate"].passed and broken["dispersion-gate"].figures["rises"] > 0
    assert not broken["dispersion-gate-debates"].passed


def test_a_gate_that_tolerates_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = gate.reverts

    def lax(*args: Any, nu: float, **rule: Any) -> Any:
        return true(*args, nu=nu + 0.05, **rule)

    break_everywhere(monkeypatch, true, lax)
    assert not verdicts(lemma.lemma_noisy)["dispersion-gate"].passed


def test_without_the_feasible_filter_budgets_are_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdicts(bandits.budget)["budget"].passed
    assert break_everywhere(monkeypatch, bandit.feasible, lambda estimate, left: np.ones(len(estimate), bool)) >= 2
    broken = verdicts(bandits.budget)["budget"]
    assert not broken.passed and broken.figures["violations"] > 0


def test_an_estimate_below_its_promise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = bandit.feasible
    break_everywhere(monkeypatch, true, lambda estimate, left: true(0.8 * estimate, left))
    assert not verdicts(bandits.budget)["budget"].passed


def test_without_the_bonus_regret_grows_like_t(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdicts(bandits.regret)["regret"].passed
    break_everywhere(monkeypatch, bandit.bonus, lambda pulls, t: np.zeros(np.shape(pulls)))
    broken = verdicts(bandits.regret)["regret"]
    assert not broken.passed
    assert broken.figures["exponents"]["gaps 0.3 and 0.4"][0] > 0.9


def test_linucb_that_does_not_look_at_its_context_does_not_beat_ucb(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"horizons": (1_000,), "runs": 6}
    assert verdicts(bandits.context_matters, **small)["linucb"].passed
    true = bandit.linucb
    blind = np.eye(len(bandit.FEATURES))[0]
    break_everywhere(monkeypatch, true, lambda design, response, x, **more: true(design, response, blind, **more))
    assert not verdicts(bandits.context_matters, **small)["linucb"].passed


def test_a_dispersion_that_is_not_the_mean_of_kl_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    true = divergence.dispersion
    break_everywhere(monkeypatch, true, lambda p, delta=0.0: 0.9 * true(p, delta))
    assert not verdicts(lemma.lemma_noiseless)["lemma1-exact"].passed


def test_a_plateau_test_that_never_flags_runs_past_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    true = signals.flags

    def never(*args: Any) -> signals.Flags:
        found = true(*args)
        return signals.Flags(found.r_i, found.r_d, False, False)

    monkeypatch.setitem(termination._LITERAL, "stop.max_rounds", 60)
    small = {"epsilons": (0.2, 0.1, 0.05), "courses": 1}
    assert verdicts(termination.general, **small)["termination-general"].passed
    break_everywhere(monkeypatch, true, never)
    assert not verdicts(termination.general, **small)["termination-general"].passed
