"""Where rows are kept: one for each key, the first that is written stays.

:class:`SqliteStore` is ``results.sqlite`` in the results folder, :class:`~maci.lab.study.postgres.PostgresStore` a database that many
machines write to. A row is safe from a kill of the process as soon as :meth:`Store.put` returns. After a power cut the last few
may be missing; they are then computed again, to the same.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field

from maci import __version__
from maci.errors import CheckFailed, EnvironmentError_, InputError
from maci.files.sqlite import LOCKED, Trouble, log_ahead, look, make_tables, trouble
from maci.lab.study.learning import Lesson
from maci.lab.study.rows import Key, Row
from maci.lab.study.spec import StudySpec, differences
from maci.llm.usage import Bound
from maci.seating.table import commit

FORMAT = 2
"""2: rows may have the judges' scores. Folders of format 1 are read and gone on with as they are."""
FILE = "results.sqlite"

Status = Literal["done", "failed", "budget"]


class StoreBroken(EnvironmentError_):
    """The store cannot be written or read; nothing that it has is lost. Ends a run at once."""

    fatal = True


class Method(BaseModel):
    """A method of the study as it was run."""

    model_config = ConfigDict(frozen=True)

    name: str
    use: str
    of: str
    """The entry of the spec; for ``each`` methods several have the same."""
    each: bool = False
    options: Mapping[str, Any] = {}


class Meta(BaseModel):
    """What is known of a study besides its rows."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    spec: StudySpec
    identity: Mapping[str, Any]
    """What decided the rows: the spec's, with its panel resolved, and the SHA-256 of the data's files (not in old studies)."""
    fingerprint: str
    """SHA-256 of the identity."""
    version: str = __version__
    commit: str | None = Field(default_factory=commit)
    created: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    items: Mapping[str, Mapping[int, Mapping[str, tuple[str, ...]]]] = {}
    """Planned: data → seed → part → item ids."""
    methods: Mapping[str, tuple[Method, ...]] = {}
    """Planned: data → methods."""
    notes: Mapping[str, tuple[str, ...]] = {}
    """What every report must say of a data set."""
    learnt: Mapping[str, Mapping[int, Lesson]] = {}
    """Where the spec asks for it: data → seed → what dev taught about the agents. The first that was written stays."""

    def keys(self) -> Iterator[Key]:
        """Everything planned, in the order it is run: all methods on one item, then the next."""
        for data, seeds in self.items.items():
            for seed, parts in seeds.items():
                for part, items in parts.items():
                    for item in items:
                        for method in self.methods[data]:
                            yield Key(data, seed, part, item, method.name)  # type: ignore[arg-type]


def within(meta: Meta | None) -> Callable[[Row], bool]:
    """Whether a row is of the plan: a smaller limit leaves out what a larger one made. Without a plan all are."""
    if meta is None or not meta.items:
        return lambda row: True
    planned = frozenset(meta.keys())
    return lambda row: row.key in planned


class Store(Protocol):
    """Keeps the rows of one study. Every failure is a :class:`StoreBroken` that says how to go on."""

    @property
    def where(self) -> str:
        """What it is called in messages; never with a password."""

    def begin(self, meta: Meta) -> Meta:
        """Take the study's plan, and return what was there before, or the same; refused for another study."""

    def meta(self) -> Meta | None:
        """What is known of the study; ``None`` before it has begun."""

    def put(self, row: Row) -> bool:
        """Keep a row; false where the same is there already. Another row under its key is a :class:`CheckFailed`."""

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget rows, so that they are computed again."""

    def keys(self) -> dict[Key, Status]:
        """What there is."""

    def has(self, key: Key) -> bool:
        """Whether there is a row, maybe another writer's."""

    def rows(
        self, *, data: str | None = None, seed: int | None = None, part: str | None = None, method: str | None = None
    ) -> Iterator[Row]:
        """The rows of the plan as it is now, in the order of their keys."""

    def spent(self) -> Bound:
        """What all runs so far have spent; what was set aside by one that broke off counts in full."""

    def journal(self, life: str, spent: Bound, aside: Bound) -> Bound:
        """What one run, ``life``, has spent and set aside by now; returns the sum over all runs, as :meth:`spent`.

        On record before a call that it is for is made.
        """

    def close(self) -> None:
        """Let go of it."""


