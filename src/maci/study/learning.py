"""What a study's development items teach about its agents, before anything is compared: :mod:`maci.learn` on their openings.

The openings are the calls every method begins with, so a response cache buys them once. They count towards the run's budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from maci.case.datasets import Item
from maci.errors import BudgetError
from maci.escalate import Trial, learn_triage, trial
from maci.learn import Opening, learn_agents
from maci.llm.usage import Usage
from maci.methods.maci import changed, played, summary
from maci.methods.method import Bench
from maci.methods.session import Session

__all__ = ["TAUGHT", "Lesson", "learn", "learn_stages"]

TAUGHT: Mapping[str, Mapping[str, float]] = {"calibration.agents": {}, "calibration.doubt": {}, "reliability.prior": {}}
"""The settings that are learnt, as they are before."""
_AT_ONCE = 16


class Lesson(BaseModel):
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


@dataclass(frozen=True, slots=True)
class _Heard:
    opening: Opening
    gold: str
    labels: tuple[str, ...]
    calls: int
    usage: Usage


async def learn(items: Sequence[Item], bench: Bench, seed: int) -> Lesson:
    """Ask every agent for its opening to every item that has a true outcome, and learn from them.

    Depends on the items, the agents' answers and the seed, not on the order of the items or of the answers. Agents that fail have
    abstained. Where the budget does not suffice nothing is learnt: a :class:`BudgetError`.
    """
    untaught = replace(bench, config=changed(bench.config, TAUGHT))
    turnstile = asyncio.Semaphore(_AT_ONCE)

    async def hear(item: Item) -> _Heard:
        async with turnstile:
            return await _hear(item, untaught, seed)

    asked = sorted((item for item in items if item.case.gold is not None), key=lambda item: item.id)
    tasks = [asyncio.ensure_future(hear(item)) for item in asked]
    try:
        heard = await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    learnt = learn_agents([h.opening for h in heard], [h.gold for h in heard], [h.labels for h in heard])
    return Lesson(
        settings=learnt.settings(),
        n=learnt.n,
        items=len(heard),
        weights=learnt.weights,
        losses={name: round(loss, 6) for name, loss in learnt.losses.items()},
        notes=learnt.notes,
        calls=sum(h.calls for h in heard),
        usage=sum((h.usage for h in heard), Usage()),
    )


async def learn_stages(lesson: Lesson, items: Sequence[Item], bench: Bench, seed: int) -> Lesson:
    """Debate every item that has a true outcome, with what ``lesson`` says of the agents, and add when a debate was needed."""
    taught = replace(bench, config=changed(bench.config, lesson.taught))
    turnstile = asyncio.Semaphore(_AT_ONCE)

    async def play(item: Item) -> tuple[Trial | None, Usage, int]:
        assert item.case.gold is not None
        async with turnstile:
            case = replace(item.case, gold=None, hidden={})
            events = await played(case, taught, seed)
            await asyncio.sleep(0)
        answer = summary(events)  # raises what would end every answer
        if answer.out_of_budget and _the_runs(bench, answer.usage + answer.judge_usage):
            raise BudgetError("the budget ended while learning from dev debates; nothing was learnt")
        return trial(events, item.case.gold), answer.usage + answer.judge_usage, answer.calls + answer.judge_calls

    asked = sorted((item for item in items if item.case.gold is not None), key=lambda item: item.id)
    tasks = [asyncio.ensure_future(play(item)) for item in asked]
    try:
        seen = await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
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


async def _hear(item: Item, bench: Bench, seed: int) -> _Heard:
    case = replace(item.case, gold=None, hidden={})  # as whoever answers sees it
    session = Session(case, bench, seed)
    voices = await session.openings()
    await asyncio.sleep(0)  # readers never wait: others get their turn here
    if session.fatal is not None:
        raise session.fatal
    if session.short is not None:
        raise BudgetError(f"the budget ended while learning from dev items: {session.short}; nothing was learnt")
    labels = session.labels
    gold = item.case.gold_among(labels)
    assert gold is not None
    opening = {a.name: voices[a.name].belief if a.name in voices else None for a in session.agents}
    return _Heard(opening, gold, labels, session.calls, session.usage)
