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
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from random import Random
from time import monotonic
from typing import Self

from maci.errors import BadRequest, EnvironmentError_, Interrupted, ModelError, one_line
from maci.llm.budget import Call, Draw, Purse
from maci.llm.cache import ResponseCache, as_hit, canonical, request_key
from maci.llm.catalogue import Price
from maci.llm.limits import LONGEST_PAUSE, Limiter, Slot
from maci.llm.model import Exchange, Provider, Reply, Request, Token
from maci.llm.reasoning import Reasoning, more_room, room, split_thinking
from maci.llm.structured import Unusable, extract
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
        reasoning: Reasoning | None = None,
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
        self.reasoning = reasoning
        """How much the model is asked to think; ``None``: as it does by itself."""
        self._seen_thinking, self._room = False, 0
        """Whether a reply of it showed thinking, and the room that was found to be needed."""

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

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it answers: it is asked to, is known for it, or was seen to."""
        if self.reasoning is not None:
            return self.reasoning != "none"
        return self._seen_thinking or self.provider.thinks

    def at(self, reasoning: Reasoning | None) -> Self:
        """The same model asked to think as much; without a level, as it is."""
        if reasoning is None:
            return self
        other = copy(self)
        other.reasoning = reasoning
        return other

    def fitted(self, request: Request) -> Request:
        """The request with the room this model needs for thinking on top of the answer's limit."""
        anyway = self._seen_thinking or self.provider.always_thinks
        extra = max(self._room, room(self.reasoning, thinks=self.thinks or anyway))
        return replace(request, reasoning=self.reasoning, thinking=extra, max_tokens=request.max_tokens + extra)

    def longer(self, request: Request, reply: Reply) -> Request | None:
        """What to ask again where a reply was cut off before it was whole: the same with a higher limit, or ``None``.

        Thinking gets more room, and so does it in later requests. An answer that was cut off itself gets twice its limit, once.
        """
        if not reply.truncated or _whole(request, reply):
            return None
        if self._seen_thinking or not reply.text.strip():
            if (extra := more_room(request.thinking)) is None:
                return None
            self._seen_thinking, self._room = True, max(self._room, extra)
            return replace(request, thinking=extra, max_tokens=request.max_tokens - request.thinking + extra)
        return replace(request, max_tokens=2 * request.max_tokens - request.thinking)

    def prepare(self, request: Request) -> Call[Reply]:
        """A call answered from the cache or by the provider; the bound of a reply that is kept is its tokens and no dollars."""
        request = self.fitted(request)
        prompt, key, bound = MeasuredPrompt(request.messages, request.schema), self._key(request), None
        hit = None if self._cache is None or key is None else self._cache.find(key)
        if hit is not None and _answers(hit, request):
            bound = Bound(hit.usage.tokens)
        return Call(bound or self._most(request, self._prompt.bound(prompt)), partial(self._complete, request, prompt))

    def _key(self, request: Request) -> bytes | None:
        return None if self._cache is None else request_key(self._identity, request)

    def _most(self, request: Request, prompt: int) -> Bound:
        """The most an attempt can cost whose prompt has at most as many tokens."""
        generated = request.max_tokens + self._beyond
        return Bound(prompt + generated, 0.0 if self.price is None else self.price.at_most(prompt, generated))

    async def _complete(self, request: Request, prompt: MeasuredPrompt, purse: Purse) -> Reply:
        """The answer; one that was cut off is asked for again with a higher limit, twice at most."""
        reply = await self._answered(request, prompt, self._key(request), purse)
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
        asked = Exchange(model=self._name, messages=request.messages, at=_now(), limit=request.max_tokens)
        began, sent = self._clock(), [0]
        try:
            reply = await self._sought(request, prompt, key, purse, sent)
        except Exception as error:
            asked = replace(asked, error=one_line(str(error)))
            raise
        else:
            usage, cached = reply.usage, not sent[0]
            asked = replace(asked, served=reply.model, cached=cached, usage=usage, truncated=reply.truncated)
            asked = replace(asked, without=reply.without)
            return reply
        finally:
            seconds = round(self._clock() - began, 3)
            purse.exchanges.append(replace(asked, attempts=sent[0], seconds=seconds))

    async def _sought(
        self, request: Request, prompt: MeasuredPrompt, key: bytes | None, purse: Purse, sent: list[int]
    ) -> Reply:
        """One answer. The cache is looked into before every attempt: another process may have been answered meanwhile.

        ``sent`` counts the attempts.
        """
        failed = 0.0
        while True:
            if key is not None and (hit := await self._found(key, request, purse)) is not None:
                sent[0] = 0
                return hit
            landed = self._landed
            try:
                await self._limiter.clear()
                most = self._prompt.bound(prompt)
                draw = await purse.draw(self._most(request, most))
                if key is not None and (key in self._flights or self._landed != landed):  # perhaps the same was asked
                    draw.release()
                    continue
                sent[0] += 1
                return await self._attempt(request, prompt, most, draw, key)
            except ModelError as error:
                failed = self._clock() if sent[0] < 2 else failed
                delay = self._delay(error, sent[0], failed, request)
                if delay is None:
                    _add(error, sent[0])
                    raise
                _log.debug("%s: attempt %d failed (%s), again in %.1f s", self._name, sent[0], error, delay)
            await self._sleep(delay)

    async def _found(self, key: bytes, request: Request, purse: Purse) -> Reply | None:
        """The reply from the cache, or from somebody who is asking the same at this moment."""
        assert self._cache is not None
        while (hit := await self._cache.get(key)) is None or not _answers(hit, request):
            if (flight := self._flights.get(key)) is None:
                return None
            await asyncio.wait((flight,))
            if (reply := flight.result()) is not None and _answers(reply, request):
                hit = as_hit(reply, kept=reply.usage.kept)
                break
        (await purse.draw(Bound(hit.usage.tokens))).settle(hit.usage)
        return hit

    async def _attempt(
        self, request: Request, prompt: MeasuredPrompt, most: int, draw: Draw, key: bytes | None
    ) -> Reply:
        """One attempt, with ``most`` tokens set aside for its prompt.

        Who asks the same meanwhile waits for what comes of it: it waits for nobody, so that must end.
        """
        flight: asyncio.Future[Reply | None] | None = None
        reply: Reply | None = None
        if key is not None:
            flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            async with self._limiter.slot(draw.bound.tokens) as slot:
                answer = await self._send(request, slot, draw)
            reply = self._counted(request, prompt, most, answer, self._durable)
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

    def _counted(self, request: Request, prompt: MeasuredPrompt, most: int, reply: Reply, kept: bool) -> Reply:
        """The reply with the provider's count and its price, and what they teach; a prompt nobody counted has the ``most`` tokens
        that were set aside for it.
        """
        usage = reply.usage
        tokens, cached, generated = usage.prompt, usage.cached, usage.generated
        if tokens <= 0:
            tokens, cached = most, 0
        else:
            self._prompt.learn(prompt, tokens)
        if generated <= 0:
            generated = request.max_tokens if reply.text else 0
        generated = max(generated, at_least(reply.text))
        thinking, text = split_thinking(reply.text)
        thinking = thinking or reply.thinking
        thought = min(generated, usage.thought or at_least(thinking))
        self._seen_thinking |= thought > 0
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
        return replace(
            reply,
            text=text,
            thinking=thinking,
            usage=Usage(prompt=tokens, cached=cached, generated=generated, thought=thought, usd=usd, kept=kept),
            logprobs=reply.logprobs if text == reply.text else _written(reply.logprobs, text),
        )

    def counted(self, request: Request, reply: Reply) -> Reply:
        """A provider's reply as this model gives it: answer and thinking apart, with its price."""
        prompt = MeasuredPrompt(request.messages, request.schema)
        return self._counted(request, prompt, self._prompt.bound(prompt), reply, False)

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


def _whole(request: Request, reply: Reply) -> bool:
    """Whether a reply that ran into its limit can be used all the same."""
    if request.schema is None:
        return bool(reply.text.strip())
    try:
        extract(reply.text)
    except Unusable:
        return False
    return True


def _answers(hit: Reply, request: Request) -> bool:
    """Whether a kept reply answers a request: one that was cut off does not where there is more room now."""
    return not (hit.truncated and request.thinking and hit.usage.generated < request.max_tokens)


def _written(tokens: tuple[Token, ...] | None, text: str) -> tuple[Token, ...] | None:
    """The log-probabilities of the answer alone."""
    if tokens is None:
        return None
    size, start = 0, len(tokens)
    while start and size < len(text):
        start -= 1
        size += len(tokens[start].text)
    return tokens[start:]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _add(error: ModelError, attempts: int) -> None:
    """Say in the error how often it was tried, and that waiting longer was no option."""
    more = [f"after {attempts} attempts"] if attempts > 1 else []
    if (error.retry_after or 0.0) > LONGEST_PAUSE:
        more.append(f"it asks to wait {error.retry_after:.0f} s")
    if more:
        error.args = (f"{error} ({', '.join(more)})",)
