"""The protocols of those who take part: anything that can take a turn can debate, anything that can score an argument can judge."""

from __future__ import annotations

from functools import partial
from typing import Protocol, Self, runtime_checkable

from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.errors import InputError
from maci.llm.budget import Call, Ledger, reported, spend
from maci.llm.model import Prompt
from maci.llm.usage import Bound, Usage


class Participant(Protocol):
    """An agent or a judge."""

    name: str
    """Unique within a panel; never shown to the other agents or to judges."""
    family: str
    """The model family; a judge's must differ from every debater's."""
    free: bool = False
    """Nobody pays for its calls. Of others, calls that cost something are on record before they are made."""
    prompts: tuple[Prompt, ...] = ()
    """The templates it asks with; their hashes go into the record."""


@runtime_checkable
class Agent(Participant, Protocol):
    """A debater. It may raise: the controller records the failure and the agent sits the round out.

    Derive from it and write ``turn``, and ``ceiling`` where a turn costs something; all else has a default. An agent that draws on
    its purse while it works, as language models do, writes ``prepare`` instead of both.
    """

    def ceiling(self, request: TurnRequest) -> int | Bound:
        """The most a ``turn`` can cost: tokens, or tokens and dollars; 0 if it costs nothing."""
        return 0

    async def turn(self, request: TurnRequest) -> Turn:
        """Read the request, argue, and state a belief."""
        return await self.prepare(request).within()

    def prepare(self, request: TurnRequest) -> Call[Turn]:
        """The turn as a call to make, with the most its first attempt can cost."""

        async def ask() -> tuple[Turn, Usage]:
            taken = await self.turn(request)
            if not isinstance(taken, Turn):
                raise InputError(f"turn() gave {type(taken).__name__}, not a Turn")
            return taken, taken.usage

        return reported(self.ceiling(request), self.free, ask)

    def redrawn(self, seed: int) -> Self | None:
        """The agent for another draw of its answer; ``None`` of one that answers once and for all."""
        return None

    def as_copy_of(self, other: Self) -> Self | None:
        """Another agent of this kind under this one's name, with this one's evidence; ``None`` of one that cannot be copied."""
        return None

    def styled(self, manner: str) -> Self:
        """The agent told to reason in a given manner; itself where it cannot be told."""
        return self


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
        """The score and what it cost; raises :class:`~maci.agents.judges.crit.JudgeAbstained` where it cannot say."""
        call = self.prepare(request)
        with spend(Ledger(), call.bound) as purse:
            return await call.make(purse), purse.total()

    def prepare(self, request: ScoreRequest) -> Call[CritScore]:
        """The score as a call to make, with the most its first attempt can cost."""
        return reported(self.ceiling(request), self.free, partial(self.score, request))
