"""Nothing of a debate stays in memory once it is over, and all debates share one encoder. `make test-long` has the long version."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from maci.agents.library import Library
from maci.debating.calls import Calls
from maci.evidence.encode import AdaptedEncoder, load_encoder
from maci.evidence.shipped import WordLlamaEncoder
from maci.seating.seating import PanelChoice
from maci.seating.shelf import Shelf
from maci.seating.table import Table
from maci.story import Story
from maci.web.desk import Run
from maci.web.live import Live
from soak.memory import read, tiny
from web_helpers import Browser, Held, tables, visit

HEAVY = (AdaptedEncoder, Calls, Library, Live, Run, Shelf, Story, Table, WordLlamaEncoder)


def alive() -> Counter[str]:
    """How many of the large things there are, without the help of a collector of cycles."""
    return Counter(type(item).__name__ for item in gc.get_objects() if isinstance(item, HEAVY))


def debates(folder: Path, count: int, case: Any) -> Counter[str]:
    """What ``count`` debates through the web app leave behind."""
    load_encoder()

    async def walk(browser: Browser) -> Counter[str]:
        for number in range(count):
            run = await browser.desk.start(case(number), PanelChoice(panel="readers", seed=number))
            await run.over.wait()
            assert run.finished is not None, run.error
        del run
        for _ in range(100):  # the last thread may still be ending
            if (left := alive() - before) == Counter():
                break
            await asyncio.sleep(0.05)
        return left

    gc.collect()
    before = alive()
    gc.disable()
    try:
        left: Counter[str] = visit(folder, walk)
        return left
    finally:
        gc.enable()


def test_debates_of_readers_leave_nothing_behind(tmp_path: Path) -> None:
    assert debates(tmp_path, 12, read) == Counter()


def test_hundreds_of_tiny_debates_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tables(monkeypatch, Held()):
        assert debates(tmp_path, 300, tiny) == Counter()


def test_a_process_has_one_encoder_of_a_name_even_when_threads_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()

    class Slow:
        name = "slow/1"

        def __init__(self, *args: object, **more: object) -> None:
            made.append(self.name)

    async def ask() -> list[object]:
        return await asyncio.gather(*(asyncio.to_thread(load_encoder, "wordllama") for _ in range(8)))

    monkeypatch.setattr("maci.evidence.encode._loaded", {})
    monkeypatch.setattr("maci.evidence.shipped.WordLlamaEncoder", Slow)
    found = asyncio.run(ask())
    assert made == ["slow/1"]
    assert all(each is found[0] for each in found)
