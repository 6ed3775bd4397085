"""From a provider to a model: cache, budget, limits, retries.

A request is answered from the response cache where it can be. Otherwise each attempt first sets aside in the purse the most it
can cost, then waits for its turn at the origin (the other way round, one that waits for a grant would hold the place of the
call that could make room for it), and only then is sent. What it did cost is settled; an attempt that certainly cost nothing
gives back what was set aside, one of which nobody knows is counted in full. A reply is returned once it is on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from random import Random
from time import monotonic

from maci.errors import EnvironmentError_, Interrupted, ModelError
from maci.llm.budget import Call, Draw, Purse
from maci.llm.cache import ResponseCache, as_hit, canonical, request_key
from maci.llm.catalogue import Price
from maci.llm.limits import LONGEST_PAUSE, Limiter, Slot
from maci.llm.model import Provider, Reply, Request
from maci.llm.tokens import MeasuredPrompt, PromptBound, at_least
from maci.llm.usage import Bound, PaidFailure, Usage

_log = logging.getLogger(__name__)
_FIRST, _LONGEST = 0.5, 30.0
"""Seconds: the first backoff is up to so long, each next up to twice that, and none is longer."""


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
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """``timeout`` is for one attempt (``None``: the provider has its own); later than ``deadline`` after the first one failed,
        no other is begun. Both in seconds.

        ``price=None`` says that nobody knows the price: dollars are then counted as 0, and a ceiling in dollars cannot be kept.
        """
        self.provider, self.price = provider, price
        self._name, self._family = provider.name, family
        self._durable = cache is not None and cache.durable
        self._cache, self._flights = cache, {} if cache is None else cache.flights
        self._limiter = limiter or Limiter(provider.origin, clock=clock, sleep=sleep)
        self._retries, self._timeout, self._deadline = retries, timeout, deadline
        self._clock, self._sleep = clock, sleep
        self._identity = canonical(provider.identity)
        self._prompt = PromptBound()
        self._beyond = 0
        """How many tokens more than asked for the model was seen to generate."""
        self._surprised = False

    @property
    def _landed(self) -> int:
        """How many replies this process has put into the cache."""
        return 0 if self._cache is None else self._cache.landed

    @property
    def name(self) -> str:
        """``provider/model``."""
        return self._name

    @property
    def family(self) -> str:
        """The model family."""
        return self._family

    def prepare(self, request: Request) -> Call[Reply]:
        """A call answered from the cache or by the provider; the bound of a reply that is kept is its tokens and no dollars."""
        prompt, key, bound = MeasuredPrompt(request.messages, request.schema), None, None
        if self._cache is not None:
            key = request_key(self._identity, request)
            if (hit := self._cache.find(key)) is not None:
                bound = Bound(hit.usage.tokens)
        return Call(bound or self._most(request, prompt), partial(self._complete, request, prompt, key))

    def _most(self, request: Request, measured: MeasuredPrompt) -> Bound:
        prompt, generated = self._prompt.bound(measured), request.max_tokens + self._beyond
        return Bound(prompt + generated, 0.0 if self.price is None else self.price.at_most(prompt, generated))

    async def _complete(self, request: Request, prompt: MeasuredPrompt, key: bytes | None, purse: Purse) -> Reply:
        """The answer. The cache is looked into before every attempt: another process may have been answered meanwhile."""
        attempt, failed = 0, 0.0
        while True:
            if key is not None and (hit := await self._found(key, purse)) is not None:
                return hit
            landed = self._landed
            try:
                await self._limiter.clear()
                bound = self._most(request, prompt)
                draw = await purse.draw(bound)
                if key is not None and (key in self._flights or self._landed != landed):  # perhaps the same was asked
                    draw.release()
                    continue
                attempt += 1
                return await self._attempt(request, prompt, bound, draw, key)
            except ModelError as error:
                failed = self._clock() if attempt < 2 else failed
                delay = self._delay(error, attempt, failed, request)
                if delay is None:
                    _add(error, attempt)
                    raise
                _log.debug("%s: attempt %d failed (%s), again in %.1f s", self._name, attempt, error, delay)
            await self._sleep(delay)

    async def _found(self, key: bytes, purse: Purse) -> Reply | None:
        """The reply from the cache, or from somebody who is asking the same at this moment."""
        assert self._cache is not None
        while (hit := await self._cache.get(key)) is None:
            if (flight := self._flights.get(key)) is None:
                return None
            await asyncio.wait((flight,))
            if (reply := flight.result()) is not None:
                hit = as_hit(reply, kept=reply.usage.kept)
                break
        (await purse.draw(Bound(hit.usage.tokens))).settle(hit.usage)
        return hit

    async def _attempt(
        self, request: Request, prompt: MeasuredPrompt, bound: Bound, draw: Draw, key: bytes | None
    ) -> Reply:
        """One attempt. Who asks the same meanwhile waits for what comes of it: it waits for nobody, so that must end."""
        flight: asyncio.Future[Reply | None] | None = None
        reply: Reply | None = None
        if key is not None:
            flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            async with self._limiter.slot(bound.tokens) as slot:
                answer = await self._send(request, slot, draw)
            reply = self._counted(request, prompt, answer, self._durable)
            reply = await self._keep(key, reply, draw)
        except BaseException:
            draw.release()  # unless it was sent: then something else has been said of it already
            raise
        finally:
            if key is not None and flight is not None:
                del self._flights[key]
                flight.set_result(reply)
        return reply

    async def _send(self, request: Request, slot: Slot, draw: Draw) -> Reply:
        """One attempt. Where it fails, what it cost is settled here."""
        try:
            slot.sent = True
            try:
                async with asyncio.timeout(self._timeout):
                    reply = await self.provider.send(request)
            except TimeoutError:
                limit = "in time" if self._timeout is None else f"within {self._timeout:g} s"
                raise Interrupted(
                    f"{self._name} gave no whole answer {limit}: allow it more time (timeout), ask for fewer tokens, or use a "
                    "faster model"
                ) from None
        except ModelError as error:
            slot.failed(error)
            if isinstance(error, PaidFailure) and error.usage.prompt > 0:
                draw.settle(replace(error.usage, usd=self._usd(error.usage)))
            elif error.charged:
                draw.forfeit()
            else:
                draw.release()
            raise
        except BaseException:
            draw.forfeit()
            raise
        slot.succeeded(reply.usage.tokens)
        return reply

    async def _keep(self, key: bytes | None, reply: Reply, draw: Draw) -> Reply:
        """Put a reply on disk, and only then settle what it cost."""
        try:
            if key is not None and self._cache is not None:
                await self._cache.put(key, reply)
        except BaseException as error:
            reply = replace(reply, usage=replace(reply.usage, kept=False))
            if not isinstance(error, EnvironmentError_):
                raise
            # it has been paid for: better an answer that is not kept than none
            _log.warning("a reply of %s is not kept: %s", self._name, error)
        finally:
            draw.settle(reply.usage)
        return reply

    def _counted(self, request: Request, prompt: MeasuredPrompt, reply: Reply, kept: bool) -> Reply:
        """The reply with the provider's count and its price, and what they teach; without a count, with the most it can be."""
        usage, most = reply.usage, self._prompt.bound(prompt)
        tokens, cached, generated = usage.prompt, usage.cached, usage.generated
        if tokens <= 0:
            tokens, cached = most, 0
        else:
            self._prompt.learn(prompt, tokens)
        if generated <= 0:
            generated = request.max_tokens if reply.text else 0
        generated = max(generated, at_least(reply.text))
        over, beyond = tokens - most, generated - request.max_tokens - self._beyond
        if over > 0 or beyond > 0:
            self._prompt.exceeded(over)
            self._beyond += max(0, beyond)
            _log.log(
                logging.DEBUG if self._surprised else logging.WARNING,
                "%s counted %d prompt and %d generated tokens, at most %d and %d were expected: its bounds are raised",
                *(self._name, tokens, generated, most, request.max_tokens),
            )
            self._surprised = True
        usd = self._usd(Usage(prompt=tokens, cached=cached, generated=generated))
        return Reply(
            text=reply.text,
            usage=Usage(prompt=tokens, cached=cached, generated=generated, usd=usd, kept=kept),
            truncated=reply.truncated,
            model=reply.model,
            logprobs=reply.logprobs,
        )

    def _usd(self, usage: Usage) -> float:
        return 0.0 if self.price is None else self.price.usd(usage)

    def _delay(self, error: ModelError, attempt: int, failed: float, request: Request) -> float | None:
        """Seconds until the next attempt; ``None`` if there is none."""
        asked = error.retry_after or 0.0
        if not error.retry or error.fatal or attempt > self._retries or asked > LONGEST_PAUSE:
            return None
        chance = Random(request_key(self._identity, request) + bytes([attempt % 256])).random()
        delay = max(asked, chance * min(_LONGEST, _FIRST * 2 ** (attempt - 1)))
        return None if self._clock() + delay - failed > self._deadline else delay

    async def aclose(self) -> None:
        """Let go of the provider; the cache and the limiter are others' as well."""
        await self.provider.aclose()


def _add(error: ModelError, attempts: int) -> None:
    """Say in the error how often it was tried, and that waiting longer was no option."""
    more = [f"after {attempts} attempts"] if attempts > 1 else []
    if (error.retry_after or 0.0) > LONGEST_PAUSE:
        more.append(f"it asks to wait {error.retry_after:.0f} s")
    if more:
        error.args = (f"{error} ({', '.join(more)})",)
