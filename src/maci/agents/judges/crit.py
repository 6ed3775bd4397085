r"""CRIT: what a judge says of one argument.

.. math:: \Gamma = \sum_c w_c\,\mathrm{score}_c,\qquad w_c = \tfrac13

over evidence support, logical coherence and query relevance.

>>> round(CritScore(evidence=0.90, logic=0.85, relevance=1.00).composite, 2)
0.92
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.errors import InputError
from maci.evidence.span import Span


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
