"""The interface of a method, and a hearing: one method at work on one case.

A method takes a case and a bench, and returns a belief and what that cost. A :class:`Hearing` asks agents within the budget, reads
their beliefs and counts what it cost. The opening of an agent is the same call whatever the method, so a response cache buys it once
for all of them. Where the agents of a panel cannot do what a method needs (several draws, copies of one), it raises :class:`Unfit`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from maci.agents.agent import Agent
from maci.agents.anchor import Admitted, Anchor, Opponent, Question, TurnRequest, seat_letter
from maci.agents.argument import Argument, Turn
from maci.cases.case import Case
from maci.cases.labels import Comparing, Join, NameQuestion, unnamed
from maci.cases.names import Kind as RelationKind
from maci.config import Config
from maci.controller.caution import HarmReport
from maci.controller.reading import Readings, question_of, read_beliefs, shares
from maci.controller.requests import MOST_SHOWN, call_seed, leading_outcomes
from maci.controller.state import as_mapping
from maci.errors import BeliefError, BudgetError, ConfigError, is_fatal
from maci.evidence.span import Span
from maci.llm.budget import Ledger, spend
from maci.llm.usage import Usage
from maci.seating.table import Table


class Unfit(ConfigError):
    """A method that cannot be used with these agents; the message says what it needs."""


class Setting(Protocol):
    """Sets the table for a case; the panels are."""

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The same agents and judges for every method, given the case and the seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all methods of a study share."""

    panel: Setting
    config: Config = field(default_factory=Config)
    """Of the debate, and the ceilings of every answer whatever the method."""
    ledger: Ledger | None = None
    """The ceiling of the whole run."""
    record: Path | None = None
    """A folder for the transcript, where the method debates; without it nothing is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round as a row keeps it: the pooled belief after it, each agent's, and the signals where they are measured."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    belief: Mapping[str, float]
    """Not calibrated; round 0 is the opening."""
    q: float | None = None
    d: float | None = None
    i: float | None = None
    """Î"""
    o: float | None = None
    crit: float | None = None
    cl: float | None = None
    """Contentiousness in force."""
    beliefs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of each agent, by name."""
    scores: Mapping[str, tuple[Mapping[str, float], ...]] = field(default_factory=dict)
    """Agent → for each of its arguments what each judge gave it, composite CRIT; who abstained is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodAnswer:
    """A method's answer to a case."""

    belief: Mapping[str, float] | None
    """Not calibrated; ``None`` where there is none, and ``reason`` says why."""
    reason: str
    """How it ended."""
    out_of_budget: bool = False
    """The ceiling came first; the belief, if any, is the best until then."""
    rounds: int = 0
    """After the openings."""
    calls: int = 0
    """Turns asked of agents."""
    judge_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    """Of the agents."""
    judge_usage: Usage = field(default_factory=Usage)
    course: tuple[Step, ...] = ()
    """Openings first."""
    agreement: float | None = None
    """Share of the votes for the leading outcome, where votes were cast."""
    harm: HarmReport | None = None
    """What was watched, where the method watches."""
    narrower: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Outcome → narrower names given for it, each with its share."""
    naming: Comparing = field(default_factory=Comparing)
    """What names of open outcomes were compared by, and how they were joined."""


class Method(Protocol):
    """One system of the tables. Derive from it: what is not said has the values given here."""

    name: str
    """As it is called in tables."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """Settings of the bench that it changes."""

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """MethodAnswer one case. Raises :class:`Unfit` where these agents cannot do what the method asks of them."""


@dataclass(frozen=True, slots=True)
class Voice:
    """What one agent says at one time."""

    agent: str
    belief: Mapping[str, float]
    arguments: tuple[Argument, ...]

    @property
    def lead(self) -> str:
        """The outcome it holds most likely; the first of equals."""
        return max(self.belief, key=lambda y: self.belief[y])


Said: TypeAlias = tuple[Agent, Turn]
"""An agent and what it answered, not read yet."""


class Hearing:
    """Agents at hand for one case; every call is counted, and none is made that might not fit the ceiling."""

    def __init__(self, case: Case, bench: Bench, seed: int) -> None:
        self.case, self.config, self.seed = case, bench.config, seed
        self.table = bench.panel.table(case, seed=seed)
        self.agents: tuple[Agent, ...] = tuple(self.table.agents)
        self.labels = case.outcomes.start
        self._label_vectors: dict[str, NDArray[np.float32]] = {}
        self._joins: Mapping[str, Join] = {}
        self._answers: dict[tuple[str, str], RelationKind | None] = {}
        self.narrower: Mapping[str, Mapping[str, float]] = {}
        """Outcome → narrower names last given for it, each with its share."""
        evidence, budget = bench.config.evidence, bench.config.budget
        self._retrieved = self.table.evidence.retrieve(case.query, evidence.k_ret, evidence.context_tokens).spans
        self._ledger = Ledger(budget.tokens, budget.usd, parent=bench.ledger)
        self.usage, self.calls = Usage(), 0
        self.failures: dict[str, str] = {}
        """Why an agent's last turn is missing."""
        self.short: str | None = None
        """What did not fit the budget, once something did not."""
        self.fatal: BaseException | None = None
        """An error after which no call can succeed, such as a wrong key."""

    # --- asking -------------------------------------------------------------------------------------------------------------

    async def opening(self, agent: Agent, sample: int = 0) -> Said | None:
        """One prediction without knowledge of the others, for :meth:`hear`; ``sample`` numbers repeated draws."""
        return await self._ask(agent, 0, sample, cl=self.config.dials.cl_max)

    async def openings(self) -> dict[str, Voice]:
        """Every agent's opening, at once."""
        return {voice.agent: voice for voice in await self.hear(*map(self.opening, self.agents))}

    async def turn(
        self,
        agent: Agent,
        round: int,
        *,
        record: Sequence[Admitted],
        own: Voice | None,
        others: Mapping[str, Voice],
        cl: float,
        sample: int = 0,
    ) -> Said | None:
        """A turn in answer to what stands in ``record``, for :meth:`hear`."""
        known = {self.seat(name): self._known(voice, record) for name, voice in others.items() if name != agent.name}
        belief = None if own is None else own.belief
        return await self._ask(agent, round, sample, cl=cl, record=tuple(record), belief=belief, others=known)

    def seat(self, agent: str) -> str:
        """An agent's neutral name."""
        names = [known.name for known in self.agents]
        return seat_letter(names.index(agent) if agent in names else len(names))

    def _known(self, voice: Voice, record: Sequence[Admitted]) -> Opponent:
        """What the others are told of a voice: its leading outcomes, and what it said last."""
        own = [entry for entry in record if entry.seat == self.seat(voice.agent)]
        last = tuple(entry.id for entry in own if entry.round == own[-1].round)
        return Opponent(leading_outcomes(voice.belief), last[:MOST_SHOWN])

    def said(self, voices: Iterable[Voice], round: int) -> tuple[Admitted, ...]:
        """All arguments of these voices, as the record of a round: nothing is judged or kept out."""
        return tuple(
            Admitted(f"{round}{self.seat(voice.agent)}{n}", self.seat(voice.agent), round, argument)
            for voice in voices
            for n, argument in enumerate(voice.arguments, 1)
        )

    def _visible(self, record: Iterable[Admitted]) -> tuple[Span, ...]:
        spans = {span.id: span for span in self._retrieved}
        for entry in record:
            for citation in entry.argument.citations:
                if citation.span not in spans and (found := self.table.evidence.get(citation.span)) is not None:
                    spans[citation.span] = found
        return tuple(spans.values())

    async def _ask(
        self,
        agent: Agent,
        round: int,
        sample: int,
        *,
        cl: float,
        record: tuple[Admitted, ...] = (),
        belief: Mapping[str, float] | None = None,
        others: Mapping[str, Opponent] = MappingProxyType({}),
    ) -> Said | None:
        """The agent's answer, or ``None`` where it has none: then ``failures`` or ``short`` say why."""
        if self.short is not None or self.fatal is not None:
            return None
        outcomes = self.case.outcomes
        labels = outcomes.named(self.labels) if outcomes.kind == "open" else outcomes.labels
        request = TurnRequest(
            round=round,
            seat=self.seat(agent.name),
            question=Question(self.case.question, self.case.context, outcomes.kind, labels),
            anchor=Anchor(record, cl, None, None),  # nothing is kept out: these methods have no gates
            evidence=self._visible(record),
            retrieved=len(self._retrieved),
            belief=belief,
            others=others,
            seed=call_seed(self.seed, round, agent.name, *(("draw", sample) if sample else ())),
        )
        purse = None
        try:
            call = agent.prepare(request)
            with spend(self._ledger, call.bound) as purse:
                self.calls += 1
                turn = await call.make(purse)
            self.failures.pop(agent.name, None)
            return agent, replace(turn, belief={str(name): float(p) for name, p in turn.belief.items()})
        except BudgetError as error:
            self.short = f"{agent.name}: {error}" if purse is not None else f"{agent.name} {error}"
        except Exception as error:  # an agent may fail in its own ways: it sits this one out
            self.failures[agent.name] = f"{type(error).__name__}: {error}"
            if is_fatal(error):
                self.fatal = error
        finally:
            if purse is not None:
                self.usage = self.usage + purse.total()
        return None

    # --- hearing ------------------------------------------------------------------------------------------------------------

    async def hear(self, *calls: Awaitable[Said | None]) -> list[Voice]:
        """Who answers calls made at once. Beliefs are read when all are in, in this order, as a debate reads those of a round."""
        said = [each for each in await asyncio.gather(*calls) if each is not None]
        space, known = self.case.outcomes, self._label_vectors
        if names := unnamed((name for _, turn in said for name in turn.belief), space, self.labels, known):
            known.update(zip(names, self.table.encoder.encode(names), strict=True))
        found = await self._read([(agent.name, turn.belief) for agent, turn in said])
        self.labels, self._joins = found.labels, found.joins
        voices, beliefs = [], {}
        for at, ((agent, turn), p) in enumerate(zip(said, found.beliefs, strict=True)):
            if isinstance(p, BeliefError):
                self.failures[agent.name] = f"belief refused: {p}"
            else:
                voices.append(Voice(agent.name, as_mapping(self.labels, p), turn.arguments))
                beliefs[str(at)] = p
        fine = {str(at): parts for at, parts in enumerate(found.fine)}
        self.narrower = shares(self.labels, beliefs, dict.fromkeys(beliefs, 1.0), fine, self._joins)
        return voices

    async def _read(self, stated: Sequence[tuple[str, Mapping[str, float]]]) -> Readings:
        """The beliefs; a model is asked about names that words cannot tell, as in a debate."""
        space, rules = self.case.outcomes, self.config.beliefs
        left = rules.ask_names if self.table.comparer is not None and space.kind == "open" else 0
        while True:
            by = self.naming
            found = read_beliefs(stated, self.labels, space, self.config, by, self._joins)
            named = [belief for _, belief in stated]
            question = question_of(found, named, space, by, self._answers, rules.ask_from) if left else None
            if question is None:
                return found
            left -= 1
            self._answers |= await self._compare(question)

    async def _compare(self, question: NameQuestion) -> dict[tuple[str, str], RelationKind | None]:
        """How a name stands to others, as a model says; ``None`` where it does not say, or the budget has no room."""
        assert self.table.comparer is not None
        seed = call_seed(self.seed, "names", question.name, *question.among)
        call = self.table.comparer.prepare(self.case.question, question, seed=seed)
        if self._ledger.lacks(call.bound) is not None:
            return question.answered("", None)
        with spend(self._ledger, call.bound) as purse:
            try:
                said = await call.make(purse)
                return question.answered(said.listed, said.kind)
            except Exception:  # without an answer the names stay apart
                return question.answered("", None)
            finally:
                self.usage = self.usage + purse.total()

    @property
    def naming(self) -> Comparing:
        """What names were compared by, and how they were joined."""
        answers = {pair: kind for pair, kind in self._answers.items() if kind is not None}
        vectors, threshold = self._label_vectors, self.config.beliefs.label_match
        return Comparing(vectors=vectors, threshold=threshold, answers=answers, joins=self._joins)

    # --- concluding -----------------------------------------------------------------------------------------------------------

    def pool(self, voices: Iterable[Voice], weights: Sequence[float] | None = None) -> dict[str, float]:
        """The linear pool over the labels known by now: the mean of the beliefs, weighted where weights are given."""
        rows = [list(self._placed(voice.belief).values()) for voice in voices]
        return as_mapping(self.labels, np.average(rows, axis=0, weights=weights))

    def _placed(self, belief: Mapping[str, float]) -> dict[str, float]:
        """A belief over the labels known by now; one that has become part of another since counts there."""
        held = dict.fromkeys(self.labels, 0.0)
        for label, p in belief.items():
            held[self._joins[label].label if label in self._joins else label] += p
        return held

    def votes(self, voices: Iterable[Voice]) -> dict[str, float]:
        """The share of votes of each outcome; every voice votes for its lead."""
        leads = [self._joins[voice.lead].label if voice.lead in self._joins else voice.lead for voice in voices]
        return {label: leads.count(label) / len(leads) for label in self.labels}

    def step(self, voices: Mapping[str, Voice], *, cl: float | None = None) -> Step:
        """A round as it is reported."""
        return Step(belief=self.pool(voices.values()), beliefs={a: v.belief for a, v in voices.items()}, cl=cl)

    def answer(
        self,
        belief: Mapping[str, float] | None,
        reason: str,
        *,
        rounds: int = 0,
        course: Sequence[Step] = (),
        agreement: float | None = None,
    ) -> MethodAnswer:
        """The answer with what it cost. A wrong key or the like is no answer of the method's: it is raised."""
        if self.fatal is not None:
            raise self.fatal
        if belief is None:
            why = "; ".join(f"{agent}: {error}" for agent, error in self.failures.items())
            reason = self.short or why or reason
        elif self.short is not None:
            reason = f"budget: {self.short}"
        return MethodAnswer(
            belief=belief,
            reason=reason,
            out_of_budget=self.short is not None,
            rounds=rounds,
            calls=self.calls,
            usage=self.usage,
            course=tuple(course),
            agreement=agreement,
            narrower=self.narrower,
            naming=self.naming,
        )
