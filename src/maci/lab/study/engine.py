"""Engines compute the rows of a study: :class:`Local` in this process, :class:`Processes` in several of this machine, :class:`Ray` on a
cluster.

:class:`WorkerReply` and :class:`Away` are for the two whose workers are other processes. On a Ray cluster (extra ``ray``) there is one
actor for each core, each with its own tables; the driver keeps the rows. An actor whose node dies is started again elsewhere, and what
it was working on is asked again: answers depend on their key alone, so nothing else changes. Every node needs this package and the
data sets under the same path.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeVar

from maci.errors import ConfigError, EnvironmentError_, InputError, MaciError, exit_code, installed
from maci.lab.study.study import Row, RowKey, Study
from maci.lab.study.worker import Worker
from maci.llm.budget import RunLedger
from maci.llm.offline import check_here, is_offline
from maci.llm.usage import Bound, Usage

_T = TypeVar("_T")


class StudyEngine(Protocol):
    """Computes rows."""

    def results(self, keys: Iterator[RowKey]) -> AsyncIterator[Row | None]:
        """Rows as they come, ``None`` where the run's budget did not allow one.

        Takes a key when it can begin with it; closing the iterator ends all that is under way.
        """


async def _ready(
    begin: Callable[[], asyncio.Future[_T] | None],
    most: int,
    *,
    stagger: int = 0,
    silence: float | None = None,
    knock: Callable[[], object] = lambda: None,
) -> AsyncGenerator[_T, None]:
    """What comes of at most so many futures at once, as they are ready; ``begin`` gives the next, and ``None`` when there is no more.

    After ``silence`` seconds without any ``knock`` is called. An answer has ``stagger`` turns of the loop before the next begins.
    """
    pending: dict[asyncio.Future[_T], None] = {}
    more = True
    try:
        while True:
            while more and len(pending) < most:
                future = begin()
                more = future is not None
                if future is not None:
                    pending[future] = None
                    for _ in range(stagger):
                        await asyncio.sleep(0)
            if not pending:
                return
            while not (await asyncio.wait(pending, timeout=silence, return_when=asyncio.FIRST_COMPLETED))[0]:
                knock()
            for future in [future for future in pending if future.done()]:
                del pending[future]
                yield future.result()
    finally:
        for future in pending:
            future.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """What a worker in another process sends back; errors as text, for not all of them travel."""

    row: str | None = None
    error: str = ""
    exit: int = 0


async def answer_away(worker: Worker, key: RowKey) -> WorkerReply:
    """One key in a worker's process."""
    try:
        row = await worker.answer(key)
        return WorkerReply(row=None if row is None else row.model_dump_json())
    except MaciError as error:
        return WorkerReply(error=str(error), exit=exit_code(error))


class Away:
    """The run's ceiling where calls are made elsewhere: the most an answer may cost is set aside before it is begun."""

    def __init__(self, study: Study, ledger: RunLedger) -> None:
        self._ledger = ledger
        own, run = study.config.budget, study.spec.budget
        self._limits = run.tokens is not None or run.usd is not None
        if run.usd is not None and own.usd is None:
            raise ConfigError(
                "a budget in dollars for answers that are computed in other processes needs a ceiling of each: add "
                '`"budget.usd" = …` to [set], or run with --engine local --jobs 1'
            )
        self._bound = Bound(own.tokens, own.usd or 0.0) if self._limits else Bound()

    def next(self, keys: Iterator[RowKey]) -> RowKey | None:
        """The next key, if another answer fits."""
        key = next(keys, None)
        return key if key is not None and self._ledger.reserve(self._bound) else None

    def read(self, reply: WorkerReply) -> Row | None:
        """A worker's reply, its error raised here, with what it did cost; all of it where nobody knows."""
        if reply.error:
            kind = {2: InputError, 3: EnvironmentError_}.get(reply.exit, MaciError)
            raise kind(reply.error)
        row = None if reply.row is None else Row.model_validate_json(reply.row)
        used = Usage(prompt=self._bound.tokens, usd=self._bound.usd)
        if row is not None and (row.status == "done" or row.calls):
            used = row.usage + row.judge_usage
        self._ledger.settle(self._bound, used)
        return row


AT_ONCE = 16
"""Answers under way where models are asked."""
_STAGGER = 4
"""Turns of the loop that an answer has for itself, so that its first calls are out before the next begins."""


class Local:
    """One event loop."""

    def __init__(self, worker: Worker, at_once: int | None = None) -> None:
        self._worker = worker
        self._at_once = at_once or (1 if worker.study.panel is None else AT_ONCE)  # readers never wait for anything

    def results(self, keys: Iterator[RowKey]) -> AsyncIterator[Row | None]:
        """Rows in the order they are ready."""

        def begin() -> asyncio.Future[Row | None] | None:
            key = next(keys, None)
            return None if key is None else asyncio.ensure_future(self._worker.answer(key))

        return _ready(begin, self._at_once, stagger=_STAGGER)


