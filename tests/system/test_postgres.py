"""Studies kept in a real PostgreSQL server, which the tests start themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from postgres_server import PASSWORD, binaries, postgres
from study_helpers import Runs, kept, make_row, spec_data, telling, toml, write_cases

pytestmark = pytest.mark.system
pytest.importorskip("psycopg", reason="needs the extra `postgres`")
if binaries() is None:
    pytest.skip("needs PostgreSQL's programs: apt-get install postgresql", allow_module_level=True)

ROOT = Path(__file__).parents[2]
METHODS = [{"use": "single", "each": True}, {"use": "average"}, {"use": "majority_vote", "n": 9}]
CASES = 48
ROWS = CASES * 2 * 5


@pytest.fixture(scope="module")
def server():
    with postgres() as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    write_cases(tmp_path, CASES)
    (tmp_path / "study.toml").write_text(toml(spec_data(methods=METHODS)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def runs(folder):
    with Runs(folder) as started:
        yield started


def store(server, name):
    from maci.lab.study.store import PostgresStore

    return PostgresStore(server.url, name)


def rows_of(server, name):
    with store(server, name) as there:
        return {row.key: telling(row) for row in there.rows()}


def count(server, name):
    with store(server, name) as there:
        return len(there.keys())


def test_the_contract_of_stores(server):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/contracts/test_stores.py", "-k", "postgres and not sqlite",
         "-rs", "-p", "no:cacheprovider"],
        cwd=ROOT, env={**os.environ, "MACI_TEST_POSTGRES": server.url}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and "SKIPPED" not in done.stdout, done.stdout[-3000:]


def test_two_runs_one_of_them_killed_make_the_rows_of_one(server, folder, runs):
    runs.finish("--out", "file")
    here = ("--store", server.url, "--out", "many")
    one, two = runs.start(*here), runs.start(*here)
    runs.wait(one, lambda: count(server, "many"), 20)
    one.kill()
    one.communicate()
    assert PASSWORD not in runs.end(two)
    assert f"{ROWS} of {ROWS} answers, 0 of them new" in runs.finish(*here)
    assert rows_of(server, "many") == kept(folder / "file")
    assert not (folder / "many").exists()


def test_a_server_that_goes_away_for_a_moment_is_waited_for(server, runs):
    process = runs.start("--store", server.url, "--out", "patient")
    runs.wait(process, lambda: count(server, "patient"), 10)
    server.stop()
    server.start()
    runs.end(process)
    assert len(rows_of(server, "patient")) == ROWS


def test_a_server_that_stays_away_ends_the_run_which_can_go_on_later(server, runs):
    process = runs.start("--store", server.url, "--out", "broken")
    runs.wait(process, lambda: count(server, "broken"), 10)
    server.stop()
    try:
        _, err = process.communicate(timeout=120)
    finally:
        server.start()
    assert process.returncode == 3 and PASSWORD not in err and "Traceback" not in err
    assert "what is done is kept, and the same command continues from there" in err
    runs.finish("--store", server.url, "--out", "broken")
    assert len(rows_of(server, "broken")) == ROWS


def test_the_password_is_never_shown_and_never_kept(server, folder, runs):
    wrong = server.url.replace(PASSWORD, "wr0ng-pa55word")
    process = runs.start("--store", wrong, "--out", "secret")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and "password authentication failed" in err and "wr0ng" not in out + err
    process = runs.start("--store", server.url, "--out", "secret", "--limit", "1")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and PASSWORD not in out + err
    import psycopg

    with psycopg.connect(server.url) as db:
        text = "".join(
            str(db.execute(f"SELECT * FROM {table}").fetchall()) for table in ("maci_study", "maci_row", "maci_journal")
        )
    assert text and PASSWORD not in text
    assert not any(PASSWORD.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_rows_from_many_threads_are_kept_once(server):
    rows = [make_row(f"c{i}") for i in range(30)]
    added: list[bool] = []

    def write() -> None:
        with store(server, "threads") as there:
            added.extend([there.put(row) for row in rows])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert added.count(True) == 30 and len(added) == 120
    assert len(rows_of(server, "threads")) == 30
