"""`kill -9` at any moment: the same command goes on, no row is missing, doubled or different. Ctrl-C likewise, with good manners."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from maci.lab.study.store import SqliteStore
from study_helpers import Runs, kept, spec_data, toml, write_cases

METHODS = [
    {"use": "single", "each": True},
    {"use": "average"},
    {"use": "du_debate"},
    {"use": "majority_vote", "n": 9},
    {"use": "maci"},
]
ROWS = 16 * 2 * 7


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cases(tmp_path, 16)
    (tmp_path / "study.toml").write_text(toml(spec_data(methods=METHODS)), encoding="utf-8")
    return tmp_path


@pytest.fixture
def runs(folder: Path) -> Iterator[Runs]:
    with Runs(folder) as started:
        yield started


def count(path: Path) -> int:
    """Rows by now, read as another process would."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM rows").fetchone()[0])
    return 0


def anybody(group: int) -> bool:
    """Whether a process of the group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_again_and_again_it_ends_with_the_same_rows(folder, runs):
    runs.finish("--out", "whole")
    chance, path, kills = random.Random(5), folder / "killed" / "results.sqlite", 0
    for target in (0, 1, 20, 60, 61, 120, ROWS - 8):
        process = runs.start("--out", "killed")
        runs.wait(process, partial(count, path), target)
        time.sleep(chance.random() * 0.03)
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills >= 5
    assert f"{ROWS} of {ROWS} answers" in runs.finish("--out", "killed")
    whole = kept(folder / "whole")
    assert len(whole) == ROWS and kept(folder / "killed") == whole


def test_worker_processes_end_with_the_one_that_started_them(folder, runs):
    process = runs.start("--out", "killed", "--jobs", "2")
    runs.wait(process, lambda: count(folder / "killed" / "results.sqlite"), 10)
    process.kill()
    process.wait()
    patience = time.monotonic() + 30
    while (alive := anybody(process.pid)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not alive
    process.communicate()
    runs.finish("--out", "killed", "--jobs", "2")
    runs.finish("--out", "whole")
    assert kept(folder / "killed") == kept(folder / "whole")


@pytest.mark.parametrize(("jobs", "stop"), [("1", signal.SIGINT), ("2", signal.SIGINT), ("2", signal.SIGTERM)])
def test_ctrl_c_and_sigterm_keep_everything_and_say_how_to_go_on(folder, runs, jobs, stop):
    process = runs.start("--out", "out", "--jobs", jobs)
    runs.wait(process, lambda: count(folder / "out" / "results.sqlite"), 10)
    if stop == signal.SIGINT:
        os.killpg(process.pid, stop)  # as a terminal does
    else:
        process.send_signal(stop)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert "Continue with: maci study run study.toml --out out" in err
    with SqliteStore(folder / "out" / "results.sqlite") as store:
        there = len(store.keys())
    assert 10 <= there < ROWS
    assert f"{ROWS} of {ROWS} answers, {ROWS - there} of them new" in runs.finish("--out", "out")
