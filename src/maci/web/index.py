"""The debates of a folder, found fast: an index of the rows that lists show.

The index is a SQLite file in the folder. It is only a copy: it is made again from the transcripts where it is missing, damaged or of
another version.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from maci.errors import InputError, MaciError
from maci.files.sqlite import SqliteFile
from maci.web.history import FILE, Summary, label, summary_of

INDEX = ".index.sqlite"
_VERSION = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS debates (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, created TEXT NOT NULL, summary TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS newest ON debates (created DESC, id DESC);
CREATE TABLE IF NOT EXISTS badges (badge TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (badge, place)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS badges_of ON badges (place);
CREATE VIRTUAL TABLE IF NOT EXISTS searched USING fts5 (words, tokenize = 'trigram case_sensitive 1');
"""
_NAME = 255
"""Bytes of the name of a file."""
_SLOW = 0.3
"""Seconds of looking through the folder from which a page no longer waits for it."""
_PATIENCE = 2.0
"""Seconds that the first pages wait for it."""
_BATCH = 200
"""Records that are read between two writes of the index."""
_LIVE = frozenset({"running", "paused", "asking"})


@dataclass(frozen=True, slots=True)
class Found:
    """A part of what a search found."""

    rows: list[Summary] = field(default_factory=list)
    fits: int = 0
    """Debates that fit."""
    total: int = 0
    unread: int | None = 0
    """Records that are not in the index yet; they are being read. ``None``: nobody knows yet how many there are."""


class History:
    """What was debated, newest first. A transcript is read again only when it has changed. Any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index: SqliteFile | None = None
        self._stamps: dict[str, str] = {}
        self._unread: int | None = None
        self._due, self._slow = 0.0, False
        """When the folder is looked through again: where that takes long, it is not done for every page."""
        self._opening, self._looking = threading.Lock(), threading.Lock()
        self._idle = threading.Event()
        self._idle.set()

    def path(self, id: str) -> Path:
        """The transcript of a debate; refuses what is no name of one."""
        if (
            not id
            or id != Path(id).name
            or id.startswith(".")
            or "\0" in id
            or "\\" in id
            or len(os.fsencode(id)) > _NAME
        ):
            raise InputError(f"{id[:80]!r} is no debate of this folder")
        return self.folder / id / FILE

    # --- looking ------------------------------------------------------------------------------------------------------

    def search(
        self, query: str = "", only: str = "", *, start: int = 0, most: int = 50, live: Mapping[str, str] | None = None
    ) -> Found:
        """Debates in which every word of a query occurs and that have a badge, newest first, from the index.

        ``live``: the state of those that are under way here. In a very large folder the list is as it was some seconds ago.
        """
        if not self.folder.is_dir():
            return Found()
        self._look()
        wanted = _wanted(query, only, live or {})
        total, fits = self._do("SELECT count(*) FROM debates")[0][0], None
        if wanted is not None:
            fits = self._do(f"SELECT count(*) {_FITTING}", wanted)[0][0]
        fitting = f"SELECT summary {_FITTING if wanted else 'FROM debates'} {_NEWEST}"
        rows = self._do(fitting, {**(wanted or {}), "most": most, "start": min(max(0, start), 1 << 62)})
        return Found([_unpacked(text) for (text,) in rows], total if fits is None else fits, total, self._unread)

    def named(self, ids: Collection[str]) -> list[Summary]:
        """These debates, as far as they are in the index."""
        statement = "SELECT summary FROM debates WHERE id IN (SELECT value FROM json_each(:ids))"
        return [_unpacked(text) for (text,) in self._do(statement, {"ids": json.dumps([*ids])})]

    def _look(self) -> None:
        """Have the folder looked through in the background, and wait for that where it is not known to take long."""
        with self._looking:
            begin = self._idle.is_set() and monotonic() >= self._due
            if begin:
                self._idle.clear()
                threading.Thread(target=self._looked, name="history", daemon=True).start()
        if not self._slow:
            self._slow = not self._idle.wait(_PATIENCE)

    def _looked(self) -> None:
        try:
            self.refresh()
        except (MaciError, OSError, sqlite3.Error):
            logging.getLogger(__name__).exception("the list of debates could not be brought up to date")
        finally:
            self._idle.set()

    def refresh(self) -> None:
        """Bring the index up to date with the folder."""
        began = monotonic()
        names = [entry.name for entry in os.scandir(self.folder) if _may_hold_a_debate(entry)]
        if not self._stamps:
            self._stamps = dict(self._do("SELECT id, stamp FROM debates"))
        changed = [(name, stamp) for name in names if (stamp := self._stamp(name)) != self._stamps.get(name, "")]
        for at in range(0, len(changed), _BATCH):
            part, self._unread = changed[at : at + _BATCH], len(changed) - at
            self._put([(name, stamp, summary_of(name, self.path(name))) for name, stamp in part if stamp])
        self._drop([*(self._stamps.keys() - set(names)), *(name for name, stamp in changed if not stamp)])
        self._unread, took = 0, monotonic() - began
        self._slow = took > _SLOW
        self._due = monotonic() + min(30.0, 10 * took) if self._slow else 0.0

    def _stamp(self, id: str) -> str:
        """What changes when its record, or what people call it, does; nothing where there is no transcript."""
        path = self.folder / id
        try:
            now = (path / FILE).stat()
            return f"{now.st_mtime_ns}.{now.st_size}.{path.stat().st_mtime_ns}"
        except OSError:
            return ""

    # --- naming -------------------------------------------------------------------------------------------------------

    def label(self, id: str, name: str, tags: str) -> None:
        """Give a debate a name and tags, or take them away; tags stand between commas."""
        path = self.path(id)
        if not path.is_file():
            raise InputError(f"there is no debate {id[:80]!r} in this folder")
        label(path, name, tags)
        self._put([(id, self._stamp(id), summary_of(id, path))])

    # --- the index ----------------------------------------------------------------------------------------------------

    def _put(self, rows: Sequence[tuple[str, str, Summary]]) -> None:
        with self._changing() as index:
            for id, stamp, s in rows:
                _forget(index, id)
                values = (id, stamp, s.created, json.dumps(asdict(s)))
                index.do("INSERT INTO debates (id, stamp, created, summary) VALUES (?, ?, ?, ?)", values)
                (place,) = index.do("SELECT place FROM debates WHERE id = ?", (id,))[0]
                index.do("INSERT INTO searched (rowid, words) VALUES (?, ?)", (place, s.words))
                for badge in s.badges:
                    index.do("INSERT INTO badges VALUES (?, ?)", (badge, place))
        self._stamps |= {id: stamp for id, stamp, _ in rows}

    def _drop(self, ids: Iterable[str]) -> None:
        gone = [id for id in ids if self._stamps.pop(id, None) is not None]
        if gone:
            with self._changing() as index:
                for id in gone:
                    _forget(index, id)

    @contextmanager
    def _changing(self) -> Iterator[SqliteFile]:
        index = self._opened()
        with index.transaction():
            yield index

    def _do(self, statement: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> list[Any]:
        try:
            return self._opened().do(statement, values)
        except MaciError:  # damaged under our hands: it is only a copy
            self.close()
            self._stamps, self._due, self._slow = {}, 0.0, False
            return self._opened(again=True).do(statement, values)

    def _opened(self, *, again: bool = False) -> SqliteFile:
        with self._opening:
            if self._index is None:
                self._index = _index(self.folder, again=again)
            return self._index

    def close(self) -> None:
        """Let go of the index."""
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None


def _may_hold_a_debate(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder; no hidden one, and none whose name is no text."""
    try:
        entry.name.encode()
        return entry.is_dir() and not entry.name.startswith(".")
    except (OSError, UnicodeEncodeError):  # such as a link that leads to itself
        return False