def same(one: Row, other: Row) -> bool:
    """Whether two rows say the same. How long it took may differ, who paid, and what a provider had cached."""
    accidental = {"seconds", "usd", "free", "kept", "saved", "cached"}
    out: Any = {"seconds": True, "usage": accidental, "judge_usage": accidental}
    return one.model_dump(mode="json", exclude=out) == other.model_dump(mode="json", exclude=out)


def conflict(new: Row, old: Row, where: str) -> CheckFailed | None:
    """The error to raise for a second row under a key; ``None`` where it says the same."""
    if same(new, old):
        return None
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    fields = [k for k in before if before[k] != after[k] and k != "seconds"]
    return CheckFailed(
        f"{where} has another row for {'/'.join(map(str, new.key))} ({', '.join(fields)} differ): the answers cannot be "
        "repeated. Agents without a response cache are like that; run with the cache, or into another --out"
    )


def admit(old: Meta, new: Meta, where: str) -> Meta:
    """The study that goes on: the plan of the new, the origin of the old; refused where they are not one study.

    Methods may have been added: an answer of one follows from its key, whatever others there are.
    """
    before, after = dict(old.identity), dict(new.identity)
    files, now = before.pop("files", {}), after.pop("files", {})
    if not (lost := _lost(before, after)):
        after["methods"] = before.get("methods")
    if old.fingerprint != new.fingerprint and _said(before) != _said(after):
        what = "; ".join(differences(before, after)) or "its panel"
        may = " Methods may be added to a study, but not changed or left out." if lost else ""
        raise InputError(
            f"{where} holds the results of another study ({what}): choose another --out, or delete it to begin again.{may}"
        )
    if changed := [
        name for data, known in files.items() for name, sha in known.items() if now.get(data, known).get(name) != sha
    ]:
        have = "has" if len(changed) == 1 else "have"
        raise InputError(
            f"{', '.join(changed)} {have} changed since this study began ({where}): choose another --out, or put the old one back"
        )
    learnt = {data: {**new.learnt.get(data, {}), **old.learnt.get(data, {})} for data in {**new.learnt, **old.learnt}}
    kept = {"version": old.version, "commit": old.commit, "created": old.created, "learnt": learnt}
    return new.model_copy(update=kept)


def _lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a method of the old study is not in the new as it was."""
    there = [_said(method) for method in after.get("methods") or ()]
    return any(_said(method) not in there for method in before.get("methods") or ())


def _said(identity: Mapping[str, Any]) -> str:
    return json.dumps(identity, sort_keys=True)


_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
    data TEXT NOT NULL, seed INTEGER NOT NULL, part TEXT NOT NULL, item TEXT NOT NULL, method TEXT NOT NULL,
    status TEXT NOT NULL, row TEXT NOT NULL,
    PRIMARY KEY (data, seed, part, item, method)
);
CREATE TABLE IF NOT EXISTS journal (
    life TEXT PRIMARY KEY NOT NULL,
    tokens INTEGER NOT NULL, usd REAL NOT NULL, aside_tokens INTEGER NOT NULL, aside_usd REAL NOT NULL
);
"""
_ONE = "SELECT row FROM rows WHERE data = ? AND seed = ? AND part = ? AND item = ? AND method = ?"
_DROP = "DELETE FROM rows WHERE data = ? AND seed = ? AND part = ? AND item = ? AND method = ?"
_SOME = """
SELECT row FROM rows
WHERE (?1 IS NULL OR data = ?1) AND (?2 IS NULL OR seed = ?2) AND (?3 IS NULL OR part = ?3) AND (?4 IS NULL OR method = ?4)
ORDER BY data, seed, part, item, method"""


