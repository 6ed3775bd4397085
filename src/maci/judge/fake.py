"""Fake judges, for tests."""

from __future__ import annotations

from collections.abc import Callable

from maci.agents.argument import Usage
from maci.judge.crit import CritScore, ScoreRequest

__all__ = ["FunctionJudge"]


class FunctionJudge:
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
