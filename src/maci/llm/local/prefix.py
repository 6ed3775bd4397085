"""The beginning that several prompts have in common is read once, whoever sends them.

llama.cpp keeps what each of its places (slots) has read, but never looks into another place: two agents that are asked about the same
case at the same time would both have all of it read. So prompts that have much to be read wait a moment for others. If several
have come that begin alike, that beginning is read in one place and copied to the others' (``/slots/ID?action=save`` and
``restore``, a file of some 30 kB a token that is gone at once); then all are sent, and each has only its own end read.
Nothing else changes: what a place has read is the same numbers, whoever had it read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from maci.errors import ModelError

_log = logging.getLogger(__name__)
_MOMENT = 0.02
"""Seconds for which a long prompt waits for others: agents of a debate are asked within a millisecond."""
_WORTH = 600
"""Characters, some 150 tokens: as much must be saved, or prompts are sent as they are. Reading that many takes a model of 1.5 billion
parameters two seconds on two cores, and copying what a place has read a fifth of one."""

Exchange = Callable[[str, object], Awaitable[Any]]
"""Sends a body to a path of the server, or gets it where the body is ``None``; raises ``ModelError``."""


class Prefixes:
    """What the places of one server have read, and who is about to have more read."""

    def __init__(self, exchange: Exchange, places: int, folder: Path) -> None:
        """``folder``: where the server keeps what it is told to save."""
        self._exchange, self._places, self._folder = exchange, places, folder
        self._read: deque[str] = deque(maxlen=places)
        """The last prompts sent: about what stands in the places."""
        self._waiting: list[tuple[str, object, asyncio.Future[None]]] = []
        self._sharing: set[asyncio.Task[None]] = set()
        self._saved = 0

    async def ready(self, messages: Sequence[dict[str, str]]) -> None:
        """Return once these messages may be sent; what they have in common with others' has been read then, if that was worth it."""
        text = "\n".join(f"{message['role']}\n{message['content']}" for message in messages)
        known = max((len(_common((text, other))) for other in self._read), default=0)
        if self._places < 2 or len(text) - known < _WORTH:
            self._read.append(text)
            return
        loop = asyncio.get_running_loop()
        may_go: asyncio.Future[None] = loop.create_future()
        self._waiting.append((text, messages, may_go))
        if len(self._waiting) == 1:
            task = loop.create_task(self._share())
            self._sharing.add(task)
            task.add_done_callback(self._sharing.discard)
        await may_go

    async def aclose(self) -> None:
        """Stop what is under way."""
        for task in self._sharing:
            task.cancel()
        await asyncio.gather(*self._sharing, return_exceptions=True)

    async def _share(self) -> None:
        """Let all go who are waiting a moment from now, after what they have in common was read."""
        await asyncio.sleep(_MOMENT)
        group, self._waiting = self._waiting, []
        try:
            if self._saves([text for text, _, _ in group]) >= _WORTH:
                await self._spread([messages for _, messages, _ in group])
        except ModelError as error:  # each has its prompt read by itself then
            _log.debug("the common beginning of %d prompts was not shared: %s", len(group), error)
        finally:
            for text, _, may_go in group:
                self._read.append(text)
                if not may_go.done():
                    may_go.set_result(None)

    def _saves(self, texts: Sequence[str]) -> int:
        """How many characters fewer are read if what the texts have in common is read once; what is in a place is not read anyway."""
        if len(texts) < 2:
            return 0
        common = _common(texts)
        there = sorted((len(_common((common, other))) for other in self._read), reverse=True)
        there += [0] * (len(texts) - len(there))
        return sum(len(common) - known for known in there[1 : len(texts)])

    async def _spread(self, prompts: Sequence[object]) -> None:
        """Have the common beginning read in one place, and copied to as many others as there are further prompts."""
        rendered = [(await self._exchange("/apply-template", {"messages": prompt}))["prompt"] for prompt in prompts]
        told = {"prompt": _common(rendered), "n_predict": 0, "cache_prompt": True}
        source = (await self._exchange("/completion", told))["id_slot"]
        places = await self._exchange("/slots", None)
        free = [place["id"] for place in places if not place["is_processing"] and place["id"] != source]
        self._saved += 1
        name = f"prefix-{self._saved}"
        try:
            await self._exchange(f"/slots/{source}?action=save", {"filename": name})
            for place in free[: len(prompts) - 1]:
                await self._exchange(f"/slots/{place}?action=restore", {"filename": name})
        finally:
            (self._folder / name).unlink(missing_ok=True)


def _common(texts: Sequence[str]) -> str:
    """What all texts begin with.

    >>> _common(["dengue", "dental", "den"])
    'den'
    """
    low, high = 0, min(map(len, texts))
    while low < high:
        middle = (low + high + 1) // 2
        if all(text.startswith(texts[0][:middle]) for text in texts):
            low = middle
        else:
            high = middle - 1
    return texts[0][:low]
