"""The source protocol: anything that answers items of a plan. It may raise; the failure is recorded and the next item asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from maci.acquisition.plan import Item
from maci.evidence.span import Span
from maci.llm.usage import Bound, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReply:
    """What a source says. ``text`` and ``spans`` are data: whatever they ask for is not done."""

    verdict: Literal["present", "absent", "told", "unknown", "off_question", "stopped"]
    """Found, not there, told in words, not known, an answer to something else; or no more questions, please."""
    text: str = ""
    spans: tuple[Span, ...] = ()
    """Evidence that came with it; without any, the answer itself becomes a span."""
    cost: float | None = None
    """What it did cost, in the plan's units; else what was planned."""
    usage: Usage = field(default_factory=Usage)
    """Tokens and dollars, where a model was asked: they count against the debate's budget."""
    remarks: tuple[str, ...] = ()


@runtime_checkable
class AnswerSource(Protocol):
    """Somebody who can be asked. Derive from it: what is not said has the values given here."""

    name: str
    """As `--source` names it; goes on record."""
    kinds: tuple[str, ...] = ()
    """Kinds of items it can answer; all where empty."""
    person: bool = False
    """A person answers, so no time of the budget passes meanwhile."""
    sure: bool = False
    """Whatever it is asked it answers, be it that something is not there."""

    def menu(self) -> tuple[str, ...]:
        """Names of what can be asked for, where it has a list. Names only: what stands under them is what is asked for."""
        return ()

    def ceiling(self, item: Item) -> int | Bound:
        """The most an answer can cost, in tokens or in both; it is set aside before the source is asked."""
        return 0

    async def answer(self, item: Item) -> SourceReply:
        """Answer one item."""
        ...
