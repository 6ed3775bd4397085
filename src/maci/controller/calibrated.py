r"""Probabilities as they are reported: calibrated for what they come from.

A temperature is learnt on whole debates. An answer that no round stands behind (one agent's, a vote, the openings that `harm.rollback`
went back to) is as sure as triage has learnt such answers to be: it is tempered so that its leader's p is the chance c of being right,

.. math::
   \mathrm{logit}\, c = a + b\, \mathrm{logit} \max_y p(y)

and where triage has learnt nothing it stays as it is.
"""

from __future__ import annotations

from maci.belief import Vector, temper, temper_to
from maci.controller.state import State
from maci.controller.triage import chance_right

__all__ = ["BY_STAGE", "calibrated", "is_calibrated", "is_debated"]

BY_STAGE = 5
"""The first transcript format whose answers are calibrated for what they come from."""


def is_debated(state: State) -> bool:
    """Whether a round stands behind the mixture."""
    return bool(state.history) or state.opened.format < BY_STAGE


def is_calibrated(state: State, *, debated: bool) -> bool:
    """Whether a calibration knows such answers."""
    return bool(state.config.calibration.made_for if debated else state.config.triage.learned_from)


def calibrated(state: State, mixture: Vector | None = None, *, debated: bool | None = None) -> Vector:
    """The mixture of the state, or another, as it is reported; ``debated`` where it is not the state's own."""
    p = state.mixture if mixture is None else mixture
    assert p is not None
    if is_debated(state) if debated is None else debated:
        return temper(p, state.config.calibration.temperature)
    known = state.config.triage
    if not known.learned_from:
        return p
    alone = state.stage == "single"
    shift, slope = (known.single_shift, known.single_slope) if alone else (known.vote_shift, known.vote_slope)
    return temper_to(p, chance_right(float(p.max()), shift, slope))
