"""A response cache that is asked often knows its keys, and still finds what is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from maci.files.sqlite import SqliteFile
from maci.llm import cache as _disk
from maci.llm.cache import ResponseCache
from maci.llm.model import Reply


def key(n: int) -> bytes:
    return n.to_bytes(32, "big")


async def ask(cache: ResponseCache, numbers: range) -> list[int]:
    return [n for n in numbers if await cache.get(key(n)) is not None]


@pytest.mark.parametrize("many", [300_000, 20])
def test_what_is_there_is_found_however_often_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(_disk, "_MANY", many)
    monkeypatch.setattr(_disk, "_MOMENT", 0.0)

    async def go() -> None:
        first, other = ResponseCache(tmp_path / "x.sqlite"), ResponseCache(tmp_path / "x.sqlite")
        for n in range(0, 50, 2):
            await first.put(key(n), Reply(text=str(n)))
        for _ in range(4):
            assert await ask(first, range(50)) == list(range(0, 50, 2))
        await first.put(key(1), Reply(text="1"))
        assert await ask(first, range(3)) == [0, 1, 2]
        await other.put(key(3), Reply(text="3"))  # another process
        assert await ask(first, range(4)) == [0, 1, 2, 3]
        await first.aclose()
        await other.aclose()

    asyncio.run(go())


def test_who_asks_often_for_what_is_not_there_reads_the_file_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    select = SqliteFile.do

    def counted(self, statement, values=()):
        nonlocal looks
        looks += statement.startswith("SELECT")
        return select(self, statement, values)

    monkeypatch.setattr(SqliteFile, "do", counted)
    monkeypatch.setattr(_disk, "_MOMENT", 3600.0)
    cache = ResponseCache(tmp_path / "x.sqlite")
    assert asyncio.run(ask(cache, range(1000))) == []
    cache.close()
    assert looks <= 103  # opening it is one, too
