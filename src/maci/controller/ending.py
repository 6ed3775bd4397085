"""Ends a debate: chooses the answer and writes the result with its rationale, minority report, warnings and reason to stop.

The answer is the debate's or, where `harm.rollback` prefers it, round 0's. It is given alone or as a prediction set, or withheld: at
the risk level asked for, or where word statistics cannot decide the case (D21). Complaints about a source's answers become warnings,
each made once, with the items it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import shorten

import numpy as np

from maci.acquisition.gain import favoured
from maci.acquisition.plan import Item
from maci.agents.argument import Argument
from maci.config import Dials
from maci.controller.caution import Dissent, HarmReport, PredictionSet, RolledBack
from maci.controller.decisions import Decision, Finished, Minority, Recommendation, Spent
from maci.controller.inputs import Acquired
from maci.controller.reading import calibrated, is_calibrated, widen
from maci.controller.state import State, as_mapping, place
from maci.controller.stop import StopReason, weak
from maci.controller.watch import dissent, harm, support
from maci.controller.watch import warnings as harm_warnings
from maci.errors import BeliefError
from maci.evidence.span import ACQUIRED
from maci.llm.usage import Usage, dollars
from maci.moderator.belief import Vector, lead, level
from maci.moderator.conformal import prediction_set, threshold
from maci.render.markup import listed

Step = tuple[State, tuple[Decision, ...]]
"""The state after an input, and what was decided on the way."""
_NAMED = 3
"""Subjects that are named; the rest is counted."""
_EVEN = 1e-9
"""A lead in support that is only rounding."""
SOURCE = "the source"
"""Whoever is asked the plan's questions, in warnings."""


def complaints(acquired: Sequence[tuple[Item, Acquired]]) -> tuple[str, ...]:
    """Remarks on answers as warnings, in the order in which they were first made; one that was made again says how often."""
    about: dict[tuple[str, str], list[str]] = {}
    for asked, answer in acquired:
        for remark in answer.remarks:
            about.setdefault((answer.source or SOURCE, remark), []).append(f"“{asked.subject}”")
    return tuple(
        f"{source} on {listed(subjects, _NAMED)}: {remark}" + (f" ({len(subjects)} times)" if len(subjects) > 1 else "")
        for (source, remark), subjects in about.items()
    )


def suspicions(state: State) -> Iterator[str]:
    """Pieces of evidence that read like instructions, as one warning; answers of a source have theirs."""
    found = [span for span in state.spans.values() if span.order and span.source != ACQUIRED]
    if found:
        named = [
            f"“{shorten(span.text, 60, placeholder=' …')}” ({span.source or span.id}: {span.order})" for span in found
        ]
        many = "1 piece of evidence reads like an instruction"
        if len(found) > 1:
            many = f"{len(found)} pieces of evidence read like instructions"
        yield f"{many}. Models are told not to follow it, and readers do not read such sentences: {listed(named, _NAMED)}"


def excesses(state: State) -> Iterator[str]:
    """Calls that cost more than was set aside, and a ceiling that did not hold for it, as warnings."""
    for who, (calls, over) in state.beyond.items():
        cost = f" and {dollars(over.usd)}" if over.usd else ""
        why = (
            "its `ceiling` has to say what an answer can cost"
            if who == SOURCE
            else "its server does not keep to the limit it is given, or counts what cannot be foreseen"
        )
        yield f"{who} cost {over.tokens:,} tokens{cost} more than was set aside, in {calls} call{'s' * (calls > 1)}: {why}"
    budget, usage = state.config.budget, state.usage
    if usage.tokens > budget.tokens:
        yield f"the ceiling of {budget.tokens:,} tokens was exceeded: {usage.tokens:,} are counted"
    if budget.usd is not None and usage.usd > budget.usd + 1e-9:
        yield f"the ceiling of {dollars(budget.usd)} was exceeded: {dollars(usage.usd)} are counted"


