"""Who takes part: anything that can take a turn can debate, anything that can score an argument can judge.

The protocols come first, then the simplest that keep them: agents and judges that return what a test, MACI's or yours, tells them to.

>>> import asyncio
>>> agent = ScriptedAgent("script", [Turn(belief={"yes": 0.8, "no": 0.2})])
>>> asyncio.run(agent.turn(request_stub())).belief["yes"]
0.8
>>> len(agent.history)
1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, Self, runtime_checkable

from maci.agents.anchor import Anchor, Opponent, Question, TurnRequest
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

    def prepare_together(self, requests: Sequence[ScoreRequest]) -> Call[Sequence[CritScore]] | None:
        """The scores of several arguments as one call (``crit.together``); ``None`` of a judge that takes one at a time."""
        return None


class FunctionAgent(Agent):
    """A fake agent that answers with a function; ``history`` keeps every request it was given."""

    def __init__(
        self, name: str, reply: Callable[[TurnRequest], Turn], *, family: str = "fake", ceiling: int = 0
    ) -> None:
        self.name, self.family = name, family
        self.history: list[TurnRequest] = []
        self._reply, self._ceiling = reply, ceiling

    def ceiling(self, request: TurnRequest) -> int:
        """The figure given at construction."""
        return self._ceiling

    async def turn(self, request: TurnRequest) -> Turn:
        """Whatever the function returns or raises."""
        self.history.append(request)
        return self._reply(request)


class ScriptedAgent(FunctionAgent):
    """A fake agent with one prepared turn (or error) per round; the last one repeats."""

    def __init__(self, name: str, turns: Sequence[Turn | Exception], *, family: str = "fake", ceiling: int = 0) -> None:
        script = list(turns)
        if not script:
            raise ValueError(f"scripted agent {name!r} has no turns")

        def play(request: TurnRequest) -> Turn:
            line = script[min(request.round, len(script) - 1)]
            if isinstance(line, Exception):
                raise line
            return line

        super().__init__(name, play, family=family, ceiling=ceiling)


def request_stub(round: int = 0, *, leading: Mapping[str, str] | None = None, **changes: object) -> TurnRequest:
    """A minimal request, to try an agent by hand; ``leading`` says what the others hold certain."""
    fields: dict[str, object] = {
        "round": round,
        "seat": "A",
        "question": Question("Is it so?", "", "closed", ("yes", "no")),
        "anchor": Anchor((), 0.9, 0.5, 0.3),
        "evidence": (),
        "belief": None,
        "others": {seat: Opponent(((outcome, 1.0),)) for seat, outcome in (leading or {}).items()},
    }
    return TurnRequest(**{**fields, **changes})  # type: ignore[arg-type]


class FunctionJudge(Judge):
    """A fake judge that scores with a function of the request; a float means that score on all three criteria."""

    def __init__(
        self,
        name: str,
        score: Callable[[ScoreRequest], CritScore | float],
        *,
        family: str = "fake-judge",
        ceiling: int = 0,
    ) -> None:
        self.name, self.family = name, family
        self.history: list[ScoreRequest] = []
        self._score, self._ceiling = score, ceiling

    def ceiling(self, request: ScoreRequest) -> int:
        """The figure given at construction."""
        return self._ceiling

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """Whatever the function returns or raises."""
        self.history.append(request)
        given = self._score(request)
        return (
            given if isinstance(given, CritScore) else CritScore(evidence=given, logic=given, relevance=given)
        ), Usage()