def _index(folder: Path, *, again: bool) -> SqliteFile:
    """The index of a folder; made anew where it cannot be used, and kept in memory where it cannot be written."""

    def opened(path: Path) -> SqliteFile:
        return SqliteFile(
            path,
            _TABLES,
            _VERSION,
            name=f"the index {path}",
            elsewhere="delete it, it is made again",
            steps={"damaged": "delete it, it is made again"},
            outdated="delete it, it is made again",
        )

    path = folder / INDEX
    try:
        if not again:
            return opened(path)
    except MaciError:
        pass
    try:
        for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
            (folder / name).unlink(missing_ok=True)
        return opened(path)
    except (MaciError, OSError):
        return opened(Path(":memory:"))


def _forget(index: SqliteFile, id: str) -> None:
    for (place,) in index.do("SELECT place FROM debates WHERE id = ?", (id,)):
        index.do("DELETE FROM badges WHERE place = ?", (place,))
        index.do("DELETE FROM searched WHERE rowid = ?", (place,))
        index.do("DELETE FROM debates WHERE place = ?", (place,))


_SHORTEST = 3
"""Letters of a word that the index of words finds; shorter ones are looked for in each text."""
_WORDS = 50
"""Most words of a query that are looked for."""
_FITTING = """
FROM debates WHERE (:badge IS NULL OR place IN (SELECT place FROM badges WHERE badge = :badge))
AND (:match IS NULL OR place IN (SELECT rowid FROM searched WHERE searched MATCH :match))
AND (:short IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:short) WHERE instr((SELECT words FROM searched WHERE rowid = place), value) = 0))
AND (:only IS NULL OR id IN (SELECT value FROM json_each(:only)))
AND (:not IS NULL OR id NOT IN (SELECT value FROM json_each(:not)))
"""
_NEWEST = "ORDER BY created DESC, id DESC LIMIT :most OFFSET :start"


def _wanted(query: str, only: str, live: Mapping[str, str]) -> dict[str, str | None] | None:
    """The values of a search; ``None`` where everything fits."""
    if not query.split() and not only:
        return None
    words = list(dict.fromkeys(query.casefold().split()))[:_WORDS]
    long = [f'"{word.replace(chr(34), chr(34) * 2)}"' for word in words if len(word) >= _SHORTEST]
    short = [word for word in words if len(word) < _SHORTEST]
    wanted: dict[str, str | None] = {
        "match": " AND ".join(long) or None,
        "short": json.dumps(short) if short else None,
        **dict.fromkeys(("badge", "only", "not")),
    }
    if only in _LIVE:
        wanted["only"] = json.dumps([id for id, state in live.items() if state == only])
    elif only:
        wanted["badge"] = only
    if only == "broken":
        wanted["not"] = json.dumps([*live])
    return wanted


def _unpacked(text: str) -> Summary:
    found = json.loads(text)
    return Summary(**{**found, "tags": tuple(found["tags"])})