def restored(state: State, answer: str, found: HarmReport | None) -> Vector | None:
    """The openings' mixture, where `harm.rollback` prefers it to the debate's; else ``None``.

    The debate has left the openings' answer y⁽⁰⁾ for y, and S(y) < S(y⁽⁰⁾) (``worse``) or S(y) ≤ S(y⁽⁰⁾) (``unearned``).
    """
    rule = state.config.harm.rollback
    if rule == "off" or found is None or found.opening_answer == answer:
        return None
    gap = found.support - found.opening_support
    if gap < 0 or (rule == "unearned" and gap <= 0):
        opening = np.array(list(state.memory.opening.values()))
        return widen(opening, len(state.labels))
    return None


def undecidable(state: State) -> str:
    """Where only readers debate: why they cannot decide the case, found before the debate or in it (D21); nothing where they can."""
    if state.opened.unfit or not state.history or not state.opened.readers:
        return state.opened.unfit
    return "" if any(not entry.fact for entry in state.record) else "none of the readers' arguments was admitted"


def unfit(state: State) -> bool:
    """Whether readers cannot decide the case, and nobody asked for their answer all the same."""
    return bool(undecidable(state)) and not state.config.answer.force


def abstention(state: State, answer: str, p: Mapping[str, float], *, known: bool) -> str | None:
    """Why no answer is given, at the risk level asked for or by readers who cannot decide the case; ``None`` where one is.

    Evidence is admitted in rounds: where none was held (`maci ask` stopped before), confidence alone decides.
    """
    if unfit(state):
        return f"Word statistics cannot decide this case ({undecidable(state)})"
    asked = state.config.answer
    least = max(
        (x for x in (asked.min_confidence, None if asked.risk is None else 1 - asked.risk) if x is not None),
        default=None,
    )
    if least is None and asked.min_q is None:
        return None
    if least is not None and p[answer] < least - 1e-9:
        raw = "" if known else ", not calibrated"
        digits = next(n for n in range(2, 18) if f"{p[answer]:.{n}f}" != f"{least:.{n}f}" or n == 17)
        return f"p of {answer} is {p[answer]:.{digits}f}{raw}, below {least:.{digits}f}"
    if asked.need_evidence and state.history and state.grounded and not support(state.memory.grounds.values(), answer):
        return f"no admitted evidence speaks for {answer}"
    if asked.min_q is not None:
        q = state.history[-1].signals.q if state.history else None
        if q is None or q < asked.min_q:
            return f"evidence quality Q is {'undefined' if q is None else f'{q:.2f}'}, below {asked.min_q:.2f}"
    return None


def predicted(state: State, p: Mapping[str, float], *, debated: bool) -> tuple[PredictionSet | None, str]:
    """The conformal prediction set of a calibrated debate, and what there is to say about it."""
    known = state.config.calibration
    if not known.conformal:
        return None, ""
    if not debated:
        return None, "no prediction set: what it promises was calibrated on whole debates; this answer has none"
    asked = state.config.answer.coverage
    found = threshold(known.conformal, asked)
    labels, values = list(p), np.array(list(p.values()))
    if found is None:
        everything = tuple(labels[i] for i in np.argsort(-values, kind="stable"))
        note = (
            f"prediction set: {known.conformal_n} calibration cases are too few for a coverage of {asked:g}, so it holds every "
            f"outcome; at most {max(known.conformal, key=float)} can be promised"
        )
        return PredictionSet(outcomes=everything, coverage=1.0, score=known.score, n=known.conformal_n), note
    level, limit = found
    kept = tuple(labels[i] for i in prediction_set(values, limit, known.score))
    return PredictionSet(outcomes=kept, coverage=level, score=known.score, n=known.conformal_n), ""


UNTAUGHT = (
    "what a vote or a debate would add was assumed from the regime, not learnt for this task (`maci calibrate`, or --worth to be "
    "more or less careful)"
)


def finish(
    state: State,
    reason: StopReason,
    detail: str,
    decisions: tuple[Decision, ...] = (),
    recommendation: Recommendation | None = None,
) -> Step:
    """End the debate with its result; calls still under way count in full."""
    state = forfeit(state)
    result = replace(concluded(state, reason, detail), recommendation=recommendation)
    return replace(state, finished=result), (*decisions, result)


