"""The interface of a method: it takes a case and a bench, and returns a belief and what that cost.

The functions at the end choose agents for methods that need one agent, several draws of it, copies of it, or agents with different
manners. They raise :class:`Unfit` where the agents of a panel cannot do that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from pydantic import ConfigDict

from maci.agents.agent import Agent
from maci.cases.case import Case
from maci.config import Config
from maci.controller.caution import HarmReport
from maci.controller.requests import call_seed
from maci.errors import ConfigError
from maci.llm.budget import Ledger
from maci.llm.usage import Usage
from maci.seating.table import Table


class Unfit(ConfigError):
    """A method that cannot be used with these agents; the message says what it needs."""


class Setting(Protocol):
    """Sets the table for a case; the panels are."""

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The same agents and judges for every method, given the case and the seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all methods of a study share."""

    panel: Setting
    config: Config = field(default_factory=Config)
    """Of the debate, and the ceilings of every answer whatever the method."""
    ledger: Ledger | None = None
    """The ceiling of the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round as a row keeps it: the pooled belief after it, each agent's, and the signals where they are measured."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    belief: Mapping[str, float]
    """Not calibrated; round 0 is the opening."""
    q: float | None = None
    d: float | None = None
    i: float | None = None
    """Î"""
    o: float | None = None
    crit: float | None = None
    cl: float | None = None
    """Contentiousness in force."""
    beliefs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of each agent, by name."""
    scores: Mapping[str, tuple[Mapping[str, float], ...]] = field(default_factory=dict)
    """Agent → for each of its arguments what each judge gave it, composite CRIT; who abstained is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A method's answer to a case."""

    belief: Mapping[str, float] | None
    """Not calibrated; ``None`` where there is none, and ``reason`` says why."""
    reason: str
    """How it ended."""
    out_of_budget: bool = False
    """The ceiling came first; the belief, if any, is the best until then."""
    rounds: int = 0
    """After the openings."""
    calls: int = 0
    """Turns asked of agents."""
    judge_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    """Of the agents."""
    judge_usage: Usage = field(default_factory=Usage)
    course: tuple[Step, ...] = ()
    """Openings first."""
    agreement: float | None = None
    """Share of the votes for the leading outcome, where votes were cast."""
    harm: HarmReport | None = None
    """What was watched, where the method watches."""
    narrower: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Outcome → narrower names given for it, each with its share."""


class Method(Protocol):
    """One system of the tables. Derive from it: what is not said has the values given here."""

    name: str
    """As it is called in tables."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """Settings of the bench that it changes."""

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """Answer one case. Raises :class:`Unfit` where these agents cannot do what the method asks of them."""


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
    drawn = agent.redrawn(call_seed(seed, agent.name, "draw", sample))
    if drawn is None:
        raise Unfit(
            f"{agent.name} answers once and for all: a vote of several draws needs an agent that can answer again"
        )
    return drawn


def copies_of(agents: Sequence[Agent], which: str | int) -> tuple[Agent, ...]:
    """As many agents as there are, all of them copies of one; each keeps its name and what evidence it holds."""
    one = seat_of(agents, which)
    copies = tuple(agent.as_copy_of(one) for agent in agents if type(agent) is type(one))
    copied = tuple(copy for copy in copies if copy is not None)
    if len(copied) < len(agents):
        raise Unfit(f"copies of {one.name}: the agents at this table are not of one kind that can be copied")
    return copied


def styled(agents: Sequence[Agent], manners: Sequence[str]) -> tuple[Agent, ...]:
    """Language models, each told to reason in a manner of its own; readers differ in theirs as they are."""
    return tuple(agent.styled(manners[n % len(manners)]) for n, agent in enumerate(agents))
