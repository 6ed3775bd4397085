"""What an engine is, and what those share whose workers are other processes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
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
