"""Closing a round: from turns and scores to the gate, the mixture, the signals and the next dials.

The order is Algorithm 1's: admission → dispersion gate → reliability → mixture → signals → flags → stop or dials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maci.agents.anchor import Admitted
from maci.agents.argument import Argument
from maci.belief import Vector, entropy, read, temper, total_variation
from maci.case.outcomes import canonical
from maci.controller.decisions import (
    Admission,
    CheckedCitation,
    Decision,
    Dialled,
    Finished,
    Gated,
    Initialized,
    Measured,
    Minority,
    Weighed,
)
from maci.controller.dials import Dials, Summary
from maci.controller.initialize import first_tau_q
from maci.controller.regime import regime
from maci.controller.schedule import scheduler
from maci.controller.state import State, as_mapping, check_citations, place
from maci.controller.stopping import StopReason, stop_reason
from maci.errors import BeliefError
from maci.evidence.source import CASE
from maci.judge.panel import verdict
from maci.moderator.analysis import analyse
from maci.moderator.divergence import disagreement
from maci.moderator.gate import Candidate, Thresholds, rejection, reverts
from maci.moderator.plateau import Progress, flags
from maci.moderator.reliability import update, weights
from maci.moderator.signals import evidence_quality, information_gain, normalised_entropy, overlap

__all__ = ["close_opening", "close_round", "finish"]


class Reading:
    """The beliefs of the open round, over the labels known once all of them are read."""

    def __init__(self, state: State) -> None:
        self.labels = state.labels
        self.abstained: dict[str, str] = {}
        self.notes: list[str] = []
        stated: dict[str, Vector | dict[str, float]] = {}
        for agent in state.agents:
            turn = state.turns.get(agent)
            if turn is None:
                self.abstained[agent] = state.failures.get(agent, "no turn")
                continue
            try:
                stated[agent] = self._read(turn.belief, state, agent)
            except BeliefError as error:
                self.abstained[agent] = f"belief refused: {error}"
        self.beliefs = {agent: self._vector(p) for agent, p in stated.items()}

    def _read(self, belief: Mapping[str, float], state: State, agent: str) -> Vector | dict[str, float]:
        if tuple(belief) == self.labels:
            p = np.fromiter(belief.values(), np.float64, len(belief))
            if (p >= 0).all() and abs(float(p.sum()) - 1) <= 1e-9:
                return p
        labels, placed = self.labels, dict[str, float]()
        for name, p_name in belief.items():
            label = place(name, labels, state)
            if label not in labels:
                labels = (*labels, label)
            placed[label] = placed.get(label, 0.0) + p_name
        mended, note = read(placed, state.config.beliefs.tolerance, state.opened.case.outcomes.rest)
        if note:
            self.notes.append(f"{agent}: {note}")
        self.labels = labels
        return mended

    def _vector(self, p: Vector | Mapping[str, float]) -> Vector:
        if isinstance(p, np.ndarray):
            return widen(p, len(self.labels))
        return np.array([p.get(label, 0.0) for label in self.labels])


def _theta(state: State) -> NDArray[np.float32]:
    """θ, frozen at round 0: set before any round can close."""
    if state.theta is None:
        raise AssertionError("a round closed before retrieval")
    return state.theta


def _mixture(state: State) -> Vector:
    """P of the last closed round: set by the opening."""
    if state.mixture is None:
        raise AssertionError("a round closed before the opening")
    return state.mixture


def mean(values: Sequence[float]) -> float | None:
    """The mean, undefined of nothing."""
    return sum(values) / len(values) if values else None


def widen(p: Vector, size: int) -> Vector:
    """A belief over labels that have grown at the end."""
    return p if len(p) == size else np.concatenate([p, np.zeros(size - len(p))])


def gold_index(state: State, labels: tuple[str, ...]) -> int | None:
    """Where the true outcome stands among the labels, if it is known and was named."""
    gold = state.opened.case.gold
    if gold is None:
        return None
    label = canonical(gold, state.opened.case.outcomes, labels)
    return labels.index(label) if label in labels else None


def correct(state: State, labels: tuple[str, ...], mixture: Vector) -> bool | None:
    """Whether the mixture's top outcome is the gold one."""
    if state.opened.case.gold is None:
        return None
    return int(mixture.argmax()) == gold_index(state, labels)


