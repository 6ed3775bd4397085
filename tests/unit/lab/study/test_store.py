"""The SQLite store where things go wrong, and exports."""

from __future__ import annotations

import csv
import json
import sqlite3

import pytest

from maci.errors import EnvironmentError_, InputError, MissingExtra
from maci.lab.study.report.render import export
from maci.lab.study.store import SqliteStore, StoreBroken, open_store
from study_helpers import make_meta, make_row


def test_a_full_disk_ends_the_writing_and_loses_nothing(tmp_path):
    with SqliteStore(tmp_path / "results.sqlite") as store:
        store.begin(make_meta())
        store.put(make_row("c1"))
        pages = store._do("PRAGMA page_count", {})[0][0]
        store._do(f"PRAGMA max_page_count = {pages}", {})
        text = "x" * 5000
        with pytest.raises(
            StoreBroken, match=r"full.*free some space there; what is done is kept, and the same command"
        ):
            store.put(make_row("c2", reason=text * 10))
        n = len(store.keys())
    assert StoreBroken.exit == 3 and n == 1
    with SqliteStore(tmp_path / "results.sqlite") as store:
        assert len(list(store.rows())) == n
        assert store.put(make_row("c9999"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreBroken, match="make its folder writable, or choose another --out"):
        SqliteStore(tmp_path / "file" / "results.sqlite")


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "results.sqlite"
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreBroken, match=r"written by a newer MACI \(format 99, this one reads 2\): upgrade"):
        SqliteStore(path)


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 30, None])
def test_what_is_not_a_store_is_left_alone(tmp_path, content):
    path = tmp_path / "results.sqlite"
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE mine (x)")
        db.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StoreBroken, match="choose another --out"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_results_that_are_not_there_are_not_made_by_reading(tmp_path):
    with pytest.raises(InputError, match=r"no results at .*: `maci study run SPEC.toml --out"):
        open_store(tmp_path / "none", make=False)
    assert not (tmp_path / "none").exists()


def test_an_unknown_kind_of_store_is_refused_without_its_secrets(tmp_path):
    with pytest.raises(InputError) as refused:
        open_store(tmp_path, "mysql://me:secret@host/db")
    assert "postgresql://USER@HOST/DATABASE" in str(refused.value) and "secret" not in str(refused.value)


def test_a_closed_store_says_so(tmp_path):
    store = SqliteStore(tmp_path / "results.sqlite")
    store.close()
    with pytest.raises(StoreBroken, match="is closed"):
        store.keys()


ROWS = [make_row("c1"), make_row("c2", status="failed", belief=None, reason="no, answer", course=(), q0=None)]


DERIVED = ("answer", "confidence", "correct", "tokens", "judge_tokens", "context")


def test_json_lines_are_the_rows_with_what_a_table_would_say(tmp_path):
    assert export(iter(ROWS), "jsonl", tmp_path / "sub" / "rows.jsonl", {("tiny", "c1"): "It hürts."}) == 2
    lines = [json.loads(line) for line in (tmp_path / "sub" / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    said = [tuple(line.pop(name) for name in DERIVED) for line in lines]
    assert said == [("gout", 0.7, True, 120, 0, "It hürts."), (None, None, None, 120, 0, None)]
    assert [type(ROWS[0]).model_validate(line) for line in lines] == ROWS


def test_csv_has_one_flat_line_for_each_row_and_nothing_for_what_is_unknown(tmp_path):
    export(ROWS, "csv", tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["answer"], first["confidence"], first["tokens"], first["usd"]) == ("gout", "0.7", "120", "0.01")
    assert (first["correct"], second["correct"], first["context"]) == ("1", "", "")
    assert json.loads(first["belief"]) == ROWS[0].belief
    assert (second["answer"], second["belief"], second["q0"], second["reason"]) == ("", "", "", "no, answer")


def test_parquet_has_the_same_columns_typed(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export(ROWS, "parquet", tmp_path / "rows.parquet") == 2
    table = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert (table[0]["confidence"], table[0]["seed"], table[1]["q0"], table[1]["answer"]) == (0.7, 0, None, None)


def test_parquet_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"Parquet needs the package 'pyarrow': .*\[eval\]"):
        export(ROWS, "parquet", tmp_path / "rows.parquet")
    assert not (tmp_path / "rows.parquet").exists()


def test_exports_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(InputError, match="--format 'xlsx': choose one of jsonl, csv, parquet"):
        export(ROWS, "xlsx", tmp_path / "rows")
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentError_, match="cannot write"):
        export(ROWS, "csv", tmp_path / "file" / "rows.csv")
