"""Closing a round: from turns and scores to the gate, the mixture, the signals and the next dials.

The order is Algorithm 1's: admission → dispersion gate → reliability → mixture → signals → flags → stop or dials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Admitted
from maci.belief import Vector, entropy, total_variation
from maci.config import Config
from maci.controller.acquiring import conclude, realised
from maci.controller.bandit import Choice
from maci.controller.decisions import (
    Admission,
    Decision,
    Dialled,
    Gated,
    Initialized,
    Measured,
    Weighed,
)
from maci.controller.dials import Dials, Summary
from maci.controller.ending import finish, in_words
from maci.controller.initialize import first_tau_q
from maci.controller.reading import Reading, cited, correct, gold_index, spread, widen
from maci.controller.regime import regime
from maci.controller.schedule import Learning, scheduler
from maci.controller.state import State, as_mapping, check_citations
from maci.controller.stopping import stop_reason
from maci.controller.watching import FORMAT as WATCHED
from maci.controller.watching import remember_opening, watch
from maci.evidence.source import CASE
from maci.judge.panel import disagreements, reliability_weights, verdict
from maci.llm.usage import Bound
from maci.moderator.analysis import analyse
from maci.moderator.gate import Candidate, Thresholds, rejection, reverts
from maci.moderator.plateau import Progress, flags
from maci.moderator.reliability import update, weights
from maci.moderator.signals import evidence_qualities, evidence_quality, information_gain, normalised_entropy, overlap

__all__ = ["close_opening", "close_round", "go_on", "opening_quality"]


def close_opening(state: State) -> tuple[State, tuple[Decision, ...]]:
    """Close round 0: read the openings, set the dials, choose the regime."""
    theta = _theta(state)
    reading = Reading(state)
    if not reading.beliefs:
        state = replace(state, labels=reading.labels)
        return finish(state, "error", f"no agent gave an opening: {_first(reading.abstained)}")
    prior = [state.config.reliability.prior.get(agent, 1.0) for agent in reading.beliefs]
    mixture = np.average(list(reading.beliefs.values()), axis=0, weights=prior)
    vectors = [state.vectors[i] for i in _found(state)]
    said = [(agent, check_citations(argument, state)) for agent, argument in state.arguments.values()]
    q0, sources = opening_quality(state)
    d0, o0 = spread(reading.beliefs, state), overlap(cited(state, said))
    if state.opened.format >= 4 and len(reading.beliefs) < 2:
        o0 = None  # one agent shares nothing with nobody
    cosines = [q for q in evidence_qualities([[v] for v in vectors], theta) if q is not None]
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
        warnings=(*state.warnings, *notes, *_abstentions(0, reading.abstained)),
    )
    if state.opened.format >= WATCHED:
        opened = opened.but(memory=remember_opening(opened, said, o0))
    return next_round(opened, dials), (decision,)


def opening_quality(state: State) -> tuple[float | None, int]:
    """Q₀, and how many sources the retrieved evidence has."""
    found = _found(state)
    core = [state.vectors[i] for i in state.core or found]
    return evidence_quality(core, _theta(state)), len({state.spans[i].source for i in found})


def _found(state: State) -> Sequence[str]:
    """What was retrieved beside the case's own text."""
    return [i for i in state.retrieved if state.spans[i].source != CASE] or state.retrieved


