"""Corpora: the spans a debate may retrieve and cite.

A corpus is made in memory (of spans, or by ``read``) or opened from an index folder that
:func:`update_index` keeps in step with files on disk (``open``). Equal text has one id, so it is one span
however many files repeat it.

The index folder has spans and files in SQLite, with room beside them for a retriever's own files::

    FOLDER/index.sqlite        files (path, size, mtime, SHA-256, why skipped) and spans
    FOLDER/bm25/               the lexical index            (maci.evidence.lexical)
    FOLDER/embeddings.sqlite   embeddings by content        (maci.evidence.retrieve)

Each file is one transaction: an interrupted update loses nothing and the next one continues from there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from maci.errors import EvidenceError
from maci.evidence.documents import SUFFIXES, ReadOptions, Unreadable, read_document
from maci.evidence.span import Span
from maci.files.parse import check_name
from maci.files.sqlite import SqliteFile

_PASSED_OVER = frozenset({"__pycache__", "node_modules"})
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


class Corpus:
    """An immutable set of spans with unique ids.

    >>> corpus = Corpus([Span.of("High fever."), Span.of("high  fever."), Span.of("Rash.")])
    >>> len(corpus), corpus.get("s-0000000000")
    (2, None)
    """

    def __init__(
        self,
        spans: Iterable[Span],
        *,
        skipped: Sequence[Skipped] = (),
        home: Path | None = None,
    ) -> None:
        self._by_id: dict[str, Span] = {}
        for span in spans:
            known = self._by_id.setdefault(span.id, span)
            if known.label is None and span.label is not None:
                self._by_id[span.id] = replace(known, label=span.label)
        self._spans = tuple(self._by_id.values())
        self.skipped = tuple(skipped)
        """What was left out when the corpus was read."""
        self.home = home
        """The index folder it was opened from, where a retriever may keep its own files."""

    @property
    def spans(self) -> Sequence[Span]:
        """All spans, in order of source and position."""
        return self._spans

    def get(self, id: str) -> Span | None:
        """The span of this id; ``None`` if there is none (a citation to it is rejected, not an error)."""
        return self._by_id.get(id)

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans)

    @classmethod
    def read(cls, *paths: str | Path, options: ReadOptions | None = None) -> Corpus:
        """The spans of files and folders, read now and kept in memory; an index folder is opened instead."""
        if len(paths) == 1 and is_index(Path(paths[0])):
            return cls.open(paths[0])
        spans: list[Span] = []
        skipped: list[Skipped] = []
        for path, source in find_files(paths):
            kept = len(spans)
            try:
                notes: list[str] = []
                spans += read_document(path, source, options or ReadOptions(), notes.append)
                skipped += [Skipped(str(path), note) for note in notes]
            except Unreadable as error:
                del spans[kept:]
                skipped.append(Skipped(str(path), str(error)))
        if not spans:
            raise _empty([str(path) for path in paths], skipped)
        return cls(spans, skipped=skipped)

    @classmethod
    def open(cls, folder: str | Path) -> Corpus:
        """The corpus of an index folder that :func:`update_index` made."""
        with Index(Path(folder), create=False) as index:
            corpus = cls(index.spans(), skipped=index.skipped(), home=Path(folder))
        if not len(corpus):
            raise _empty([str(folder)], corpus.skipped)
        return corpus


def update_index(
    paths: Iterable[str | Path],
    folder: str | Path,
    *,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring an index folder in step with files and folders on disk; made if it is not there.

    Unchanged files are not read again, files that are gone are dropped, unreadable files are listed. Files
    that an earlier call indexed from elsewhere stay while they exist. ``EvidenceError`` if nothing usable
    is left.
    """
    roots = [Path(path) for path in paths]
    if inside := next((root for root in roots if root.resolve().is_relative_to(Path(folder).resolve())), None):
        raise EvidenceError(
            f"the evidence {str(inside)!r} lies in the index folder {str(folder)!r}: choose another --out"
        )
    found = [(path, source) for path, source in find_files(roots) if not path.is_relative_to(Path(folder).resolve())]
    with Index(Path(folder), create=True) as index:
        report = index.update(found, roots, options or ReadOptions(), progress)
    if not report.spans:
        raise _empty([str(path) for path in roots], report.skipped)
    return report


def is_index(path: Path) -> bool:
    """Whether a folder is an index that :func:`update_index` made."""
    check_name(path)
    return (path / "index.sqlite").is_file()


def find_files(paths: Iterable[str | Path]) -> Iterator[tuple[Path, str]]:
    """(file, source) for every file under the paths, in a stable order; hidden ones, pipes and links out of a folder are passed over.

    The source is the path from the folder that was named, so it does not depend on where that folder lies.
    """
    seen: set[Path] = set()
    for named in map(Path, paths):
        check_name(named)
        root = named.resolve()
        if not root.exists():
            raise EvidenceError(f"evidence path {str(named)!r} does not exist: name a file or folder")
        if not (root.is_file() or root.is_dir()):
            raise EvidenceError(f"evidence path {str(named)!r} is a pipe or a device: name a file or folder")
        for path in sorted(_walk(root)) if root.is_dir() else [root]:
            if path not in seen:
                seen.add(path)
                yield path, path.relative_to(root.parent).as_posix()


def _walk(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [
            name for name in subfolders if not (name in _PASSED_OVER or name[0] == "." or is_index(Path(folder, name)))
        ]
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        yield from (  # neither a pipe nor a link that leads out of the folder; what is gone is said later
            path for path in paths if not path.exists() or (path.is_file() and path.resolve().is_relative_to(root))
        )


def _empty(paths: Sequence[str], skipped: Sequence[Skipped]) -> EvidenceError:
    reasons = "".join(f"\n  {skip}" for skip in skipped[:5])
    more = f"\n  … and {len(skipped) - 5} more" if len(skipped) > 5 else ""
    return EvidenceError(
        f"no usable evidence in {', '.join(paths)}: add files of type {' '.join(SUFFIXES)} that hold text"
        + (f"; {len(skipped)} were left out:{reasons}{more}" if skipped else "")
    )


# --- the index folder ---------------------------------------------------------------------------------------------------------


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
