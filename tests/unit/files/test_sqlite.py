"""Files of ours that several open in the moment they are made."""

from __future__ import annotations

import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from maci.calibration.schedules import Schedules
from maci.errors import EvidenceError, exit_code
from maci.evidence.corpus import Index
from maci.files.sqlite import SqliteFile
from maci.lab.study.store import SqliteStore
from maci.llm.cache import ReplyFile

AT_ONCE, TIMES = 6, 20
OPEN = {
    "results": lambda folder: SqliteStore(folder / "results.sqlite"),
    "schedules": lambda folder: Schedules(folder / "schedules.sqlite"),
    "replies": lambda folder: closing(ReplyFile(folder / "replies.sqlite")),
    "index": lambda folder: Index(folder, create=True),
}


@pytest.mark.parametrize("kind", OPEN)
def test_a_file_can_be_opened_while_another_makes_it(tmp_path, kind):
    errors = []

    def enter(folder, barrier):
        barrier.wait()
        try:
            with OPEN[kind](folder):
                pass
        except Exception as error:
            errors.append(error)

    for time in range(TIMES):
        folder, barrier = tmp_path / str(time), threading.Barrier(AT_ONCE)
        folder.mkdir()
        threads = [threading.Thread(target=enter, args=(folder, barrier)) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


@pytest.mark.parametrize(
    ("error", "exit"), [("database or disk is full", 3), ("database is locked", 3), ("not a database", 2)]
)
def test_a_full_disk_is_a_fault_of_the_machine_and_a_damaged_file_one_of_the_file(
    tmp_path: Path, error: str, exit: int
) -> None:
    with SqliteFile(
        tmp_path / "x.sqlite",
        "CREATE TABLE IF NOT EXISTS a (b);",
        1,
        name="x",
        elsewhere="y",
        steps={"damaged": "z"},
        error=EvidenceError,
    ) as file:
        assert exit_code(file.broken(sqlite3.OperationalError(error))) == exit


def test_a_file_that_nobody_holds_any_more_is_closed(tmp_path):
    file = Schedules(tmp_path / "schedules.sqlite")
    connection = file.db
    del file
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