def close_round(state: State) -> tuple[State, tuple[Decision, ...]]:
    """Close round t ≥ 1."""
    config, t = state.config, state.round
    admissions, candidates = _admissions(state)
    gated = Gated(round=t, dials=state.dials, admissions=admissions)
    reading = Reading(state)
    if not reading.beliefs:
        return finish(state, "error", f"no agent has a belief in round {t}: {_first(reading.abstained)}", (gated,))
    admitted = [a for a in admissions if a.admitted]
    new_spans = {a.argument: {c.span for c in a.citations if c.verified} for a in admitted}
    backed = {a.agent for a in admitted if new_spans[a.argument] - state.admitted_spans}
    settled = _settle(state, reading, backed)
    beliefs = settled.beliefs

    gamma = dict(state.reliability)
    for agent in state.agents:
        own = [a.crit for a in admissions if a.agent == agent and a.crit is not None]
        gamma[agent] = update(gamma[agent], mean(own), decay=config.reliability.decay)
    uniform = config.reliability.weights == "uniform" or not state.slots
    present = list(beliefs)
    prior = config.reliability.prior
    omega = weights(
        [prior.get(agent, 1.0) * (1.0 if uniform else gamma[agent]) for agent in present],
        floor=config.reliability.floor,
    )
    table = np.stack([beliefs[agent] for agent in present])
    mixture = omega @ table
    labels = reading.labels
    weighed = Weighed(
        round=t,
        labels=labels,
        beliefs={agent: as_mapping(labels, p) for agent, p in beliefs.items()},
        reverted={agent: as_mapping(labels, p) for agent, p in settled.reverted.items()},
        abstained=reading.abstained,
        reliability=gamma,
        weights=dict(zip(present, omega.tolist(), strict=True)),
        mixture=as_mapping(labels, mixture),
        notes=tuple(reading.notes),
    )
    warnings = (
        *state.warnings,
        *(f"round {t}: {note}" for note in reading.notes),
        *_abstentions(t, reading.abstained),
        *_silence(state),
    )
    after = state.but(
        labels=labels,
        beliefs={**settled.known, **beliefs},
        mixture=mixture,
        d=settled.d,
        reliability=gamma,
        record=(
            *state.record,
            *(Admitted(a.argument, state.seat(a.agent), t, state.arguments[a.argument][1]) for a in admitted),
        ),
        merit={**state.merit, **{a.argument: (a.crit or 0.0, a.q or 0.0) for a in admitted}},
        admitted_spans=state.admitted_spans.union(*new_spans.values()),
        agreement=_agreement(state) if config.crit.aggregation == "reliability" else state.agreement,
        warnings=warnings,
    )
    after, measured = _measure(after, state, admissions, candidates, table, omega)
    after, watched = watch(state, after, admissions, measured)
    return _stop_or_go(after, (gated, weighed, measured, *watched))