def concluded(state: State, reason: StopReason, detail: str) -> Finished:
    """The result, from the last closed round."""
    usage = state.usage
    result = Finished(
        stop_reason=reason,
        detail=detail,
        rounds=len(state.history),
        answer=None,
        distribution={},
        raw={},
        rationale=(),
        minority=(),
        tokens=usage.tokens,
        usd=usage.usd,
        warnings=(*state.warnings, *complaints(state.acquired), *suspicions(state), *excesses(state)),
        spent=Spent(
            prompt=usage.prompt,
            cached=usage.cached,
            generated=usage.generated,
            judges=state.judging.tokens,
            lost=state.lost.tokens,
            seconds=usage.seconds,
        ),
    )
    return result if state.mixture is None else _answered(result, state, state.mixture)


def _answered(result: Finished, state: State, mixture: Vector) -> Finished:
    """The result with an answer, and what is said with it: the debate's, or round 0's where `harm.rollback` prefers it."""
    labels, debated = state.labels[: len(mixture)], bool(state.history)
    own = labels[int(mixture.argmax())]
    found = harm(state, own)
    said = [] if found is None else harm_warnings(state, found)
    back = None
    if (before := restored(state, own, found)) is not None and found is not None:
        back = RolledBack(
            answer=own,
            distribution=as_mapping(labels, calibrated(state)),
            support=found.support,
            opening_support=found.opening_support,
        )
        mixture, debated = before, False
        said.append(
            f"rolled back to the round-0 vote: the debate moved to {own} with less admitted evidence for it "
            f"(S {found.support:.2f}) than for {found.opening_answer} (S {found.opening_support:.2f})"
            if found.support < found.opening_support
            else f"rolled back to the round-0 vote: no more admitted evidence speaks for {own}, to which the debate moved, than "
            f"for {found.opening_answer} (S {found.support:.2f})"
        )
    answer = labels[int(mixture.argmax())]
    fitting = [e.id for e in state.record if not e.fact and speaks_for(e.argument, answer, state)]
    rationale = tuple(sorted(fitting, key=lambda i: state.merit[i], reverse=True))
    p = calibrated(state, mixture, debated=debated)
    distribution, known = as_mapping(labels, p), is_calibrated(state, debated=debated)
    held, note = predicted(state, distribution, debated=debated)
    if note:
        said.append(note)
    if state.config.triage.enabled and not state.config.triage.learned_from:
        said.append(UNTAUGHT)
    if not known:
        said.append("p is the raw mixture, not calibrated for this task (`maci calibrate`)")
    utilities = state.utilities(len(p))
    last = state.history[-1] if state.history else None
    equal = tuple(labels[i] for i in level(mixture))
    tied = last.tied if last is not None and back is None else equal if len(equal) > 1 else ()
    against = dissent(state, answer, distribution, result.stop_reason)
    return replace(
        result,
        answer=answer,
        distribution=distribution,
        raw=as_mapping(labels, mixture),
        rationale=rationale,
        minority=_minority(state, answer),
        warnings=(
            *result.warnings,
            *_cautions(state, result.stop_reason, mixture, answer, rationale, tied, against),
            *said,
        ),
        harm=found,
        rolled_back=back,
        dissent=against,
        abstained=abstention(state, answer, distribution, known=known),
        unfit=unfit(state),
        prediction_set=held,
        favoured=None if utilities is None or unfit(state) else favoured(p, utilities),
        narrower=state.narrower.get(answer, {}),
        calibrated=known,
        tied=tied,
        agreed=None if last is None else last.agreed,
    )


def forfeit(state: State) -> State:
    """The state with the most that calls under way can cost counted as spent."""
    if not state.in_flight:
        return state
    gone = sum(state.in_flight.values(), Usage())
    judging = sum((usage for (kind, _, _), usage in state.in_flight.items() if kind == "score"), Usage())
    n = len(state.in_flight)
    sent = "1 call was sent and not waited for" if n == 1 else f"{n} calls were sent and not waited for"
    note = f"{sent}: {gone.tokens} tokens, the most {'it' if n == 1 else 'they'} can have cost, are counted"
    return replace(
        state,
        usage=state.usage + gone,
        judging=state.judging + judging,
        lost=state.lost + gone,
        in_flight={},
        warnings=(*state.warnings, note),
    )


