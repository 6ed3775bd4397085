"""The index folder: spans and files in SQLite, with room beside them for a retriever's own files.

::

    FOLDER/index.sqlite        files (path, size, mtime, SHA-256, why skipped) and spans
    FOLDER/bm25/               the lexical index            (maci.evidence.lexical)
    FOLDER/embeddings.sqlite   embeddings by content        (maci.evidence.encoders.cache)

Each file is one transaction: an interrupted update loses nothing and the next one goes on from there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from maci.errors import EnvironmentError_, EvidenceError
from maci.evidence.corpus import IndexReport, Skipped
from maci.evidence.documents import ReadOptions, Unreadable, read_document
from maci.evidence.span import Span
from maci.files.sqlite import Trouble, log_ahead, make_tables, trouble

Progress = Callable[[str, int, int], None]
"""Called with the file at hand, files done and files in all."""

_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS file (
    key INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, source TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, sha256 TEXT NOT NULL, read_at INTEGER NOT NULL, reader TEXT NOT NULL,
    skipped TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS span (
    file INTEGER NOT NULL REFERENCES file ON DELETE CASCADE, number INTEGER NOT NULL, id TEXT NOT NULL,
    text TEXT NOT NULL, source TEXT NOT NULL, start INTEGER NOT NULL, label TEXT, PRIMARY KEY (file, number)
) WITHOUT ROWID;
"""
_SPANS = """
SELECT span.id, text, span.source, start, label
FROM span JOIN file ON file.key = span.file ORDER BY path, number
"""
_RACY = 2_000_000_000
"""A file changed this shortly (ns) before it was read may have changed again under the same timestamp."""


