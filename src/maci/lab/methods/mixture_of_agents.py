"""Mixture of agents: layers of proposers who see the layer before, then one aggregator (Wang et al. 2024, *Mixture-of-Agents*).

As in the source, every proposer of a layer is given all answers of the layer before, and the aggregator the last ones; nothing is
judged. Unlike in it, a layer's proposers also remember their own last belief, which is what these agents' turns are built on.
"""

from __future__ import annotations

from dataclasses import dataclass

from maci.cases.case import Case
from maci.lab.methods.method import Answer, Bench, Method, seat_of
from maci.lab.methods.session import Session

_COOPERATIVE = 0.1


@dataclass(frozen=True, slots=True)
class MixtureOfAgents(Method):
    """Layers of all agents, and an aggregator who answers."""

    layers: int = 3
    """Of proposers; the first are the openings."""
    agent: str | int = 0
    """The aggregator."""
    name: str = "mixture_of_agents"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """``layers`` × M + 1 calls."""
        session = Session(case, bench, seed)
        voices = await session.openings()
        course = [session.step(voices)] if voices else []
        record = session.said(voices.values(), 1)
        for layer in range(2, self.layers + 1):
            asked = (
                session.turn(agent, layer, record=record, own=voices.get(agent.name), others=voices, cl=_COOPERATIVE)
                for agent in session.agents
            )
            voices |= {voice.agent: voice for voice in await session.hear(*asked)}
            record = (*record, *session.said(voices.values(), layer))
            course += [session.step(voices, cl=_COOPERATIVE)] if voices else []
        if not voices:
            return session.answer(None, "no agent answered")
        one = seat_of(session.agents, self.agent)
        final = await session.hear(
            session.turn(one, self.layers + 1, record=record, own=voices.get(one.name), others=voices, cl=_COOPERATIVE)
        )
        if not final:
            return session.answer(None if session.short is None else course[-1].belief, "the aggregator gave no answer")
        return session.answer(session.pool(final), f"{self.layers} layers", rounds=self.layers, course=course)
