"""What a study learns on its dev items before it compares anything: schedules of methods, and how far to trust each agent.

*Schedules.* A method whose schedule learns (:class:`Course`) is taught on dev items in a fixed order, and frozen after that. Every
answer must follow from its key alone, whichever process gives it and whatever came before. So each process that runs such a
method teaches it from the start, on the same dev items in the same order: at most :data:`LESSONS` of them, drawn by their ids, however
few the study asks for. Their answers are the dev rows (each given after the items before it); every other item is answered
with the state after all of them. With models this costs the dev debates once for each process, less what the response cache holds.

*Agents.* :func:`learn` applies :mod:`maci.calibration.weights` to the agents' openings. Every method begins with these calls, so a
response cache pays for them once. They count towards the run's budget. :func:`learn_stages` adds when a debate was needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from maci.calibration.triage import Trial, learn_triage, trial
from maci.calibration.weights import TAUGHT, Opening, learn_agents
from maci.config import LEARNED, Config, unplanned
from maci.controller.bandit import Arms, Learned
from maci.controller.events import Event
from maci.controller.policies import lessons
from maci.debating.loop import debate
from maci.errors import BudgetError, is_fatal
from maci.lab import side_by_side
from maci.lab.datasets import TaskItem
from maci.lab.methods.maci import Maci, changed, played, summary
from maci.lab.methods.method import Bench, Hearing, Method, MethodAnswer
from maci.llm.usage import Usage
from maci.record.replay import replay
from maci.seating.table import opening
from maci.story import Story

LESSONS = 100


def course(method: Method, bench: Bench, dev: Sequence[TaskItem], seed: int) -> Course | None:
    """The course of a method whose schedule learns; ``None`` for every other."""
    if not isinstance(method, Maci):
        return None
    config = unplanned(changed(bench.config, method.settings))
    return Course(method.name, config, bench, dev, seed) if config.dials.schedule in LEARNED else None


class Course:
    """One method on one task, under one seed."""

    def __init__(self, name: str, config: Config, bench: Bench, dev: Sequence[TaskItem], seed: int) -> None:
        self._name, self._config, self._bench, self._dev, self._seed = name, config, bench, tuple(dev), seed
        self._given: dict[str, MethodAnswer | Exception] = {}
        """Of the dev items."""
        self._arms = Arms.fresh()
        self._debates = 0
        self._one = asyncio.Lock()

    async def answer(self, item: TaskItem, part: str) -> MethodAnswer:
        """The answer to an item, after all lessons that come before it."""
        async with self._one:
            for lesson in self._dev[len(self._given) :]:
                await self._teach(lesson)
        if part == "dev" and item.id in self._given:
            given = self._given[item.id]
            if isinstance(given, Exception):
                raise given
            return given
        return summary(Story.of(await self._play(item, part)))

    async def _teach(self, item: TaskItem) -> None:
        """Debate a dev item and keep what it taught. What fails teaches nothing; the end of the run's budget ends it."""
        try:
            events = await self._play(item, "dev")
            answer = summary(Story.of(events))
        except BudgetError:
            raise
        except Exception as error:
            if is_fatal(error):
                raise
            self._given[item.id] = error
            return
        if answer.out_of_budget and self._bench.ledger is not None and self._bench.ledger.reached is not None:
            raise BudgetError("the run's budget ended while the schedule was being taught on dev")
        for lesson in lessons(replay(events).state.history, self._config, self._arms):
            self._arms = self._arms.taught(lesson)
        self._debates += 1
        self._given[item.id] = answer

    async def _play(self, item: TaskItem, part: str) -> list[Event]:
        case = replace(item.case, gold=None, hidden={})
        table = self._bench.panel.table(case, seed=self._seed)
        if not self._config.crit.enabled:
            table = replace(table, judges=())
        start = Learned(
            task=self._name,
            debate=f"{part}/{item.id}",
            debates=self._debates,
            arms=self._arms.records(contexts=self._config.dials.schedule == "linucb"),
        )
        first = opening(case, table, self._config, seed=self._seed, learned=start)
        return [event async for event in debate(first, table, ledger=self._bench.ledger)]


_AT_ONCE = 16
_T = TypeVar("_T")


