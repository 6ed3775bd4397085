"""From a provider to a model: one call, answered from the response cache where it can be, else by attempts (:mod:`maci.llm.attempts`).

A call is prepared, which says what it can cost at most, and then made within a purse. It has room for thinking where the model
thinks, is asked again with a higher limit where the answer was cut off, and is noted for the record whatever came of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import Self

from maci.errors import BadRequest, one_line
from maci.llm.attempts import Asked, Attempts, answers
from maci.llm.budget import Call, Purse
from maci.llm.cache import ResponseCache, canonical, request_key
from maci.llm.catalogue import Price
from maci.llm.limits import Limiter
from maci.llm.model import Exchange, Provider, Reply, Request
from maci.llm.offline import heed_environment
from maci.llm.reasoning import Reasoning, learnt_room, more_room, room
from maci.llm.structured import Unusable, extract
from maci.llm.tokens import MeasuredPrompt, Meter
from maci.llm.usage import Bound

_log = logging.getLogger(__name__)
_NOTHING = Reply(text="")
"""Stands for the reply of a request that got none."""
Observe = Callable[["Client", Request], Callable[[Exchange, Reply | None, BaseException | None], None]]
"""Called when a request begins; what it returns is called when it ends, with what came of it."""
observe: Observe | None = None
"""Who is told of every request of this process, if anybody is (:mod:`maci.integrations.otel`)."""


class Client:
    """A :class:`~maci.llm.model.Model` made of a provider. ``clock`` and ``sleep`` are there for tests."""

    def __init__(
        self,
        provider: Provider,
        *,
        family: str,
        cache: ResponseCache | None = None,
        limiter: Limiter | None = None,
        price: Price | None = None,
        retries: int = 4,
        timeout: float | None = 180.0,
        deadline: float = 900.0,
        reasoning: Reasoning | None = None,
        offline: bool = False,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``timeout`` is for one attempt (``None``: the provider has its own); later than ``deadline`` after the first one failed,
        no other is begun. Both in seconds.

        ``price=None`` says that nobody knows the price: dollars are then counted as 0, and a ceiling in dollars cannot be kept.
        ``offline``: a provider of another machine is not asked.
        """
        heed_environment()
        self.provider, self._family, self._cache = provider, family, cache
        self._meter, self._identity = self._metered(price), canonical(provider.identity)
        self._attempts = Attempts(
            provider=provider,
            identity=self._identity,
            meter=self._meter,
            limiter=limiter or Limiter(provider.origin, clock=clock, sleep=sleep),
            cache=cache,
            retries=retries,
            timeout=timeout,
            deadline=deadline,
            offline=offline,
            clock=clock,
            sleep=sleep,
        )
        self.reasoning = reasoning
        """How much the model is asked to think; ``None``: as it does by itself."""
        self._room = 0
        """The room for thinking that was found to be needed."""

    def _metered(self, price: Price | None) -> Meter:
        return Meter(self.provider.name, price)

    @property
    def name(self) -> str:
        """``provider/model``."""
        return self.provider.name

    @property
    def family(self) -> str:
        """The model family."""
        return self._family

    @property
    def price(self) -> Price | None:
        """What it costs, where that is known."""
        return self._meter.price

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it answers: it is asked to, is known for it, or was seen to."""
        if self.reasoning is not None:
            return self.reasoning != "none"
        return self._meter.thinking_seen or self.provider.thinks

    def at(self, reasoning: Reasoning | None) -> Self:
        """The same model asked to think as much; without a level, as it is."""
        if reasoning is None:
            return self
        other = self._copy()
        other.reasoning = reasoning
        return other

    def hedged(self, seconds: float | None) -> Self:
        """The same model, asked a second time where it has not answered after so many seconds; one on this machine is not."""
        if seconds is None or self.provider.origin == "local":
            return self
        other = self._copy()
        other._attempts = replace(other._attempts, hedge=seconds)
        return other

    def _copy(self) -> Self:
        """The same model, which learns apart from this one how much it thinks and how far it exceeds its limit."""
        other = copy(self)
        other._meter = copy(self._meter)
        other._attempts = replace(self._attempts, meter=other._meter)
        return other

    def fitted(self, request: Request) -> Request:
        """The request with the room this model needs for thinking on top of the answer's limit."""
        anyway = self._meter.thinking_seen or self.provider.always_thinks
        extra = max(self._room, room(self.reasoning, thinks=self.thinks or anyway))
        if self.reasoning in (None, "none"):  # a level's room is what the model is asked to think, and stays
            extra = learnt_room(extra, *self._meter.thoughts)
        if not extra and self.reasoning is request.reasoning:
            return request
        return replace(request, reasoning=self.reasoning, thinking=extra, max_tokens=request.max_tokens + extra)

    def longer(self, request: Request, reply: Reply) -> Request | None:
        """What to ask again where a reply was cut off before it was whole: the same with a higher limit, or ``None``.

        Thinking gets more room, and so does it in later requests. An answer that was cut off itself gets twice its limit, once.
        """
        if not reply.truncated or _whole(request, reply):
            return None
        if self._meter.thinking_seen or not reply.text.strip():
            if (extra := more_room(request.thinking)) is None:
                return None
            self._meter.thinking_seen, self._room = True, max(self._room, extra)
            return replace(request, thinking=extra, max_tokens=request.max_tokens - request.thinking + extra)
        return replace(request, max_tokens=2 * request.max_tokens - request.thinking)

    def prepare(self, request: Request) -> Call[Reply]:
        """A call answered from the cache or by the provider; the bound of a reply that is kept is its tokens and no dollars;
        one that may not leave this machine costs nothing.
        """
        request = self.fitted(request)
        prompt, key, bound = MeasuredPrompt(request.messages, request.schema), self._key(request), None
        hit = None if self._cache is None or key is None else self._cache.find(key)
        if hit is not None and answers(hit, request):
            bound = Bound(hit.usage.tokens)
        if bound is None and self._attempts.refused() is not None:
            bound = Bound()  # it is not sent
        most = bound or self._meter.most(request, self._meter.prompt(prompt))
        return Call(most, partial(self._complete, request, prompt, key))

    def _key(self, request: Request) -> bytes | None:
        return None if self._cache is None else request_key(self._identity, request)

    async def _complete(self, request: Request, prompt: MeasuredPrompt, key: bytes | None, purse: Purse) -> Reply:
        """The answer; one that was cut off is asked for again with a higher limit, twice at most."""
        reply = await self._answered(request, prompt, key, purse)
        answer = request.max_tokens - request.thinking
        for _ in range(2):
            more = self.longer(request, reply)
            if more is None or more.max_tokens - more.thinking > 2 * answer:
                break
            request = more
            try:
                reply = await self._answered(request, prompt, self._key(request), purse)
            except BadRequest:  # the model does not write as much
                break
        return reply

    async def _answered(self, request: Request, prompt: MeasuredPrompt, key: bytes | None, purse: Purse) -> Reply:
        """One answer, noted in the purse for the record."""
        asked, clock = Asked(request, prompt, key, purse), self._attempts.clock
        at, began = _now(), clock()
        reply: Reply | None = None
        wrong: BaseException | None = None
        told = self._observed(request)
        try:
            reply = await self._attempts.answer(asked)
            return reply
        except BaseException as error:
            wrong = error
            raise
        finally:
            given = _NOTHING if reply is None else reply
            exchange = Exchange(
                model=self.name,
                messages=request.messages,
                at=at,
                seconds=round(clock() - began, 3),
                served=given.model,
                attempts=asked.sent,
                cached=reply is not None and not asked.sent,
                limit=request.max_tokens,
                usage=given.usage,
                truncated=given.truncated,
                without=given.without,
                error=one_line(str(wrong)) if isinstance(wrong, Exception) else "",
            )
            purse.exchanges.append(exchange)
            if told is not None:
                try:
                    told(exchange, reply, wrong)
                except Exception as error:  # the reply has been paid for
                    self._unobserved(error)

    def _observed(self, request: Request) -> Callable[[Exchange, Reply | None, BaseException | None], None] | None:
        """Whom to tell what comes of a request, if anybody."""
        try:
            return None if observe is None else observe(self, request)
        except Exception as error:
            self._unobserved(error)
            return None

    def _unobserved(self, error: Exception) -> None:
        _log.warning("telemetry of a request to %s failed: %s", self.name, one_line(repr(error)))

    def counted(self, request: Request, reply: Reply) -> Reply:
        """A provider's reply as this model gives it: answer and thinking apart, with its price."""
        prompt = MeasuredPrompt(request.messages, request.schema)
        return self._meter.counted(request, prompt, self._meter.prompt(prompt), reply, kept=False)

    async def aclose(self) -> None:
        """Let go of the provider; the cache and the limiter are others' as well."""
        await self.provider.aclose()


def _whole(request: Request, reply: Reply) -> bool:
    """Whether a reply that ran into its limit can be used all the same."""
    if request.schema is None:
        return bool(reply.text.strip())
    try:
        extract(reply.text)
    except Unusable:
        return False
    return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
