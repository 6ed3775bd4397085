r"""CRIT: what a judge says of one argument, and the judge protocol: anything that can score an argument can sit on the panel.

.. math:: \Gamma = \sum_c w_c\,\mathrm{score}_c,\qquad w_c = \tfrac13

over evidence support, logical coherence and query relevance.

>>> round(CritScore(evidence=0.90, logic=0.85, relevance=1.00).composite, 2)
0.92
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from maci.agents.agent import Participant
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.errors import InputError
from maci.evidence.span import Span
from maci.llm.budget import Call, Ledger, reported, spend
from maci.llm.usage import Bound, Usage


class JudgeAbstained(Exception):
    """A judge that cannot score this argument says so; it never becomes a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CritScore:
    """One judge's score of one argument."""

    evidence: float
    logic: float
    relevance: float
    links: tuple[float, ...] = ()
    """γ_r: quality of each reason → claim link."""
    justification: str = ""
    raw: str | None = None
    """A model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""

    def __post_init__(self) -> None:
        for name in ("evidence", "logic", "relevance"):
            if not 0 <= getattr(self, name) <= 1:  # also refuses nan
                raise InputError(f"CRIT {name} is {getattr(self, name)}, must be between 0 and 1")
        for link in self.links:
            if not 0 <= link <= 1:
                raise InputError(f"CRIT link quality is {link}, must be between 0 and 1")

    @property
    def composite(self) -> float:
        """The mean of the three criteria."""
        return (self.evidence + self.logic + self.relevance) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """All a judge sees: the argument, its cited spans, a minimal task. No agent, no opponent, no belief."""

    question: Question
    argument: Argument
    spans: tuple[Span, ...]
    """The verified ones."""
    unverified: int = 0
    """How many citations named no span or misquoted it."""
    sample: int = 0
    """Which of several scores asked of the same judge this is."""
    seed: int = 0


@runtime_checkable
class Judge(Participant, Protocol):
    """A judge of arguments. It may abstain, and it may raise, which counts as an abstention.

    Derive from it and write ``score``, and ``ceiling`` where a score costs something; all else has a default. A judge that draws on
    its purse while it works, as language models do, writes ``prepare`` instead of both.
    """

    stateless: bool = False
    """Its calls know nothing of each other, so that it can be asked many at once and their order means nothing."""

    def ceiling(self, request: ScoreRequest) -> int | Bound:
        """The most a ``score`` can cost: tokens, or tokens and dollars; 0 if it costs nothing."""
        return 0

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """The score and what it cost; raises :class:`JudgeAbstained` where it cannot say."""
        call = self.prepare(request)
        with spend(Ledger(), call.bound) as purse:
            return await call.make(purse), purse.total()

    def prepare(self, request: ScoreRequest) -> Call[CritScore]:
        """The score as a call to make, with the most its first attempt can cost."""
        return reported(self.ceiling(request), self.free, partial(self.score, request))