def spread(beliefs: Mapping[str, Vector], state: State) -> float | None:
    """D of the agents that have a belief; undefined for fewer than two."""
    if len(beliefs) < 2:
        return None
    return disagreement(np.stack(list(beliefs.values())), state.positions, state.config.beliefs.delta)


def cited(state: State, said: Iterable[tuple[str, tuple[CheckedCitation, ...]]]) -> list[set[str]]:
    """Verified citations of every agent, from (agent, checked citations) of all its arguments, admitted or not."""
    sets: dict[str, set[str]] = {agent: set() for agent in state.agents}
    for agent, checked in said:
        sets[agent].update(c.span for c in checked if c.verified)
    return list(sets.values())


def close_opening(state: State) -> tuple[State, tuple[Decision, ...]]:
    """Close round 0: read the openings, set the dials, choose the regime."""
    theta = _theta(state)
    reading = Reading(state)
    if not reading.beliefs:
        state = replace(state, labels=reading.labels)
        return finish(state, "error", f"no agent gave an opening: {_first(reading.abstained)}")
    mixture = np.mean(list(reading.beliefs.values()), axis=0)
    found = [i for i in state.retrieved if state.spans[i].source != CASE] or state.retrieved
    vectors = [state.vectors[i] for i in found]
    said = [(agent, check_citations(argument, state)) for agent, argument in state.arguments.values()]
    core = [state.vectors[i] for i in state.core] or vectors
    q0, d0, o0 = evidence_quality(core, theta), spread(reading.beliefs, state), overlap(cited(state, said))
    cosines = [q for v in vectors if (q := evidence_quality([v], theta)) is not None]
    tau_q, note = first_tau_q(cosines, state.config)
    notes = (*reading.notes, *([note] if note else []))
    dials = Dials(scheduler(state.config).first(q0, d0), tau_q, state.config.gate.tau_crit)
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
        regime=regime(size, q0, d0, o0, len({state.spans[i].source for i in found}), state.config),
        correct=correct(state, reading.labels, mixture),
        notes=notes,
    )
    opened = replace(
        state,
        labels=reading.labels,
        beliefs=reading.beliefs,
        mixture=mixture,
        d=d0,
        dials=dials,
        warnings=(*state.warnings, *notes, *_abstentions(0, reading.abstained)),
    )
    return next_round(opened), (decision,)


def next_round(state: State) -> State:
    """An empty round after the one just closed."""
    return replace(state, round=state.round + 1, turns={}, failures={}, arguments={}, scores={}, scored=0, hand=None)


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


def _admissions(state: State) -> tuple[tuple[Admission, ...], dict[str, Argument]]:
    """The dual gate on every argument of the open round."""
    theta = _theta(state)
    gate = state.config.gate
    thresholds = Thresholds(
        state.dials.tau_q if gate.q_gate else None,
        state.dials.tau_crit if gate.crit_gate and state.slots else None,
    )
    admissions, arguments = [], {}
    for identity, agent, argument in state.in_seat_order():
        checked = check_citations(argument, state)
        spans = dict.fromkeys(c.span for c in checked if c.verified)
        q = evidence_quality([state.vectors[i] for i in spans], theta)
        said = verdict([state.scores[identity][slot.id] for slot in state.slots]) if state.slots else verdict([])
        reason = rejection(Candidate(identity, agent, q, said.mean), thresholds)
        arguments[identity] = argument
        admissions.append(
            Admission(
                argument=identity,
                agent=agent,
                q=q,
                crit=said.mean,
                crit_variance=said.variance,
                abstentions=said.abstained,
                citations=checked,
                admitted=reason is None,
                reason=reason or "",
            )
        )
    return tuple(admissions), arguments


