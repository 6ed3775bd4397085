"""Closes a round and starts the next: from turns and scores to the gate, the mixture, the signals and the next dials.

The order is Algorithm 1's: admission → dispersion gate → reliability → mixture → signals → flags → stop or dials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from maci.agents.anchor import Admitted, Rejected
from maci.agents.argument import Argument
from maci.agents.judges.crit import CritScore, disagreements, reliability_weights, verdict
from maci.controller.acquiring import conclude, realised
from maci.controller.bandit import Choice
from maci.controller.decisions import Admission, CheckedCitation, Decision, Dialled, Gated, Weighed
from maci.controller.dials import RoundDials, first_tau_q
from maci.controller.ending import Step, finish, in_words
from maci.controller.measuring import mean, measure, theta
from maci.controller.policies import Learning, decide, scheduler
from maci.controller.reading import read_round, shares, spread, widen
from maci.controller.state import State, as_mapping, check_citations
from maci.controller.stop import stop_reason
from maci.controller.watch import watch
from maci.evidence.span import ABOUT_CASE
from maci.llm.usage import Bound
from maci.moderator.belief import Vector, contenders, lead, level, standard_error
from maci.moderator.gate import Candidate, Thresholds, reaches, rejection, reverts
from maci.moderator.signals import evidence_qualities, update, weights


def go_on(state: State, decisions: tuple[Decision, ...] = ()) -> Step:
    """Set the dials of the next round and open it."""
    plan, choice, held = scheduler(state.config, state.opened.learned), None, state.hand is not None
    if isinstance(plan, Learning):
        choice = replace(decide(state.history, plan.config, plan.learned, state.opened.set_aside), counts=not held)
        if choice.action is None:
            budget = state.config.budget
            dollars = "" if budget.usd is None else f" (or the dollars left of ${budget.usd:g})"
            detail = (
                f"another round may need {min(choice.estimate):.0f} tokens, {choice.left:.0f} of {budget.tokens} are left"
                f"{dollars}: no move of the dials fits"
            )
            return conclude(state, "budget", detail, decisions)
        dials = plan.follow(state.history, choice)
    else:
        dials = plan.next(state.history)
    if not state.history[-1].evidence and state.grounded:  # found out since: there is something to fit the gate to
        found = [[state.vectors[i]] for i, span in state.spans.items() if span.source not in ABOUT_CASE]
        fit = [q for q in evidence_qualities(found, theta(state)) if q is not None]
        dials = replace(dials, tau_q=first_tau_q(fit, state.config)[0])
    dials = by_hand(dials, state)
    dialled = Dialled(round=state.round + 1, dials=dials, by_hand=held, choice=choice)
    return next_round(state, dials, choice), (*decisions, dialled)


def next_round(state: State, dials: RoundDials, choice: Choice | None = None) -> State:
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
        waived=frozenset(),
        comparisons=0,
        hand=state.hand if state.hand is not None and state.hand.hold else None,
    )


def by_hand(dials: RoundDials, state: State) -> RoundDials:
    """The dials as a person set them, where one did."""
    if state.hand is None:
        return dials
    hand = state.hand
    return RoundDials(
        dials.cl if hand.cl is None else hand.cl,
        dials.tau_q if hand.tau_q is None else hand.tau_q,
        dials.tau_crit if hand.tau_crit is None else hand.tau_crit,
    )


def close_round(state: State) -> Step:
    """Close round t ≥ 1."""
    config, t = state.config, state.round
    admissions, candidates = _admissions(state)
    gated = Gated(round=t, dials=state.dials, admissions=admissions)
    state, reading = read_round(state)
    if not reading.beliefs:
        return finish(state, "error", f"no agent has a belief in round {t}: {reading.first_reason()}", (gated,))
    admitted = [a for a in admissions if a.admitted]
    notes = (*reading.notes, *_unknown_answers(state, admissions))
    new_spans = {a.argument: {c.span for c in a.citations if c.counts} for a in admitted}
    backed = {a.agent for a in admitted if new_spans[a.argument] - state.admitted_spans}
    shown = [{c.span for c in a.citations if c.counts or (c.verified and not state.grounded)} for a in admitted]
    labels = reading.labels
    known = {agent: widen(p, len(labels)) for agent, p in state.beliefs.items()}
    gamma = _reliabilities(state, admissions)
    standing = _standing(state, gamma, candidates)
    beliefs, reverted, d = _settle(state, reading.beliefs, known, backed, standing)
    present = list(beliefs)
    omega = weights([standing[agent][0] for agent in present], floor=0.0)
    table = np.stack([beliefs[agent] for agent in present])
    mixture = omega @ table
    fine = {**state.fine, **{agent: parts for agent, parts in reading.fine.items() if agent not in reverted}}
    weights_of = dict(zip(present, omega.tolist(), strict=True))
    narrower = shares(labels, beliefs, weights_of, fine, reading.joins)
    weighed = Weighed(
        round=t,
        labels=labels,
        beliefs={agent: as_mapping(labels, p) for agent, p in beliefs.items()},
        reverted={agent: as_mapping(labels, p) for agent, p in reverted.items()},
        abstained=reading.abstained,
        reliability=gamma,
        weights=weights_of,
        mixture=as_mapping(labels, mixture),
        notes=notes,
        joined=reading.new,
        narrower=narrower,
    )
    warnings = (
        *state.warnings,
        *(f"round {t}: {note}" for note in reading.notes),
        *reading.abstentions(t),
        *_silence(state),
    )
    after = state.but(
        labels=labels,
        beliefs={**known, **beliefs},
        fine=fine,
        narrower=narrower,
        mixture=mixture,
        d=d,
        reliability=gamma,
        record=(
            *state.record,
            *(
                Admitted(
                    a.argument,
                    state.seat(a.agent),
                    t,
                    replace(state.arguments[a.argument][1], answers=a.answers),
                    a.fact,
                )
                for a in admissions
                if a.admitted or a.fact
            ),
        ),
        rejected=_rejected(state, admissions),
        merit={**state.merit, **{a.argument: (a.crit or 0.0, a.q or 0.0) for a in admitted}},
        admitted_spans=state.admitted_spans.union(*shown),
        agreement=_agreement(state) if config.crit.aggregation == "reliability" else state.agreement,
        warnings=warnings,
    )
    top = _contenders(beliefs, standing)
    tied = tuple(labels[i] for i in top) if len(top) > 1 else ()
    after, measured = measure(after, state, admissions, candidates, table, omega, tied)
    after, watched = watch(state, after, admissions, measured)
    return _stop_or_go(after, (gated, weighed, measured, *watched))


def _reliabilities(state: State, admissions: tuple[Admission, ...]) -> dict[str, float]:
    """Γ of every agent after the round: what it was, and the scores of the round's arguments."""
    gamma = dict(state.reliability)
    for agent in state.agents:
        own = [a.crit for a in admissions if a.agent == agent and a.crit is not None and not a.fact]
        gamma[agent] = update(gamma[agent], mean(own), decay=state.config.reliability.decay)
    return gamma


