"""Closes round 0: sets the first dials and the regime from the openings, and decides for ``maci ask`` whether to continue.

``maci ask`` decides after the first opening and again after all of them; :mod:`maci.controller.triage` has the rule. The openings are
those of the debate, so continuing pays for none of them twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maci.agents.anchor import Admitted
from maci.controller.acquiring import conclude
from maci.controller.decisions import Decision, Initialized
from maci.controller.dials import RoundDials, first_tau_q
from maci.controller.ending import Step, abstention, finish, unfit
from maci.controller.measuring import theta
from maci.controller.policies import scheduler
from maci.controller.reading import Reading, calibrated, cited, gold_index, is_calibrated, read_round, shares, spread
from maci.controller.rounds import by_hand, next_round
from maci.controller.state import State, as_mapping, check_citations
from maci.controller.triage import (
    Check,
    Prospect,
    RegimeAdvice,
    Stage,
    Triaged,
    chance_right,
    checks,
    prospects,
    regime,
)
from maci.controller.watch import remember_opening
from maci.evidence.span import CASE
from maci.moderator.belief import Vector
from maci.moderator.signals import evidence_qualities, evidence_quality, overlap

_UNGROUNDED = (
    "there is no evidence beside the case: evidence quality (Q) and overlap (O) are undefined, their gate and stop clauses do not "
    "apply, and arguments are admitted {}"
)


def close_opening(state: State) -> Step:
    """Close round 0: read the openings, set the dials, choose the regime."""
    target = theta(state)
    state, reading = read_round(state)
    if not reading.beliefs:
        state = replace(state, labels=reading.labels)
        return finish(state, "error", f"no agent gave an opening: {reading.first_reason()}")
    prior = [state.config.reliability.prior.get(agent, 1.0) for agent in reading.beliefs]
    mixture = np.average(list(reading.beliefs.values()), axis=0, weights=prior)
    weights = dict(zip(reading.beliefs, prior, strict=True))
    narrower = shares(reading.labels, reading.beliefs, weights, reading.fine, reading.joins)
    vectors = [state.vectors[i] for i in _found(state)]
    said = [(agent, check_citations(argument, state)) for agent, argument in state.arguments.values()]
    q0, sources = opening_quality(state)
    d0 = spread(reading.beliefs, state)
    o0 = overlap(cited(state, said)) if len(reading.beliefs) > 1 else None  # one agent alone shares nothing
    cosines = [q for q in evidence_qualities([[v] for v in vectors], target) if q is not None]
    tau_q, note = first_tau_q(cosines, state.config)
    note = note if state.grounded else _UNGROUNDED.format("by CRIT alone" if state.slots else "without a gate")
    notes = (*reading.notes, *([note] if note else []))
    dials = RoundDials(scheduler(state.config, state.opened.learned).first(q0, d0), tau_q, state.config.gate.tau_crit)
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
        correct=None if state.opened.case.gold is None else int(mixture.argmax()) == gold_index(state, reading.labels),
        notes=notes,
        joined=reading.new,
        narrower=narrower,
    )
    opened = replace(
        state,
        labels=reading.labels,
        beliefs=reading.beliefs,
        fine=reading.fine,
        narrower=narrower,
        mixture=mixture,
        q0=q0,
        d=d0,
        dials=dials,
        openings=tuple(Admitted(i, state.seat(agent), 0, argument) for i, agent, argument in state.in_seat_order()),
        warnings=(*state.warnings, *notes, *reading.abstentions(0)),
    )
    return next_round(opened.but(memory=remember_opening(opened, said, o0)), dials), (decision,)


def opening_quality(state: State) -> tuple[float | None, int]:
    """Q₀, and how many sources the retrieved evidence has."""
    found = _found(state)
    measured = found if state.config.evidence.q0 == "all" else state.core or found
    return evidence_quality([state.vectors[i] for i in measured], theta(state)), len(
        {state.spans[i].source for i in found}
    )


def _found(state: State) -> Sequence[str]:
    """What was retrieved beside the case's own text, or cited of it; the case's own text only where that is evidence."""
    beside = [i for i in state.retrieved if state.spans[i].source != CASE]
    if beside or not state.facts:
        return beside or state.retrieved
    return [i for i, span in state.spans.items() if span.source != CASE]


def after_first(state: State) -> Step:
    """One agent has spoken: is that enough?"""
    (first,) = state.asked
    alone = state.but(turns={first: state.turns[first]})
    reading = Reading(alone)
    size = state.opened.case.outcomes.size(len(reading.labels))
    q0, sources = opening_quality(state)
    kind = regime(size, q0, None, None, sources, state.config)
    found = checks(size, q0, None, None, sources, state.config)
    if first not in reading.beliefs:
        why = (f"{first} gave no opening ({reading.abstained[first]}): the others are asked",)
        said = Triaged(
            stage="single", answer=None, confidence=None, margin=None, regime=kind, checks=found, steps=(),
            tokens=state.usage.tokens, escalate=True, why=why,
        )  # fmt: skip
        return state.but(stage="vote"), (said,)
    said = _weigh(state, "single", first, reading.labels, reading.beliefs[first], kind, found, united=True)
    if said.escalate:
        return state.but(stage="vote"), (said,)
    others = [agent for agent in state.agents if agent != first]
    alone = alone.but(
        turns={agent: alone.turns.get(agent) for agent in state.agents},
        failures=dict.fromkeys(others, "not asked: one answer was enough"),
    )
    closed, decisions = close_opening(alone)
    notes = [note for each in decisions if isinstance(each, Initialized) for note in each.notes]
    closed = closed.but(warnings=(*state.warnings, *notes))  # nobody failed
    return conclude(closed, "triage", said.why[0], (said, *decisions))


def after_opening(state: State, decisions: tuple[Decision, ...]) -> Step:
    """All openings are in and closed: is their vote enough?"""
    start = next(each for each in decisions if isinstance(each, Initialized))
    size = state.opened.case.outcomes.size(len(state.labels))
    _, sources = opening_quality(state)
    leads = {int(p.argmax()) for p in state.beliefs.values()}
    said = _weigh(
        state, "vote", f"the vote of {len(state.beliefs)}", state.labels, state.mixed, start.regime,
        checks(size, start.q, start.d, start.o, sources, state.config), united=len(leads) == 1,
    )  # fmt: skip
    if said.escalate:
        return state.but(stage="debate"), (*decisions, said)
    return conclude(state, "triage", said.why[0], (*decisions, said))


def _weigh(
    state: State,
    stage: Stage,
    who: str,
    labels: tuple[str, ...],
    p: Vector,
    kind: RegimeAdvice,
    found: tuple[Check, ...],
    *,
    united: bool,
) -> Triaged:
    """The decision on an answer that stands."""
    own = state.config.triage
    shift, slope = (own.single_shift, own.single_slope) if stage == "single" else (own.vote_shift, own.vote_slope)
    order = np.argsort(p)[::-1]
    c = chance_right(float(p[order[0]]), shift, slope)
    spent = state.usage.tokens
    steps = prospects(stage, c, kind.kind, united=united, agents=len(state.agents), tokens=spent, config=state.config)
    answer = labels[int(p.argmax())]
    given, known = as_mapping(labels, calibrated(state, p, debated=False)), is_calibrated(state, debated=False)
    lacking = abstention(state, answer, given, known=known) if own.until_sure and not unfit(state) else None
    escalate = lacking is not None or any(step.pays for step in steps)
    return Triaged(
        stage=stage,
        answer=answer,
        confidence=c,
        margin=float(p[order[0]] - p[order[1]]) if len(p) > 1 else None,
        regime=kind,
        checks=found,
        steps=steps,
        tokens=spent,
        escalate=escalate,
        why=_words(who, answer, c, steps, escalate, lacking),
    )


def _words(
    who: str, answer: str, c: float, steps: tuple[Prospect, ...], escalate: bool, lacking: str | None
) -> tuple[str, ...]:
    chosen = [step for step in steps if step.pays] or steps
    best = max(chosen, key=lambda step: step.worth - step.tokens)
    do = "vote" if best.to == "vote" else "debate"
    if best.gain <= 0:
        more = f"a {do} is expected to spoil more than it mends ({100 * best.gain:.1f} points)"
    else:
        more = (
            f"a {do} is expected to add {100 * best.gain:.1f} points for about {best.tokens:,} tokens, "
            f"and such a gain is worth {best.worth:,.0f}"
        )
    stands = f"{who} says {answer}, right with a chance of about {c:.2f}"
    if lacking is not None and not any(step.pays for step in steps):
        more += f", but the answer would be withheld at the risk asked for ({lacking})"
    return (f"{stands}; {more}: {'going on' if escalate else 'this is enough'}",)