class Index:
    """An open index folder; use it in a ``with`` statement."""

    def __init__(self, folder: Path, *, create: bool) -> None:
        path, self._folder = folder / "index.sqlite", folder
        if not create and not path.is_file():
            raise EvidenceError(f"{str(folder)!r} is not an index: make one with `maci index PATH… --out {folder}`")
        if folder.exists() and not folder.is_dir():
            raise EvidenceError(f"{str(folder)!r} is a file: choose a folder for the index with --out")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EnvironmentError_(f"cannot make the folder {str(folder)!r}: {error.strerror}") from error
        try:
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA foreign_keys = ON")
            log_ahead(self._db)
            self._db.execute("PRAGMA synchronous = NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                make_tables(self._db, _SCHEMA, _FORMAT)
        except (OSError, sqlite3.Error) as error:
            raise self._broken(error) from error
        if version not in (0, _FORMAT):
            self._db.close()
            raise EvidenceError(
                f"the index {str(folder)!r} has format {version}, this MACI reads format {_FORMAT}: "
                "run `maci index` into a new folder"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._db.close()
        if isinstance(error, (sqlite3.Error, json.JSONDecodeError)):
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> EvidenceError:
        steps: dict[Trouble, str] = {
            "unwritable": "make it writable, or choose another folder with --out",
            "full": "free some space there, or choose another folder with --out",
            "locked": "another process writes it; try again",
            "damaged": "delete the folder and run `maci index` again",
        }
        return EvidenceError(f"the index {str(self._folder)!r} cannot be used ({error}): {steps[trouble(error)]}")

    def spans(self) -> Iterator[Span]:
        """All spans in order of file and position, repeated text included."""
        for row in self._db.execute(_SPANS):
            if not all(isinstance(cell, str) for cell in row[:3]):
                raise sqlite3.DatabaseError(f"the text of span {row[0]!r:.40} is none")
            yield Span(*row)

    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out, by file."""
        rows = self._db.execute("SELECT path, skipped FROM file WHERE skipped != '[]' ORDER BY path")
        return tuple(Skipped(path, reason) for path, reasons in rows for reason in json.loads(reasons))

    def update(
        self,
        files: Sequence[tuple[Path, str]],
        roots: Sequence[Path],
        options: ReadOptions,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Read what is new or changed among ``files``, drop what is gone."""
        count = {"added": 0, "changed": 0, "unchanged": 0}
        for done, (path, source) in enumerate(files):
            if progress:
                progress(source, done, len(files))
            count[self._file(path, source, options)] += 1
        if progress:
            progress("", len(files), len(files))
        removed = self._drop_gone({str(path) for path, _ in files}, [root.resolve() for root in roots])
        spans = self._db.execute("SELECT count(DISTINCT id) FROM span").fetchone()[0]
        return IndexReport(**count, removed=removed, skipped=self.skipped(), spans=spans)

    def _file(self, path: Path, source: str, options: ReadOptions) -> str:
        old = self._db.execute(
            "SELECT key, source, size, mtime, sha256, read_at, reader FROM file WHERE path = ?",
            (str(path),),
        ).fetchone()
        try:
            stat = path.stat()
        except OSError as error:
            self._store(
                path,
                source,
                (0, 0, "", 0, ""),
                iter(()),
                [f"cannot be read: {error.strerror}"],
            )
            return "changed" if old else "added"
        reader = _reader(options)
        same = old is not None and (source, stat.st_size, reader) == (
            old[1],
            old[2],
            old[6],
        )
        if same and stat.st_mtime_ns == old[3] and stat.st_mtime_ns + _RACY < old[5]:
            return "unchanged"
        now = time.time_ns()
        sha256 = _sha256(path) if stat.st_size <= options.max_bytes else ""
        if same and sha256 == old[4]:
            self._db.execute(
                "UPDATE file SET mtime = ?, read_at = ? WHERE key = ?",
                (stat.st_mtime_ns, now, old[0]),
            )
            return "unchanged"
        notes: list[str] = []
        spans = read_document(path, source, options, notes.append)
        self._store(
            path,
            source,
            (stat.st_size, stat.st_mtime_ns, sha256, now, reader),
            spans,
            notes,
        )
        return "changed" if old else "added"

    def _store(
        self,
        path: Path,
        source: str,
        facts: tuple[int, int, str, int, str],
        spans: Iterator[Span],
        notes: list[str],
    ) -> None:
        """One file's row and spans, all or nothing: one that breaks half-way keeps its reason only."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute("DELETE FROM file WHERE path = ?", (str(path),))
            key = self._db.execute(
                "INSERT INTO file (path, source, size, mtime, sha256, read_at, reader, skipped) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, '[]')",
                (str(path), source, *facts),
            ).lastrowid
            try:
                self._db.executemany(
                    "INSERT INTO span VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        (
                            key,
                            number,
                            span.id,
                            span.text,
                            span.source,
                            span.start,
                            span.label,
                        )
                        for number, span in enumerate(spans)
                    ),
                )
            except Unreadable as error:
                self._db.execute("DELETE FROM span WHERE file = ?", (key,))
                notes = [str(error)]
            if notes:
                self._db.execute(
                    "UPDATE file SET skipped = ? WHERE key = ?",
                    (json.dumps(notes), key),
                )
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # where the disk is full, SQLite has rolled back by itself
                self._db.execute("ROLLBACK")
            raise

    def _drop_gone(self, present: set[str], roots: Sequence[Path]) -> int:
        """Files no longer under the roots they were found in, or no longer on disk at all."""
        known = [Path(row[0]) for row in self._db.execute("SELECT path FROM file")]
        gone = [
            path
            for path in known
            if str(path) not in present and (any(path.is_relative_to(root) for root in roots) or not path.exists())
        ]
        self._db.executemany("DELETE FROM file WHERE path = ?", [(str(path),) for path in gone])
        return len(gone)


def _reader(options: ReadOptions) -> str:
    """What a file's spans depend on beside the file: other columns, or pypdf now there: read again."""
    return repr((options, importlib.util.find_spec("pypdf") is not None))


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
