"""Attempts at one request: each is paid for before it is sent, and what failed is tried again where that can help.

Each attempt first sets aside in the purse the most it can cost, then waits for its turn at the origin (the other way round, one that
waits for a grant would hold the place of the call that could make room for it), and only then is sent. What it did cost is settled;
an attempt that certainly cost nothing gives back what was set aside, one of which nobody knows is counted in full. A reply is
returned once it is on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random
from time import monotonic

from maci.errors import EnvironmentError_, Interrupted, ModelError
from maci.llm.budget import Draw, Purse
from maci.llm.cache import ResponseCache, as_hit, request_key
from maci.llm.limits import LONGEST_PAUSE, CallSlot, Limiter
from maci.llm.model import Provider, Reply, Request
from maci.llm.offline import check_here, staying_here
from maci.llm.tokens import MeasuredPrompt, Meter
from maci.llm.usage import Bound, PaidFailure

_log = logging.getLogger(__name__)
_FIRST, _LONGEST = 0.5, 30.0
"""Seconds: the first backoff is up to so long, each next up to twice that, and none is longer."""


@dataclass(slots=True)
class Asked:
    """One request, measured, with what it may spend."""

    request: Request
    prompt: MeasuredPrompt
    key: bytes | None
    """What its reply is filed under; ``None`` where replies are not kept."""
    purse: Purse
    sent: int = 0
    """How many attempts were sent; 0 once the reply came from the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How a provider is asked until it answers, or until asking again is no use."""

    provider: Provider
    identity: str
    """The provider's, as canonical JSON."""
    meter: Meter
    limiter: Limiter
    cache: ResponseCache | None = None
    retries: int = 4
    timeout: float | None = 180.0
    """Seconds of one attempt; ``None``: the provider has its own."""
    deadline: float = 900.0
    """Seconds after the first one failed: later than that, no other is begun."""
    offline: bool = False
    """Only a provider of this machine is asked."""
    hedge: float | None = None
    """Seconds without an answer after which a second attempt is sent beside the first; ``None``: never."""
    clock: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def refused(self) -> ModelError | None:
        """Why nothing is sent: the provider is on another machine, and only this one may be reached."""
        try:
            if self.offline and self.provider.origin.partition("/")[0] != "local":
                check_here(self.provider.origin, self.offline)
        except ModelError as error:
            return error
        return None

    async def answer(self, asked: Asked) -> Reply:
        """One answer. The cache is looked into before every attempt: another process may have been answered meanwhile.

        An attempt sent beside another uses up no retry.
        """
        cache, key, rounds = self.cache, asked.key, 0
        failed: float | None = None
        while True:
            if key is not None and (hit := await self._found(key, asked)) is not None:
                asked.sent = 0
                return hit
            if (refused := self.refused()) is not None:
                raise refused
            landed = 0 if cache is None else cache.landed
            try:
                await self.limiter.clear()
                most = self.meter.prompt(asked.prompt)
                draw = await asked.purse.draw(self.meter.most(asked.request, most))
                # perhaps the same was asked meanwhile
                if cache is not None and key is not None and (key in cache.flights or cache.landed != landed):
                    draw.release()
                    continue
                asked.sent, rounds = asked.sent + 1, rounds + 1
                if self.hedge is None:
                    return await self._attempt(asked, most, draw)
                return await self._twice(asked, most, draw)
            except ModelError as error:
                failed = self.clock() if failed is None else failed
                delay = self._delay(error, rounds, failed, asked.request)
                if delay is None:
                    _add(error, asked.sent)
                    raise
                _log.debug("%s: attempt %d failed (%s), again in %.1f s", self.provider.name, asked.sent, error, delay)
            await self.sleep(delay)

    async def _twice(self, asked: Asked, most: int, draw: Draw) -> Reply:
        """An attempt, and a second one beside it where there is no answer in time and the budget grants it: the first answer counts.

        The other is cancelled; nobody knows what that cost, so all of it is counted.
        """
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        first: asyncio.Task[Reply | None] = asyncio.ensure_future(self._attempt(asked, most, draw, begun))
        tries = {first}
        try:
            await asyncio.wait(
                (first, begun), return_when=asyncio.FIRST_COMPLETED
            )  # waiting for its turn is not slowness
            if not first.done():
                await asyncio.wait(tries, timeout=self.hedge)
            if not first.done():
                tries.add(asyncio.ensure_future(self._again(asked, most, draw)))
            open_ = set(tries)
            while open_:
                done, open_ = await asyncio.wait(open_, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.exception() is None and (reply := task.result()) is not None:
                        return reply
            raise first.exception() or AssertionError
        finally:
            begun.cancel()
            for task in tries:
                task.cancel()
            await asyncio.gather(*tries, return_exceptions=True)

    async def _again(self, asked: Asked, most: int, first: Draw) -> Reply | None:
        """The second attempt, once what it may cost is set aside; ``None`` where the first has come to its end meanwhile."""
        draw = await asked.purse.draw(self.meter.most(asked.request, most), optional=True)
        if not first.open:
            draw.release()
            return None
        asked.sent += 1
        return await self._attempt(asked, most, draw, beside=True)

    async def _found(self, key: bytes, asked: Asked) -> Reply | None:
        """The reply from the cache, or from somebody who is asking the same at this moment."""
        assert self.cache is not None
        while (hit := await self.cache.get(key)) is None or not answers(hit, asked.request):
            if (flight := self.cache.flights.get(key)) is None:
                return None
            await asyncio.wait((flight,))
            if (reply := flight.result()) is not None and answers(reply, asked.request):
                hit = as_hit(reply, kept=reply.usage.kept)
                break
        (await asked.purse.draw(Bound(hit.usage.tokens))).settle(hit.usage)
        return hit

    async def _attempt(
        self, asked: Asked, most: int, draw: Draw, begun: asyncio.Future[None] | None = None, *, beside: bool = False
    ) -> Reply:
        """One attempt, with ``most`` tokens set aside for its prompt. ``begun`` is told when it is sent; one ``beside`` another is not
        waited for by others.

        Who asks the same meanwhile waits for what comes of it: it waits for nobody, so that must end.
        """
        key, cache = asked.key, self.cache
        flight: asyncio.Future[Reply | None] | None = None
        reply: Reply | None = None
        if cache is not None and key is not None and not beside:
            flight = cache.flights[key] = asyncio.get_running_loop().create_future()
        try:
            async with self.limiter.slot(draw.bound.tokens) as slot:
                if begun is not None and not begun.done():
                    begun.set_result(None)
                answer = await self._send(asked.request, slot, draw)
            kept = cache is not None and cache.durable
            reply = self.meter.counted(asked.request, asked.prompt, most, answer, kept=kept)
            reply = await self._keep(key, reply, draw)
        except BaseException:
            draw.release()  # unless it was sent: then something else has been said of it already
            raise
        finally:
            if cache is not None and key is not None and flight is not None:
                del cache.flights[key]
                flight.set_result(reply)
        return reply

    async def _send(self, request: Request, slot: CallSlot, draw: Draw) -> Reply:
        """One attempt. Where it fails, what it cost is settled here."""
        try:
            slot.sent = True
            try:
                async with asyncio.timeout(self.timeout):
                    with staying_here(self.offline):
                        reply = await self.provider.send(request)
            except TimeoutError:
                limit = "in time" if self.timeout is None else f"within {self.timeout:g} s"
                raise Interrupted(
                    f"{self.provider.name} gave no whole answer {limit}: allow it more time (timeout), ask for fewer tokens, or use a "
                    "faster model"
                ) from None
        except ModelError as error:
            slot.failed(error)
            if isinstance(error, PaidFailure) and error.usage.prompt > 0:
                draw.settle(replace(error.usage, usd=self.meter.usd(error.usage)))
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
            if key is not None and self.cache is not None:
                await self.cache.put(key, reply)
        except BaseException as error:
            reply = replace(reply, usage=replace(reply.usage, kept=False))
            if not isinstance(error, EnvironmentError_):
                raise
            # it has been paid for: better an answer that is not kept than none
            _log.warning("a reply of %s is not kept: %s", self.provider.name, error)
        finally:
            draw.settle(reply.usage)
        return reply

    def _delay(self, error: ModelError, attempt: int, failed: float, request: Request) -> float | None:
        """Seconds until the next attempt; ``None`` if there is none."""
        asked = error.retry_after or 0.0
        if not error.retry or error.fatal or attempt > self.retries or asked > LONGEST_PAUSE:
            return None
        chance = Random(request_key(self.identity, request) + bytes([attempt % 256])).random()
        delay = max(asked, chance * min(_LONGEST, _FIRST * 2 ** (attempt - 1)))
        return None if self.clock() + delay - failed > self.deadline else delay


def answers(hit: Reply, request: Request) -> bool:
    """Whether a kept reply answers a request: one that was cut off does not where there is more room now."""
    return not (hit.truncated and request.thinking and hit.usage.generated < request.max_tokens)


def _add(error: ModelError, attempts: int) -> None:
    """Say in the error how often it was tried, and that waiting longer was no option."""
    more = [f"after {attempts} attempts"] if attempts > 1 else []
    if (error.retry_after or 0.0) > LONGEST_PAUSE:
        more.append(f"it asks to wait {error.retry_after:.0f} s")
    if more:
        error.args = (f"{error} ({', '.join(more)})",)
