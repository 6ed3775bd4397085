"""On to the next round: its dials, and an empty table."""

from __future__ import annotations

from dataclasses import replace

from maci.config import Config
from maci.controller.acquiring import conclude
from maci.controller.bandit import Choice
from maci.controller.decisions import Decision, Dialled
from maci.controller.dials import Dials
from maci.controller.schedule import Learning, scheduler
from maci.controller.state import State
from maci.llm.usage import Bound

__all__ = ["by_hand", "go_on", "next_round"]


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
        hand=state.hand if state.hand is not None and state.hand.hold else None,
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
