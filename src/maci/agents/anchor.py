"""The anchor A⁽ᵗ⁾ and what else an agent is given in a round.

Nothing else reaches an agent: not the others' names or models, not their beliefs beyond the three leading outcomes, not the
arguments of others that were rejected, not the gold answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maci.agents.argument import Argument
from maci.evidence.intake import taken_in
from maci.evidence.lexical import terms
from maci.evidence.orders import without_orders
from maci.evidence.span import Span


@dataclass(frozen=True, slots=True)
class Admitted:
    """An argument in the record ψ: one that passed the gate, or one of the openings, which nobody judges."""

    id: str
    """Round, seat and number, as in 2B1; others answer it by this id."""
    seat: str
    """Who made it, under a neutral name."""
    round: int
    """0: an opening."""
    argument: Argument
    fact: bool = False
    """It rests on the case alone, where there is other evidence (D15)."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A⁽ᵗ⁾ = (ψ⁽ᵗ⁾, CL⁽ᵗ⁾, τ_Q⁽ᵗ⁾, τ_CRIT⁽ᵗ⁾)."""

    record: tuple[Admitted, ...]
    """The openings, then what was admitted, round by round."""
    cl: float
    tau_q: float | None
    """``None``: this gate is off."""
    tau_crit: float | None
    """``None``: this gate is off."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """What an agent is told of another one."""

    leading: tuple[tuple[str, float], ...]
    """Its three leading outcomes with their probabilities, the likeliest first, as of the round before."""
    strongest: tuple[str, ...] = ()
    """Ids of its best arguments in the record, best first."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An argument of the agent's own that was not admitted in the round before."""

    id: str
    claim: str
    why: str
    """In words that tell its author what to do better."""


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
        """The case's text with everything found to be there; neither what was found to be absent nor instructions are in it."""
        more = (self._said(f) if f.present is None else f.subject for f in self.findings if f.present is not False)
        return "\n".join((self.context or self.question, *filter(None, more)))

    def _said(self, finding: Finding) -> str:
        """What came back. Of an answer that only denies, the denials: the name of a test is not found to be there."""
        text = without_orders(finding.text, self.labels)
        taken = taken_in(text)
        if not taken.denied or set(terms(taken.text)) - set(terms(finding.subject)):
            return text
        return "\n".join(f"No {phrase}." for phrase in taken.denied)


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
    others: Mapping[str, Opponent]
    """Neutral name → what is known of every other agent that has a belief."""
    rejected: tuple[Rejected, ...] = ()
    """The agent's own arguments that were not admitted in the round before; nobody else is told."""
    heard: tuple[tuple[str, tuple[Argument, ...]], ...] = ()
    """In sequential order: what others have argued in this round already, not yet judged."""
    asks: bool = False
    """Whether somebody will read what the agent would like to know."""
    seed: int = 0

    @property
    def leading(self) -> dict[str, str]:
        """Neutral name → leading outcome of every other agent, as of the round before."""
        return {seat: other.leading[0][0] for seat, other in self.others.items()}

    def argued_for(self, outcome: str) -> tuple[str, ...]:
        """The id of the last argument in the record by which another agent speaks for an outcome; none where nobody did."""
        for entry in reversed(self.anchor.record):
            if entry.seat != self.seat and entry.argument.outcome == outcome and not entry.argument.against:
                return (entry.id,)
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingRequest:
    """Everything that whoever writes the recommendation is given (D20)."""

    question: str
    answer: str | None
    """``None``: no answer is given."""
    confidence: float = 0.0
    withheld: str = ""
    """Why no answer is given."""
    outcomes: tuple[str, ...] = ()
    """The names in use."""
    support: tuple[tuple[str, Argument], ...]
    """Admitted arguments that do not speak against the answer, with their ids, best first."""
    against: tuple[tuple[str, Argument], ...] = ()
    steps: tuple[tuple[str, str], ...] = ()
    """Id and words of items of the plan."""
    seed: int = 0


def seat_letter(index: int) -> str:
    """A, B, …, Z, A1, B1, …

    >>> seat_letter(0), seat_letter(27)
    ('A', 'B1')
    """
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")
