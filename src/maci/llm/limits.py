"""How much may be asked of one origin at a time, and when not to ask at all.

One :class:`Limiter` serves every model behind an origin. It holds calls back by concurrency, by requests and tokens a minute, and for
as long as the server asked for; and it stops asking a server that only fails: after eight faults in a row over some
seconds calls fail at once, until after a while one call is let through to see whether it is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Self

from maci.errors import Interrupted, ModelError, Overloaded, RateLimited, Unreachable

LONGEST_PAUSE = 60.0
"""Seconds a server may ask us to wait; one that asks for longer is not waited for."""
_FAULTS = 8
_STREAK = 5.0
"""Seconds from the first to the last of those faults: many calls in flight that fail in the same moment are one incident."""
_COOL, _COOLEST = 15.0, 300.0


class CircuitOpen(Unreachable):
    """The origin failed too often in a row; nothing was sent."""

    retry = False


class _Bucket:
    """A rate per minute: what is taken beyond it must be waited for."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        self.most, self._clock = per_minute, clock
        self._level, self._at = per_minute, clock()

    def take(self, amount: float) -> float:
        """Take ``amount``, at most a minute's worth, and say how many seconds to wait until it is there."""
        now = self._clock()
        self._level = min(self.most, self._level + (now - self._at) * self.most / 60) - amount
        self._at = now
        return max(0.0, -60 * self._level / self.most)

    def give_back(self, amount: float) -> None:
        self._level += amount


class Limiter:
    """The limits of one origin. ``clock`` and ``sleep`` are there for tests."""

    def __init__(
        self,
        origin: str = "",
        *,
        concurrency: int = 64,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.origin = origin
        self._clock, self._sleep = clock, sleep
        self._slots = asyncio.Semaphore(concurrency)
        self._requests = None if requests_per_minute is None else _Bucket(requests_per_minute, clock)
        self._tokens = None if tokens_per_minute is None else _Bucket(tokens_per_minute, clock)
        self._paused_until = 0.0
        self._faults, self._first_fault, self._last_fault = 0, 0.0, ""
        self._open_until: float | None = None
        self._cool = _COOL
        self._probing = False

    async def clear(self) -> None:
        """Wait until the origin may be asked at all. For those who set something aside before they queue for a turn.

        Raises :class:`CircuitOpen` where it is not asked at present, and :class:`~maci.errors.RateLimited` where it
        asked to be left alone for longer than anybody should wait.
        """
        self._refuse()
        while (left := self._paused_until - self._clock()) > 0:
            await self._sleep(left)
            self._refuse()

    def slot(self, tokens: int = 0) -> CallSlot:
        """A place for one call of at most ``tokens``, to be entered with ``async with``."""
        return CallSlot(self, tokens)

    def pause(self, seconds: float) -> None:
        """Hold every call back for so long, as the server asked; for ten minutes at most."""
        if seconds > 0:
            self._paused_until = max(self._paused_until, self._clock() + min(seconds, 600.0))

    def _give_back(self, tokens: float, requests: int = 0) -> None:
        if self._requests is not None:
            self._requests.give_back(requests)
        if self._tokens is not None:
            self._tokens.give_back(tokens)

    def _refuse(self) -> None:
        """Fail at once where waiting is no use."""
        now = self._clock()
        if self._paused_until - now > LONGEST_PAUSE:
            left = self._paused_until - now
            raise RateLimited(
                f"{self.origin} asked to be left alone for a while: try later, or use another model", left
            )
        if self._open_until is None:
            return
        left = self._open_until - now
        if left > 0 or self._probing:
            when = f"for another {left:.0f} s" if left > 0 else "until the call now on its way is answered"
            raise CircuitOpen(
                f"{self.origin} failed {self._faults} times in a row and is not asked again {when}; "
                f"the last time: {self._last_fault}"
            )

    def _succeeded(self) -> None:
        self._faults, self._open_until, self._cool = 0, None, _COOL

    def _failed(self, error: ModelError, probe: bool) -> None:
        if error.retry_after is not None:
            self.pause(error.retry_after)
        if not isinstance(error, (Unreachable, Overloaded, Interrupted)):
            self._succeeded()  # it refused, so it is there
            return
        now = self._clock()
        if self._faults == 0:
            self._first_fault = now
        self._faults += 1
        self._last_fault = str(error)
        if probe:
            self._cool = min(2 * self._cool, _COOLEST)
            self._open_until = now + self._cool
        elif self._open_until is None and self._faults >= _FAULTS and now - self._first_fault >= _STREAK:
            self._open_until = now + self._cool


class CallSlot:
    """One call's place: waits until it may be sent, and is held until it has been answered.

    Entering it raises what :meth:`Limiter.clear` raises. What came of the call is to be said.
    """

    def __init__(self, limiter: Limiter, tokens: int) -> None:
        self._limiter = limiter
        self._tokens = tokens if limiter._tokens is None else min(tokens, limiter._tokens.most)
        self._probe = False
        self.sent = False
        """Set it before sending: what was sent counts against the rates, whatever came of it."""

    async def __aenter__(self) -> Self:
        limiter = self._limiter
        limiter._refuse()
        await limiter._slots.acquire()
        try:
            requests = 0.0 if limiter._requests is None else limiter._requests.take(1)
            tokens = 0.0 if limiter._tokens is None else limiter._tokens.take(self._tokens)
            if (delay := max(requests, tokens)) > 0:
                await limiter._sleep(delay)
            await limiter.clear()
            if limiter._open_until is not None:  # this call finds out whether the origin is back
                self._probe = limiter._probing = True
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._probe:
            self._limiter._probing = False
        if not self.sent:
            self._limiter._give_back(self._tokens, 1)
        self._limiter._slots.release()

    def succeeded(self, tokens: int) -> None:
        """It was answered, and took so many tokens."""
        self._limiter._give_back(max(0.0, self._tokens - tokens))
        self._limiter._succeeded()

    def failed(self, error: ModelError) -> None:
        """It was not answered, or refused."""
        self._limiter._failed(error, self._probe)
