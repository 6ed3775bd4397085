"""The agent protocol: anything that can take a turn can debate."""

from __future__ import annotations

from typing import Protocol

from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn

__all__ = ["Agent"]


class Agent(Protocol):
    """A debater. It may raise: the controller records the failure and the agent sits the round out."""

    @property
    def name(self) -> str:
        """Unique within a panel; never shown to the other agents or to judges."""

    @property
    def family(self) -> str:
        """The model family, against which judges are checked."""

    def ceiling(self, request: TurnRequest) -> int:
        """The most tokens this turn can cost; 0 for an agent that costs nothing."""

    async def turn(self, request: TurnRequest) -> Turn:
        """Read the request, argue, and state a belief."""
