"""What a study's development items teach about its agents, before anything is compared: :mod:`maci.learn` on their openings.

The openings are the calls every method begins with, so a response cache buys them once. They count towards the run's budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from maci.case.datasets import Item
from maci.case.outcomes import canonical
from maci.errors import BudgetError
from maci.learn import Opening, learn_agents
from maci.llm.usage import Usage
from maci.methods.maci import changed
from maci.methods.method import Bench
from maci.methods.session import Session

__all__ = ["TAUGHT", "Lesson", "learn"]

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


async def _hear(item: Item, bench: Bench, seed: int) -> _Heard:
    case = replace(item.case, gold=None, hidden={})  # as whoever answers sees it
    session = Session(case, bench, seed)
    voices = await session.openings()
    await asyncio.sleep(0)  # readers never wait: others get their turn here
    if session.fatal is not None:
        raise session.fatal
    if session.short is not None:
        raise BudgetError(f"the budget ended while learning from dev items: {session.short}; nothing was learnt")
    assert item.case.gold is not None
    space, labels = item.case.outcomes, session.labels
    opening = {a.name: voices[a.name].belief if a.name in voices else None for a in session.agents}
    return _Heard(opening, canonical(item.case.gold, space, labels), labels, session.calls, session.usage)
