"""What every SQLite file of ours needs: opened and made whoever else does the same now, and what is wrong when it fails."""

from __future__ import annotations

import sqlite3
import time
from typing import Literal

LOCKED = 30.0
"""Seconds to wait for another process that writes."""

Trouble = Literal["unwritable", "full", "locked", "damaged"]


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


def look(connection: sqlite3.Connection) -> tuple[int, bool]:
    """The format a file says it has and whether it has tables, both at one moment: another process may just be making it."""
    connection.execute("BEGIN")
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table'").fetchone()
    finally:
        connection.execute("COMMIT")
    return int(found), tables is not None


def make_tables(connection: sqlite3.Connection, tables: str, version: int) -> None:
    """Make tables, each ``IF NOT EXISTS``, and say the format: all at once, whoever else does the same."""
    connection.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA user_version = {version}; COMMIT;")


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
