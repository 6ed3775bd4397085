"""The judge protocol: anything that can score an argument can sit on the panel."""

from __future__ import annotations

from functools import partial
from typing import Protocol, runtime_checkable

from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.llm.budget import Call, Ledger, reported, spend
from maci.llm.prompts import Prompt
from maci.llm.usage import Bound, Usage


@runtime_checkable
class Judge(Protocol):
    """A judge of arguments. It may abstain, and it may raise, which counts as an abstention.

    Derive from it and write ``score``, and ``ceiling`` where a score costs something; all else has a default. A judge that draws on
    its purse while it works, as language models do, writes ``prepare`` instead of both.
    """

    name: str
    """Unique within a panel."""
    family: str
    """The model family; must differ from every debater's."""
    free: bool = False
    """Nobody pays for its scores. Of others, scores that cost something are on record before they are asked for."""
    prompts: tuple[Prompt, ...] = ()
    """The templates it asks with; their hashes go into the record."""
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
