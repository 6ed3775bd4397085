"""``maci ask`` in the fold: after the first opening, and after all of them, stop there or go on.

The openings are those of a debate, so whoever goes on pays for none of them twice. :mod:`maci.controller.triage` has the rule.
"""

from __future__ import annotations

import numpy as np

from maci.controller.acquiring import conclude
from maci.controller.decisions import Decision, Initialized
from maci.controller.ending import abstention
from maci.controller.opening import close_opening, opening_quality
from maci.controller.reading import Reading, calibrated, is_calibrated
from maci.controller.state import State, as_mapping
from maci.controller.triage import Check, Prospect, Regime, Stage, Triaged, chance_right, checks, prospects, regime
from maci.moderator.belief import Vector

Step = tuple[State, tuple[Decision, ...]]


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
    assert state.mixture is not None
    size = state.opened.case.outcomes.size(len(state.labels))
    _, sources = opening_quality(state)
    leads = {int(p.argmax()) for p in state.beliefs.values()}
    said = _weigh(
        state, "vote", f"the vote of {len(state.beliefs)}", state.labels, state.mixture, start.regime,
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
    kind: Regime,
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
    lacking = abstention(state, answer, given, known=known) if own.until_sure else None
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
