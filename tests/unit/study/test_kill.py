"""`kill -9` at any moment: the same command goes on, no row is missing, doubled or different. Ctrl-C likewise, with good manners."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from maci.study.store import SqliteStore
from study_helpers import kept, spec_data, toml, write_cases

MACI = str(Path(sys.executable).parent / "maci")
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


def start(folder: Path, out: str, *more: str) -> subprocess.Popen[str]:
    command = [MACI, "study", "run", "study.toml", "--out", out, "--plain", *more]
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("MACI_", "PYTHONHASHSEED"))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environ, text=True, start_new_session=True, **pipes)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def count(path: Path) -> int:
    """Rows by now, read as another process would."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM rows").fetchone()[0])
    return 0


def wait_for(process: subprocess.Popen[str], path: Path, rows: int) -> None:
    """Until there are so many rows, or the run has ended."""
    patience = time.monotonic() + 60
    while process.poll() is None and count(path) < rows and time.monotonic() < patience:
        time.sleep(0.005)


def anybody(group: int) -> bool:
    """Whether a process of the group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_again_and_again_it_ends_with_the_same_rows(folder):
    finish(start(folder, "whole"))
    chance, path, kills = random.Random(5), folder / "killed" / "results.sqlite", 0
    for target in (0, 1, 20, 60, 61, 120, ROWS - 8):
        process = start(folder, "killed")
        wait_for(process, path, target)
        time.sleep(chance.random() * 0.03)
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills >= 5
    assert f"{ROWS} of {ROWS} answers" in finish(start(folder, "killed"))
    whole = kept(folder / "whole")
    assert len(whole) == ROWS and kept(folder / "killed") == whole


def test_worker_processes_end_with_the_one_that_started_them(folder):
    process = start(folder, "killed", "--jobs", "2")
    wait_for(process, folder / "killed" / "results.sqlite", 10)
    process.kill()
    process.wait()
    patience = time.monotonic() + 30
    while (alive := anybody(process.pid)) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not alive
    process.communicate()
    finish(start(folder, "killed", "--jobs", "2"))
    finish(start(folder, "whole"))
    assert kept(folder / "killed") == kept(folder / "whole")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_everything_and_says_how_to_go_on(folder, jobs):
    process = start(folder, "out", "--jobs", jobs)
    wait_for(process, folder / "out" / "results.sqlite", 10)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert "Go on with: maci study run study.toml --out out" in err
    with SqliteStore(folder / "out" / "results.sqlite") as store:
        there = len(store.keys())
    assert 10 <= there < ROWS
    assert f"{ROWS} of {ROWS} answers, {ROWS - there} of them new" in finish(start(folder, "out"))
