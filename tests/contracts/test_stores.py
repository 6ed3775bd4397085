"""What every store does: SQLite always, PostgreSQL where MACI_TEST_POSTGRES names a server (`make test-system` starts one).

Without a server PostgreSQL's statements are tried on SQLite, which understands them all but for the lock and how values are written.
"""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maci.errors import CheckFailed, InputError
from maci.lab.study.store import PostgresStore, SqliteStore, Store
from maci.lab.study.study import Meta
from maci.llm.usage import Bound, Usage
from study_helpers import make_meta, make_row

POSTGRES = os.environ.get("MACI_TEST_POSTGRES")


class StandIn:
    """A connection that gives PostgreSQL's statements to SQLite."""

    closed = False

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._db.create_collation("C", lambda a, b: (a.encode() > b.encode()) - (a.encode() < b.encode()))
        self._db.create_function("pg_advisory_xact_lock", 1, lambda lock: None)
        self.close = self._db.close

    def execute(self, statement, values):
        return self._db.execute(re.sub(r"%\((\w+)\)s", r":\1", statement), values)

    @contextmanager
    def transaction(self):
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


@pytest.fixture(params=["sqlite", "postgres", "postgres on sqlite"])
def opened(request, tmp_path, monkeypatch) -> Iterator[Callable[[], Store]]:
    """Opens the same store again and again, as many processes would."""
    stores: list[Store] = []
    name = f"t{uuid.uuid4().hex}"
    url = POSTGRES or "postgresql://nobody@nowhere/nothing"
    if request.param == "postgres" and not POSTGRES:
        pytest.skip("no PostgreSQL server: set MACI_TEST_POSTGRES=postgresql://…")
    if request.param == "postgres on sqlite":
        psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
        monkeypatch.setattr(psycopg, "connect", lambda *_, **__: StandIn(tmp_path / "stand-in.sqlite"))

    def make() -> Store:
        if request.param == "sqlite":
            stores.append(SqliteStore(tmp_path / "results.sqlite"))
        else:
            stores.append(PostgresStore(url, name))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def test_a_row_comes_back_as_it_was_put_also_in_another_process(opened):
    row = make_row()
    store = opened()
    assert store.put(row) is True
    assert list(opened().rows()) == [row]
    assert store.keys() == {row.key: "done"} and store.has(row.key)
    assert not store.has(make_row("c2").key)


def test_the_first_of_two_equal_rows_stays(opened):
    store, first = opened(), make_row(seconds=1.0)
    assert store.put(first) is True
    again = make_row(seconds=2.0, usage=Usage(prompt=100, generated=20, free=True, kept=True))
    assert store.put(again) is False
    assert list(store.rows()) == [first]


def test_a_second_row_that_says_something_else_is_refused_and_nothing_changes(opened):
    store, first = opened(), make_row()
    store.put(first)
    with pytest.raises(CheckFailed, match=r"another row for tiny/0/test/c1/maci \(belief differ\)"):
        store.put(make_row(belief={"gout": 0.6, "flu": 0.3, "hay fever": 0.1}))
    with pytest.raises(CheckFailed, match="usage differ"):
        store.put(make_row(usage=Usage(prompt=101, generated=20, usd=0.01)))
    assert list(store.rows()) == [first]


def test_rows_are_ordered_by_their_keys(opened):
    store = opened()
    rows = [make_row(f"c{i}", seed=s, method=m) for i in (2, 1) for s in (1, 0) for m in ("maci", "Average")]
    for row in rows:
        store.put(row)
    assert [row.key for row in store.rows()] == sorted(row.key for row in rows)


def test_rows_are_read_in_parts_and_none_is_lost_or_doubled(opened, monkeypatch):
    monkeypatch.setattr("maci.lab.study.store._AT_ONCE", 2)
    store, rows = opened(), []
    for data in ("a", "b"):
        for part in ("dev", "test"):
            rows += [make_row(f"c{i}", data=data, part=part, method=m) for i in range(5) for m in ("maci", "single")]
    for row in reversed(rows):
        store.put(row)
    assert list(opened().rows()) == rows


