"""The index folder: spans and files in SQLite, with room beside them for a retriever's own files.

::

    FOLDER/index.sqlite        files (path, size, mtime, SHA-256, why skipped) and spans
    FOLDER/bm25/               the lexical index            (maci.evidence.lexical)
    FOLDER/embeddings.sqlite   embeddings by content        (maci.evidence.cache)

Each file is one transaction: an interrupted update loses nothing and the next one goes on from there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maci.errors import EvidenceError
from maci.evidence.documents import ReadOptions, Unreadable, read_document
from maci.evidence.span import Span
from maci.files.sqlite import SqliteFile

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


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or part of one, that gave no spans."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What an update of an index did. Files are counted once each."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: tuple[Skipped, ...]
    """Every file now left out and why, unchanged ones too."""
    spans: int
    """Spans in the index now, duplicates collapsed."""


class Index(SqliteFile):
    """An open index folder; use it in a ``with`` statement."""

    def __init__(self, folder: Path, *, create: bool) -> None:
        path = folder / "index.sqlite"
        if not create and not path.is_file():
            raise EvidenceError(f"{str(folder)!r} is not an index: make one with `maci index PATH… --out {folder}`")
        if folder.exists() and not folder.is_dir():
            raise EvidenceError(f"{str(folder)!r} is a file: choose a folder for the index with --out")
        super().__init__(
            path,
            _SCHEMA,
            _FORMAT,
            name=f"the index {str(folder)!r}",
            elsewhere="choose another folder with --out",
            steps={"damaged": "delete the folder and run `maci index` again"},
            error=EvidenceError,
        )

    def spans(self) -> Iterator[Span]:
        """All spans in order of file and position, repeated text included."""
        for row in self.db.execute(_SPANS):
            if not all(isinstance(cell, str) for cell in row[:3]):
                raise sqlite3.DatabaseError(f"the text of span {row[0]!r:.40} is none")
            yield Span(*row)

    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out, by file."""
        rows = self.db.execute("SELECT path, skipped FROM file WHERE skipped != '[]' ORDER BY path")
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
        spans = self.db.execute("SELECT count(DISTINCT id) FROM span").fetchone()[0]
        return IndexReport(**count, removed=removed, skipped=self.skipped(), spans=spans)

    def _file(self, path: Path, source: str, options: ReadOptions) -> str:
        old = self.db.execute(
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
        # What a file's spans depend on beside the file: other columns, or pypdf now there, and it is read again.
        reader = repr((options, importlib.util.find_spec("pypdf") is not None))
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
            self.db.execute(
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
        with self.transaction():
            self.db.execute("DELETE FROM file WHERE path = ?", (str(path),))
            key = self.db.execute(
                "INSERT INTO file (path, source, size, mtime, sha256, read_at, reader, skipped) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, '[]')",
                (str(path), source, *facts),
            ).lastrowid
            rows = (
                (key, number, span.id, span.text, span.source, span.start, span.label)
                for number, span in enumerate(spans)
            )
            try:
                self.db.executemany("INSERT INTO span VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            except Unreadable as error:
                self.db.execute("DELETE FROM span WHERE file = ?", (key,))
                notes = [str(error)]
            if notes:
                self.db.execute("UPDATE file SET skipped = ? WHERE key = ?", (json.dumps(notes), key))

    def _drop_gone(self, present: set[str], roots: Sequence[Path]) -> int:
        """Files no longer under the roots they were found in, or no longer on disk at all."""
        known = [Path(row[0]) for row in self.db.execute("SELECT path FROM file")]
        gone = [
            path
            for path in known
            if str(path) not in present and (any(path.is_relative_to(root) for root in roots) or not path.exists())
        ]
        self.db.executemany("DELETE FROM file WHERE path = ?", [(str(path),) for path in gone])
        return len(gone)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
