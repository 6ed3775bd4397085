"""Rows in PostgreSQL, for runs on many machines at once (extra ``postgres``).

One database holds any number of studies, told apart by name. The password is only ever handed to the driver: messages name the
user, host and database. Better still, leave it out of the address: the driver looks into ``PGPASSWORD`` and ``~/.pgpass``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar

from maci.errors import InputError, MissingExtra
from maci.lab.study.rows import Key, Row
from maci.lab.study.store import FORMAT, Meta, Status, StoreBroken, admit, conflict, within
from maci.llm.usage import Bound

if TYPE_CHECKING:
    import psycopg


_LOCK = 0x6D616369
"""Of the advisory lock under which tables are made and plans written."""
_PATIENCE = (0.2, 1.0, 3.0, 10.0)
"""Seconds before each further attempt when the connection is lost; all statements may be repeated."""
_TABLES = """
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
_ONE = (
    "SELECT row FROM maci_row WHERE study = %s AND data = %s AND seed = %s AND part = %s AND item = %s AND method = %s"
)
_DROP = "DELETE FROM maci_row WHERE study = %s AND data = %s AND seed = %s AND part = %s AND item = %s AND method = %s"
_SOME = """
SELECT row FROM maci_row
WHERE study = %(study)s AND (%(data)s::text IS NULL OR data = %(data)s) AND (%(seed)s::bigint IS NULL OR seed = %(seed)s)
    AND (%(part)s::text IS NULL OR part = %(part)s) AND (%(method)s::text IS NULL OR method = %(method)s)
ORDER BY data COLLATE "C", seed, part COLLATE "C", item COLLATE "C", method COLLATE "C"
"""
_SPENT = """
SELECT coalesce(sum(tokens + aside_tokens), 0), coalesce(sum(usd + aside_usd), 0) FROM maci_journal WHERE study = %s
"""

_T = TypeVar("_T")


class PostgresStore:
    """Rows of one study in a database."""

    def __init__(self, url: str, name: str, *, make: bool = True) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtra("psycopg", "postgres", "--store postgresql://…") from error
        self._psycopg, self._url, self.name = psycopg, url, name
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error as error:
            raise InputError(
                "--store is not an address of a PostgreSQL database: write postgresql://USER@HOST:PORT/DATABASE"
            ) from error
        self._secret = str(parts.get("password") or "")
        user, host = parts.get("user") or "", parts.get("host") or "localhost"
        port = f":{parts['port']}" if parts.get("port") else ""
        self.where = f"postgresql://{user}{'@' if user else ''}{host}{port}/{parts.get('dbname') or ''} ({name})"
        self._db: psycopg.Connection[Any] | None = None
        self._met = False
        """Whether the server ever let us in: only then is it worth waiting for."""
        self._do(self._prepare)
        if not make and self.meta() is None:
            self.close()
            raise InputError(
                f"no study is named {name!r} in {self.where}: `maci study run SPEC.toml --store …` makes one"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self, db: psycopg.Connection[Any]) -> None:
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            db.execute(_TABLES)
            found = db.execute("SELECT format FROM maci_study WHERE name = %s", (self.name,)).fetchone()
        if found is not None and found[0] > FORMAT:
            raise StoreBroken(
                f"{self.where} was written by a newer MACI (format {found[0]}, this one reads {FORMAT}): upgrade, or choose "
                "another --out"
            )

    def begin(self, meta: Meta) -> Meta:
        """Write the plan down, unless another study has this name."""

        def work(db: psycopg.Connection[Any]) -> Meta:
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                found = db.execute("SELECT meta FROM maci_study WHERE name = %s", (self.name,)).fetchone()
                old = None if found is None else Meta.model_validate_json(found[0])
                settled = meta if old is None else admit(old, meta, self.where)
                db.execute(
                    "INSERT INTO maci_study VALUES (%s, %s, %s) ON CONFLICT (name) DO UPDATE "
                    "SET meta = excluded.meta, format = excluded.format",
                    (self.name, FORMAT, settled.model_dump_json()),
                )
            return settled

        return self._do(work)

    def meta(self) -> Meta | None:
        """The plan."""
        found = self._select("SELECT meta FROM maci_study WHERE name = %s", (self.name,))
        return Meta.model_validate_json(found[0][0]) if found else None

    def put(self, row: Row) -> bool:
        """One statement, and another where the key was there."""
        values = (self.name, *row.key, row.status, row.model_dump_json())
        added = self._select(
            "INSERT INTO maci_row VALUES (%s,%s,%s,%s,%s,%s,%s,%s) ON CONFLICT DO NOTHING RETURNING 1", values
        )
        if added:
            return True
        there = self._select(_ONE, (self.name, *row.key))
        if there and (error := conflict(row, Row.model_validate_json(there[0][0]), self.where)) is not None:
            raise error
        return False

    def drop(self, keys: Iterable[Key]) -> None:
        """Delete the rows of these keys."""
        for key in keys:
            self._do(lambda db, key=key: db.execute(_DROP, (self.name, *key)))  # type: ignore[misc]

    def keys(self) -> dict[Key, Status]:
        """All keys with how their rows ended."""
        found = self._select(
            "SELECT data, seed, part, item, method, status FROM maci_row WHERE study = %s", (self.name,)
        )
        return {Key(*entry[:5]): entry[5] for entry in found}

    def has(self, key: Key) -> bool:
        """Look the key up."""
        return bool(self._select(_ONE, (self.name, *key)))

    def rows(
        self, *, data: str | None = None, seed: int | None = None, part: str | None = None, method: str | None = None
    ) -> Iterator[Row]:
        """The rows that have all that is given."""
        given = {"study": self.name, "data": data, "seed": seed, "part": part, "method": method}
        found, planned = self._select(_SOME, given), within(self.meta())
        yield from filter(planned, (Row.model_validate_json(text) for (text,) in found))

    def spent(self) -> Bound:
        """The sum over all runs."""
        ((tokens, usd),) = self._select(_SPENT, (self.name,))
        return Bound(int(tokens), float(usd))

    def journal(self, life: str, spent: Bound, aside: Bound) -> Bound:
        """One row for each run; the sum of all."""
        self._do(
            lambda db: db.execute(
                "INSERT INTO maci_journal VALUES (%s,%s,%s,%s,%s,%s) ON CONFLICT (study, life) DO UPDATE SET "
                "tokens = excluded.tokens, usd = excluded.usd, "
                "aside_tokens = excluded.aside_tokens, aside_usd = excluded.aside_usd",
                (self.name, life, *spent, *aside),
            )
        )
        return self.spent()

    def close(self) -> None:
        """Let go of the connection."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _select(self, statement: str, values: Any) -> list[Any]:
        return self._do(lambda db: db.execute(statement, values).fetchall())

    def _do(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T:
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
            f"the results {self.where} cannot be used ({said}): see that the server runs and this user may create tables; "
            "what is done is kept, and the same command goes on from there"
        )
