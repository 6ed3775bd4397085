"""Closing round 0: from the openings to the first dials and the regime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maci.controller.decisions import Decision, Initialized
from maci.controller.dials import Dials, first_tau_q
from maci.controller.ending import finish
from maci.controller.measuring import theta
from maci.controller.policies.base import scheduler
from maci.controller.reading import Reading, cited, correct, spread
from maci.controller.rounds import by_hand, next_round
from maci.controller.state import State, as_mapping, check_citations
from maci.controller.triage import regime
from maci.controller.watch import remember_opening
from maci.evidence.source import CASE
from maci.moderator.signals import evidence_qualities, evidence_quality, overlap


def close_opening(state: State) -> tuple[State, tuple[Decision, ...]]:
    """Close round 0: read the openings, set the dials, choose the regime."""
    target = theta(state)
    reading = Reading(state)
    if not reading.beliefs:
        state = replace(state, labels=reading.labels)
        return finish(state, "error", f"no agent gave an opening: {reading.first_reason()}")
    prior = [state.config.reliability.prior.get(agent, 1.0) for agent in reading.beliefs]
    mixture = np.average(list(reading.beliefs.values()), axis=0, weights=prior)
    vectors = [state.vectors[i] for i in _found(state)]
    said = [(agent, check_citations(argument, state)) for agent, argument in state.arguments.values()]
    q0, sources = opening_quality(state)
    d0 = spread(reading.beliefs, state)
    o0 = overlap(cited(state, said)) if len(reading.beliefs) > 1 else None  # one agent alone shares nothing
    cosines = [q for q in evidence_qualities([[v] for v in vectors], target) if q is not None]
    tau_q, note = first_tau_q(cosines, state.config)
    notes = (*reading.notes, *([note] if note else []))
    dials = Dials(scheduler(state.config, state.opened.learned).first(q0, d0), tau_q, state.config.gate.tau_crit)
    dials = by_hand(dials, state)
    size = state.opened.case.outcomes.size(len(reading.labels))
    decision = Initialized(
        labels=reading.labels,
        beliefs={agent: as_mapping(reading.labels, p) for agent, p in reading.beliefs.items()},
        abstained=reading.abstained,
        mixture=as_mapping(reading.labels, mixture),
        q=q0,
        d=d0,
        o=o0,
        dials=dials,
        regime=regime(size, q0, d0, o0, sources, state.config),
        correct=correct(state, reading.labels, mixture),
        notes=notes,
    )
    opened = replace(
        state,
        labels=reading.labels,
        beliefs=reading.beliefs,
        mixture=mixture,
        q0=q0,
        d=d0,
        dials=dials,
        warnings=(*state.warnings, *notes, *reading.abstentions(0)),
    )
    return next_round(opened.but(memory=remember_opening(opened, said, o0)), dials), (decision,)


def opening_quality(state: State) -> tuple[float | None, int]:
    """Q₀, and how many sources the retrieved evidence has."""
    found = _found(state)
    core = [state.vectors[i] for i in state.core or found]
    return evidence_quality(core, theta(state)), len({state.spans[i].source for i in found})


def _found(state: State) -> Sequence[str]:
    """What was retrieved beside the case's own text."""
    return [i for i in state.retrieved if state.spans[i].source != CASE] or state.retrieved
