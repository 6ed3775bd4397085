"""Answers on a Ray cluster (extra ``ray``): one actor for each core, each with its own tables; the driver keeps the rows.

An actor whose node dies is started again elsewhere, and what it was working on is asked again: answers depend on their key alone,
so nothing else changes. Every node needs this package and the data sets under the same path.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from maci.errors import EnvironmentError_, installed
from maci.lab.study.engine.engine import Away, Reply, Result, answer_away
from maci.lab.study.ledger import RunLedger
from maci.lab.study.rows import Key
from maci.lab.study.study import Study
from maci.lab.study.worker import Worker

_AT_ONCE = {True: 1, False: 16}
"""Answers under way in one actor: readers never wait, models are mostly waited for."""


_SILENCE = 5.0
"""Seconds without a result after which the cluster is asked whether it is still there."""


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
        ray = installed("ray", "ray", "--engine ray")
        self._ray, self._study, self._jobs, self._address = ray, study, jobs, address
        self._away = Away(study, ledger)

    async def results(self, keys: Iterator[Key]) -> AsyncIterator[Result]:
        """Results in the order they are ready."""
        ray = self._ray
        self._connect()
        head, gone = ray.get_runtime_context().gcs_address, False
        pending: dict[asyncio.Future[Any], tuple[Key, int]] = {}
        seats: list[Any] = []
        try:
            jobs = self._jobs if self._jobs > 1 else max(1, int(ray.cluster_resources().get("CPU", 1)))
            each = _AT_ONCE[self._study.panel is None]
            # without num_cpus an actor holds no core, so that it can be started again where others already are
            lasting = {"max_restarts": -1, "max_task_retries": -1, "max_concurrency": each}
            kind = ray.remote(scheduling_strategy="SPREAD", **lasting)(Seat)
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
                while not (await asyncio.wait(pending, timeout=_SILENCE, return_when=asyncio.FIRST_COMPLETED))[0]:
                    _knock(head)
                for future in [future for future in pending if future.done()]:
                    key, number = pending.pop(future)
                    free.append(number)
                    result = self._away.read(key, future.result())
                    self._away.end(result.row)
                    yield result
        except (ray.exceptions.RayError, OSError) as error:
            gone = isinstance(error, OSError)
            raise EnvironmentError_(
                f"the Ray cluster does not answer ({' '.join(str(error).split())[:200]}): what is done is kept, and the same "
                "command goes on from there"
            ) from error
        finally:
            if gone:
                atexit.unregister(ray.shutdown)
                atexit.register(_leave)
            else:
                for seat in seats:
                    ray.kill(seat)
                ray.shutdown()

    def _connect(self) -> None:
        address = self._address or os.environ.get("RAY_ADDRESS")
        try:
            _knock(address)
            self._ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError) as error:
            where = f"at {address}" if address else "of this machine"
            raise EnvironmentError_(
                f"the Ray cluster {where} does not let us in ({error}): start one with `ray start --head`, set RAY_AUTH_TOKEN as "
                "on its nodes if it asks for one, or use --address local for this machine alone"
            ) from error


def _leave() -> None:
    """End a process whose cluster is gone: Ray would wait a minute for it, then fall over its own threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(EnvironmentError_.exit)


def _knock(address: str | None) -> None:
    """Ray tries for minutes; this says at once where nobody listens."""
    host, colon, port = (address or "").rpartition(":")
    if colon and host and port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


def _future(ref: Any) -> asyncio.Future[Any]:
    return asyncio.wrap_future(ref.future())
