"""A method whose schedule learns, in a study: it is taught on dev items in an order of their own, and frozen after that.

Every answer must follow from its key alone, whichever process gives it and whatever came before. So each process that meets such a
method teaches it from nothing, on the same dev items in the same order: at most :data:`LESSONS` of them, drawn by their ids, however
few the study asks for. Their answers are the dev rows (each given with what the items before had taught); every other item is answered
with the state after all of them. With models this costs the dev debates once for each process, less what the response cache holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from maci.case.datasets import Item
from maci.config import LEARNED, Config
from maci.controller.bandit import Arms, Learned
from maci.controller.learning import lessons
from maci.debate import debate
from maci.errors import BudgetError
from maci.methods.maci import Maci, changed, summary
from maci.methods.method import Answer, Bench, Method
from maci.record.events import Event
from maci.record.replay import replay
from maci.run import opening

__all__ = ["LESSONS", "Course", "course"]

LESSONS = 100


def course(method: Method, bench: Bench, dev: Sequence[Item], seed: int) -> Course | None:
    """The course of a method whose schedule learns; ``None`` for every other."""
    if not isinstance(method, Maci):
        return None
    config = changed(bench.config, method.settings)
    return Course(method.name, config, bench, dev, seed) if config.dials.schedule in LEARNED else None


class Course:
    """One method on one task, under one seed."""

    def __init__(self, name: str, config: Config, bench: Bench, dev: Sequence[Item], seed: int) -> None:
        self._name, self._config, self._bench, self._dev, self._seed = name, config, bench, tuple(dev), seed
        self._given: dict[str, Answer | Exception] = {}
        """Of the dev items."""
        self._arms = Arms.fresh()
        self._debates = 0
        self._one = asyncio.Lock()

    @property
    def arms(self) -> Arms:
        """What was learned so far."""
        return self._arms

    async def answer(self, item: Item, part: str) -> Answer:
        """The answer to an item, after all lessons that come before it."""
        async with self._one:
            for lesson in self._dev[len(self._given) :]:
                await self._teach(lesson)
        if part == "dev" and item.id in self._given:
            given = self._given[item.id]
            if isinstance(given, Exception):
                raise given
            return given
        return summary(await self._play(item, part))

    async def _teach(self, item: Item) -> None:
        """Debate a dev item and keep what it taught. What fails teaches nothing; the end of the run's budget ends it."""
        try:
            events = await self._play(item, "dev")
            answer = summary(events)
        except BudgetError:
            raise
        except Exception as error:
            if getattr(error, "fatal", False):
                raise
            self._given[item.id] = error
            return
        if answer.out_of_budget and getattr(self._bench.ledger, "reached", None) is not None:
            raise BudgetError("the run's budget ended while the schedule was being taught on dev")
        for lesson in lessons(replay(events).state.history, self._config, self._arms):
            self._arms = self._arms.taught(lesson)
        self._debates += 1
        self._given[item.id] = answer

    async def _play(self, item: Item, part: str) -> list[Event]:
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
