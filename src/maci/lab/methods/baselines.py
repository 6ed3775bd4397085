"""What MACI is compared with: methods without debate (one agent, the linear pool, votes) and the debate methods of the literature.

=========================  =============================================================================
:class:`Single`            one agent's opening
:class:`Average`           the linear pool of the openings; :class:`WeightedAverage` with weights
:class:`MajorityVote`      N independent answers of all agents, counted
:class:`SelfConsistency`   N samples of one agent, counted (Wang et al. 2023)
:class:`Mad`               two opposed sides and a moderator (Liang et al. 2024)
:class:`MixtureOfAgents`   layers of proposers, then one aggregator (Wang et al. 2024)
:class:`DuDebate`          copies of one model (Du et al. 2024)
:class:`Dmad`              agents that each reason in a different manner (Liu et al. 2025)
:class:`MultiLlmDebate`    only selected answers are passed on (Estornell & Liu 2024)
=========================  =============================================================================

Each class has its source and says where it differs from it. The last four share one course (:func:`share`): openings, then rounds in
which every agent hears all or some of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maci.agents.agent import Agent
from maci.agents.anchor import Admitted
from maci.cases.case import Case
from maci.controller.requests import call_seed
from maci.lab.methods.method import Bench, Hearing, Method, MethodAnswer, Step, Unfit, Voice


def seat_of(agents: Sequence[Agent], which: str | int) -> Agent:
    """An agent by name or by place."""
    if isinstance(which, int):
        if 0 <= which < len(agents):
            return agents[which]
        raise Unfit(f"agent {which}: there are {len(agents)}, counted from 0")
    for agent in agents:
        if agent.name == which:
            return agent
    raise Unfit(f"agent {which!r}: there is no such agent, only {', '.join(agent.name for agent in agents)}")


def redrawn(agent: Agent, seed: int, sample: int) -> Agent:
    """The agent for its ``sample``-th draw; draw 0 is the agent as it is.

    A language model is asked again with another seed. A reader, who would say the same again, reads a bootstrap resample of its
    evidence.
    """
    if sample == 0:
        return agent
    drawn = agent.redrawn(call_seed(seed, agent.name, "draw", sample))
    if drawn is None:
        raise Unfit(
            f"{agent.name} answers once and for all: a vote of several draws needs an agent that can answer again"
        )
    return drawn


def copies_of(agents: Sequence[Agent], which: str | int) -> tuple[Agent, ...]:
    """As many agents as there are, all of them copies of one; each keeps its name and what evidence it holds."""
    one = seat_of(agents, which)
    copies = (agent.as_copy_of(one) for agent in agents if type(agent) is type(one))
    copied = tuple(copy for copy in copies if copy is not None)
    if len(copied) < len(agents):
        raise Unfit(f"copies of {one.name}: the agents at this table are not of one kind that can be copied")
    return copied


@dataclass(frozen=True, slots=True)
class Single(Method):
    """The opening of one agent, as it is: the baseline that every other method is measured against."""

    agent: str | int = 0
    """Its name, or its place at the table."""
    name: str = "single"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """One call."""
        hearing = Hearing(case, bench, seed)
        voices = await hearing.hear(hearing.opening(seat_of(hearing.agents, self.agent)))
        return hearing.answer(hearing.pool(voices) if voices else None, "one answer")


@dataclass(frozen=True, slots=True)
class Average(Method):
    """The linear pool: the mean of all openings (Stone 1961, *The Opinion Pool*). No agent hears the others."""

    name: str = "average"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """As many calls as agents."""
        return await _pooled(Hearing(case, bench, seed), "pooled")


@dataclass(frozen=True, slots=True)
class WeightedAverage(Method):
    """The linear pool with weights: each opening counts according to the agent's record on a development split.

    Weights are the setting ``reliability.prior`` (:mod:`maci.calibration.weights`); without it this is the plain average. It is also
    a debate's mixture before the first turn, so a debate has to beat it to be worth its turns.
    """

    name: str = "weighted_average"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """As many calls as agents."""
        return await _pooled(Hearing(case, bench, seed), "pooled by weight", bench.config.reliability.prior)


async def _pooled(hearing: Hearing, reason: str, prior: Mapping[str, float] | None = None) -> MethodAnswer:
    """The pool of all openings; who has no weight in ``prior`` counts 1."""
    voices = await hearing.openings()
    if not voices:
        return hearing.answer(None, "no agent answered")
    weights = None if prior is None else [prior.get(agent, 1.0) for agent in voices]
    belief = hearing.pool(voices.values(), weights)
    course = [Step(belief=belief, beliefs={agent: voice.belief for agent, voice in voices.items()})]
    return hearing.answer(belief, reason, course=course)


@dataclass(frozen=True, slots=True)
class MajorityVote(Method):
    """Majority vote of N independent answers, the agents taken in turn.

    (Condorcet 1785; Li et al. 2024, *More Agents Is All You Need*.) The belief is the share of votes. Unlike in the source, ties are
    visible in it; the answer is the first of the leading outcomes.
    """

    n: int = 20
    name: str = "majority_vote"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """N calls: agent after agent, then their second draws, and so on."""
        hearing = Hearing(case, bench, seed)
        agents = hearing.agents
        voters = [(agents[k % len(agents)], k // len(agents)) for k in range(self.n)]
        return await _counted(hearing, voters, "votes", "no agent answered")


@dataclass(frozen=True, slots=True)
class SelfConsistency(Method):
    """Self-consistency: N sampled chains of one agent, and the answer most of them reach (Wang et al. 2023).

    The belief is the share of the samples. The source samples chains of thought of one language model; so does this: a language model
    writes its reasoning before its answer (``agents.think_first``, or its own thinking), and draws after the first have their own
    seed and a temperature of at least 0.7. A reader reads a bootstrap resample of its evidence instead.
    """

    n: int = 20
    agent: str | int = 0
    name: str = "self_consistency"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """N calls of one agent."""
        hearing = Hearing(case, bench, seed)
        one = seat_of(hearing.agents, self.agent)
        return await _counted(hearing, [(one, draw) for draw in range(self.n)], "samples", "the agent never answered")


async def _counted(hearing: Hearing, voters: Sequence[tuple[Agent, int]], unit: str, nobody: str) -> MethodAnswer:
    """The votes of agents in their draws; ``nobody`` says why there is no answer."""
    drawn = [(redrawn(agent, hearing.seed, draw), draw) for agent, draw in voters]
    voices = await hearing.hear(*(hearing.opening(agent, draw) for agent, draw in drawn))
    if not voices:
        return hearing.answer(None, nobody)
    shares = hearing.votes(voices)
    return hearing.answer(shares, f"{len(voices)} {unit}", agreement=max(shares.values()))


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

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """Two calls a round and one of the moderator."""
        hearing = Hearing(case, bench, seed)
        sides, moderator = hearing.agents[:2], hearing.agents[2 % len(hearing.agents)]
        voices: dict[str, Voice] = {}
        ruling = next(iter(await hearing.hear(hearing.opening(moderator))), None)
        record, course = hearing.said((), 1), []
        for round in range(1, self.rounds + 1):
            for side in sides:
                asked = (
                    hearing.opening(side)
                    if round == 1
                    else hearing.turn(
                        side, round, record=record, own=voices.get(side.name), others=voices, cl=_ADVERSARIAL
                    )
                )
                for voice in await hearing.hear(asked):
                    voices[side.name] = voice
                    record = (*record, *hearing.said([voice], round))
            asked = hearing.turn(
                moderator, round + 1, record=record, own=ruling, others=voices, cl=_MODERATE, sample=round
            )
            ruling = next(iter(await hearing.hear(asked)), ruling)
            if ruling is None or hearing.short is not None:
                break
            course.append(hearing.step({**voices, moderator.name: ruling}, cl=_ADVERSARIAL))
            agree = len({voice.lead for voice in voices.values()}) == 1 and len(voices) == 2
            if agree or ruling.belief[ruling.lead] >= self.sure:
                reason = "both sides agree" if agree else "the moderator is sure"
                return hearing.answer(hearing.pool([ruling]), reason, rounds=round, course=course)
        belief = None if ruling is None else hearing.pool([ruling])
        return hearing.answer(belief, "the last round", rounds=len(course), course=course)


async def share(
    hearing: Hearing,
    agents: Sequence[Agent],
    *,
    rounds: int,
    cl: float,
    choose: Callable[[Mapping[str, Voice]], Sequence[Voice]] = lambda voices: tuple(voices.values()),
    remember: bool = True,
) -> tuple[dict[str, Voice], list[Step]]:
    """The voices after so many rounds, and the course.

    ``choose`` says which voices of a round the others get to hear; unless they ``remember``, they hear those of the last round only.
    """
    voices = {voice.agent: voice for voice in await hearing.hear(*map(hearing.opening, agents))}
    course = [hearing.step(voices)] if voices else []
    record: tuple[Admitted, ...] = ()
    for round in range(1, rounds + 1):
        if hearing.short is not None or not voices:
            break
        record = (*(record if remember else ()), *hearing.said(choose(voices), round))
        asked = (
            hearing.turn(agent, round + 1, record=record, own=voices.get(agent.name), others=voices, cl=cl)
            for agent in agents
        )
        voices |= {voice.agent: voice for voice in await hearing.hear(*asked)}
        course.append(hearing.step(voices, cl=cl))
    return voices, course


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

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """``layers`` × M + 1 calls."""
        hearing, last = Hearing(case, bench, seed), self.layers
        voices, course = await share(hearing, hearing.agents, rounds=last - 1, cl=_COOPERATIVE, remember=False)
        if not voices:
            return hearing.answer(None, "no agent answered")
        one, record = seat_of(hearing.agents, self.agent), hearing.said(voices.values(), last)
        final = await hearing.hear(
            hearing.turn(one, last + 1, record=record, own=voices.get(one.name), others=voices, cl=_COOPERATIVE)
        )
        if not final:
            return hearing.answer(None if hearing.short is None else course[-1].belief, "the aggregator gave no answer")
        return hearing.answer(hearing.pool(final), f"{last} layers", rounds=last, course=course)


def _last(hearing: Hearing, voices: Mapping[str, Voice], course: Sequence[Step]) -> MethodAnswer:
    """The pool of the last beliefs."""
    belief = hearing.pool(voices.values()) if voices else None
    return hearing.answer(belief, "all rounds", rounds=max(0, len(course) - 1), course=course)


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

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """M × (R + 1) calls."""
        hearing = Hearing(case, bench, seed)
        copies = copies_of(hearing.agents, self.agent)
        return _last(hearing, *await share(hearing, copies, rounds=self.rounds, cl=0.5))


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

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """M × (R + 1) calls."""
        hearing = Hearing(case, bench, seed)
        agents = tuple(agent.styled(MANNERS[n % len(MANNERS)]) for n, agent in enumerate(hearing.agents))
        return _last(hearing, *await share(hearing, agents, rounds=self.rounds, cl=0.5))


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

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """M × (R + 1) calls."""
        hearing = Hearing(case, bench, seed)

        def choose(voices: Mapping[str, Voice]) -> Sequence[Voice]:
            return self._prune(hearing, tuple(voices.values()))

        found = await share(hearing, hearing.agents, rounds=self.rounds, cl=_REFUTING, choose=choose)
        return _last(hearing, *found)

    def _prune(self, hearing: Hearing, voices: Sequence[Voice]) -> Sequence[Voice]:
        if len(voices) <= self.diversity:
            return voices
        texts = [" ".join((a.claim + " " + " ".join(a.reasons)) for a in v.arguments) or v.lead for v in voices]
        rows = hearing.table.encoder.encode([hearing.case.query, *texts]).astype(np.float64)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        near = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[: self.quality]
        alike = rows[1:] @ rows[1:].T
        keep = min(
            combinations(sorted(near.tolist()), min(self.diversity, len(near))),
            key=lambda chosen: sum(alike[i, j] for i, j in combinations(chosen, 2)),
        )
        return [voices[i] for i in keep]
