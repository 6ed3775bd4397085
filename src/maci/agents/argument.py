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


Kind = Literal["question", "test", "history", "monitoring", "retrieval"]
"""In what way something can be found out."""
Subkind = Literal["examination", "laboratory", "imaging"]
"""What sort of test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """Something an agent would like to know: it comes out positive or negative, and outcomes differ in which they expect."""

    text: str
    expected: Mapping[str, bool] = field(default_factory=dict)
    """Outcome → whether the answer would be yes."""
    kind: Kind | None = None
    """``None``: as the text reads."""
    subkind: Subkind | None = None
    """Of a test."""


Part = Literal["evidence", "against", "next"]
"""What a sentence of a recommendation says: what decides for the answer, what speaks against it, what to do next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a joint recommendation (D20)."""

    part: Part
    text: str
    cites: tuple[str, ...] = ()
    """Ids of the admitted arguments and items of the plan that it rests on."""


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
    """What it would like to know next, the most telling first."""
    note: str = ""
    """What was done to read it, where something was: percents that did not make 100."""
