"""Many cases under one budget: a folder with a transcript for each, so many under way at once, and nothing asked twice.

A run that broke off continues by being started again: what is finished is read, what is open continues from its record, what is lacking
begins. A case's folder is named after its content, so cases may be added to the file or put in another order.

One process a folder (:func:`owning`): who works in it holds a lock on ``.owner`` there, which says who that is. The system lets go
of the lock when the process ends, however it ends: a file that was left behind keeps nobody out.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import IO, Literal

from pydantic import TypeAdapter

from maci.cases.case import Case
from maci.config import parameters
from maci.controller.decisions import Finished
from maci.controller.events import Event, ended
from maci.controller.inputs import Opened
from maci.debating.loop import debate
from maci.errors import EnvironmentError_, InputError, MaciError
from maci.llm.budget import Ledger
from maci.llm.usage import Usage
from maci.paths import slug, writing
from maci.record.replay import replay
from maci.record.transcript import Transcript, lock, read, remove_empty
from maci.seating.seating import Seated
from maci.story import Story

Status = Literal["done", "failed", "budget", "waiting"]


@dataclass(frozen=True, slots=True)
class BatchCase:
    """One case of a batch and the folder of its record."""

    number: int
    """From 1, in the order of the file."""
    case: Case
    folder: Path

    @property
    def name(self) -> str:
        """What the case is called."""
        return self.case.id or self.folder.name

    def attempt(self, number: int) -> Path:
        """The record of the first attempt at it (0), or of a later one."""
        again = f".again{number}" if number else ""
        return self.folder.with_name(self.folder.name + again) / "transcript.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a case."""

    entry: BatchCase
    status: Status
    """``budget``: it ran out before a first answer; ``waiting``: not begun, or broken off."""
    path: Path | None = None
    """Of its record."""
    events: tuple[Event, ...] = ()
    error: str = ""
    kept: bool = False
    """Finished by an earlier run."""
    fatal: bool = False
    """No other case can do better: a wrong key, a full disk."""

    @property
    def result(self) -> Finished | None:
        """The end of the record, if it has one."""
        return ended(self.events)


def entries(cases: Sequence[Case], out: Path) -> tuple[BatchCase, ...]:
    """Every case with its folder: its id, and what it says as eight hexadecimal digits; repeated cases are numbered."""
    found, seen = [], dict[str, int]()
    writer = TypeAdapter(Case)
    for number, case in enumerate(cases, 1):
        digest = hashlib.sha256(writer.dump_json(case)).hexdigest()[:8]
        name = f"{slug(case.id or case.question)}-{digest}"
        seen[name] = seen.get(name, 0) + 1
        found.append(BatchCase(number, case, out / (name if seen[name] == 1 else f"{name}-{seen[name]}")))
    return tuple(found)


