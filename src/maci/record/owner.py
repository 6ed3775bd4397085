"""One process a folder: who works in it holds a lock on ``.owner`` there, which says who that is.

The system lets go of the lock when the process ends, however it ends: a file that was left behind keeps nobody out.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from maci.errors import EnvironmentError_
from maci.paths import writing

_FILE = ".owner"


@contextmanager
def owning(folder: Path) -> Iterator[None]:
    """Work in a folder as the only process that does; it is made if need be."""
    path = folder / _FILE
    with _taken(path):
        try:
            yield
        finally:
            with suppress(OSError):  # left behind, it keeps nobody out
                path.unlink()


def lock(file: IO[bytes], *, shared: bool = False) -> bool:
    """Lock a file until it is closed, ``shared`` with others who only look; ``False`` if somebody else has."""
    try:
        import fcntl
    except ImportError:  # a system without advisory locks
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _taken(path: Path) -> IO[bytes]:
    """The file, locked and signed; one that its owner takes away meanwhile is made again."""
    with writing(path, "give another --out"):
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = path.open("ab")
            if not lock(file):
                file.close()
                raise EnvironmentError_(
                    f"--out {path.parent} belongs to {_owner(path)}: wait until that is done, or give another --out"
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
