"""The laboratory: data sets, methods, studies, audits and theory. Nothing that debates imports it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

_X = TypeVar("_X")
_T = TypeVar("_T")


async def side_by_side(work: Callable[[_X], Awaitable[_T]], over: Iterable[_X], at_once: int) -> list[_T]:
    """What ``work`` comes to on each, in order, ``at_once`` at a time; the first failure ends all and is raised as it is.

    >>> asyncio.run(side_by_side(lambda x: asyncio.sleep(0, 2 * x), [1, 2, 3], 2))
    [2, 4, 6]
    """
    room = asyncio.Semaphore(at_once)

    async def one(x: _X) -> _T:
        async with room:
            return await work(x)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(x)) for x in over]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
