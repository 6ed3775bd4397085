"""The anchor A⁽ᵗ⁾ and what else an agent is given in a round.

Nothing else reaches an agent: not the others' names or models, not their beliefs beyond the leading outcome, not the
arguments that were rejected, not the gold answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maci.agents.argument import Argument
from maci.evidence.span import Span


@dataclass(frozen=True, slots=True)
class Admitted:
    """An argument that earned its place in the record ψ."""

    id: str
    seat: str
    """Who made it, under a neutral name."""
    round: int
    argument: Argument
    fact: bool = False
    """It rests on the case alone, where there is other evidence (D15)."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A⁽ᵗ⁾ = (ψ⁽ᵗ⁾, CL⁽ᵗ⁾, τ_Q⁽ᵗ⁾, τ_CRIT⁽ᵗ⁾)."""

    record: tuple[Admitted, ...]
    cl: float
    tau_q: float
    tau_crit: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was found out while the debate stood still."""

    subject: str
    """What was asked about, in a few words."""
    text: str
    """What came back; data, whatever it says."""
    present: bool | None
    """Whether the subject was found; ``None`` where the answer is more than a yes or a no."""
    round: int
    """After which round."""
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The part of a case that agents and judges may see."""

    question: str
    context: str
    kind: str
    labels: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    """What was found out since the debate began."""

    @property
    def told(self) -> str:
        """The case's text with everything found to be there; what was found to be absent is not in it."""
        more = (f.text if f.present is None else f.subject for f in self.findings if f.present is not False)
        return "\n".join((self.context or self.question, *filter(None, more)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """Everything an agent is given to make one turn."""

    round: int
    """0 is the opening: one prediction, before any debate."""
    seat: str
    """The agent's own neutral name."""
    question: Question
    anchor: Anchor
    evidence: tuple[Span, ...]
    """What was retrieved for the case, then every span cited in ψ, in the order in which they were first cited."""
    retrieved: int = 0
    """How many of them, from the front, were there from the start."""
    belief: Mapping[str, float] | None
    """The agent's own belief of the round before."""
    leading: Mapping[str, str]
    """Neutral name → leading outcome of every other agent, as of the round before."""
    heard: tuple[tuple[str, tuple[Argument, ...]], ...] = ()
    """In sequential order: what others have argued in this round already, not yet judged."""
    asks: bool = False
    """Whether somebody will read what the agent would like to know."""
    seed: int = 0


def seat_letter(index: int) -> str:
    """A, B, …, Z, A1, B1, …

    >>> seat_letter(0), seat_letter(27)
    ('A', 'B1')
    """
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")
