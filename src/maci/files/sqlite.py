"""SQLite files of ours: opened and made whoever else does the same now; whatever fails is said with what to do next."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from maci.errors import EnvironmentError_, MaciError

LOCKED = 30.0
"""Seconds to wait for another process that writes."""

Trouble = Literal["unwritable", "full", "locked", "damaged"]


class SqliteFile:
    """One open file, with its write-ahead log; use it in a ``with`` statement. Any thread may use it."""

    _db: sqlite3.Connection | None = None

    def __init__(
        self,
        path: Path,
        tables: str,
        version: int,
        *,
        name: str,
        elsewhere: str,
        steps: Mapping[Trouble, str],
        error: Callable[[str], MaciError] = EnvironmentError_,
        synchronous: Literal["NORMAL", "FULL"] = "NORMAL",
        outdated: str = "",
    ) -> None:
        """Open the file, and make its ``tables`` (each ``IF NOT EXISTS``) where it is new.

        A file of version 0 says nothing of its format; an older version is refused where ``outdated`` says why.
        Messages call it ``name``; ``elsewhere`` is how to choose another, and
        ``steps`` what to do about each trouble, where there is more to say than that.
        """
        self.path, self.name, self._error, self._elsewhere = path, name, error, elsewhere
        self._steps: dict[Trouble, str] = {
            "unwritable": f"make its folder writable, or {elsewhere}",
            "full": f"free some space there, or {elsewhere}",
            "locked": f"another process holds it; try again, or {elsewhere}",
            **steps,
        }
        self._outdated = outdated
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=LOCKED, isolation_level=None, check_same_thread=False)
            new = self._is_new(self._db, version)
            log_ahead(self._db)
            self._db.execute(f"PRAGMA synchronous = {synchronous}")
            self._db.execute("PRAGMA foreign_keys = ON")
            if new:  # all at once, whoever else does the same
                self._db.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA user_version = {version}; COMMIT;")
        except (sqlite3.Error, OSError) as broken:
            self.close()
            raise self.broken(broken) from broken
        except MaciError:
            self.close()
            raise

    def _is_new(self, db: sqlite3.Connection, version: int) -> bool:
        """Whether the file has no tables yet. One of a newer format is refused, and one of something else."""
        db.execute("BEGIN")  # both at one moment: another process may just be making it
        try:
            (found,) = db.execute("PRAGMA user_version").fetchone()
            tables = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone()
        finally:
            db.execute("COMMIT")
        if found > version:
            raise self._error(
                f"{self.name} was written by a newer MACI (format {found}, this one reads {version}): upgrade, or {self._elsewhere}"
            )
        if self._outdated and 0 < found < version:
            raise self._error(
                f"{self.name} has format {found}, and this version of maci reads {version}: {self._outdated}"
            )
        if found == 0 and version and tables is not None:
            raise self._error(f"{self.name} is a database of something else: {self._elsewhere}")
        return bool(found == 0)

    @property
    def db(self) -> sqlite3.Connection:
        """The connection."""
        if self._db is None:
            raise self._error(f"{self.name} is closed: open it again to go on")
        return self._db

    def do(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Execute one statement; the rows it gives."""
        try:
            with self._lock:
                return self.db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self.broken(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done within, or nothing."""
        with self._lock:
            self.do("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db is not None and self._db.in_transaction:  # SQLite ends some by itself
                    self.do("ROLLBACK")
                raise
            self.do("COMMIT")

    def broken(self, error: Exception) -> MaciError:
        """What went wrong, and what to do; only where the file itself is damaged is it the fault of the file."""
        found = trouble(error)
        said = f"{self.name} cannot be used ({error}): {self._steps[found]}"
        own = self._error(said)
        return own if found == "damaged" or isinstance(own, EnvironmentError_) else EnvironmentError_(said)

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def __del__(self) -> None:
        """An encoder's cache lasts as long as the encoder: nobody closes it, and Python 3.13 warns of a connection left open."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Let go of the file. An error of SQLite's own, or of JSON kept in it, says that the file is damaged."""
        self.close()
        if isinstance(error, sqlite3.Error | json.JSONDecodeError):
            raise self.broken(error) from error


def log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait for a lock here, so this does."""
    patience = time.monotonic() + LOCKED
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > patience:
                raise
            time.sleep(0.01)


def trouble(error: Exception) -> Trouble:
    """What kind of trouble an error of SQLite or of the file system is.

    >>> trouble(sqlite3.OperationalError("database or disk is full")), trouble(PermissionError("no"))
    ('full', 'unwritable')
    """
    said = str(error)
    if isinstance(error, OSError) or "readonly" in said or "unable to open" in said:
        return "unwritable"
    if "full" in said or "disk I/O" in said:
        return "full"
    return "locked" if "locked" in said or "busy" in said else "damaged"