class DevLesson(BaseModel):
    """What was learnt of the agents of one data set and seed, and from what; kept with the results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: Mapping[str, Mapping[str, float]]
    """As settings of a debate: by key, then by agent."""
    n: int
    """Items that taught something."""
    items: int
    """Items that were asked about."""
    weights: str
    """How the weights were fitted."""
    losses: Mapping[str, float] = {}
    """Nats a case on items left out, by the way of fitting."""
    notes: tuple[str, ...] = ()
    calls: int = 0
    usage: Usage = Usage()
    triage: Mapping[str, float] = {}
    """When one agent, a vote or a debate suffices, as settings; empty where that was not asked for."""
    debates: tuple[str, ...] = ()
    """What the dev debates came to, in words."""

    @property
    def taught(self) -> dict[str, Any]:
        """Everything that was learnt, as settings of a debate."""
        return {**TAUGHT, **self.settings, **self.triage}


_Heard = tuple[Opening, str, tuple[str, ...], int, Usage]
"""Of one item: the openings, the true outcome, all outcomes, calls and what they used."""


async def _each(items: Sequence[TaskItem], work: Callable[[TaskItem], Awaitable[_T]]) -> list[_T]:
    """What comes of every item that has a true outcome, in the order of their ids; the first failure ends all."""
    asked = sorted((item for item in items if item.case.gold is not None), key=lambda item: item.id)
    return await side_by_side(work, asked, _AT_ONCE)


async def learn(items: Sequence[TaskItem], bench: Bench, seed: int) -> DevLesson:
    """Ask every agent for its opening to every item that has a true outcome, and learn from them.

    Depends on the items, the agents' answers and the seed, not on the order of the items or of the answers. Agents that fail have
    abstained. Where the budget does not suffice nothing is learnt: a :class:`BudgetError`.
    """
    untaught = replace(bench, config=changed(bench.config, TAUGHT))
    heard = await _each(items, lambda item: _hear(item, untaught, seed))
    openings, gold, labels, calls, used = zip(*heard, strict=True) if heard else ((),) * 5
    learnt = learn_agents(openings, gold, labels)
    return DevLesson(
        settings=learnt.settings(),
        n=learnt.n,
        items=len(heard),
        weights=learnt.weights,
        losses={name: round(loss, 6) for name, loss in learnt.losses.items()},
        notes=learnt.notes,
        calls=sum(calls),
        usage=sum(used, Usage()),
    )


async def learn_stages(lesson: DevLesson, items: Sequence[TaskItem], bench: Bench, seed: int) -> DevLesson:
    """Debate every item that has a true outcome, with what ``lesson`` says of the agents, and add when a debate was needed."""
    taught = replace(bench, config=changed(bench.config, lesson.taught))

    async def play(item: TaskItem) -> tuple[Trial | None, Usage, int]:
        assert item.case.gold is not None
        story = Story.of(await played(replace(item.case, gold=None, hidden={}), taught, seed))
        await asyncio.sleep(0)
        answer = summary(story)  # raises what would end every answer
        if answer.out_of_budget and _the_runs(bench, answer.usage + answer.judge_usage):
            raise BudgetError("the budget ended while learning from dev debates; nothing was learnt")
        return trial(story, item.case.gold), answer.usage + answer.judge_usage, answer.calls + answer.judge_calls

    seen = await _each(items, play)
    learnt = learn_triage([each for each, _, _ in seen if each is not None])
    return lesson.model_copy(
        update={
            "triage": learnt.settings,
            "debates": tuple(learnt.lines()),
            "calls": lesson.calls + sum(calls for _, _, calls in seen),
            "usage": sum((usage for _, usage, _ in seen), lesson.usage),
        }
    )


def _the_runs(bench: Bench, used: Usage) -> bool:
    """Whether what ran out was the run's budget, rather than the one of a single answer."""
    if bench.ledger is None:
        return False
    left, own = bench.ledger.left, bench.config.budget
    usd = float("inf") if own.usd is None else own.usd - used.usd
    return left.tokens < own.tokens - used.tokens or left.usd < usd


async def _hear(item: TaskItem, bench: Bench, seed: int) -> _Heard:
    case = replace(item.case, gold=None, hidden={})  # as whoever answers sees it
    session = Hearing(case, bench, seed)
    voices = await session.openings()
    await asyncio.sleep(0)  # readers never wait: others get their turn here
    if session.fatal is not None:
        raise session.fatal
    if session.short is not None:
        raise BudgetError(f"the budget ended while learning from dev items: {session.short}; nothing was learnt")
    labels = session.labels
    gold = item.case.gold_among(labels, session.naming)
    assert gold is not None
    opening = {a.name: voices[a.name].belief if a.name in voices else None for a in session.agents}
    return opening, gold, labels, session.calls, session.usage
