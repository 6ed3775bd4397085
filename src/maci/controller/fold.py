"""The core: ``step(state, input) → (state, decisions)``.

Pure and synchronous. Running a debate, resuming a broken one, replaying a record and asking what another rule would have
done are the same fold over the same inputs; only where the inputs come from differs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np

from maci.acquisition.plan import AgentInquiry
from maci.agents.judges.crit import check_families
from maci.agents.judges.crit import slots as fill_slots
from maci.controller import acquiring
from maci.controller.acquiring import conclude
from maci.controller.decisions import Decision
from maci.controller.dials import RoundDials
from maci.controller.ending import SOURCE, Step, finish, forfeit
from maci.controller.events import round_of
from maci.controller.inputs import (
    Acquired,
    Compared,
    Exhausted,
    Input,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Recommended,
    Requested,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
    unpack,
)
from maci.controller.opening import after_first, after_opening, close_opening
from maci.controller.reading import next_question
from maci.controller.recommending import end, stand_in, take_up
from maci.controller.rounds import close_round, go_on, settled
from maci.controller.state import State, argument_id
from maci.errors import ConfigError, InputError
from maci.llm.usage import NOTHING, PROMPT_CUT, Bound, Usage


def start(opened: Opened) -> State:
    """The state before anything has happened; refuses a table that cannot debate."""
    names = [seat.name for seat in (*opened.agents, *opened.judges)]
    if len(opened.agents) < 2:
        raise ConfigError(f"a debate needs at least two agents, got {len(opened.agents)}")
    if len(set(names)) != len(names):
        raise ConfigError(f"agents and judges need distinct names, got {', '.join(names)}")
    config, space = opened.config, opened.case.outcomes
    if config.crit.enabled and not opened.judges:
        raise ConfigError("there are no judges: name some, or run CRIT-free with --set crit.enabled=false")
    warnings = [*opened.notes]
    warnings += check_families(
        [(seat.name, seat.family) for seat in opened.agents],
        [(seat.name, seat.family) for seat in opened.judges] if config.crit.enabled else [],
        config.crit.same_family,
    )
    slots = fill_slots([judge.name for judge in opened.judges], config.crit.k) if config.crit.enabled else ()
    if len(judges := {slot.judge for slot in slots}) < len(slots):
        kind = "within one judge" if len(judges) == 1 else "partly within judges"
        some = "1 judge" if len(judges) == 1 else f"{len(judges)} judges"
        warnings.append(f"{len(slots)} scores per argument come from {some}: their variance is {kind}")
    return State(
        opened=opened,
        agents=tuple(seat.name for seat in opened.agents),
        slots=slots,
        stage="single" if config.triage.enabled else "debate",
        labels=space.start,
        positions=np.array(space.positions) if space.kind == "ordered" else None,
        metric=np.array(space.metric) if space.metric else None,
        dials=RoundDials(config.dials.cl_max, config.gate.tau_q, config.gate.tau_crit),
        reliability={seat.name: config.reliability.gamma_0 for seat in opened.agents},
        warnings=tuple(warnings),
    )


def expected(state: State, item: Input) -> bool:
    """Whether the debate is waiting for this input; one that ends or pauses waits for a survey, and for answers of the source."""
    if state.finished:
        return False
    closing, asking = state.closing is not None, bool(state.acquiring)
    match item:
        case Opened():
            return False
        case Retrieved():
            return not closing and state.theta is None
        case TurnTaken() | TurnFailed():
            return (
                not closing
                and state.theta is not None
                and item.round == state.round
                and item.agent in state.agents
                and item.agent not in state.turns
            )
        case Sent():
            return item.round == state.round and (asking or state.recommending if closing else state.theta is not None)
        case Requested():
            return True
        case Lost():
            return bool(state.in_flight)
        case Scored() | JudgeAbstention():
            return (
                not closing
                and item.round == state.round
                and state.judged
                and item.argument in state.arguments
                and item.slot in {slot.id for slot in state.slots}
                and item.slot not in state.scores.get(item.argument, ())
                and not (isinstance(item, JudgeAbstention) and item.waived and not settled(state, item.argument))
            )
        case Compared():
            return not closing and item.round == state.round and item.question == next_question(state)
        case Resolved():
            return not closing
        case Intervened():
            return True
        case Exhausted():
            return asking or not closing
        case Surveyed():
            return closing and not asking and not state.recommending and item.round == state.round
        case Acquired():
            return closing and item.round == state.round and item.item in {asked.id for asked in state.acquiring}
        case Recommended():
            return state.recommending and item.round == state.round
        case _:
            assert_never(item)


def step(state: State, item: Input) -> Step:
    """Take one input; where it completes a round, close it."""
    if not expected(state, item):
        raise InputError(f"the debate is not waiting for {_name(item)} (it is in round {state.round})")
    match item:
        case Requested():
            return state.but(prompted=state.prompted | item.prompts.keys() | item.texts.keys()), ()
        case Sent():
            return _under_way(state, item), ()
        case Scored() | JudgeAbstention():
            state = _judged(state, item)
        case TurnTaken():
            state = _spend(_seated(state, item), item.turn.usage, ("turn", item.agent, ""))
        case TurnFailed():
            failed = {
                "turns": {**state.turns, item.agent: None},
                "failures": {**state.failures, item.agent: item.error},
            }
            state = _spend(state.but(**failed), item.usage, ("turn", item.agent, ""))
        case Retrieved():
            state = _looked_up(state, item).but(
                retrieved=tuple(dict.fromkeys(span.id for span in item.spans)), core=item.core, theta=unpack(item.theta)
            )
        case Resolved():
            state = _resolved(_looked_up(state, item), item)
        case Compared():
            state = _compared(state, item)
        case Lost():
            state = forfeit(state)
            return stand_in(state, "the call was lost when the debate broke off") if state.recommending else (state, ())
        case Intervened():
            return _intervened(state, item)
        case Exhausted():
            return _out_of_budget(state.but(acquiring=()), item)
        case Surveyed():
            return acquiring.make(state, item)
        case Acquired():
            return _found_out(state, item)
        case Recommended():
            return take_up(_spend(state, item.usage, ("recommend", item.by, "")), item)
        case Opened():  # refused above
            raise AssertionError
        case _:
            assert_never(item)
    if isinstance(item, TurnFailed | JudgeAbstention) and item.fatal:
        who, why = (item.agent, item.error) if isinstance(item, TurnFailed) else (_judge(item.slot), item.reason)
        return finish(state, "error", f"{who}: {why}")
    return _close(state) if _complete(state) else (state, ())


def _looked_up(state: State, item: Retrieved | Resolved) -> State:
    """The state with more spans and their vectors."""
    return state.but(
        spans={**state.spans, **{span.id: span for span in item.spans}},
        vectors={**state.vectors, **{i: unpack(v) for i, v in item.vectors.items()}},
    )


def _resolved(state: State, item: Resolved) -> State:
    """The state with what a turn names looked up."""
    state = state.but(
        missing=state.missing | frozenset(item.missing),
        label_vectors={**state.label_vectors, **{name: unpack(v) for name, v in item.labels.items()}},
    )
    unsettled = (a for a, turn in state.turns.items() if turn is not None and any(state.unresolved(turn)))
    return state.but(waiting=frozenset(unsettled))


def _judged(state: State, item: Scored | JudgeAbstention) -> State:
    """The state with what a judge said of an argument, or that it said nothing."""
    given = {**state.scores.get(item.argument, {}), item.slot: item.score if isinstance(item, Scored) else None}
    state = _spend(state, item.usage, ("score", item.slot, item.argument))
    state = state.but(scores={**state.scores, item.argument: given})
    if isinstance(item, Scored):
        return state
    if item.waived:
        return state.but(waived=state.waived | {(item.argument, item.slot)}, lost=state.lost + item.usage)
    return state.but(silent=(*state.silent, f"{item.slot} on {item.argument}: {item.reason}"))


def _compared(state: State, item: Compared) -> State:
    """The state with a name compared with those in use; a comparison that failed is a warning."""
    said = {**state.compared, **item.answers}
    state = state.but(compared=said, comparisons=state.comparisons + 1)
    if item.relation is None:
        among = " or ".join(item.question.among)
        why = f"nobody could say whether {item.first} is the same outcome as {among}: {item.error}"
        state = state.but(warnings=(*state.warnings, f"round {state.round}: {why}"))
    return _spend(state, item.usage, ("compare", item.by, str(item.question)))


def _intervened(state: State, item: Intervened) -> Step:
    """A person stops, pauses or resumes the debate, or sets or releases its dials."""
    if item.stop:
        why = f"stopped by {item.by or 'a person'}"
        return stand_in(state, why) if state.recommending else conclude(state.but(acquiring=()), "stopped_by_user", why)
    if item.pause is not None:
        state = state.but(paused=item.pause)
    turned = any(dial is not None for dial in (item.cl, item.tau_q, item.tau_crit))
    if item.release:
        return state.but(hand=item if turned else None), ()
    return (state.but(hand=_both_hands(state.hand, item)) if turned or item.pause is None else state), ()


def _complete(state: State) -> bool:
    """Whether the open round lacks nothing, and no two names are to be compared before it is closed."""
    return state.complete and next_question(state) is None


def _found_out(state: State, item: Acquired) -> Step:
    """Take an answer of the source; with the last one of a batch the debate continues, if any of them told something."""
    state, on = acquiring.enter(_spend(state, item.usage, ("acquire", item.item, "")), item)
    if on is None:
        return state, ()
    if on:
        return go_on(state.but(closing=None, segment=len(state.history)))  # stop rules look at what comes from here on
    assert state.closing is not None
    return end(state, state.closing.reason, state.closing.detail)


def _both_hands(before: Intervened | None, now: Intervened) -> Intervened:
    """A dial set earlier and still held, or set in the same round, stays set unless it was set again."""
    if before is None:
        return now
    return replace(
        now,
        cl=before.cl if now.cl is None else now.cl,
        tau_q=before.tau_q if now.tau_q is None else now.tau_q,
        tau_crit=before.tau_crit if now.tau_crit is None else now.tau_crit,
        hold=before.hold or now.hold,
    )


def _close(state: State) -> Step:
    if state.round:
        return close_round(state)
    if state.stage == "single":
        state, decisions = after_first(state)
        if state.round or state.finished or not _complete(state):
            return state, decisions
        state, more = _close(state)  # the others have spoken already
        return state, (*decisions, *more)
    state, decisions = close_opening(state)
    return (state, decisions) if state.finished or state.stage == "debate" else after_opening(state, decisions)


def _seated(state: State, item: TurnTaken) -> State:
    """The state with a turn laid on the table and its arguments numbered."""
    seat = state.agents.index(item.agent)
    numbered = {argument_id(state.round, seat, n): (item.agent, a) for n, a in enumerate(item.turn.arguments, 1)}
    waits = {item.agent} if any(state.unresolved(item.turn)) else set()
    turn = f"{state.round}{state.seat(item.agent)}"
    asks = tuple(AgentInquiry(turn=turn, request=request) for request in item.turn.requests)
    cut = f"{item.agent}: {PROMPT_CUT}"
    if item.turn.note.startswith(PROMPT_CUT) and not any(said.startswith(cut) for said in state.warnings):
        state = state.but(warnings=(*state.warnings, f"{item.agent}: {item.turn.note}"))
    return state.but(
        requests=(*state.requests, *asks),
        turns={**state.turns, item.agent: item.turn},
        arguments={**state.arguments, **numbered},
        waiting=state.waiting | waits,
    )


def _under_way(state: State, item: Sent) -> State:
    """The state with calls noted as sent; another attempt adds to what the call may cost."""
    flying = dict(state.in_flight)
    for call in item.calls:
        flying[call.key] = flying.get(call.key, NOTHING) + Usage(prompt=call.tokens, usd=call.usd)
    return state.but(in_flight=flying)


def _spend(state: State, usage: Usage, call: tuple[str, str, str]) -> State:
    """The state with a call's cost counted, and the call no longer under way."""
    kind, who, _ = call
    if (most := state.in_flight.get(call)) is not None:
        state = state.but(in_flight={key: bound for key, bound in state.in_flight.items() if key != call})
        state = _exceeded(state, _judge(who) if kind == "score" else SOURCE if kind == "acquire" else who, usage, most)
    elif kind == "acquire" and not usage.free:
        state = _exceeded(state, SOURCE, usage, NOTHING)
    if not usage:
        return state
    judging = state.judging + usage if kind == "score" else state.judging
    return state.but(usage=state.usage + usage, judging=judging)


