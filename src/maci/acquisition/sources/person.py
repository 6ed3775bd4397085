"""A person as a source: asks the best next question and waits for the answer."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable

from maci.acquisition.answers import asks_which, read_answer
from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply, Source


class Person(Source):
    """Puts an item to a person by ``ask`` (a terminal, a web page); ``None`` is that nobody is there any more.

    "yes", "no" and free text are answers, "unknown" or nothing is none, "stop" ends the questions.
    """

    name = "ask"
    person = True
    kinds = ("question", "test", "history", "monitoring")

    def __init__(self, ask: Callable[[Item], Awaitable[str | None]]) -> None:
        self._ask = ask

    async def answer(self, item: Item) -> Reply:
        """What the person says."""
        said = await self._ask(item)
        return Reply(verdict="stopped", text="nobody answers") if said is None else read_answer(said)


async def ask_at_terminal(item: Item) -> str | None:
    """Print the question on standard error and read a line from standard input."""
    apart = " from ".join(item.separates[:2]) if len(item.separates) > 1 else item.text
    which = asks_which(item)
    ways = (
        f"in words, such as: {'; '.join(which[:4])}; none / unknown / stop"
        if which
        else "yes / no / unknown / stop / in words"
    )
    worth = f"{item.if_answered:.2f} bits" + (
        "" if item.value_if_answered is None else f", worth {item.value_if_answered:.3g}"
    )
    sys.stderr.write(f"\n{item.text}\n  (tells {apart}, {worth}; {ways}) > ")
    sys.stderr.flush()
    said = await _line()
    if said is not None and which and read_answer(said).verdict == "present":
        sys.stderr.write("  What does it show? (in words, or unknown) > ")
        sys.stderr.flush()
        said = await _line()
    return said


async def _line() -> str | None:
    """A line of standard input; ``None`` at its end."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(sys.stdin.fileno(), _settle, ready)
    except (NotImplementedError, OSError, ValueError):  # a file, or a system whose loop cannot watch it
        line = await asyncio.to_thread(sys.stdin.readline)
    else:
        try:
            await ready
        finally:
            loop.remove_reader(sys.stdin.fileno())
        line = _unbuffered(sys.stdin.fileno())
    return line.strip() if line else None


def _unbuffered(descriptor: int) -> str:
    """One line and no more: what is read ahead into a buffer, the loop does not see coming."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line.decode(sys.stdin.encoding or "utf-8", errors="replace")


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