# --- processes ----------------------------------------------------------------------------------------------------------------

_worker: Worker | None = None
_loop: asyncio.AbstractEventLoop | None = None


def _start(study: Study) -> None:
    """In a new process: Ctrl-C is for the parent, whose end is ours too."""
    global _worker, _loop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    _worker, _loop = Worker(study), asyncio.new_event_loop()


def _answer(key: RowKey) -> WorkerReply:
    assert _worker is not None and _loop is not None
    return _loop.run_until_complete(answer_away(_worker, key))


class Processes:
    """So many processes, each with its own tables; for readers, who keep a core busy."""

    def __init__(self, study: Study, jobs: int, ledger: RunLedger) -> None:
        self._study, self._jobs, self._away = study, jobs, Away(study, ledger)

    async def results(self, keys: Iterator[RowKey]) -> AsyncIterator[Row | None]:
        """Rows in the order they are ready."""
        loop = asyncio.get_running_loop()
        pool = ProcessPoolExecutor(
            self._jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_start, initargs=(self._study,)
        )

        def begin() -> asyncio.Future[WorkerReply] | None:
            key = self._away.next(keys)
            return None if key is None else loop.run_in_executor(pool, _answer, key)

        whole = False
        try:
            async with aclosing(_ready(begin, 2 * self._jobs)) as replies:
                async for reply in replies:
                    yield self._away.read(reply)
            whole = True
        except BrokenExecutor as error:
            raise EnvironmentError_(
                "a worker process died (was it short of memory?): what is done is kept, and the same command continues from there"
            ) from error
        finally:
            workers = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in () if whole else workers:
                process.terminate()


# --- Ray ----------------------------------------------------------------------------------------------------------------------

_SILENCE = 5.0
"""Seconds without a result after which the cluster is asked whether it is still there."""


class RayWorker:
    """A worker on some node."""

    def __init__(self, study: Study) -> None:
        self._worker = Worker(study)

    async def answer(self, key: tuple[Any, ...]) -> WorkerReply:
        """One key."""
        return await answer_away(self._worker, RowKey(*key))


class Ray:
    """Actors on a cluster; ``jobs`` of them, or with 1 as many as it has cores."""

    def __init__(self, study: Study, jobs: int, ledger: RunLedger, address: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray = installed("ray", "ray", "--engine ray")
        self._ray, self._study, self._jobs, self._address = ray, study, jobs, address
        self._away = Away(study, ledger)
        self._offline = study.offline or is_offline()

    async def results(self, keys: Iterator[RowKey]) -> AsyncIterator[Row | None]:
        """Rows in the order they are ready."""
        ray = self._ray
        self._connect()
        # a cluster of this machine may have its address in the network, where nobody knocks offline
        head, gone = None if self._offline else ray.get_runtime_context().gcs_address, False
        actors: list[Any] = []
        try:
            jobs = self._jobs if self._jobs > 1 else max(1, int(ray.cluster_resources().get("CPU", 1)))
            each = 1 if self._study.panel is None else AT_ONCE  # readers never wait, models are mostly waited for
            # without num_cpus an actor holds no core, so that it can be started again where others already are
            lasting = {"max_restarts": -1, "max_task_retries": -1, "max_concurrency": each}
            kind = ray.remote(scheduling_strategy="SPREAD", **lasting)(RayWorker)
            actors = [kind.remote(self._study) for _ in range(jobs)]
            free = [number for number in range(jobs) for _ in range(each + 1)]  # one waits at the door

            async def ask(key: RowKey) -> WorkerReply:
                number = free.pop(0)
                try:  # an actor's future is not ours to cancel
                    reply: WorkerReply = await asyncio.shield(
                        asyncio.wrap_future(actors[number].answer.remote(tuple(key)).future())
                    )
                finally:
                    free.append(number)
                return reply

            def begin() -> asyncio.Future[WorkerReply] | None:
                key = self._away.next(keys)
                return None if key is None else asyncio.ensure_future(ask(key))

            awaited = _ready(begin, len(free), silence=_SILENCE, knock=lambda: _knock(head))
            async with aclosing(awaited) as replies:
                async for reply in replies:
                    yield self._away.read(reply)
        except (ray.exceptions.RayError, OSError) as error:
            gone = isinstance(error, OSError)
            raise EnvironmentError_(
                f"the Ray cluster does not answer ({' '.join(str(error).split())[:200]}): what is done is kept, and the same "
                "command continues from there"
            ) from error
        finally:
            if gone:
                atexit.unregister(ray.shutdown)
                atexit.register(_leave)
            else:
                for actor in actors:
                    ray.kill(actor)
                ray.shutdown()

    def _connect(self) -> None:
        address = self._address or os.environ.get("RAY_ADDRESS")
        if self._offline:  # a cluster that Ray finds by itself may be anywhere
            address = address or "local"
            if address != "local":
                check_here(address, asked=True)
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