def _standing(
    state: State, gamma: Mapping[str, float], candidates: tuple[Candidate, ...]
) -> dict[str, tuple[float, float]]:
    """How much each agent weighs (prior · Γ + ε) before weights are made to sum to 1, and its standard error, from all its scores."""
    rule = state.config.reliability
    uniform = rule.weights == "uniform" or not state.slots
    scores: dict[str, list[float]] = {agent: [] for agent in state.agents}
    for each in (*(c for closed in state.history for c in closed.candidates), *candidates):
        if each.crit is not None and not uniform:
            scores[each.agent].append(each.crit)
    return {
        agent: (prior * (1.0 if uniform else gamma[agent]) + rule.floor, prior * standard_error(scores[agent]))
        for agent in state.agents
        for prior in (rule.prior.get(agent, 1.0),)
    }


def _contenders(beliefs: Mapping[str, Vector], standing: Mapping[str, tuple[float, float]]) -> tuple[int, ...]:
    """The outcomes that share the lead of the mixture (D19)."""
    table = np.stack(list(beliefs.values()))
    given, errors = zip(*(standing[agent] for agent in beliefs), strict=True)
    return contenders(table, given, errors)


def _admissions(state: State) -> tuple[tuple[Admission, ...], tuple[Candidate, ...]]:
    """The dual gate on every argument of the open round."""
    target, thresholds = theta(state), state.thresholds
    said = list(state.in_seat_order())
    citations = [check_citations(argument, state) for _, _, argument in said]
    cited_spans = [dict.fromkeys(c.span for c in checked if c.counts) for checked in citations]
    quality = evidence_qualities([[state.vectors[i] for i in spans] for spans in cited_spans], target)
    admissions, candidates = [], []
    judge_weights = _judge_weights(state)
    for (identity, agent, argument), checked, q in zip(said, citations, quality, strict=True):
        given = [state.scores[identity][slot.id] for slot in state.slots] if state.slots else []
        panel = verdict(given, judge_weights)
        candidate = Candidate(identity, agent, q, panel.mean)
        alone = _rests_on_case(state, checked)
        reason = rejection(candidate, Thresholds(None, thresholds.tau_crit) if alone else thresholds)
        fact = alone and reason is None
        if not fact:
            candidates.append(candidate)
        admissions.append(
            Admission(
                argument=identity,
                agent=agent,
                q=q,
                crit=panel.mean,
                crit_variance=panel.variance,
                abstentions=panel.abstained - sum(argument == identity for argument, _ in state.waived),
                citations=checked,
                admitted=reason is None and not fact,
                reason="it rests on the case alone" if fact else reason or "",
                fact=fact,
                answers=_answers(state, agent, argument),
            )
        )
    return tuple(admissions), tuple(candidates)


