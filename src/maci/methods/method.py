"""What a method is: it is given a case and a bench, and answers with a belief and what that cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from maci.calls import Table
from maci.case.case import Case
from maci.config import Config
from maci.controller.caution import Harm
from maci.errors import ConfigError
from maci.llm.budget import Ledger
from maci.llm.usage import Usage

__all__ = ["Answer", "Bench", "Method", "Setting", "Step", "Unfit"]


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
    """One round: the pooled belief after it, each agent's, and the signals where they are measured."""

    belief: Mapping[str, float]
    beliefs: Mapping[str, Mapping[str, float]]
    q: float | None = None
    d: float | None = None
    i: float | None = None
    o: float | None = None
    crit: float | None = None
    cl: float | None = None
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
    q0: float | None = None
    d0: float | None = None
    harm: Harm | None = None
    """What was watched, where the method watches."""


class Method(Protocol):
    """One system of the tables."""

    @property
    def name(self) -> str:
        """As it is called in tables."""

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """Answer one case. Raises :class:`Unfit` where these agents cannot do what the method asks of them."""
