"""The debates are held: each on disk as it goes, none held twice, whatever breaks off goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from maci.audit.contentiousness.plan import Sitting
from maci.calls import Table
from maci.controller.decisions import Finished
from maci.controller.inputs import Opened
from maci.debate import debate
from maci.errors import EnvironmentError_, InputError
from maci.record.events import Event
from maci.record.transcript import Transcript, read

__all__ = ["Seating", "Watch", "play", "recorded"]

Seating = Callable[[Sitting], tuple[Opened, Table]]
"""Sets the table of one debate."""
Watch = Callable[[Sitting, Event], object]
"""Told of every event."""


def recorded(folder: Path, sittings: Sequence[Sitting]) -> Iterator[tuple[Sitting, Sequence[Event]]]:
    """What is on disk of these debates, whole or not, in their order."""
    for sitting in sittings:
        path = _path(folder, sitting)
        if path.exists():
            yield sitting, read(path).events


async def play(
    sittings: Sequence[Sitting], seat: Seating, folder: Path, *, at_once: int = 1, watch: Watch = lambda s, e: None
) -> None:
    """Hold every debate that is not on disk yet.

    Debates of one topic and seed follow one another, so that the openings they share are asked for once; ``at_once`` such rows
    run side by side.
    """
    limit = asyncio.Semaphore(at_once)

    async def row(some: Sequence[Sitting]) -> None:
        async with limit:
            for sitting in some:
                await _hold(sitting, seat, folder, watch)

    rows = [list(some) for _, some in groupby(sittings, key=lambda s: s.block)]
    async with asyncio.TaskGroup() as group:
        for some in rows:
            group.create_task(row(some))


async def _hold(sitting: Sitting, seat: Seating, folder: Path, watch: Watch) -> None:
    path = _path(folder, sitting)
    before: Sequence[Event] = read(path).events if path.exists() else ()
    if before and isinstance(before[-1], Finished):
        watch(sitting, before[-1])
        return
    opened, table = seat(sitting)
    if before:
        transcript, recording = Transcript.resume(path)
        before = recording.events
    else:
        transcript = Transcript.create(path)
    last: Event | None = None
    with transcript:
        if before:
            _same(recording.opened, opened, path)
            opened = recording.opened
        async for last in debate(opened, table, record=transcript, recorded=before):
            watch(sitting, last)
    if not isinstance(last, Finished):
        raise EnvironmentError_(f"the debate in {path.parent} broke off; the same command goes on with it")


def _same(was: Opened, now: Opened, path: Path) -> None:
    """Debates of one audit are under the same rules."""
    if any(getattr(was, part) != getattr(now, part) for part in ("case", "config", "agents", "judges", "seed")):
        raise InputError(
            f"{path.parent} holds a debate of another audit (other agents, settings or case): name another folder with --out"
        )


def _path(folder: Path, sitting: Sitting) -> Path:
    return folder / sitting.place / "transcript.jsonl"