def _judge_weights(state: State) -> list[float] | None:
    """What each slot's score counts; ``None`` where all count alike."""
    weigh = state.config.crit.aggregation == "reliability"
    return reliability_weights(state.slots, state.agreement) if weigh and state.slots else None


def _rests_on_case(state: State, checked: Sequence[CheckedCitation]) -> bool:
    """Whether an argument cites the case's own text and no evidence, where there is some: no gate of evidence applies to it."""
    return state.grounded and any(c.verified for c in checked) and not any(c.counts for c in checked)


_LOWEST, _HIGHEST = (CritScore(evidence=x, logic=x, relevance=x) for x in (0.0, 1.0))


def settled(state: State, argument: str) -> bool:
    """Whether ``crit.enough`` judges have scored an argument of the open round, and the others cannot change its admission.

    Its CRIT is lowest if all of them give 0 and highest if all give 1; where some abstain, it lies between.
    """
    scores, enough = state.scores.get(argument, {}), state.config.crit.enough
    if not enough or sum(score is not None for score in scores.values()) < enough:
        return False
    checked = check_citations(state.arguments[argument][1], state)
    alone, gate = _rests_on_case(state, checked), state.thresholds
    cited = dict.fromkeys(c.span for c in checked if c.counts)
    (q,) = evidence_qualities([[state.vectors[i] for i in cited]], theta(state))
    weights, fate = _judge_weights(state), set()
    for missing in (_LOWEST, _HIGHEST):
        crit = verdict([scores.get(slot.id, missing) for slot in state.slots], weights).mean
        fate.add(reaches(crit, gate.tau_crit) and (alone or reaches(q, gate.tau_q)))
    return len(fate) == 1


def _answers(state: State, agent: str, argument: Argument) -> tuple[str, ...]:
    """Of the ids an argument answers, those its author has been shown: the record's, and in sequential order earlier seats'."""
    if not argument.answers:
        return ()
    known = {entry.id for entry in (*state.openings, *state.record)}
    if state.config.agents.order == "sequential":
        earlier = state.agents[: state.agents.index(agent)]
        known |= {identity for identity, (author, _) in state.arguments.items() if author in earlier}
    return tuple(identity for identity in dict.fromkeys(argument.answers) if identity in known)


def _unknown_answers(state: State, admissions: tuple[Admission, ...]) -> list[str]:
    """Ids that arguments answer and that do not exist."""
    return [
        f"{a.argument} answers {', '.join(sorted(unknown))[:60]}: there is no such argument in the record"
        for a in admissions
        if (unknown := set(state.arguments[a.argument][1].answers) - set(a.answers))
    ]


