"""How a debate ends: the result, the rationale, the minority report, and the stop in words."""

from __future__ import annotations

from dataclasses import replace

from maci.agents.argument import Argument
from maci.belief import temper
from maci.controller.decisions import Decision, Finished, Minority
from maci.controller.state import State, as_mapping, place
from maci.controller.stopping import StopReason
from maci.errors import BeliefError

__all__ = ["finish", "in_words", "speaks_for"]


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


def in_words(reason: StopReason, state: State) -> str:
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