class SqliteStore:
    """Rows in a file, written ahead to its log."""

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        if not make and not path.is_file():
            raise InputError(f"no results at {path}: `maci study run SPEC.toml --out {path.parent}` makes them")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=LOCKED, isolation_level=None, check_same_thread=False)
            found = self._format()
            log_ahead(self._db)
            self._db.execute("PRAGMA synchronous = NORMAL")
            if found == 0:
                make_tables(self._db, _TABLES, FORMAT)
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise self._broken(error) from error
        except EnvironmentError_:
            self.close()
            raise

    @property
    def where(self) -> str:
        """The path."""
        return str(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _format(self) -> int:
        assert self._db is not None
        found, tables = look(self._db)
        if found > FORMAT:
            raise StoreBroken(
                f"{self.path} was written by a newer MACI (format {found}, this one reads {FORMAT}): upgrade, or choose "
                "another --out"
            )
        if found == 0 and tables:
            raise StoreBroken(f"{self.path} is a database of something else: choose another --out")
        return found

    def begin(self, meta: Meta) -> Meta:
        """Write the plan down, unless another study is here."""
        with self._lock:
            old = self._meta()
            settled = meta if old is None else admit(old, meta, self.where)
            self._do("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (settled.model_dump_json(),))
            self._do(f"PRAGMA user_version = {FORMAT}")  # from now on rows of this format may come
        return settled

    def meta(self) -> Meta | None:
        """The plan."""
        with self._lock:
            return self._meta()

    def _meta(self) -> Meta | None:
        found = self._do("SELECT value FROM meta WHERE name = 'study'")
        return Meta.model_validate_json(found[0][0]) if found else None

    def put(self, row: Row) -> bool:
        """One transaction."""
        values = (*row.key, row.status, row.model_dump_json())
        with self._lock:
            if self._do("INSERT OR IGNORE INTO rows VALUES (?,?,?,?,?,?,?) RETURNING 1", values):
                return True
            (there,) = self._do(_ONE, row.key)
        if (error := conflict(row, Row.model_validate_json(there[0]), self.where)) is not None:
            raise error
        return False

    def drop(self, keys: Iterable[Key]) -> None:
        """Delete the rows of these keys."""
        with self._lock:
            for key in keys:
                self._do(_DROP, key)

    def keys(self) -> dict[Key, Status]:
        """All keys with how their rows ended."""
        with self._lock:
            found = self._do("SELECT data, seed, part, item, method, status FROM rows")
        return {Key(*entry[:5]): entry[5] for entry in found}

    def has(self, key: Key) -> bool:
        """Look the key up."""
        with self._lock:
            return bool(self._do(_ONE, key))

    def rows(
        self, *, data: str | None = None, seed: int | None = None, part: str | None = None, method: str | None = None
    ) -> Iterator[Row]:
        """The rows that have all that is given."""
        with self._lock:
            found, planned = self._do(_SOME, (data, seed, part, method)), within(self._meta())
        yield from filter(planned, (Row.model_validate_json(text) for (text,) in found))

    def spent(self) -> Bound:
        """The sum over all runs."""
        with self._lock:
            ((tokens, usd),) = self._do("SELECT sum(tokens + aside_tokens), sum(usd + aside_usd) FROM journal")
        return Bound(int(tokens or 0), float(usd or 0.0))

    def journal(self, life: str, spent: Bound, aside: Bound) -> Bound:
        """One row for each run; the sum of all."""
        with self._lock:
            self._do("INSERT OR REPLACE INTO journal VALUES (?,?,?,?,?)", (life, *spent, *aside))
        return self.spent()

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _do(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        if self._db is None:
            raise StoreBroken(f"{self.path} is closed: open it again to go on")
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> StoreBroken:
        on = "; what is done is kept, and the same command goes on from there"
        steps: dict[Trouble, str] = {
            "unwritable": "make its folder writable, or choose another --out",
            "full": f"free some space there{on}",
            "locked": f"another process holds it; wait for that{on}",
            "damaged": "it is damaged or not one of ours: choose another --out",
        }
        return StoreBroken(f"the results {self.path} cannot be used ({error}): {steps[trouble(error)]}")


def open_store(out: Path, url: str | None = None, *, name: str = "", make: bool = True) -> Store:
    """The store of a results folder, or of the database at ``url``; there ``name`` tells studies apart."""
    if url is None:
        return SqliteStore(out / FILE, make=make)
    if not url.startswith(("postgresql://", "postgres://")):
        scheme = url.partition(":")[0]
        raise InputError(
            f"--store {scheme}:…: only postgresql://USER@HOST/DATABASE is known; without --store it is a file in --out"
        )
    from maci.lab.study.postgres import PostgresStore

    return PostgresStore(url, name, make=make)