def test_dropped_rows_can_be_put_anew(opened):
    store = opened()
    store.put(make_row(status="failed", belief=None, reason="no answer", course=()))
    assert store.keys() == {make_row().key: "failed"}
    store.drop([make_row().key])
    assert store.put(make_row()) is True and store.keys() == {make_row().key: "done"}


def test_a_study_goes_on_and_another_is_refused_with_what_differs(opened):
    store = opened()
    assert store.meta() is None
    first = store.begin(make_meta(about="first"))
    assert first == store.meta()
    again = opened().begin(make_meta(about="second", limit=5))
    assert again.created == first.created and again.spec.limit == 5
    with pytest.raises(
        InputError, match=r"results of another study \(seeds was \[0, 1\], is \[3\]\): choose another --out"
    ):
        store.begin(make_meta(seeds=[3]))
    assert store.meta() == again


def test_a_method_can_be_added_and_none_be_changed_or_left_out(opened):
    store, methods = opened(), make_meta().identity["methods"]
    first = store.begin(make_meta())
    more = store.begin(make_meta(methods=[{"use": "dmad"}, *methods]))  # wherever it stands in the spec
    assert more.created == first.created and store.meta() == more != first
    told = r"results of another study \(methods was \[.*\"dmad\".*Methods may be added"
    with pytest.raises(InputError, match=told):
        store.begin(make_meta())
    with pytest.raises(InputError, match=r"methods was \[\{\"use\": \"dmad\".*is \[\{\"use\": \"dmad\".*\"rounds\": 3"):
        store.begin(make_meta(methods=[*methods, {"use": "dmad", "rounds": 3}]))
    with pytest.raises(InputError, match=r"another study \(seeds was \[0, 1\], is \[3\]\): .*begin again\.$"):
        store.begin(make_meta(methods=[*methods, {"use": "dmad"}, {"use": "mad"}], seeds=[3]))
    assert store.meta() == more


def test_rows_outside_the_plan_are_kept_and_not_read(opened):
    store = opened()
    rows = [make_row(f"c{i}") for i in (1, 2)]
    for row in rows:
        store.put(row)
    method = {"name": "maci", "use": "maci", "of": "maci"}
    plans = [
        Meta.model_validate(
            {**make_meta().model_dump(), "items": {"tiny": {0: {"test": items}}}, "methods": {"tiny": [method]}}
        )
        for items in (["c1"], ["c1", "c2", "c3"])
    ]
    store.begin(plans[0])
    assert list(opened().rows()) == rows[:1] and len(store.keys()) == 2
    store.begin(plans[1])
    assert list(opened().rows()) == rows


def test_other_files_are_another_study(opened):
    store, plain = opened(), make_meta()

    def of(**files):
        return plain.model_copy(
            update={"identity": {**plain.identity, "files": {"tiny": files}}, "fingerprint": str(files)}
        )

    store.begin(plain)  # of a time when files were not looked at
    store.begin(of(**{"a.csv": "1", "b.csv": "1"}))
    with pytest.raises(InputError, match=r"^a\.csv, b\.csv have changed since this study began .*choose another --out"):
        store.begin(of(**{"a.csv": "2", "b.csv": "2"}))
    with pytest.raises(InputError, match=r"^b\.csv has changed"):
        opened().begin(of(**{"a.csv": "1", "b.csv": "2"}))


def test_what_was_set_aside_by_a_run_that_broke_off_counts_in_full(opened):
    store = opened()
    assert store.spent() == Bound(0, 0.0)
    assert store.journal("first", Bound(100, 0.5), Bound(0, 0.0)) == Bound(100, 0.5)
    store.journal("second", Bound(10, 0.0), Bound(40, 0.25))
    assert opened().spent() == Bound(150, 0.75)
    assert store.journal("second", Bound(30, 0.125), Bound(0, 0.0)) == Bound(130, 0.625)


def test_names_of_any_kind_are_kept(opened):
    store = opened()
    row = make_row("'; DROP TABLE rows; --", method="mäci/β", group="\n", reason="\u2028 “quoted”")
    store.put(row)
    assert list(store.rows()) == [row]
