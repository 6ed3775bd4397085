"""The response cache: a repeated or resumed debate repeats no paid call.

:class:`ResponseCache` finds a reply by its key, a hash over everything that decides what is sent: who serves the model, under
which fixed parameters, the messages, the schema, the sampling, and which of several draws it is.

:class:`ReplyFile` is the SQLite file behind it, which several processes may share. One thread writes: rows that arrive while one
transaction is being synced go into the next, so that hundreds of rows at once cost one sync.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maci.errors import MaciError
from maci.files.sqlite import SqliteFile
from maci.llm.model import Reply, Request, Token
from maci.llm.usage import Usage

_FORMAT = 1
_OFTEN, _MANY, _MOMENT = 100, 300_000, 0.25
"""Reads after which all keys are kept in memory, the most of them, and how many seconds others' may be missing."""
_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key BLOB PRIMARY KEY NOT NULL, model TEXT NOT NULL, created REAL NOT NULL, reply TEXT NOT NULL
);
"""
_INSERT = "INSERT OR REPLACE INTO replies (key, model, created, reply) VALUES "
_ROWS = 200
"""Rows of one statement. Between two statements this thread must wait for the event loop's to let it on, so there are few."""


@dataclass(frozen=True, slots=True)
class _Put:
    row: tuple[bytes, str, float, str]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class ReplyFile:
    """The file and its writing thread. Every error is an ``EnvironmentError_`` with the path and the next step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: deque[_Put] = deque()
        self._bell: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """Rung when something waits and nobody has rung yet; true for the last time."""
        self._rung = False
        self._writer: threading.Thread | None = None
        self._reading = self._connect()
        self._reads, self._keys, self._row, self._looked = 0, set[bytes](), 0, 0.0

    def read(self, key: bytes) -> str | None:
        """What is under a key."""
        if not self._may_have(key):
            return None
        rows = self._reading.do("SELECT reply FROM replies WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    async def write(self, key: bytes, model: str, reply: str) -> None:
        """Put something under a key; returns when it is on disk. Cancelling the wait does not undo the writing."""
        if self._writer is None:
            self._reading.do("SELECT 1")  # refused where it is closed
            self._writer = threading.Thread(target=self._write, name="maci-reply-cache", daemon=True)
            self._writer.start()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Put((key, model, time.time(), reply), loop, done))
        if not self._rung:  # whoever clears it looks at what is waiting afterwards
            self._rung = True
            self._bell.put(False)
        await done
        self._keys.add(key)

    def _may_have(self, key: bytes) -> bool:
        """Whether to look. Who asks often gets to know all keys: a look takes long while the other thread writes.

        What other processes add is then noticed after a moment. They can hardly be asked the same within it.
        """
        self._reads += 1
        if self._reads < _OFTEN or len(self._keys) > _MANY:
            return True
        now = time.monotonic()
        if now - self._looked > _MOMENT:
            self._looked = now
            new = self._reading.do(
                "SELECT rowid, key FROM replies WHERE rowid > ? ORDER BY rowid LIMIT ?", (self._row, _MANY + 1)
            )
            self._keys.update(known for _, known in new)
            self._row = new[-1][0] if new else self._row
        return key in self._keys or len(self._keys) > _MANY

    def close(self) -> None:
        """Write what is waiting and let go of the file."""
        if self._writer is not None:
            self._bell.put(True)
            self._writer.join()
            self._writer = None
        self._reading.close()

    def _connect(self) -> SqliteFile:
        elsewhere = "point MACI_CACHE at another folder"
        again = f"it is damaged: delete it (what it held is then asked and paid for again), or {elsewhere}"
        file = SqliteFile(
            self.path,
            _TABLE,
            _FORMAT,
            name=f"the response cache {self.path}",
            elsewhere=elsewhere,
            steps={"damaged": again},
            synchronous="FULL",
        )
        file.do("SELECT key, model, created, reply FROM replies LIMIT 1")
        return file

    def _write(self) -> None:
        """The writing thread: one transaction for all that is waiting, then the next."""
        file: SqliteFile | None = None
        last = False
        while not last:
            last = self._bell.get()
            self._rung = False
            batch: list[_Put] = []
            while self._waiting:
                batch.append(self._waiting.popleft())
            if not batch:
                continue
            error: MaciError | None = None
            try:
                file = file or self._connect()
                with file.transaction():
                    for at in range(0, len(batch), _ROWS):
                        rows = [put.row for put in batch[at : at + _ROWS]]
                        file.do(_INSERT + ",".join(["(?,?,?,?)"] * len(rows)), [x for row in rows for x in row])
            except Exception as broken:
                error = broken if isinstance(broken, MaciError) else self._reading.broken(broken)
                if file is not None:
                    file.close()
                    file = None
            _wake(batch, error)
        if file is not None:
            file.close()


def _wake(batch: list[_Put], error: Exception | None) -> None:
    """Tell everybody who waits, in their own event loop."""
    loops: defaultdict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = defaultdict(list)
    for put in batch:
        loops[put.loop].append(put.done)
    for loop, waiters in loops.items():
        try:
            loop.call_soon_threadsafe(_finish, waiters, error)
        except RuntimeError:  # that loop is closed: nobody waits
            continue


def _finish(waiters: list[asyncio.Future[None]], error: Exception | None) -> None:
    for done in waiters:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def request_key(identity: Mapping[str, Any] | str, request: Request) -> bytes:
    """What a reply is filed under. ``identity`` is the provider's, or its canonical JSON.

    SHA-256 over canonical JSON of all but the messages' texts, for which their roles and lengths stand, and then the texts as they are.
    The room for thinking is not part of it: a reply that is whole answers the same request with any room.
    """
    head = identity if isinstance(identity, str) else canonical(identity)
    texts = [message.content.encode("utf-8", "surrogatepass") for message in request.messages]
    lengths = [(message.role, len(text)) for message, text in zip(request.messages, texts, strict=True)]
    schema = request.schema
    form = "null" if schema is None else f"[{canonical(schema.name)},{schema.text}]"
    answer = request.max_tokens - request.thinking
    rest = [lengths, answer, request.temperature, request.seed, request.sample, request.top_logprobs]
    if request.reasoning is not None:
        rest.append(request.reasoning)
    return hashlib.sha256(b"".join((f"[{head},{form},{canonical(rest)}]".encode(), *texts))).digest()


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""JSON with sorted keys and no spaces."""