@dataclass
class Batch:
    """A run over many cases."""

    entries: Sequence[BatchCase]
    seat: Callable[[Case], Seated]
    """Sets the table for a case; the models at it are the same for all and closed by whoever opened them."""
    tokens: int | None = None
    usd: float | None = None
    jobs: int = 4
    retry_failed: bool = False
    keep: Callable[[Opened, Path], object] = lambda opened, path: None
    """Told of every debate that has ended."""
    ledger: Ledger = field(init=False)
    _begun: Opened | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.tokens, self.usd)

    @property
    def spent(self) -> Usage:
        """By all runs, with what may have been spent when one broke off."""
        return self.ledger.spent

    async def run(self) -> AsyncIterator[Done]:
        """Every case as it is finished: first what earlier runs did, then the others. Cancelled, it leaves whole records."""
        todo: list[tuple[BatchCase, Path, tuple[Event, ...]]] = []
        for entry in self.entries:
            path, events = self._recorded(entry)
            if ended(events) is not None:
                yield _told(Done(entry=entry, status="done", path=path, events=events, kept=True))
            else:
                todo.append((entry, path, events))
        async for done in self._play(todo):
            yield done

    async def _play(self, todo: Sequence[tuple[BatchCase, Path, tuple[Event, ...]]]) -> AsyncIterator[Done]:
        room, over = asyncio.Semaphore(self.jobs), asyncio.Event()

        async def play(entry: BatchCase, path: Path, events: tuple[Event, ...]) -> Done:
            async with room:
                if over.is_set() or self.ledger.reached is not None:
                    return Done(entry=entry, status="waiting", path=path, events=events)
                done = await self._one(entry, path, events)
                if done.fatal:
                    over.set()
                return done

        tasks = [asyncio.ensure_future(play(*each)) for each in todo]
        try:
            for ended in asyncio.as_completed(tasks):
                yield await ended  # a fault of ours is raised here, and nothing more is begun
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, entry: BatchCase, path: Path, recorded: tuple[Event, ...]) -> Done:
        """One case, to its end; what goes wrong is its own affair."""
        events = list(recorded)
        try:
            seated = self.seat(entry.case)
            if recorded:
                transcript, recording = Transcript.resume(path)
                seated = replace(seated, opened=recording.opened)
            else:
                transcript = Transcript.create(path)
            async with transcript:
                async for event in debate(
                    seated.opened, seated.table, record=transcript, recorded=recorded, ledger=self.ledger
                ):
                    events.append(event)
            self.keep(seated.opened, path)
        except MaciError as error:
            return Done(
                entry=entry, status="failed", path=path, events=tuple(events), error=str(error), fatal=error.fatal
            )
        return _told(Done(entry=entry, status="done", path=path, events=tuple(events)))

    def _recorded(self, entry: BatchCase) -> tuple[Path, tuple[Event, ...]]:
        """The last record of a case, or where another attempt at it goes: no record is ever written over.

        What all records cost is counted. Refused where one is of something else.
        """
        path, events = entry.attempt(0), tuple[Event, ...]()
        for number in count():
            following = entry.attempt(number)
            if not following.exists():
                break
            path = following
            try:
                events = read(path).events
            except MaciError:
                if not remove_empty(path):
                    raise
                events = ()
                continue
            self._same(entry, events, path)
            self._count(events)
        last = ended(events)
        failed = last is not None and (
            last.stop_reason == "error" or last.answer is None or (last.stop_reason == "budget" and last.rounds == 0)
        )  # the openings alone, because the budget ended, are no debate
        return (following, ()) if failed and self.retry_failed else (path, events)

    def _same(self, entry: BatchCase, events: Sequence[Event], path: Path) -> None:
        if self._begun is None:  # one table is enough to know: only the case differs
            self._begun = self.seat(entry.case).opened
        then, now = events[0], self._begun
        assert isinstance(then, Opened)
        for what in ("config", "seed", "panel", "agents", "corpus"):
            if getattr(then, what) != getattr(now, what):
                raise InputError(
                    f"{path} was made with another {what} ({_differs(what, then, now)}): give the options it was begun with, or "
                    "another --out"
                )

    def _count(self, events: tuple[Event, ...]) -> None:
        last = ended(events)
        if last is not None:
            used = Usage(prompt=last.tokens, usd=last.usd)
        else:
            state = replay(events).state
            used = sum(state.in_flight.values(), state.usage)
        self.ledger.spent = self.ledger.spent + used


def _differs(what: str, then: Opened, now: Opened) -> str:
    """What was recorded and what is given instead, in words."""
    if what == "config":
        given = {row.key: row.value for row in parameters(now.config)}
        other = [(row.key, row.value, given[row.key]) for row in parameters(then.config) if row.value != given[row.key]]
        other = other or [("profile", then.config.profile, now.config.profile)]
    elif what == "agents":
        before, after = (", ".join(seat.name for seat in opened.agents) for opened in (then, now))
        other = [(what, before, after)]
    else:
        other = [(what, getattr(then, what), getattr(now, what))]
    return "; ".join(f"{name} was {_none(before)}, is {_none(after)}" for name, before, after in other)


def _none(value: object) -> object:
    return "none" if value in (None, "") else value


def _told(done: Done) -> Done:
    """The same with the status its result stands for."""
    result = done.result
    if result is None:
        return replace(done, status="waiting")
    if result.stop_reason == "error":
        fatal = not done.kept and any(call.fatal for call in Story.of(done.events).calls)
        return replace(done, status="failed", error=result.detail, fatal=fatal)
    if result.answer is None:
        return replace(done, status="budget" if result.stop_reason == "budget" else "failed", error=result.detail)
    return done


_FILE = ".owner"


@contextmanager
def owning(folder: Path, option: str = "--out") -> Iterator[None]:
    """Work in a folder, the one of an ``option``, as the only process that does; it is made if need be."""
    path = folder / _FILE
    with _taken(path, option):
        try:
            yield
        finally:
            with suppress(OSError):  # left behind, it keeps nobody out
                path.unlink()


def _taken(path: Path, option: str) -> IO[bytes]:
    """The file, locked and signed; one that its owner takes away meanwhile is made again."""
    with writing(path, f"give another {option}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = path.open("ab")
            if not lock(file):
                file.close()
                raise EnvironmentError_(
                    f"{option} {path.parent} belongs to {_owner(path)}: wait until that is done, or give another {option}"
                )
            if _is(file, path):
                file.truncate(0)
                now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
                file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now}\n".encode())
                file.flush()
                return file
            file.close()


def _is(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str:
    """Who that is, in its own words."""
    try:
        said = path.read_text(encoding="utf-8", errors="replace")[:200]
    except FileNotFoundError:
        said = ""
    return "".join(filter(str.isprintable, said)) or "another process"