def _settle(
    state: State, reading: Reading, backed: set[str]
) -> tuple[dict[str, Vector], dict[str, Vector], dict[str, Vector]]:
    """The dispersion gate: (beliefs before, beliefs that count, stated beliefs that were reverted)."""
    size = len(reading.labels)
    before = {agent: widen(p, size) for agent, p in state.beliefs.items()}
    both = [agent for agent in reading.beliefs if agent in before]
    if len(both) < 2:
        return before, reading.beliefs, {}
    rule = state.config.dispersion
    d_before = spread({agent: before[agent] for agent in both}, state) or 0.0
    d_after = spread({agent: reading.beliefs[agent] for agent in both}, state) or 0.0
    back = reverts(set(both), backed, before=d_before, after=d_after, nu=rule.nu, mode=rule.gate)
    beliefs = {agent: before[agent] if agent in back else p for agent, p in reading.beliefs.items()}
    moved = {agent: p for agent, p in reading.beliefs.items() if agent in back and not np.array_equal(p, before[agent])}
    return before, beliefs, moved


def close_round(state: State) -> tuple[State, tuple[Decision, ...]]:
    """Close round t ≥ 1."""
    config, t = state.config, state.round
    admissions, arguments = _admissions(state)
    gated = Gated(round=t, dials=state.dials, admissions=admissions)
    reading = Reading(state)
    if not reading.beliefs:
        return finish(state, "error", f"no agent has a belief in round {t}: {_first(reading.abstained)}", (gated,))
    admitted = [a for a in admissions if a.admitted]
    new_spans = {a.argument: {c.span for c in a.citations if c.verified} for a in admitted}
    backed = {a.agent for a in admitted if new_spans[a.argument] - state.admitted_spans}
    known, beliefs, reverted = _settle(state, reading, backed)

    gamma = dict(state.reliability)
    for agent in state.agents:
        own = [a.crit for a in admissions if a.agent == agent and a.crit is not None]
        gamma[agent] = update(gamma[agent], mean(own), decay=config.reliability.decay)
    uniform = config.reliability.weights == "uniform" or not state.slots
    present = list(beliefs)
    omega = weights([1.0 if uniform else gamma[agent] for agent in present], floor=config.reliability.floor)
    table = np.stack([beliefs[agent] for agent in present])
    mixture = omega @ table
    labels = reading.labels
    weighed = Weighed(
        round=t,
        labels=labels,
        beliefs={agent: as_mapping(labels, p) for agent, p in beliefs.items()},
        reverted={agent: as_mapping(labels, p) for agent, p in reverted.items()},
        abstained=reading.abstained,
        reliability=gamma,
        weights=dict(zip(present, omega.tolist(), strict=True)),
        mixture=as_mapping(labels, mixture),
        notes=tuple(reading.notes),
    )
    warnings = (*state.warnings, *(f"round {t}: {note}" for note in reading.notes), *_abstentions(t, reading.abstained))
    after = replace(
        state,
        labels=labels,
        beliefs={**known, **beliefs},
        mixture=mixture,
        reliability=gamma,
        record=(
            *state.record,
            *(Admitted(a.argument, state.seat(a.agent), t, arguments[a.argument]) for a in admitted),
        ),
        merit={**state.merit, **{a.argument: (a.crit or 0.0, a.q or 0.0) for a in admitted}},
        admitted_spans=state.admitted_spans.union(*new_spans.values()),
        warnings=warnings,
    )
    after, measured = _measure(after, state, admissions, table, omega)
    return _stop_or_go(after, (gated, weighed, measured))


def _measure(
    after: State, before: State, admissions: tuple[Admission, ...], table: Vector, omega: Vector
) -> tuple[State, Measured]:
    """Signals, ratios and flags of the round just weighed."""
    config, labels = after.config, after.labels
    size = after.opened.case.outcomes.size(len(labels))
    previous, mixture = widen(_mixture(before), len(labels)), _mixture(after)
    d = disagreement(table, after.positions, config.beliefs.delta) if len(table) > 1 else None
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
        candidates=tuple(Candidate(a.argument, a.agent, a.q, a.crit) for a in admissions),
        pi_i=flag.pi_i,
        pi_d=flag.pi_d,
        same_top=bool((tops == tops[0]).all()),
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
    return replace(after, d=d, history=(*after.history, summary), progress=progress), measured


