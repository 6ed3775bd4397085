"""Choosing agents, and what some methods want of them that not every agent can do."""

from __future__ import annotations

from collections.abc import Sequence

from maci.agents.agent import Agent
from maci.controller.requests import call_seed
from maci.methods.method import Unfit

__all__ = ["copies_of", "redrawn", "seat_of", "styled"]


def seat_of(agents: Sequence[Agent], which: str | int) -> Agent:
    """An agent by name or by place."""
    if isinstance(which, int):
        if 0 <= which < len(agents):
            return agents[which]
        raise Unfit(f"agent {which}: there are {len(agents)}, counted from 0")
    for agent in agents:
        if agent.name == which:
            return agent
    raise Unfit(f"agent {which!r}: there is no such agent, only {', '.join(agent.name for agent in agents)}")


def redrawn(agent: Agent, seed: int, sample: int) -> Agent:
    """The agent for its ``sample``-th draw; draw 0 is the agent as it is.

    A language model is asked again with another seed. A reader, who would say the same again, reads a bootstrap resample of its
    evidence.
    """
    if sample == 0:
        return agent
    again = getattr(agent, "redrawn", None)
    if again is None:
        raise Unfit(
            f"{agent.name} answers once and for all: a vote of several draws needs an agent that can answer again"
        )
    drawn: Agent = again(call_seed(seed, agent.name, "draw", sample))
    return drawn


def copies_of(agents: Sequence[Agent], which: str | int) -> tuple[Agent, ...]:
    """As many agents as there are, all of them copies of one; each keeps its name and what evidence it holds."""
    one = seat_of(agents, which)
    if any(not hasattr(agent, "as_copy_of") or type(agent) is not type(one) for agent in agents):
        raise Unfit(f"copies of {one.name}: the agents at this table are not of one kind that can be copied")
    return tuple(agent.as_copy_of(one) for agent in agents)  # type: ignore[attr-defined]


def styled(agents: Sequence[Agent], manners: Sequence[str]) -> tuple[Agent, ...]:
    """Language models, each told to reason in a manner of its own; readers differ in theirs as they are."""
    return tuple(
        agent.styled(manners[n % len(manners)]) if hasattr(agent, "styled") else agent for n, agent in enumerate(agents)
    )
