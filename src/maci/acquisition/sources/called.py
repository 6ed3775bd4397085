"""A Python function as a source: ``--source python:module:function``."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from maci.acquisition.answers import read_answer
from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply
from maci.errors import InputError

__all__ = ["Called", "as_reply", "load_function"]


class Called:
    """Asks a function ``f(item)``: it returns a :class:`Reply`, a text, a truth value, ``None`` (unknown) or a table with ``verdict``
    and ``text``; or a coroutine of one of these.
    """

    kinds: tuple[str, ...] = ()

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
