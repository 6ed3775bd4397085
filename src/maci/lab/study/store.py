"""Where rows are kept: one for each key, the first that is written stays.

:class:`SqliteStore` is ``results.sqlite`` in the results folder, :class:`PostgresStore` a database that many machines write to. A row
is safe from a kill of the process as soon as :meth:`Store.put` returns. After a power cut the last few may be missing; they are then
computed again, to the same.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from maci.errors import CheckFailed, EnvironmentError_, InputError, MissingExtra
from maci.files.sqlite import SqliteFile
from maci.lab.study.study import FORMAT, Meta, Row, RowKey, Status, admit, within
from maci.llm.offline import check_here
from maci.llm.usage import Bound

if TYPE_CHECKING:
    import psycopg

FILE = "results.sqlite"

_Do = Callable[[str, Mapping[str, Any]], list[Any]]
"""Executes a statement with its values by name; the rows it gives."""
_T = TypeVar("_T")


class StoreBroken(EnvironmentError_):
    """The store cannot be written or read; nothing that it has is lost. Ends a run at once."""

    fatal = True


GOES_ON = "what is done is kept, and the same command continues from there"
_KEY = "data = :data AND seed = :seed AND part = :part AND item = :item AND method = :method"
_AT_ONCE = 32
"""Items whose rows are read at once: with thirty methods on forty outcomes 20 MB."""
_ITEMS = """SELECT data, seed, part, item FROM {rows} WHERE {mine} GROUP BY data, seed, part, item
ORDER BY data {order}, seed, part {order}, item {order}"""
_SOME_ITEMS = """SELECT row FROM {rows} WHERE {mine} AND data = :data AND seed = :seed AND part = :part
AND item {order} BETWEEN :first AND :last ORDER BY item {order}, method {order}"""
_JOURNAL = """INSERT INTO {journal} VALUES ({study}:life, :tokens, :usd, :aside_tokens, :aside_usd)
ON CONFLICT ({one}) DO UPDATE SET tokens = excluded.tokens, usd = excluded.usd,
    aside_tokens = excluded.aside_tokens, aside_usd = excluded.aside_usd"""


class Store(ABC):
    """Keeps the rows of one study. Every failure is a :class:`StoreBroken` that says how to go on.

    The statements are the same for both databases but for what :attr:`names` holds: tables, and where several studies share them, the
    column that tells them apart.
    """

    names: Mapping[str, str]
    plan: str
    """Reads the plan."""
    keep_plan: tuple[str, ...]
    """Write it."""
    where: str
    """What it is called in messages; never with a password."""
    study = ""
    """Its name, where several studies are in one database."""

    @abstractmethod
    def _do(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """Execute a statement."""

    @abstractmethod
    def _at_once(self, work: Callable[[_Do], _T]) -> _T:
        """Do all of it, or nothing, with no other process in between."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, statement: str, **values: Any) -> list[Any]:
        return self._do(statement.format(key=_KEY, **self.names), {"study": self.study, **values})

    def begin(self, meta: Meta) -> Meta:
        """Take the study's plan, and return what was there before, or the same; refused for another study."""

        def work(do: _Do) -> Meta:
            own: dict[str, Any] = {"study": self.study, "format": FORMAT}
            old = _plan(do(self.plan, own))
            settled = meta if old is None else admit(old, meta, self.where)
            for statement in self.keep_plan:
                do(statement, {**own, "meta": settled.model_dump_json()})
            return settled

        return self._at_once(work)

    def meta(self) -> Meta | None:
        """What is known of the study; ``None`` before it has begun."""
        return _plan(self._ask(self.plan))

    def put(self, row: Row) -> bool:
        """Keep a row; false where the same is there already. Another row under its key is a :class:`CheckFailed`."""
        if self._ask(
            "INSERT INTO {rows} VALUES ({study}:data, :seed, :part, :item, :method, :status, :row) ON CONFLICT DO NOTHING RETURNING 1",
            **row.key._asdict(),
            status=row.status,
            row=row.model_dump_json(),
        ):
            return True
        there = self._one(row.key)
        if there and (error := conflict(row, Row.model_validate_json(there[0][0]), self.where)) is not None:
            raise error
        return False

    def _one(self, key: RowKey) -> list[Any]:
        return self._ask("SELECT row FROM {rows} WHERE {mine} AND {key}", **key._asdict())

    def drop(self, keys: Iterable[RowKey]) -> None:
        """Forget rows, so that they are computed again."""
        for key in keys:
            self._ask("DELETE FROM {rows} WHERE {mine} AND {key}", **key._asdict())

    def keys(self) -> dict[RowKey, Status]:
        """What there is."""
        found = self._ask("SELECT data, seed, part, item, method, status FROM {rows} WHERE {mine}")
        return {RowKey(*entry[:5]): entry[5] for entry in found}

    def has(self, key: RowKey) -> bool:
        """Whether there is a row, maybe another writer's."""
        return bool(self._one(key))

    def rows(self) -> Iterator[Row]:
        """The rows of the plan as it is now, in the order of their keys; never more than a few in memory."""
        planned = within(self.meta())
        items = self._ask(_ITEMS)
        for (data, seed, part), some in groupby(items, key=lambda entry: tuple(entry[:3])):
            names = [entry[3] for entry in some]
            for first in range(0, len(names), _AT_ONCE):
                last = names[min(first + _AT_ONCE, len(names)) - 1]
                ends = {"data": data, "seed": seed, "part": part, "first": names[first], "last": last}
                for (text,) in self._ask(_SOME_ITEMS, **ends):
                    row = Row.model_validate_json(text)
                    if planned(row):
                        yield row

    def spent(self) -> Bound:
        """What all runs so far have spent; what was set aside by one that broke off counts in full."""
        ((tokens, usd),) = self._ask(
            "SELECT sum(tokens + aside_tokens), sum(usd + aside_usd) FROM {journal} WHERE {mine}"
        )
        return Bound(int(tokens or 0), float(usd or 0.0))

    def journal(self, life: str, spent: Bound, aside: Bound) -> Bound:
        """What one run, ``life``, has spent and set aside by now; returns the sum over all runs, as :meth:`spent`.

        On record before a call that it is for is made.
        """
        set_aside = {"aside_tokens": aside.tokens, "aside_usd": aside.usd}
        self._ask(_JOURNAL, life=life, tokens=spent.tokens, usd=spent.usd, **set_aside)
        return self.spent()


