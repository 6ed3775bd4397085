"""A model that says what it was told to say, for tests and examples.

>>> import asyncio
>>> from maci.llm.model import Message
>>> model = FakeModel(replies=["Dengue."])
>>> request = Request(messages=(Message("user", "What is it?"),), max_tokens=10)
>>> asyncio.run(model.prepare(request).within()).text
'Dengue.'
>>> model.history[0].messages[0].content
'What is it?'
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from maci.llm.catalogue import FREE, Price
from maci.llm.client import Client
from maci.llm.model import Provider, Reply, Request
from maci.llm.reasoning import Reasoning
from maci.llm.tokens import Meter
from maci.llm.usage import Bound, PaidFailure, Usage

FakeAnswer: TypeAlias = Reply | str | BaseException | Callable[[Request], Any]
"""What comes of one request: a reply, its text alone, an error to raise, or a function (async or not) that gives one of these."""


class FakeProvider(Provider):
    """Answers requests from a queue, or by a function where the queue is empty; remembers them, and what it served."""

    def __init__(
        self,
        name: str = "fake/model",
        replies: Iterable[FakeAnswer] | Callable[[Request], Any] = (),
        *,
        origin: str = "fake",
        identity: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.origin = name, origin
        self.identity: Mapping[str, Any] = {"api": "fake", "model": name} if identity is None else identity
        self.history: list[Request] = []
        """Every request that arrived, in order."""
        self.served = Usage()
        """What it would send a bill for: all replies, and failures that say what they cost."""
        self.at_once = self.most_at_once = 0
        self.closed = False
        self._queue: deque[FakeAnswer] = deque(() if callable(replies) else replies)
        self._otherwise = replies if callable(replies) else None

    def enqueue(self, *answers: FakeAnswer) -> None:
        """What comes of the next requests."""
        self._queue.extend(answers)

    async def send(self, request: Request) -> Reply:
        """One attempt."""
        self.history.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self._answer(request)
        finally:
            self.at_once -= 1

    async def _answer(self, request: Request) -> Reply:
        answer: Any = self._queue.popleft() if self._queue else self._otherwise
        if answer is None:
            raise LookupError(f"{self.name} was sent {len(self.history)} requests and has no answer for the last one")
        while callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        if isinstance(answer, BaseException):
            if isinstance(answer, PaidFailure):
                self.served += answer.usage
            raise answer
        reply = Reply(text=answer) if isinstance(answer, str) else answer
        if not reply.usage:
            prompt = sum(_words(message.content) for message in request.messages)
            reply = replace(reply, usage=Usage(prompt=prompt, generated=min(_words(reply.text), request.max_tokens)))
        self.served += reply.usage
        return reply if reply.model else replace(reply, model=self.name)

    async def aclose(self) -> None:
        """Nothing to let go of."""
        self.closed = True


class FakeModel(Client):
    """A model over a :class:`FakeProvider`: it draws on the purse as any client does, and fails without trying again."""

    def __init__(
        self,
        name: str = "fake/model",
        family: str = "fake",
        replies: Iterable[FakeAnswer] | Callable[[Request], Any] = (),
        *,
        bound: Bound | None = None,
        price: Price | None = FREE,
        retries: int = 0,
        reasoning: Reasoning | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``bound`` is what every request is said to cost at most; without it, the estimate of a client."""
        self.fake = FakeProvider(name, replies)
        self.most = bound
        super().__init__(self.fake, family=family, price=price, retries=retries, reasoning=reasoning, sleep=sleep)

    @property
    def history(self) -> list[Request]:
        """Every request that arrived, in order."""
        return self.fake.history

    def enqueue(self, *answers: FakeAnswer) -> None:
        """What comes of the next requests."""
        self.fake.enqueue(*answers)

    def _metered(self, price: Price | None) -> Meter:
        return super()._metered(price) if self.most is None else _Fixed(self.name, price, self.most)


class _Fixed(Meter):
    """Says of every request that it costs the same at most."""

    def __init__(self, name: str, price: Price | None, bound: Bound) -> None:
        super().__init__(name, price)
        self._bound = bound

    def most(self, request: Request, prompt: int) -> Bound:
        return self._bound


def _words(text: str) -> int:
    """A count as of some tokenizer: never more than the bytes."""
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4)
