"""Fake agents and judges for tests, MACI's and yours: they return what the test tells them to.

>>> import asyncio
>>> agent = ScriptedAgent("script", [Turn(belief={"yes": 0.8, "no": 0.2})])
>>> asyncio.run(agent.turn(request_stub())).belief["yes"]
0.8
>>> len(agent.history)
1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from maci.agents.agent import Agent, Judge
from maci.agents.anchor import Anchor, Opponent, Question, TurnRequest
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.llm.usage import Usage


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