def _cautions(
    state: State,
    reason: StopReason,
    mixture: Vector,
    answer: str,
    rationale: tuple[str, ...],
    tied: tuple[str, ...],
    found: Dissent | None,
) -> list[str]:
    """Why not to rely on the answer."""
    said = []
    if why := undecidable(state):
        rest = "do not trust the distribution" if unfit(state) else "the answer is given because it was asked for"
        said.append(f"caution: word statistics cannot decide this case ({why}): {rest}")
    if tied:
        equal = len(level(mixture)) == len(tied)
        why = (
            "are equally probable"
            if equal
            else "share the lead: it changes when the weights move by one standard error"
        )
        said.append(f"undecided: {', '.join(tied[:5])} {why}")
    if not state.history:
        if reason != "triage":
            said.append(f"caution: no round of debate was held ({reason})")
    elif not state.history[-1].agreed and reason != "consensus":
        said.append(f"caution: the debate ended without agreement ({reason})")
    elif state.history[-1].agreed and reason not in {"consensus", "plateau", "crit_stable"}:
        said.append(
            f"caution: all agents lead with the same outcome, but the debate ended before it had settled ({reason})"
        )
    if found is not None and found.support > found.answer_support + _EVEN:
        said.append(
            f"caution: the dissent is better supported than the answer: admitted evidence S {found.support:.2f} for {found.outcome}, "
            f"{found.answer_support:.2f} for {answer}"
        )
    if len(state.beliefs) == 1 < len(state.agents) and state.stage != "single":
        (speaker,) = state.beliefs
        said.append(f"caution: only {speaker} ever spoke; this is its own belief, and no debate took place")
    if state.history and state.slots and all(each.signals.crit is None for each in state.history):
        said.append("caution: no judge ever scored an argument")
    if state.history and not rationale:
        said.append(f"caution: no admitted argument speaks for {answer}")
    learnt = state.config.calibration.made_for and state.config.dials.q_lo != Dials().q_lo  # not by a temperature alone
    low = state.config.dials.q_lo if learnt else state.config.dials.q_lo / 2
    if state.q0 is not None and state.q0 <= low:
        said.append(f"caution: the evidence hardly fits the case (Q₀ {state.q0:.2f} ≤ {low:g})")
    return said


def _minority(state: State, answer: str) -> tuple[Minority, ...]:
    found = []
    for agent, belief in state.beliefs.items():
        top = lead(belief)
        if top is not None and (outcome := state.labels[top]) != answer:
            own = [
                e.id
                for e in state.record
                if e.seat == state.seat(agent) and not e.fact and speaks_for(e.argument, outcome, state)
            ]
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


def in_words(reason: StopReason, state: State) -> str:
    """The figures behind a stop, in words."""
    now, stop = state.history[-1].signals, state.config.stop
    d = "undefined" if now.d is None else f"{now.d:.3f}"
    o = "undefined" if now.o is None else f"{now.o:.2f}"
    match reason:
        case "consensus":
            who = "all agents" if len(state.beliefs) == len(state.agents) else "all agents that spoke"
            return f"{who} lead with the same outcome, D {d}, shared evidence O {o}"
        case "plateau" | "crit_stable":
            calm = (
                f"nothing new for {stop.tau_stop} rounds"
                if reason == "plateau"
                else "scores have settled and nothing new is said"
            )
            verdict = "" if state.history[-1].agreed else "no agreement: "
            return f"{verdict}{calm}, disagreement D {d}, shared evidence O {o}"
        case "impasse":
            apart = now.d is None or now.d > stop.d_max
            lacking = (
                f"disagreement D {d} > {stop.d_max:g}" if apart else f"too little shared or admitted evidence (O {o})"
            )
            return f"nothing new is said, and there is no agreement: {lacking}"
        case "stalemate":
            if weak(state.history[-stop.tau_stop :], state.config):
                return f"mean argument quality (CRIT) below {state.config.gate.tau_crit:g} for {stop.tau_stop} rounds"
            return f"no admissible argument for {stop.tau_stop} rounds"
        case _:
            return f"round {now.round} is the last allowed (D {d})"
