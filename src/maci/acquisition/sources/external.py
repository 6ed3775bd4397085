"""Sources outside the case that answer what the plan asks: a Python function, an HTTP endpoint, a person.

=====================  ==========================================================================================================
:class:`Called`        a function, given as ``--source python:module:function``
:class:`HttpSource`    an endpoint: the item is sent as JSON by POST; the answer is JSON (``verdict`` and ``text``) or plain text
:class:`Person`        shows a person the best next question and waits for the answer
=====================  ==========================================================================================================
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from maci.acquisition.answers import asks_which, read_answer
from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply, Source
from maci.errors import EnvironmentError_, InputError


class Called(Source):
    """Asks a function ``f(item)``: it returns a :class:`Reply`, a text, a truth value, ``None`` (unknown) or a table with ``verdict``
    and ``text``; or a coroutine of one of these.
    """

    def __init__(self, function: Callable[[Item], Any], name: str = "python") -> None:
        self.name, self._function = name, function

    async def answer(self, item: Item) -> Reply:
        """What the function says; one that is not asynchronous runs in a thread."""
        if inspect.iscoroutinefunction(self._function):
            said = await self._function(item)
        else:
            said = await asyncio.to_thread(self._function, item)
            if inspect.isawaitable(said):
                said = await said
        return as_reply(said)


def as_reply(said: Any) -> Reply:
    """Whatever an answer is given as, as a reply.

    >>> as_reply(True).verdict, as_reply(None).verdict, as_reply({"verdict": "absent"}).verdict
    ('present', 'unknown', 'absent')
    """
    match said:
        case Reply():
            return said
        case None:
            return Reply(verdict="unknown")
        case bool():
            return Reply(verdict="present" if said else "absent")
        case str() | int() | float():
            return read_answer(str(said))
        case Mapping():
            verdict, text = said.get("verdict"), str(said.get("text", said.get("answer", "")))
            if verdict is None:
                return read_answer(text)
            if verdict not in ("present", "absent", "told", "unknown", "stopped"):
                raise InputError(f"verdict is {verdict!r}: use present, absent, told, unknown or stopped")
            return Reply(verdict=verdict, text=text)
        case _:
            raise InputError(
                f"the source gave {type(said).__name__}: give a text, true or false, null, or verdict and text"
            )


def load_function(module: str, attribute: str) -> Callable[[Item], Any]:
    """A function by name; modules of the current folder are found too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"--source python:{module}:{attribute}: {error}; write it as python:module:function"
        ) from error
    if not callable(found):
        raise InputError(f"--source python:{module}:{attribute} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


_LARGEST = 1 << 20
"""Bytes of an answer that are read; a longer one is refused."""


class HttpSource(Source):
    """Asks an endpoint; a refused connection, a time-out and a 5xx are tried again, everything else is an error at once.

    Each attempt but a refused connection counts: the endpoint may have worked on it.
    """

    def __init__(self, url: str, *, timeout: float = 30.0, attempts: int = 3, pause: float = 0.5) -> None:
        self.name = url
        self._url, self._timeout, self._attempts, self._pause = url, timeout, attempts, pause

    async def answer(self, item: Item) -> Reply:
        """What the endpoint says."""
        question = {
            "id": item.id,
            "kind": item.kind,
            "text": item.text,
            "subject": item.subject,
            "query": item.query,
            "separates": list(item.separates),
            "expected_information_gain": item.expected_information_gain,
        }
        failure, asked = "", 1
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1))
            try:
                status, body = await self._post(question)
            except (TimeoutError, OSError) as error:
                failure = f"{type(error).__name__}: {error}".rstrip(": ")
                asked += isinstance(error, TimeoutError)
                continue
            if status >= 500:
                failure = f"HTTP {status}"
                asked += 1
                continue
            if status != 200:
                raise EnvironmentError_(f"{self._url} answers HTTP {status}: {body[:200].decode('utf-8', 'replace')}")
            reply = as_reply(_read(body))
            again = (f"asked {asked} times ({failure})",) if asked > 1 else ()
            return replace(reply, cost=asked * item.cost, remarks=(*reply.remarks, *again))
        raise EnvironmentError_(f"{self._url} does not answer after {self._attempts} attempts ({failure})")

    async def _post(self, question: dict[str, Any]) -> tuple[int, bytes]:
        import aiohttp

        limit = aiohttp.ClientTimeout(total=self._timeout)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(self._url, json=question, allow_redirects=False) as response,
            ):
                body = await response.content.read(_LARGEST + 1)
                while len(body) <= _LARGEST and (more := await response.content.read(_LARGEST)):
                    body += more
        except aiohttp.ClientError as error:
            raise OSError(str(error)) from error
        if len(body) > _LARGEST:
            raise EnvironmentError_(f"{self._url}: the answer is larger than {_LARGEST:,} bytes and is refused")
        return response.status, body


def _read(body: bytes) -> Any:
    text = body.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except ValueError:
        return text


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
