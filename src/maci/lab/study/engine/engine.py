"""Engines compute the rows of a study: :class:`Local` in this process, :class:`Processes` in several processes of this machine.

:class:`Reply` and :class:`Away` are for every engine whose workers are other processes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Protocol

from maci.errors import ConfigError, EnvironmentError_, InputError, MaciError, exit_code
from maci.lab.study.ledger import RunLedger
from maci.lab.study.rows import Key, Row
from maci.lab.study.study import Study
from maci.lab.study.worker import Worker
from maci.llm.usage import Bound, Usage


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a key: its row, or ``None`` where the run's budget did not allow one."""

    key: Key
    row: Row | None


class Engine(Protocol):
    """Computes rows."""

    def results(self, keys: Iterator[Key]) -> AsyncIterator[Result]:
        """Results as they come. Takes a key when it can begin with it; closing the iterator ends all that is under way."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker in another process sends back; errors as text, for not all of them travel."""

    row: str | None = None
    error: str = ""
    exit: int = 0


async def answer_away(worker: Worker, key: Key) -> Reply:
    """One key in a worker's process."""
    try:
        row = await worker.answer(key)
        return Reply(row=None if row is None else row.model_dump_json())
    except MaciError as error:
        return Reply(error=str(error), exit=exit_code(error))


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

    def begin(self) -> bool:
        """Whether another answer fits."""
        return self._ledger.reserve(self._bound)

    def end(self, row: Row | None) -> None:
        """What it did cost; all of it where nobody knows."""
        used = Usage(prompt=self._bound.tokens, usd=self._bound.usd)
        if row is not None and (row.status == "done" or row.calls):
            used = row.usage + row.judge_usage
        self._ledger.settle(self._bound, used)

    @staticmethod
    def read(key: Key, reply: Reply) -> Result:
        """A worker's reply, its error raised here."""
        if reply.error:
            kind = {2: InputError, 3: EnvironmentError_}.get(reply.exit, MaciError)
            raise kind(reply.error)
        return Result(key, None if reply.row is None else Row.model_validate_json(reply.row))


AT_ONCE = 16
"""Answers under way where models are asked."""
_STAGGER = 4
"""Turns of the loop that an answer has for itself, so that its first calls are out before the next begins."""


class Local:
    """One event loop."""

    def __init__(self, worker: Worker, at_once: int | None = None) -> None:
        self._worker = worker
        self._at_once = at_once or (1 if worker.study.panel is None else AT_ONCE)  # readers never wait for anything

    async def results(self, keys: Iterator[Key]) -> AsyncIterator[Result]:
        """Results in the order they are ready."""
        pending: dict[asyncio.Task[Result], None] = {}
        try:
            while True:
                while len(pending) < self._at_once and (key := next(keys, None)) is not None:
                    pending[asyncio.create_task(self._answer(key))] = None
                    for _ in range(_STAGGER):
                        await asyncio.sleep(0)
                if not pending:
                    return
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in pending if task.done()]:
                    del pending[task]
                    yield task.result()
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def _answer(self, key: Key) -> Result:
        return Result(key, await self._worker.answer(key))


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


def _answer(key: Key) -> Reply:
    assert _worker is not None and _loop is not None
    return _loop.run_until_complete(answer_away(_worker, key))


class Processes:
    """So many processes, each with its own tables; for readers, who keep a core busy."""

    def __init__(self, study: Study, jobs: int, ledger: RunLedger) -> None:
        self._study, self._jobs, self._away = study, jobs, Away(study, ledger)

    async def results(self, keys: Iterator[Key]) -> AsyncIterator[Result]:
        """Results in the order they are ready."""
        loop = asyncio.get_running_loop()
        pool = ProcessPoolExecutor(
            self._jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_start, initargs=(self._study,)
        )
        pending: dict[asyncio.Future[Reply], Key] = {}
        more = True
        try:
            while True:
                while more and len(pending) < 2 * self._jobs:
                    key = next(keys, None)
                    more = key is not None and self._away.begin()
                    if key is not None and more:
                        pending[loop.run_in_executor(pool, _answer, key)] = key
                if not pending:
                    return
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for future in [future for future in pending if future.done()]:
                    result = self._away.read(pending.pop(future), future.result())
                    self._away.end(result.row)
                    yield result
        except BrokenExecutor as error:
            raise EnvironmentError_(
                "a worker process died (was it short of memory?): what is done is kept, and the same command goes on from there"
            ) from error
        finally:
            workers = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in workers if pending else ():
                process.terminate()