_WEAKNESS = {
    "evidence": "the cited pieces do not support the claim well enough",
    "logic": "the claim does not follow from the reasons",
    "relevance": "it does little to answer the question",
}
"""Criterion → what a low grade on it means, for the author."""


def _rejected(state: State, admissions: tuple[Admission, ...]) -> dict[str, tuple[Rejected, ...]]:
    """Agent → its arguments that were not admitted, with the reason in words."""
    found: dict[str, tuple[Rejected, ...]] = {}
    for a in admissions:
        if not a.admitted:
            claim = state.arguments[a.argument][1].claim
            found[a.agent] = (*found.get(a.agent, ()), Rejected(a.argument, claim, _why(state, a)))
    return found


def _why(state: State, admission: Admission) -> str:
    """Why an argument was not admitted, in words its author can act on; no judge is quoted."""
    if admission.fact:
        return "it rests on the case's own text alone, which is a fact and no evidence: cite evidence beside it"
    gate, parts = state.thresholds, []
    failed = sum(not citation.verified for citation in admission.citations)
    if failed:
        parts.append(f"{failed} of its {len(admission.citations)} citations name no piece or misquote it")
    elif not admission.citations and gate.tau_q is not None:
        parts.append("it cites nothing")
    if admission.q is not None and not reaches(admission.q, gate.tau_q):
        parts.append("the cited pieces have little to do with this case")
    if gate.tau_crit is not None and admission.crit is None:
        parts.append("no judge could grade it")
    elif not reaches(admission.crit, gate.tau_crit):
        given = [score for score in state.scores[admission.argument].values() if score is not None]
        weakest = min(_WEAKNESS, key=lambda name: sum(getattr(score, name) for score in given))
        parts.append(f"the judges graded it too low, mainly because {_WEAKNESS[weakest]}")
    return "; ".join(parts)


def _settle(
    state: State,
    now: dict[str, Vector],
    before: Mapping[str, Vector],
    backed: set[str],
    standing: Mapping[str, tuple[float, float]],
) -> tuple[dict[str, Vector], dict[str, Vector], float | None]:
    """The dispersion gate on the beliefs just read: those that count, those that were stated and not taken, and D."""
    both = [agent for agent in now if agent in before]
    d = spread(now, state)
    if len(both) < 2 or state.stake is not None:  # what was found out since is new evidence to everybody
        return now, {}, d
    rule = state.config.dispersion
    everyone = len(both) == len(before) == len(now)
    d_before = state.d if everyone and state.d is not None else spread({agent: before[agent] for agent in both}, state)
    d_after = d if everyone else spread({agent: now[agent] for agent in both}, state)
    back = reverts(set(both), backed, before=d_before or 0.0, after=d_after or 0.0, nu=rule.nu, mode=rule.gate)
    if back and rule.leave_ties:
        back = {agent for agent in back if not _leaves_tie(state, agent, now, before, standing)}
    if not back:
        return now, {}, d
    beliefs = {agent: before[agent] if agent in back else p for agent, p in now.items()}
    moved = {agent: p for agent, p in now.items() if agent in back and not np.array_equal(p, before[agent])}
    return beliefs, moved, spread(beliefs, state)


def _leaves_tie(
    state: State,
    agent: str,
    now: Mapping[str, Vector],
    before: Mapping[str, Vector],
    standing: Mapping[str, tuple[float, float]],
) -> bool:
    """Whether an agent's move ends a tie (D19): its own, or the mixture's, towards the outcome that leads now."""
    if lead(before[agent]) is None and lead(now[agent]) is not None:
        return True
    was = bool(state.history[-1].tied) if state.history else len(level(state.mixed)) > 1
    top = _contenders(now, standing)
    return was and len(top) == 1 and bool(now[agent][top[0]] > before[agent][top[0]])


def _stop_or_go(state: State, decisions: tuple[Decision, ...]) -> Step:
    state, gained = realised(state)
    decisions = (*decisions, *gained)
    reason = stop_reason(state.history, state.config, state.segment)
    if reason is not None:
        return conclude(state, reason, in_words(reason, state), decisions)
    return go_on(state, decisions)


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
