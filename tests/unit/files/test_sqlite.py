"""Files of ours that several open in the moment they are made."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from maci.calibration.schedules import Schedules
from maci.evidence.corpus import Index
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
