"""Faults of the disk, made from outside the process that has them.

A full disk is a limit on the size of files that is set on the running process, and on all it has started: every write to a file fails,
with EFBIG where a full disk gives ENOSPC. The limit is lifted later, as if somebody had made room. A locked database is one in which
another process is writing and does not end. (A sync that fails cannot be made from outside; ``chaos.worker`` makes those in itself.)
"""

from __future__ import annotations

import contextlib
import resource
import sqlite3
from pathlib import Path
from typing import Literal

Fault = Literal["full", "locked"]
FAULTS: tuple[Fault, ...] = ("full", "locked") if hasattr(resource, "prlimit") else ("locked",)
"""Those that this system can make: only Linux sets limits of another process."""
TELLS = 3
"""The exit code with which a command says that it could not write."""


class DiskFault:
    """A fault that has begun; ``end`` ends it."""

    def __init__(self, fault: Fault, pid: int, database: Path) -> None:
        self.fault, self._limited, self._db = fault, list[int](), None
        if fault == "full":
            self._limited = _family(pid)
            for one in self._limited:
                _limit(one, 0)
        elif database.is_file():
            try:
                self._db = sqlite3.connect(database, timeout=3.0, isolation_level=None, check_same_thread=False)
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error:  # being made at this moment
                self.end()

    @property
    def holds(self) -> bool:
        """Whether it was made: there is nothing to lock before the database is there."""
        return bool(self._limited) or self._db is not None

    def end(self) -> None:
        """Make room, or let go of the database."""
        for one in self._limited:
            _limit(one, resource.RLIM_INFINITY)
        if self._db is not None:
            self._db.close()
        self._limited, self._db = [], None


def _limit(pid: int, size: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended
        most = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(
            pid, resource.RLIMIT_FSIZE, (size if most == resource.RLIM_INFINITY else min(size, most), most)
        )


def _family(pid: int) -> list[int]:
    """A process and all it has started."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in task.read_text().split()]
    return found
