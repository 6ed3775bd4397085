"""Answers on a Ray cluster (extra ``ray``): one actor for each core, each with its own tables; the driver keeps the rows.

An actor whose node dies is started again elsewhere, and what it was working on is asked again: answers depend on their key alone,
so nothing else changes. Every node needs this package and the data sets under the same path.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

from maci.errors import EnvironmentError_, MissingExtra
from maci.study.engine.engine import Away, Reply, Result, answer_away
from maci.study.ledger import RunLedger
from maci.study.rows import Key
from maci.study.worker import Study, Worker

__all__ = ["Ray"]

_AT_ONCE = {True: 1, False: 16}
"""Answers under way in one actor: readers never wait, models are mostly waited for."""


class Seat:
    """A worker on some node."""

    def __init__(self, study: Study) -> None:
        self._worker = Worker(study)

    async def answer(self, key: tuple[Any, ...]) -> Reply:
        """One key."""
        return await answer_away(self._worker, Key(*key))


class Ray:
    """Actors on a cluster; ``jobs`` of them, or with 1 as many as it has cores."""

    def __init__(self, study: Study, jobs: int, ledger: RunLedger, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("ray", "ray", "--engine ray") from error
        self._ray, self._study, self._jobs, self._address = ray, study, jobs, address
        self._away = Away(study, ledger)

    async def results(self, keys: Iterator[Key]) -> AsyncIterator[Result]:
        """Results in the order they are ready."""
        ray = self._ray
        self._connect()
        pending: dict[asyncio.Future[Any], tuple[Key, int]] = {}
        seats: list[Any] = []
        try:
            jobs = self._jobs if self._jobs > 1 else max(1, int(ray.cluster_resources().get("CPU", 1)))
            each = _AT_ONCE[self._study.panel is None]
            kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1, max_concurrency=each)(Seat)
            seats = [kind.remote(self._study) for _ in range(jobs)]
            free = [number for number in range(jobs) for _ in range(each + 1)]  # one waits at the door
            more = True
            while True:
                while more and free:
                    key = next(keys, None)
                    more = key is not None and self._away.begin()
                    if key is not None and more:
                        number = free.pop(0)
                        pending[_future(seats[number].answer.remote(tuple(key)))] = key, number
                if not pending:
                    return
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for future in [future for future in pending if future.done()]:
                    key, number = pending.pop(future)
                    free.append(number)
                    result = self._away.read(key, future.result())
                    self._away.end(result.row)
                    yield result
        except ray.exceptions.RayError as error:
            raise EnvironmentError_(
                f"the Ray cluster does not answer ({' '.join(str(error).split())[:200]}): what is done is kept, and the same "
                "command goes on from there"
            ) from error
        finally:
            for seat in seats:
                ray.kill(seat)
            ray.shutdown()

    def _connect(self) -> None:
        try:
            self._ray.init(address=self._address, log_to_driver=False, include_dashboard=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise EnvironmentError_(
                f"no Ray cluster at {self._address or 'RAY_ADDRESS'} ({error}): start one with `ray start --head`, or leave "
                "--address out to use this machine"
            ) from error


def _future(ref: Any) -> asyncio.Future[Any]:
    return asyncio.wrap_future(ref.future())