def _admissions(state: State) -> tuple[tuple[Admission, ...], tuple[Candidate, ...]]:
    """The dual gate on every argument of the open round."""
    theta = _theta(state)
    gate = state.config.gate
    thresholds = Thresholds(
        state.dials.tau_q if gate.q_gate else None,
        state.dials.tau_crit if gate.crit_gate and state.slots else None,
    )
    said = list(state.in_seat_order())
    citations = [check_citations(argument, state) for _, _, argument in said]
    cited_spans = [dict.fromkeys(c.span for c in checked if c.verified) for checked in citations]
    quality = evidence_qualities([[state.vectors[i] for i in spans] for spans in cited_spans], theta)
    admissions, candidates = [], []
    weigh = state.config.crit.aggregation == "reliability"
    judge_weights = reliability_weights(state.slots, state.agreement) if weigh and state.slots else None
    for (identity, agent, _), checked, q in zip(said, citations, quality, strict=True):
        given = [state.scores[identity][slot.id] for slot in state.slots] if state.slots else []
        panel = verdict(given, judge_weights)
        candidate = Candidate(identity, agent, q, panel.mean)
        reason = rejection(candidate, thresholds)
        candidates.append(candidate)
        admissions.append(
            Admission(
                argument=identity,
                agent=agent,
                q=q,
                crit=panel.mean,
                crit_variance=panel.variance,
                abstentions=panel.abstained,
                citations=checked,
                admitted=reason is None,
                reason=reason or "",
            )
        )
    return tuple(admissions), tuple(candidates)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Beliefs after the dispersion gate."""

    known: dict[str, Vector]
    """Of every agent that ever had one, as of the round before."""
    beliefs: dict[str, Vector]
    """That count now."""
    reverted: dict[str, Vector]
    """Stated, and not taken."""
    d: float | None
    """D of ``beliefs``."""


def _settle(state: State, reading: Reading, backed: set[str]) -> _Settled:
    """The dispersion gate on the beliefs just read."""
    size = len(reading.labels)
    before = {agent: widen(p, size) for agent, p in state.beliefs.items()}
    now = reading.beliefs
    both = [agent for agent in now if agent in before]
    d = spread(now, state)
    if len(both) < 2 or state.stake is not None:  # what was found out since is new evidence to everybody
        return _Settled(before, now, {}, d)
    rule = state.config.dispersion
    everyone = len(both) == len(before) == len(now)
    d_before = state.d if everyone and state.d is not None else spread({agent: before[agent] for agent in both}, state)
    d_after = d if everyone else spread({agent: now[agent] for agent in both}, state)
    back = reverts(set(both), backed, before=d_before or 0.0, after=d_after or 0.0, nu=rule.nu, mode=rule.gate)
    if not back:
        return _Settled(before, now, {}, d)
    beliefs = {agent: before[agent] if agent in back else p for agent, p in now.items()}
    moved = {agent: p for agent, p in now.items() if agent in back and not np.array_equal(p, before[agent])}
    return _Settled(before, beliefs, moved, spread(beliefs, state))


def _measure(
    after: State,
    before: State,
    admissions: tuple[Admission, ...],
    candidates: tuple[Candidate, ...],
    table: Vector,
    omega: Vector,
) -> tuple[State, Measured]:
    """Signals, ratios and flags of the round just weighed."""
    config, labels = after.config, after.labels
    size = after.opened.case.outcomes.size(len(labels))
    previous, mixture = widen(_mixture(before), len(labels)), _mixture(after)
    d = after.d
    spans = dict.fromkeys(c.span for a in admissions if a.admitted for c in a.citations if c.verified)
    q = evidence_quality([after.vectors[i] for i in spans], _theta(after))
    crits = [a.crit for a in admissions if a.crit is not None]
    variances = [a.crit_variance for a in admissions if a.crit_variance is not None]
    step = Progress(
        gain=information_gain(previous, mixture, size),
        capacity=normalised_entropy(previous, size),
        d_before=before.d,
        d=d,
        shift=total_variation(mixture, previous),
    )
    progress = (*after.progress, step)
    flag = flags(progress, config.plateau, config.stop.d_max)
    o = overlap(cited(before, [(a.agent, a.citations) for a in admissions]))
    crit = mean(crits)
    variance = mean(variances)
    tops = table.argmax(axis=1)
    summary = Summary(
        round=after.round,
        dials=after.dials,
        q=q,
        d=d,
        o=o,
        crit=crit,
        crit_variance=variance,
        admitted=sum(a.admitted for a in admissions),
        candidates=candidates,
        pi_i=flag.pi_i,
        pi_d=flag.pi_d,
        same_top=bool((tops == tops[0]).all()),
        gain=step.gain,
        d_before=before.d,
        cost=Bound(after.usage.tokens - after.spent.tokens, after.usage.usd - after.spent.usd),
        spent=Bound(after.usage.tokens, after.usage.usd),
        choice=after.choice,
    )
    measured = Measured(
        round=after.round,
        q=q,
        d=d,
        o=o,
        crit=crit,
        crit_variance=variance,
        entropy=entropy(mixture),
        gain=step.gain,
        shift=step.shift,
        r_i=flag.r_i,
        r_d=flag.r_d,
        pi_i=flag.pi_i,
        pi_d=flag.pi_d,
        analysis=analyse(
            table,
            omega,
            mixture,
            previous,
            size=size,
            delta=config.beliefs.delta,
            gold=gold_index(after, labels),
            positions=after.positions,
            metric=after.metric,
        ),
    )
    return after.but(history=(*after.history, summary), progress=progress), measured


def _stop_or_go(state: State, decisions: tuple[Decision, ...]) -> tuple[State, tuple[Decision, ...]]:
    state, gained = realised(state)
    decisions = (*decisions, *gained)
    reason = stop_reason(state.history, state.config, state.segment)
    if reason is not None:
        return conclude(state, reason, in_words(reason, state), decisions)
    return go_on(state, decisions)


def go_on(state: State, decisions: tuple[Decision, ...] = ()) -> tuple[State, tuple[Decision, ...]]:
    """Set the dials of the next round and open it."""
    plan, choice, held = scheduler(state.config, state.opened.learned), None, state.hand is not None
    if isinstance(plan, Learning):
        choice = replace(plan.choose(state.history), counts=not held)
        if choice.action is None:
            return conclude(state, "budget", _nothing_fits(choice, state.config), decisions)
        dials = plan.follow(state.history, choice)
    else:
        dials = plan.next(state.history)
    dials = by_hand(dials, state)
    dialled = Dialled(round=state.round + 1, dials=dials, by_hand=held, choice=choice)
    return next_round(state, dials, choice), (*decisions, dialled)


def _nothing_fits(choice: Choice, config: Config) -> str:
    dollars = "" if config.budget.usd is None else f" (or the dollars left of ${config.budget.usd:g})"
    return (
        f"another round may need {min(choice.estimate):.0f} tokens, {choice.left:.0f} of {config.budget.tokens} are left"
        f"{dollars}: no move of the dials fits"
    )


def next_round(state: State, dials: Dials, choice: Choice | None = None) -> State:
    """An empty round after the one just closed."""
    return state.but(
        round=state.round + 1,
        dials=dials,
        choice=choice,
        spent=Bound(state.usage.tokens, state.usage.usd),
        turns={},
        failures={},
        arguments={},
        scores={},
        silent=(),
        scored=0,
        hand=None,
    )


def by_hand(dials: Dials, state: State) -> Dials:
    """The dials as a person set them, where one did."""
    if state.hand is None:
        return dials
    hand = state.hand
    return Dials(
        dials.cl if hand.cl is None else hand.cl,
        dials.tau_q if hand.tau_q is None else hand.tau_q,
        dials.tau_crit if hand.tau_crit is None else hand.tau_crit,
    )


def _theta(state: State) -> NDArray[np.float32]:
    """θ, frozen at round 0: set before any round can close. As an ablation it moves towards what was admitted."""
    if state.theta is None:
        raise AssertionError("a round closed before retrieval")
    if state.config.evidence.theta == "frozen":
        return state.theta
    shown = dict.fromkeys(c.span for e in state.record for c in e.argument.citations if c.span in state.vectors)
    if not shown:
        return state.theta
    rows = np.stack([state.vectors[i] for i in shown])
    centre = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).mean(axis=0)
    moved = state.theta / max(float(np.linalg.norm(state.theta)), 1e-12) + centre / max(
        float(np.linalg.norm(centre)), 1e-12
    )
    return np.asarray(moved / max(float(np.linalg.norm(moved)), 1e-12), dtype=np.float32)


def _mixture(state: State) -> Vector:
    """P of the last closed round: set by the opening."""
    if state.mixture is None:
        raise AssertionError("a round closed before the opening")
    return state.mixture


def mean(values: Sequence[float]) -> float | None:
    """The mean, undefined of nothing."""
    return sum(values) / len(values) if values else None


def _agreement(state: State) -> dict[str, tuple[int, float]]:
    """How well each judge has agreed with the others, this round included."""
    past = dict(state.agreement)
    for scores in state.scores.values():
        for slot, distance in disagreements(scores).items():
            judge = slot.rpartition("#")[0]
            n, total = past.get(judge, (0, 0.0))
            past[judge] = (n + 1, total + distance)
    return past


def _silence(state: State) -> list[str]:
    """Judges that gave no score this round."""
    if not state.silent:
        return []
    asked = len(state.arguments) * len(state.slots)
    return [f"round {state.round}: {len(state.silent)} of {asked} scores are missing: {min(state.silent)}"]


def _abstentions(t: int, abstained: Mapping[str, str]) -> list[str]:
    return [f"round {t}: {agent} abstained: {why}" for agent, why in abstained.items()]


def _first(abstained: Mapping[str, str]) -> str:
    return next((f"{agent}: {why}" for agent, why in abstained.items()), "there are no agents")
