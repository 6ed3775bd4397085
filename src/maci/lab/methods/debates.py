"""The debate methods from the literature that MACI is compared with, and the mixture of agents.

=========================  =============================================================================
:class:`Mad`               two opposed sides and a moderator (Liang et al. 2024)
:class:`MixtureOfAgents`   layers of proposers, then one aggregator (Wang et al. 2024)
:class:`DuDebate`          copies of one model (Du et al. 2024)
:class:`Dmad`              agents that each reason in a different manner (Liu et al. 2025)
:class:`MultiLlmDebate`    only selected answers are passed on (Estornell & Liu 2024)
=========================  =============================================================================

The last three share one course (:func:`share`): openings, then rounds in which every agent hears all or some of the others; in the
end the last beliefs are pooled. Each class says where it differs from its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maci.agents.agent import Agent
from maci.agents.anchor import Admitted
from maci.cases.case import Case
from maci.lab.methods.method import Answer, Bench, Method, Step, copies_of, seat_of, styled
from maci.lab.methods.session import Session, Voice

_ADVERSARIAL, _MODERATE = 1.0, 0.1


@dataclass(frozen=True, slots=True)
class Mad(Method):
    """Debate with fixed adversarial roles (Liang et al. 2024, *Encouraging Divergent Thinking in LLMs through Multi-Agent Debate*).

    An affirmative and a negative side argue in turns at full contentiousness. After each round a moderator who has heard both may
    end the debate, and in the end answers. These are the first three agents; with two at the table the first also moderates.

    Differences: the source tells the negative side to disagree with whatever was said; these agents are as contentious as they can
    be but hold the outcome their evidence leads to. The source's moderator says in words whether a solution was found; here one is
    found when both sides lead with it or when the moderator is at least 90 % sure (``sure``).
    """

    rounds: int = 5
    sure: float = 0.9
    name: str = "mad"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """Two calls a round and one of the moderator."""
        session = Session(case, bench, seed)
        sides, moderator = session.agents[:2], session.agents[2 % len(session.agents)]
        voices: dict[str, Voice] = {}
        ruling = next(iter(await session.hear(session.opening(moderator))), None)
        record, course = session.said((), 1), []
        for round in range(1, self.rounds + 1):
            for side in sides:
                asked = (
                    session.opening(side)
                    if round == 1
                    else session.turn(
                        side, round, record=record, own=voices.get(side.name), others=voices, cl=_ADVERSARIAL
                    )
                )
                for voice in await session.hear(asked):
                    voices[side.name] = voice
                    record = (*record, *session.said([voice], round))
            asked = session.turn(
                moderator, round + 1, record=record, own=ruling, others=voices, cl=_MODERATE, sample=round
            )
            ruling = next(iter(await session.hear(asked)), ruling)
            if ruling is None or session.short is not None:
                break
            course.append(session.step({**voices, moderator.name: ruling}, cl=_ADVERSARIAL))
            agree = len({voice.lead for voice in voices.values()}) == 1 and len(voices) == 2
            if agree or ruling.belief[ruling.lead] >= self.sure:
                reason = "both sides agree" if agree else "the moderator is sure"
                return session.answer(session.pool([ruling]), reason, rounds=round, course=course)
        belief = None if ruling is None else session.pool([ruling])
        return session.answer(belief, "the last round", rounds=len(course), course=course)


_COOPERATIVE = 0.1


@dataclass(frozen=True, slots=True)
class MixtureOfAgents(Method):
    """Layers of proposers who see the layer before, then one aggregator who answers (Wang et al. 2024, *Mixture-of-Agents*).

    As in the source, every proposer of a layer is given all answers of the layer before, and the aggregator the last ones; nothing
    is judged. Unlike in the source, proposers also remember their own last belief, since an agent's turn is built on it.
    """

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


@dataclass(frozen=True, slots=True)
class DuDebate(Method):
    """Debate of M copies of one model over R rounds (Du et al. 2024, *Improving Factuality and Reasoning through Multiagent Debate*).

    Every copy answers, then for some rounds reads all other answers and answers again. As in the source there is no judge and no
    gate, and the agents are copies of one model; readers keep the evidence they were dealt, which is what makes the copies differ.
    The source takes the majority of the last answers; here the last beliefs are pooled, which breaks ties and gives probabilities.
    """

    rounds: int = 2
    agent: str | int = 0
    """Whose copies debate."""
    name: str = "du_debate"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)
        voices, course = await share(session, copies_of(session.agents, self.agent), rounds=self.rounds, cl=0.5)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)


MANNERS = (
    "Reason step by step from the findings to the outcome.",
    "Step back first: state the general principle that decides cases like this one, then apply it.",
    "Work by exclusion: list the outcomes, and strike out those the findings contradict.",
    "Reason by comparison: recall the nearest similar cases in the evidence, and say how this one differs.",
)


@dataclass(frozen=True, slots=True)
class Dmad(Method):
    """Debate between different ways to reason (Liu et al. 2025, *Breaking Mental Set to Improve Reasoning …*, "Diverse MAD").

    Language models are each told to reason in a different manner (:data:`MANNERS`); readers already weigh evidence in three
    different ways. The source picks the last answer by vote; here the last beliefs are pooled.
    """

    rounds: int = 2
    name: str = "dmad"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)
        voices, course = await share(session, styled(session.agents, MANNERS), rounds=self.rounds, cl=0.5)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)


_REFUTING = 0.7


@dataclass(frozen=True, slots=True)
class MultiLlmDebate(Method):
    """Debate with three interventions (Estornell & Liu 2024, *Multi-LLM Debate: Framework, Principals, and Interventions*).

    quality pruning          of the last answers, those nearest to the question in meaning go on
    diversity pruning        of these, the ones least alike go on, so that an echo does not count twice
    misconception refutation agents are told to look for errors in what they hear: here, contentiousness 0.7

    Distances are between embeddings of what was argued. The source refutes by having a model rewrite an answer; here agents argue
    against it in the next turn. The source votes in the end; here the last beliefs are pooled.
    """

    rounds: int = 3
    quality: int = 3
    """Answers kept for their nearness to the question."""
    diversity: int = 2
    """Of those, answers kept for being unlike each other."""
    name: str = "multi_llm_debate"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """M × (R + 1) calls."""
        session = Session(case, bench, seed)

        def choose(voices: Mapping[str, Voice]) -> Sequence[Voice]:
            return self._prune(session, tuple(voices.values()))

        voices, course = await share(session, session.agents, rounds=self.rounds, cl=_REFUTING, choose=choose)
        belief = session.pool(voices.values()) if voices else None
        return session.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)

    def _prune(self, session: Session, voices: Sequence[Voice]) -> Sequence[Voice]:
        if len(voices) <= self.diversity:
            return voices
        texts = [" ".join((a.claim + " " + " ".join(a.reasons)) for a in v.arguments) or v.lead for v in voices]
        rows = session.table.encoder.encode([session.case.query, *texts]).astype(np.float64)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        near = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[: self.quality]
        alike = rows[1:] @ rows[1:].T
        keep = min(
            combinations(sorted(near.tolist()), min(self.diversity, len(near))),
            key=lambda chosen: sum(alike[i, j] for i, j in combinations(chosen, 2)),
        )
        return [voices[i] for i in keep]
