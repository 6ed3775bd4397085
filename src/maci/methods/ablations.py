"""What the controller is without one of its parts (SPEC 12), as settings on top of a study's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ABLATIONS", "UNSCHEDULED"]

ROUNDS = 4
"""Rounds of a debate that does not stop by itself."""

_NO_STOPPING = {"stop.min_rounds": ROUNDS, "stop.max_rounds": ROUNDS}

ABLATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "no_schedule_high": ("contentiousness fixed at 0.9", {"dials.schedule": "fixed", "dials.cl_fixed": 0.9}),
    "no_schedule_low": ("contentiousness fixed at 0.3", {"dials.schedule": "fixed", "dials.cl_fixed": 0.3}),
    "no_q_gate": ("evidence quality is not asked for", {"gate.q_gate": False}),
    "no_crit_gate": ("argument quality is not asked for", {"gate.crit_gate": False}),
    "uniform_weights": ("every agent weighs the same", {"reliability.weights": "uniform"}),
    "crit_free": ("no judges: no scores, no CRIT gate, equal weights", {"crit.enabled": False}),
    "no_stopping": (f"always {ROUNDS} rounds", _NO_STOPPING),
    "no_dispersion_gate": ("every move of a belief is taken", {"dispersion.gate": "off"}),
    "moving_theta": ("the target of Q follows what was admitted", {"evidence.theta": "moving"}),
    "maci_rollback": (
        "the round-0 vote is given where the debate left it for an answer with less admitted evidence",
        {"harm.rollback": "worse"},
    ),
    "sequential": ("agents speak one after another", {"agents.order": "sequential"}),
}
"""Name → what is missing, and the settings that take it away."""

UNSCHEDULED: Mapping[str, Any] = {
    "dials.schedule": "fixed",
    "dials.cl_fixed": 0.5,
    "gate.q_gate": False,
    "gate.crit_gate": False,
    "crit.enabled": False,
    "dispersion.gate": "off",
    **_NO_STOPPING,
}
"""Debate without a controller: the same turns, everything admitted, nobody judged, a fixed number of rounds."""