def _judge(slot: str) -> str:
    """The judge of a slot."""
    return slot.rpartition("#")[0]


def _exceeded(state: State, who: str, usage: Usage, most: Usage) -> State:
    """The state with what a call cost beyond what was set aside for it, if it did."""
    over = Bound(max(0, usage.tokens - most.tokens), usage.usd - most.usd if usage.usd > most.usd + 1e-9 else 0.0)
    if not any(over):
        return state
    calls, before = state.beyond.get(who, (0, Bound()))
    return state.but(beyond={**state.beyond, who: (calls + 1, before.plus(over))})


def _out_of_budget(state: State, item: Exhausted) -> Step:
    """Stop with the best answer so far; an opening that is half in still counts."""
    detail = f"out of {item.resource}" + (f": {item.detail}" if item.detail else "")
    asked = {who for kind, who, _ in state.in_flight if kind == "turn"}
    if state.in_flight:  # their cost is what the driver says
        state = state.but(in_flight={})
    if item.usage:
        state = state.but(usage=state.usage + item.usage, lost=state.lost + item.usage)
    decisions: tuple[Decision, ...] = ()
    openings = [agent for agent, turn in state.turns.items() if turn is not None and agent not in state.waiting]
    if state.mixture is None and openings:
        turns = {agent: state.turns[agent] if agent in openings else None for agent in state.agents}
        silent = {
            agent: "the budget ran out before it had answered" if agent in asked else "not asked: out of budget"
            for agent in state.agents
            if agent not in state.turns
        }
        state, decisions = close_opening(replace(state, turns=turns, failures={**state.failures, **silent}))
        if state.finished:
            return state, decisions
    return conclude(state, "budget", detail, decisions)


def _name(item: Input) -> str:
    who = ""
    if isinstance(item, TurnTaken | TurnFailed):
        who = f" of {item.agent}"
    elif isinstance(item, Scored | JudgeAbstention):
        who = f" of {item.argument}"
    return f"{item.type}{who}{'' if (t := round_of(item)) is None else f' in round {t}'}"
