"""The agent protocol: anything that can take a turn can debate."""

from __future__ import annotations

from typing import Protocol

from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.llm.usage import Bound


class Agent(Protocol):
    """A debater. It may raise: the controller records the failure and the agent sits the round out."""

    @property
    def name(self) -> str:
        """Unique within a panel; never shown to the other agents or to judges."""

    @property
    def family(self) -> str:
        """The model family, against which judges are checked."""

    def ceiling(self, request: TurnRequest) -> int | Bound:
        """The most this turn can cost at the first attempt: tokens, or tokens and dollars; 0 if it costs nothing.

        Calls that cost something are on record before they are made; an attribute ``free = True`` says that nobody pays.
        """

    async def turn(self, request: TurnRequest) -> Turn:
        """Read the request, argue, and state a belief."""