def _plan(found: list[Any]) -> Meta | None:
    return Meta.model_validate_json(found[0][0]) if found else None


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


class SqliteStore(Store):
    """Rows in a file, written ahead to its log."""

    names: Mapping[str, str] = {
        "rows": "rows",
        "journal": "journal",
        "mine": "TRUE",
        "study": "",
        "one": "life",
        "order": "COLLATE BINARY",
    }
    plan = "SELECT value FROM meta WHERE name = 'study'"
    keep_plan = (
        "INSERT OR REPLACE INTO meta VALUES ('study', :meta)",
        f"PRAGMA user_version = {FORMAT}",  # from now on rows of this format may come
    )

    def __init__(self, path: Path, *, make: bool = True) -> None:
        if not make and not path.is_file():
            raise InputError(f"no results at {path}: `maci study run SPEC.toml --out {path.parent}` makes them")
        self.path, self.where = path, str(path)
        self._file = SqliteFile(
            path,
            _SQLITE_TABLES,
            FORMAT,
            name=f"the results {path}",
            elsewhere="choose another --out",
            steps={
                "full": f"free some space there; {GOES_ON}",
                "locked": f"another process holds it; wait for that; {GOES_ON}",
                "damaged": "it is damaged or not one of ours: choose another --out",
            },
            error=StoreBroken,
        )

    def _do(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        return self._file.do(statement, values)

    def _at_once(self, work: Callable[[_Do], _T]) -> _T:
        with self._file.transaction():
            return work(self._file.do)

    def close(self) -> None:
        self._file.close()


_SQLITE_TABLES = """
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
_POSTGRES_TABLES = """
CREATE TABLE IF NOT EXISTS maci_study (name text PRIMARY KEY, format integer NOT NULL, meta text NOT NULL);
CREATE TABLE IF NOT EXISTS maci_row (
    study text NOT NULL, data text NOT NULL, seed bigint NOT NULL, part text NOT NULL, item text NOT NULL, method text NOT NULL,
    status text NOT NULL, row text NOT NULL,
    PRIMARY KEY (study, data, seed, part, item, method)
);
CREATE TABLE IF NOT EXISTS maci_journal (
    study text NOT NULL, life text NOT NULL,
    tokens bigint NOT NULL, usd double precision NOT NULL, aside_tokens bigint NOT NULL, aside_usd double precision NOT NULL,
    PRIMARY KEY (study, life)
);
"""
_LOCK = 0x6D616369
"""Of the advisory lock under which tables are made and plans written."""
_PATIENCE = (0.2, 1.0, 3.0, 10.0)
"""Seconds before each further attempt when the connection is lost; all statements may be repeated."""


class PostgresStore(Store):
    """Rows of one study in a PostgreSQL database, for runs on many machines at once (extra ``postgres``).

    One database holds any number of studies, told apart by name. The password is only ever handed to the driver: messages name the
    user, host and database. Better still, leave it out of the address: the driver looks into ``PGPASSWORD`` and ``~/.pgpass``.
    """

    names: Mapping[str, str] = {
        "rows": "maci_row",
        "journal": "maci_journal",
        "mine": "study = :study",
        "study": ":study, ",
        "one": "study, life",
        "order": 'COLLATE "C"',
    }
    plan = "SELECT meta FROM maci_study WHERE name = :study"
    keep_plan = (
        "INSERT INTO maci_study VALUES (:study, :format, :meta) ON CONFLICT (name) DO UPDATE "
        "SET meta = excluded.meta, format = excluded.format",
    )

    def __init__(self, url: str, name: str, *, make: bool = True) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtra("psycopg", "postgres", "--store postgresql://…") from error
        self._psycopg, self._url, self.study = psycopg, url, name
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error as error:
            raise InputError(
                "--store is not an address of a PostgreSQL database: write postgresql://USER@HOST:PORT/DATABASE"
            ) from error
        self._secret = str(parts.get("password") or "")
        _check_hosts({option.keyword.decode(): option.val for option in psycopg.pq.Conninfo.get_defaults()}, parts)
        user, host = parts.get("user") or "", parts.get("host") or "localhost"
        port = f":{parts['port']}" if parts.get("port") else ""
        self.where = f"postgresql://{user}{'@' if user else ''}{host}{port}/{parts.get('dbname') or ''} ({name})"
        self._db: psycopg.Connection[Any] | None = None
        self._met = False
        """Whether the server ever let us in: only then is it worth waiting for."""
        found = self._at_once(self._prepare)
        if found and found[0][0] > FORMAT:
            raise StoreBroken(
                f"{self.where} was written by a newer MACI (format {found[0][0]}, this one reads {FORMAT}): upgrade, or choose "
                "another --out"
            )
        if not make and self.meta() is None:
            self.close()
            raise InputError(
                f"no study is named {name!r} in {self.where}: `maci study run SPEC.toml --store …` makes one"
            )

    def _prepare(self, do: _Do) -> list[Any]:
        for table in _POSTGRES_TABLES.split(";")[:-1]:
            do(table, {})
        return do("SELECT format FROM maci_study WHERE name = :study", {"study": self.study})

    def _do(self, statement: str, values: Mapping[str, Any]) -> list[Any]:
        return self._patiently(lambda db: _executed(db, statement, values))

    def _at_once(self, work: Callable[[_Do], _T]) -> _T:
        def whole(db: psycopg.Connection[Any]) -> _T:
            with db.transaction():
                _executed(db, "SELECT pg_advisory_xact_lock(:lock)", {"lock": _LOCK})
                return work(lambda statement, values: _executed(db, statement, values))

        return self._patiently(whole)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _patiently(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
        """Do something, over a new connection where the old one is lost."""
        for pause in (*_PATIENCE, None):
            try:
                if self._db is None:
                    self._db = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
                    self._met = True
                return work(self._db)
            except self._psycopg.Error as error:
                lost = isinstance(error, self._psycopg.OperationalError) and (self._db is None or self._db.closed)
                if lost:
                    self.close()
                if pause is None or not lost or not self._met:
                    raise self._broken(error) from None  # the driver's own error may hold the address
                time.sleep(pause)
        raise AssertionError

    def _broken(self, error: Exception) -> StoreBroken:
        said = " ".join(str(error).split())
        if self._secret:
            said = said.replace(self._secret, "…")
        return StoreBroken(
            f"the results {self.where} cannot be used ({said}): see that the server runs and this user may create tables; {GOES_ON}"
        )


def _check_hosts(usual: Mapping[str, bytes | None], parts: Mapping[str, Any]) -> None:
    """Refuse a server elsewhere while offline: the driver is a C library, and nobody sees what it connects to."""
    given = {name: value.decode() for name, value in usual.items() if value} | {k: str(v) for k, v in parts.items()}
    service = given.get("service")
    hosts = f"the service {service}" if service else given.get("hostaddr") or given.get("host") or ""
    for host in hosts.split(","):
        if host and not host.startswith(("/", "@")):  # a socket of this machine
            check_here(host)


def _executed(db: psycopg.Connection[Any], statement: str, values: Mapping[str, Any]) -> list[Any]:
    """The driver writes values as ``%(name)s``."""
    cursor = db.execute(re.sub(r":(\w+)", r"%(\1)s", statement), values)
    return cursor.fetchall() if cursor.description else []


def open_store(out: Path, url: str | None = None, *, name: str = "", make: bool = True) -> Store:
    """The store of a results folder, or of the database at ``url``; there ``name`` tells studies apart."""
    if url is None:
        return SqliteStore(out / FILE, make=make)
    if not url.startswith(("postgresql://", "postgres://")):
        scheme = url.partition(":")[0]
        raise InputError(
            f"--store {scheme}:…: only postgresql://USER@HOST/DATABASE is known; without --store it is a file in --out"
        )
    return PostgresStore(url, name, make=make)
