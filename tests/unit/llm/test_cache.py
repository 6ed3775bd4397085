"""The response cache: what was put and acknowledged is there, whatever happens afterwards."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from maci.errors import EnvironmentError_
from maci.llm import cache as _disk
from maci.llm.cache import ResponseCache, request_key
from maci.llm.model import Message, Reply, Request, Schema, Token
from maci.llm.usage import Usage
from maci.paths import replies_file

REQUEST = Request(
    messages=(Message("system", "You debate."), Message("user", "What is it?")),
    max_tokens=100,
    schema=Schema("answer", {"type": "object"}),
    temperature=0.7,
    seed=3,
)
REPLY = Reply(
    text="Dengue, é — \ud800",
    usage=Usage(prompt=120, cached=80, generated=30, usd=0.5),
    truncated=True,
    model="m-1",
    logprobs=(Token("Den", -0.1, (("Den", -0.1), ("Zi", float("-inf")))), Token("gue", -0.2)),
)


def key(i: int = 0) -> bytes:
    return request_key({"model": "m"}, replace(REQUEST, sample=i))


def test_a_reply_comes_back_as_it_was_but_nobody_pays_again(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "deep" / "replies.sqlite")
        assert await cache.get(key()) is None
        await cache.put(key(), REPLY)
        hit = await cache.get(key())
        await cache.aclose()
        again = Usage(prompt=120, cached=80, generated=30, usd=0.0, free=True, kept=True, saved=REPLY.usage.usd)
        assert hit == replace(REPLY, usage=again) and REPLY.usage.usd > 0
        assert hit.usage.tokens == 150 and not hit.usage.paid

    asyncio.run(main())


def test_a_cache_in_memory_is_not_durable(tmp_path):
    async def main() -> None:
        cache = ResponseCache()
        await cache.put(key(), REPLY)
        hit = await cache.get(key())
        assert hit is not None and hit.text == REPLY.text and hit.usage.free and not hit.usage.kept
        assert not cache.durable and await ResponseCache().get(key()) is None
        await cache.aclose()

    asyncio.run(main())


def test_everything_that_decides_a_reply_is_in_its_key():
    identity = {"api": "a", "model": "m"}
    others = [
        replace(REQUEST, messages=REQUEST.messages[:1]),
        replace(REQUEST, messages=(Message("user", "You debate."), Message("user", "What is it?"))),
        replace(REQUEST, messages=(Message("system", "You debate.W"), Message("user", "hat is it?"))),
        replace(REQUEST, max_tokens=101),
        replace(REQUEST, schema=None),
        replace(REQUEST, schema=Schema("answer", {"type": "array"})),
        replace(REQUEST, schema=Schema("other", {"type": "object"})),
        replace(REQUEST, temperature=0.8),
        replace(REQUEST, temperature=None),
        replace(REQUEST, seed=4),
        replace(REQUEST, seed=None),
        replace(REQUEST, sample=1),
        replace(REQUEST, top_logprobs=3),
    ]
    keys = {request_key(identity, request) for request in [REQUEST, *others]}
    keys |= {request_key({"api": "a", "model": "n"}, REQUEST)}
    assert len(keys) == len(others) + 2
    assert request_key({"model": "m", "api": "a"}, replace(REQUEST)) == request_key(identity, REQUEST)


def test_a_key_is_the_same_in_every_version_of_this_code():
    """A change here makes every cache useless: raise the format and say so in the change log."""
    assert key().hex() == "f126f76a3b2a0f6255c4d9c569d3ac12fa984693cd2d429e463fe91fcbb1954a"


def test_hundreds_of_puts_at_once_cost_a_few_transactions(tmp_path, monkeypatch):
    batches = []
    wake = _disk._wake
    monkeypatch.setattr(_disk, "_wake", lambda batch, error: (batches.append(len(batch)), wake(batch, error)))

    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        await asyncio.gather(*(cache.put(key(i), REPLY) for i in range(500)))
        await cache.aclose()

    asyncio.run(main())
    assert sum(batches) == 500 and len(batches) < 50


def test_a_put_that_is_no_longer_waited_for_is_written_all_the_same(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        task = asyncio.ensure_future(cache.put(key(), REPLY))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cache.aclose()
        again = ResponseCache(tmp_path / "r.sqlite")
        assert await again.get(key()) is not None
        await again.aclose()

    asyncio.run(main())


def test_a_damaged_file_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "r.sqlite"
    path.write_bytes(b"this is no database" * 1000)
    with pytest.raises(EnvironmentError_, match=r"r\.sqlite.*delete it") as caught:
        ResponseCache(path)
    assert caught.value.exit == 3


def test_a_file_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "r.sqlite"
    ResponseCache(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(EnvironmentError_, match=r"newer MACI \(format 99"):
        ResponseCache(path)


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentError_, match="point MACI_CACHE at another"):
        ResponseCache(tmp_path / "file" / "r.sqlite")
    (tmp_path / "folder.sqlite").mkdir()
    with pytest.raises(EnvironmentError_, match="point MACI_CACHE at another"):
        ResponseCache(tmp_path / "folder.sqlite")


def test_a_failed_write_reaches_everybody_who_waits_for_it(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        await cache.put(key(0), REPLY)
        with sqlite3.connect(tmp_path / "r.sqlite") as other:
            other.execute("ALTER TABLE replies RENAME TO gone")
        other.close()
        done = await asyncio.gather(*(cache.put(key(i), REPLY) for i in range(1, 4)), return_exceptions=True)
        assert all(isinstance(error, EnvironmentError_) and "r.sqlite" in str(error) for error in done)
        with pytest.raises(EnvironmentError_):
            await cache.get(key(0))
        await cache.aclose()

    asyncio.run(main())


def test_a_row_nobody_can_read_is_a_miss_and_replaced(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        with sqlite3.connect(tmp_path / "r.sqlite") as other:
            other.execute("INSERT INTO replies VALUES (?, 'm', 0, '{\"text\": 3')", (key(),))
        other.close()
        assert await cache.get(key()) is None
        await cache.put(key(), REPLY)
        assert (await cache.get(key())).text == REPLY.text
        await cache.aclose()

    asyncio.run(main())


def test_a_closed_cache_says_so(tmp_path):
    async def main() -> None:
        cache = ResponseCache(tmp_path / "r.sqlite")
        await cache.aclose()
        await cache.aclose()
        with pytest.raises(EnvironmentError_, match="closed"):
            await cache.get(key())
        with pytest.raises(EnvironmentError_, match="closed"):
            await cache.put(key(), REPLY)

    asyncio.run(main())


def test_the_default_place_follows_maci_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MACI_CACHE", str(tmp_path))
    assert replies_file() == tmp_path / "replies.sqlite"


WRITER = """
import asyncio, sys
from dataclasses import replace
from maci.llm.cache import ResponseCache, request_key
from maci.llm.model import Message, Reply, Request
from maci.llm.usage import Usage