def _stop_or_go(state: State, decisions: tuple[Decision, ...]) -> tuple[State, tuple[Decision, ...]]:
    reason = stop_reason(state.history, state.config)
    if reason is not None:
        return finish(state, reason, _detail(reason, state), decisions)
    dials = by_hand(scheduler(state.config).next(state.history), state)
    dialled = Dialled(round=state.round + 1, dials=dials, by_hand=state.hand is not None)
    return next_round(replace(state, dials=dials)), (*decisions, dialled)


def _detail(reason: StopReason, state: State) -> str:
    """The figures behind a stop, in words."""
    now, stop = state.history[-1], state.config.stop
    d = "undefined" if now.d is None else f"{now.d:.3f}"
    o = "undefined" if now.o is None else f"{now.o:.2f}"
    match reason:
        case "consensus":
            return f"all agents lead with the same outcome, D {d}, shared evidence O {o}"
        case "plateau":
            return f"no progress for {stop.tau_stop} rounds at D {d}, O {o}"
        case "crit_stable":
            return f"judging has settled and progress has stalled at D {d}"
        case "impasse":
            lacking = (
                f"D {d} > {stop.d_max:g}" if now.d is None or now.d > stop.d_max else f"Q or O clause unmet (O {o})"
            )
            return f"progress ended without agreement: {lacking}"
        case "stalemate":
            return f"no admissible argument for {stop.tau_stop} rounds"
        case _:
            return f"round {now.round} is the last allowed (D {d})"


def _abstentions(t: int, abstained: Mapping[str, str]) -> list[str]:
    return [f"round {t}: {agent} abstained: {why}" for agent, why in abstained.items()]


def _first(abstained: Mapping[str, str]) -> str:
    return next((f"{agent}: {why}" for agent, why in abstained.items()), "there are no agents")


def _minority(state: State, answer: str) -> tuple[Minority, ...]:
    found = []
    for agent, belief in state.beliefs.items():
        outcome = state.labels[int(belief.argmax())]
        if outcome != answer:
            own = [e.id for e in state.record if e.seat == state.seat(agent) and speaks_for(e.argument, outcome, state)]
            found.append(Minority(agent, outcome, float(belief.max()), tuple(own)))
    return tuple(found)


def speaks_for(argument: Argument, outcome: str, state: State) -> bool:
    """Whether an argument supports an outcome."""
    if argument.outcome is None or argument.against:
        return False
    try:
        return place(argument.outcome, state.labels, state) == outcome
    except BeliefError:
        return False


def finish(
    state: State, reason: StopReason, detail: str, decisions: tuple[Decision, ...] = ()
) -> tuple[State, tuple[Decision, ...]]:
    """The result, from the last closed round."""
    warnings, raw = state.warnings, dict[str, float]()
    answer, distribution, rationale, minority = None, dict[str, float](), tuple[str, ...](), tuple[Minority, ...]()
    if state.mixture is not None:
        labels = state.labels[: len(state.mixture)]
        answer = labels[int(state.mixture.argmax())]
        raw = as_mapping(labels, state.mixture)
        distribution = as_mapping(labels, temper(state.mixture, state.config.calibration.temperature))
        fitting = [entry.id for entry in state.record if speaks_for(entry.argument, answer, state)]
        rationale = tuple(sorted(fitting, key=lambda i: state.merit[i], reverse=True))
        minority = _minority(state, answer)
    result = Finished(
        stop_reason=reason,
        detail=detail,
        rounds=len(state.history),
        answer=answer,
        distribution=distribution,
        raw=raw,
        rationale=rationale,
        minority=minority,
        tokens=state.usage.tokens,
        usd=state.usage.usd,
        warnings=warnings,
    )
    return replace(state, finished=result), (*decisions, result)