class ResponseCache:
    """Replies by key, in a file that several processes may share; ``path=None`` keeps them in memory only.

    Raises :class:`~maci.errors.EnvironmentError_` where the file cannot be used, with the path and the next step.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.flights: dict[bytes, asyncio.Future[Reply | None]] = {}
        """Calls under way, so that two who ask the same at once make one call; ``None`` comes of one that failed."""
        self.landed = 0
        """How many replies were put here by this process."""
        self._memory: dict[bytes, Reply] = {}
        self._file = None
        if self.path is not None:
            self._file = ReplyFile(self.path)

    @property
    def durable(self) -> bool:
        """Whether what is put here outlives the process."""
        return self._file is not None

    async def get(self, key: bytes) -> Reply | None:
        """The reply, marked as one that nobody pays for; ``None`` where there is none."""
        return self.find(key)

    def find(self, key: bytes) -> Reply | None:
        """The same at once, to find out what asking would cost."""
        if self._file is None:
            found = self._memory.get(key)
            return None if found is None else as_hit(found, kept=False)
        text = self._file.read(key)  # some 20 µs: less than handing it to a thread
        if text is None:
            return None
        try:
            return as_hit(_load(text), kept=True)
        except (ValueError, TypeError, KeyError):
            return None  # written by something else; the next put replaces it

    async def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply; returns when it is on disk. Cancelling the wait does not undo the writing."""
        self.landed += 1
        if self._file is None:
            self._memory[key] = reply
        else:
            await self._file.write(key, reply.model, _dump(reply))

    async def aclose(self) -> None:
        """Write what is waiting and let go of the file."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same from outside an event loop."""
        if self._file is not None:
            self._file.close()


def _dump(reply: Reply) -> str:
    usage, logprobs = reply.usage, reply.logprobs
    return json.dumps(
        {
            "text": reply.text,
            "usage": {
                "prompt": usage.prompt,
                "cached": usage.cached,
                "generated": usage.generated,
                "thought": usage.thought,
                "usd": usage.usd,
            },
            "truncated": reply.truncated,
            "model": reply.model,
            "logprobs": None if logprobs is None else [(token.text, token.logprob, token.top) for token in logprobs],
            "thinking": reply.thinking,
            "without": reply.without,
        }
    )


def _load(text: str) -> Reply:
    kept = json.loads(text)
    logprobs = kept["logprobs"]
    if logprobs is not None:
        logprobs = tuple(Token(token, p, tuple((other, q) for other, q in top)) for token, p, top in logprobs)
    return Reply(
        text=kept["text"],
        usage=Usage(**kept["usage"]),
        truncated=kept["truncated"],
        model=kept["model"],
        logprobs=logprobs,
        thinking=kept.get("thinking", ""),
        without=tuple(kept.get("without", ())),
    )


def as_hit(reply: Reply, *, kept: bool) -> Reply:
    """A reply as the second who asks gets it: its tokens count, but nobody pays for them again."""
    usage = reply.usage
    return replace(reply, usage=replace(usage, usd=0.0, free=True, kept=kept, saved=usage.usd))
