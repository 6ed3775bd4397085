"""What a debate leaves open, and what could be found out about it: what a survey is told and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

from maci.acquisition.plan import Candidate
from maci.agents.argument import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request of an agent, and the turn it stood in."""

    turn: str
    """Round and seat, as in 2A."""
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What is still open, as a survey is told."""

    question: str
    text: str
    """The case with everything found out so far."""
    labels: tuple[str, ...]
    p: tuple[float, ...]
    leads: tuple[str, ...] = ()
    """Leading outcomes of the agents."""
    requests: tuple[Asked, ...] = ()
    asked: tuple[str, ...] = ()
    """Subjects that were asked about already, whatever came of it."""
    menu: tuple[str, ...] = ()
    """What the source says it has, by name, where it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Candidates, the most informative first."""

    candidates: tuple[Candidate, ...]
    considered: int
    """Phrases, symptoms, tests and requests looked at."""
