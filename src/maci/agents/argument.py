"""What an agent says in a round: arguments and a belief."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from maci.evidence.span import Citation
from maci.llm.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A claim Ω with reasons R, opposing reasons R′ and the spans it rests on."""

    claim: str
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    outcome: str | None = None
    """The outcome the claim speaks for (or against), where it is about one."""
    against: bool = False
    """The claim speaks against ``outcome``."""
    answers: tuple[str, ...] = field(default=(), compare=False)
    """Ids of earlier arguments it responds to. The same argument in answer to another is still the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """Something an agent would like to know: a question with a yes or a no, and which outcomes expect which."""

    text: str
    expected: Mapping[str, bool] = field(default_factory=dict)
    """Outcome → whether the answer would be yes."""
    kind: Literal["question", "test", "history", "monitoring", "retrieval"] | None = None
    """``None``: as the text reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One agent's contribution to one round."""

    belief: Mapping[str, float]
    """p_u as the agent stated it; read against the outcome space by the controller."""
    arguments: tuple[Argument, ...] = ()
    usage: Usage = field(default_factory=Usage)
    raw: str | None = None
    """The model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""
    requests: tuple[Inquiry, ...] = ()
    """What it would like to know next."""
    note: str = ""
    """What was done to read it, where something was: percents that did not make 100."""
