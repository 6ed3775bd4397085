"""A server that keeps books: what each key was charged, and whether it is asked for what its client has on disk already.

Each reply has a mark, a number in the blanks of its JSON that stands for the request. A client that keeps replies keeps the marks with
them, so that whoever looks into its database knows what is answered there, without knowing the keys under which the product files it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from contextvars import ContextVar
from pathlib import Path
from random import Random
from typing import Any

from fake_server import FakeServer
from fake_server.faults import REFUSED

CANARY = "the quarterly canary"
"""Words of a document that tries to leave its fence. They give no order: those are left out, fence or no fence."""
_BLANKS = str.maketrans("01", " \n")
_MARK = re.compile(r"\{([ \n]{40})")
_request: ContextVar[str] = ContextVar("request")


class Bookkeeper(FakeServer):
    """``cache`` is the database of whoever asks with a key. ``steady``: what goes wrong with a request goes wrong however often it
    is sent, except that one which is refused before any work is served in the end; and what is written is always the same."""

    def __init__(self, cache: Callable[[str], Path], *, steady: bool = False, **how: Any) -> None:
        super().__init__(quotes=True, **how)
        self._shelves = defaultdict[str, _Shelf](lambda: _Shelf())
        self._cache, self._steady = cache, steady
        if steady:
            names = [name for _, name in self._table]
            each = self._table[-1][0] / len(names) if names else 0.0  # all equally likely
            self._refusals = [name for name in names if name in REFUSED]
            self._table = tuple((each * n, name) for n, name in enumerate(_others(names), 1))
            self._share = each * len(self._refusals)
            self._repeats = _Never()
        self.bodies: Counter[str] = Counter()
        """How often each request came, its key before it."""
        self.bought: list[str] = []
        """Requests that came although a reply to them was on disk."""
        self.loose = 0
        """Prompts in which words of a document stand outside the fence."""

    async def _serve(self, request: Any, path: str, shape: Any) -> Any:
        body = await request.text()
        key = shape.key(request.headers) or ""
        name = f"{key} {body}"
        if self.bodies[name] and _mark(name) in self._shelves[key].marks(self._cache(key)):
            self.bought.append(name)
        self.bodies[name] += 1
        texts = [str(message["content"]) for message in json.loads(body)["messages"]]
        self.loose += any(CANARY in re.sub(r"<data>.*?</data>", "", text, flags=re.DOTALL) for text in texts)
        if self._steady and self.bodies[name] <= 2:
            chance = Random(f"{self.seed} {self.bodies[name]} {name}")
            if chance.random() < self._share:
                fault = chance.choice(self._refusals)
                self.faulted[fault] += 1
                self._count(key).requests += 1
                return self._refuse(shape, fault)
        _request.set(name)
        return await super()._serve(request, path, shape)

    def _text(self, fault: str | None, body: dict[str, Any], asked: Any, rng: Random) -> tuple[str, bool]:
        text, whole = super()._text(fault, body, asked, rng)
        marked, room = (text[:1] + _mark(_request.get()) + text[1:]).encode(), asked.max_tokens * 4
        if not text.startswith("{") or (whole and len(marked) > room):
            return text, whole
        return marked[:room].decode("utf-8", "ignore"), whole

    def asked(self, key: str) -> int:
        """Requests of a key."""
        return self._count(key).requests

    def tokens(self, key: str) -> int:
        """Tokens it is charged for."""
        return self._count(key).prompt + self._count(key).generated

    def repeated(self, key: str) -> int:
        """How many of its requests had come before."""
        return sum(n - 1 for name, n in self.bodies.items() if name.startswith(f"{key} "))

    def sold_again(self, key: str) -> int:
        """How many of its requests came although their reply was on its disk."""
        return sum(name.startswith(f"{key} ") for name in self.bought)


def _mark(request: str) -> str:
    return format(int.from_bytes(hashlib.sha256(request.encode()).digest()[:5]), "040b").translate(_BLANKS)


def _others(names: list[str]) -> list[str]:
    return [name for name in names if name not in REFUSED]


class _Never(Counter[int]):
    """Counts nothing: the server does the same however often it is asked."""

    def __setitem__(self, key: int, value: int) -> None:
        pass


class _Shelf:
    """The marks of the replies in a database, read as another process would."""

    def __init__(self) -> None:
        self._marks, self._row = set[str](), 0

    def marks(self, path: Path) -> set[str]:
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
                new = file.execute("SELECT rowid, reply FROM replies WHERE rowid > ?", (self._row,)).fetchall()
        except sqlite3.Error:  # not there yet
            return self._marks
        for row, reply in new:
            self._row = max(self._row, row)
            self._marks.update(_MARK.findall(json.loads(reply)["text"][:41]))
        return self._marks
