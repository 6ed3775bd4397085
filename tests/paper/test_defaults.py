"""Defaults equal SPEC 4."""

import pytest

from maci.config import PROFILES, build, parameters

SPEC_4 = {
    "plateau.window": 3, "plateau.eta": 1e-3, "reliability.decay": 0.8, "reliability.floor": 1e-6, "stop.tau_stop": 2,
    "dials.alpha_i": 0.2, "dials.alpha_d": 0.2, "gate.gamma": 0.1, "gate.tau_q": 0.50, "gate.tau_crit": 0.30, "gate.tau_max": 0.8,
    "stop.tau_o": 0.30, "plateau.epsilon_i": 0.02, "plateau.epsilon_d": 0.05, "stop.epsilon_v": 0.01, "stop.delta_v": 0.02,
    "dispersion.nu": 0.0, "crit.k": 3, "agents.temperature": 0.7, "crit.judge_temperature": 0.3, "evidence.k_ret": 32,
    "evidence.context_tokens": 4000, "stop.min_rounds": 2, "stop.max_rounds": 8, "beliefs.tolerance": 0.1, "beliefs.delta": 1e-6,
    "budget.tokens": 100_000, "reliability.gamma_0": 0.5, "dials.q_hi": 0.7, "dials.q_lo": 0.5, "dials.d_lo": 0.3,
    "dials.d_hi": 0.5, "dials.cl_min": 0.1, "dials.cl_max": 0.9, "regime.tau_y": 20,
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), SPEC_4.items())
def test_default(key, value):
    found = {row.key: row.value for row in parameters(build("default", {}))}
    assert found[key] == value


def test_every_parameter_says_its_symbol_range_and_meaning():
    for row in parameters(build("default", {})):
        assert row.symbol and row.meaning and row.valid, row.key


def test_both_profiles_load():
    assert {name: build(name, {}).profile for name in PROFILES} == {"default": "default", "paper": "paper"}
