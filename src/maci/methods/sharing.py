"""What the debates of the literature have in common: openings, then rounds in which everyone hears (some of) the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from maci.agents.agent import Agent
from maci.agents.anchor import Admitted
from maci.methods.method import Step
from maci.methods.session import Session, Voice

__all__ = ["share"]


async def share(
    session: Session,
    agents: Sequence[Agent],
    *,
    rounds: int,
    cl: float,
    choose: Callable[[Mapping[str, Voice]], Sequence[Voice]] = lambda voices: tuple(voices.values()),
) -> tuple[dict[str, Voice], list[Step]]:
    """The voices after so many rounds, and the course; ``choose`` says which voices of a round the others get to hear."""
    voices = {voice.agent: voice for voice in await session.hear(*map(session.opening, agents))}
    course = [session.step(voices)] if voices else []
    record: tuple[Admitted, ...] = ()
    for round in range(1, rounds + 1):
        if session.short is not None or not voices:
            break
        record = (*record, *session.said(choose(voices), round))
        asked = (
            session.turn(agent, round + 1, record=record, own=voices.get(agent.name), others=voices, cl=cl)
            for agent in agents
        )
        voices |= {voice.agent: voice for voice in await session.hear(*asked)}
        course.append(session.step(voices, cl=cl))
    return voices, course