request = Request(messages=(Message("user", "What is it?"),), max_tokens=100)
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

async def main():
    cache = ResponseCache(path)
    numbers = iter(range(first, last))
    async def worker():
        for i in numbers:
            reply = Reply(text=f"answer {i}" * 50, usage=Usage(prompt=10, generated=10), model="m")
            await cache.put(request_key({"model": "m"}, replace(request, sample=i)), reply)
            print(i, flush=True)
    await asyncio.gather(*(worker() for _ in range(20)))
    await cache.aclose()

asyncio.run(main())
"""


def sample(i: int) -> bytes:
    return request_key({"model": "m"}, Request(messages=(Message("user", "What is it?"),), max_tokens=100, sample=i))


async def missing(path, numbers) -> list[int]:
    cache = ResponseCache(path)
    lost = []
    for i in numbers:
        hit = await cache.get(sample(i))
        if hit is None or hit.text != f"answer {i}" * 50:
            lost.append(i)
    await cache.aclose()
    return lost


def test_every_reply_whose_put_returned_survives_a_kill(tmp_path):
    path = tmp_path / "r.sqlite"
    command = [sys.executable, "-c", WRITER, str(path), "0", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        acknowledged = [int(process.stdout.readline()) for _ in range(400)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    assert process.returncode == -signal.SIGKILL
    assert len(acknowledged) >= 400
    assert asyncio.run(missing(path, acknowledged)) == []


def test_two_processes_share_a_cache(tmp_path):
    path = tmp_path / "r.sqlite"
    commands = [[sys.executable, "-c", WRITER, str(path), str(first), str(first + 300)] for first in (0, 200)]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    assert asyncio.run(missing(path, range(500))) == []
