r"""Probabilities as they are reported: calibrated for what they come from.

A temperature is learnt on whole debates. An answer that no round stands behind (one agent's, a vote, the openings that `harm.rollback`
went back to) is as sure as triage has learnt such answers to be: it is tempered so that its leader's p is the chance c of being right,

.. math::
   \mathrm{logit}\, c = a + b\, \mathrm{logit} \max_y p(y)

and where triage has learnt nothing it stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from maci.belief import Vector, temper, temper_to
from maci.controller.inputs import Opened, Seat
from maci.controller.state import State
from maci.controller.triage import chance_right
from maci.errors import ConfigError

__all__ = ["BY_STAGE", "calibrated", "check_made_for", "is_calibrated", "is_debated", "made_for"]

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


def made_for(opened: Opened) -> str:
    """What a calibration from such debates is good for: the panel with its models, and the encoder.

    Such as ``readers: reader-lexical, reader-semantic, reader-bayesian; judges letters (surface), words (surface) | wordllama/256``.
    """
    agents, judges = (", ".join(_models(opened, seats)) for seats in ("agents", "judges"))
    judged = f"judges {judges}" if judges and opened.config.crit.enabled else "no judges"
    return f"{opened.panel.strip('-') or 'agents'}: {agents}; {judged} | {opened.encoder}"


def _models(opened: Opened, seats: Literal["agents", "judges"]) -> Iterator[str]:
    """Whoever sits there, by model; where none is on record, by what is: name and family."""
    if opened.table is not None:
        yield from (str(seat["model"]) for seat in opened.table.get(seats, ()))
        return
    given: tuple[Seat, ...] = opened.agents if seats == "agents" else opened.judges
    yield from (
        seat.family if f"-{seat.family}".endswith(f"-{seat.name}") else f"{seat.name} ({seat.family})" for seat in given
    )


def check_made_for(opened: Opened) -> None:
    """Refuse a calibration that was made for another panel, other models or another encoder; a replay takes it as recorded."""
    given, own = opened.config.calibration.made_for, made_for(opened)
    if not given or given == own:
        return
    if " | " not in given:
        raise ConfigError(
            f"the calibration names only the encoder it was made with ({given!r}), not its panel: it was written by an earlier "
            f"version, and nothing shows that it fits this debate ({own!r}). Run `maci calibrate` again, or leave the calibration out"
        )
    raise ConfigError(
        f"the calibration was made for {given!r}, and this debate is {own!r}: run `maci calibrate` again (a panel "
        "other than the readers is taught from its own records: docs/ask.md), or leave the calibration out"
    )
