"""The ledger: the most a call can cost is set aside before it is sent; what does not fit is not sent.

>>> ledger = Ledger(tokens=100)
>>> ledger.reserve(Bound(80)), ledger.reserve(Bound(30))
(True, False)
>>> ledger.settle(Bound(80), Usage(generated=25))
>>> ledger.spent.tokens, ledger.reserve(Bound(30))
(25, True)

Every call is made the same way, in a debate, by a method or in an audit. Preparing it (``prepare`` of a model, an agent or a judge)
measures it and gives a :class:`Call`; :func:`spend` sets its bound aside and opens a :class:`Purse`; the call is made with that purse,
and closing the purse turns what was set aside into what the call cost. A client draws on the purse before each attempt. A second
attempt may need more than was set aside, and asks for it. Where it is refused while others of the same call are still out (a belief
of several draws), it waits for them: they mostly cost less than was set aside.

>>> ledger = Ledger(tokens=100)
>>> with spend(ledger, Bound(80)) as purse:
...     purse.hold(Bound(80)).settle(Usage(generated=25))
>>> ledger.spent.tokens, ledger.reserved.tokens
(25, 0)

The ceiling of a whole run is on record (:class:`RunLedger`): what is set aside is written down before a call is made, what it cost
afterwards. So a run that is killed and started again knows what it may have spent: what was open counts in full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, Protocol, Self, TypeVar

from maci.errors import BudgetError, InputError, ModelError
from maci.llm.usage import NOTHING, Bound, PaidFailure, Usage, dollars

if TYPE_CHECKING:
    from maci.llm.model import Exchange


T = TypeVar("T")


class Ledger:
    """Tokens and dollars spent and set aside under a ceiling; ``parent`` is the ceiling of the run it is part of."""

    reached: Literal["tokens", "usd"] | None = None
    """What did not suffice, here or further up, once something that was needed did not fit."""

    def __init__(
        self,
        tokens: int | None = None,
        usd: float | None = None,
        spent: Usage = Usage(),
        *,
        parent: Ledger | None = None,
    ) -> None:
        self.tokens, self.usd, self.spent, self.reserved, self.parent = tokens, usd, spent, Bound(), parent

    @property
    def left(self) -> Bound:
        """What may still be promised here; infinite where there is no ceiling."""
        tokens = 10**18 if self.tokens is None else self.tokens - self.spent.tokens - self.reserved.tokens
        usd = float("inf") if self.usd is None else self.usd - self.spent.usd - self.reserved.usd
        return Bound(tokens, usd)

    def lacks(self, bound: Bound, *, optional: bool = False) -> Literal["tokens", "usd"] | None:
        """Which resource a bound does not fit into, here or further up; ``None`` if it fits.

        The ceiling is not ``reached`` where something ``optional`` does not fit.
        """
        lacking = self._lacks(bound)
        if lacking is None and self.parent is not None:
            lacking = self.parent.lacks(bound, optional=optional)
        if not optional:
            self.reached = lacking or self.reached
        return lacking

    def _lacks(self, bound: Bound) -> Literal["tokens", "usd"] | None:
        left = self.left
        if bound.tokens > left.tokens:
            return "tokens"
        return "usd" if bound.usd > left.usd + 1e-12 else None

    def reserve(self, bound: Bound, *, optional: bool = False) -> bool:
        """Set a bound aside, here and further up, if it fits; else nothing is set aside anywhere."""
        if self.lacks(bound, optional=optional) is not None:
            return False
        if self.parent is not None and not self.parent.reserve(bound, optional=optional):
            return False
        self.reserved = self.reserved.plus(bound)
        return True

    async def grant(self, bound: Bound, *, optional: bool = False) -> bool:
        """Set more aside for a call that is under way, if it fits."""
        return self.reserve(bound, optional=optional)

    def refusal(self, bound: Bound) -> str:
        """Why a bound does not fit, in figures.

        >>> Ledger(tokens=45, spent=Usage(prompt=40)).refusal(Bound(10))
        'may need 10 tokens, 5 of 45 are left'
        >>> ledger = Ledger(tokens=45, spent=Usage(prompt=20))
        >>> ledger.reserve(Bound(20)), ledger.refusal(Bound(10))
        (True, 'may need 10 tokens, 5 of 45 are left (20 set aside for other calls)')
        """
        ledger = self
        while ledger.parent is not None and ledger._lacks(bound) is None:
            ledger = ledger.parent
        usd = ledger._lacks(bound) == "usd"
        need = f"may cost {dollars(bound.usd)}" if usd else f"may need {bound.tokens:,} tokens"
        ceiling = dollars(ledger.usd or 0.0) if usd else f"{ledger.tokens or 0:,}"
        if not ledger.spent and not any(ledger.reserved):
            return f"{need} for the first call; the ceiling is {ceiling}"
        left = dollars(ledger.left.usd) if usd else f"{max(0, ledger.left.tokens):,}"
        aside = ledger.reserved.usd if usd else ledger.reserved.tokens
        parts = "" if not aside else f" ({dollars(aside) if usd else f'{aside:,}'} set aside for other calls)"
        return f"{need}, {left} of {ceiling} are left{parts}"

    def settle(self, reserved: Bound, used: Usage) -> None:
        """Turn a reservation into what the call did cost."""
        ledger: Ledger | None = self
        while ledger is not None:
            ledger.reserved = ledger.reserved.plus(Bound(-reserved.tokens, -reserved.usd))
            ledger.spent = ledger.spent + used
            ledger = ledger.parent


class Draw:
    """One attempt's share of a purse. Exactly one of the three is said of it; saying nothing (a cancelled attempt) forfeits it."""

    def __init__(self, purse: Purse, bound: Bound) -> None:
        self._purse, self.bound, self.open = purse, bound, True

    def settle(self, usage: Usage) -> None:
        """The provider said what it cost."""
        self._close(usage, freed=self.bound)

    def release(self) -> None:
        """It certainly cost nothing: refused before any work, or answered from the cache."""
        self._close(NOTHING, freed=self.bound)

    def forfeit(self) -> None:
        """Nobody knows what it cost: all of it is counted."""
        self._close(Usage(prompt=self.bound.tokens, usd=self.bound.usd), freed=self.bound)

    def _close(self, usage: Usage, freed: Bound) -> None:
        if self.open:
            self.open = False
            self._purse._close(usage, freed)


class Purse:
    """What a call may spend: what was set aside for it, and what it is granted on asking."""

    def __init__(self, granted: Bound, more: More | None = None, ledger: Ledger | None = None) -> None:
        """``more`` is asked for what a further attempt needs; on closing, ``ledger`` is told what was spent."""
        self.granted, self.spent, self.used = granted, NOTHING, False
        self._more, self._ledger, self._drawn, self._asked = more, ledger, Bound(), Bound()
        self._out = self._asking = self._settled = 0
        """Draws of which nothing was said yet, those that ask for more, and those of which all is known."""
        self._waiting = list[asyncio.Future[None]]()
        """Who was refused, and waits for what comes of them."""
        self.exchanges: list[Exchange] = []
        """What was asked of models with it."""

    async def draw(self, bound: Bound, *, optional: bool = False) -> Draw:
        """Set ``bound`` aside for one attempt, asking for more where what is left does not do.

        The call does without an ``optional`` one: where it is refused, no ceiling is reached.
        Raises :class:`~maci.errors.BudgetError` where it is not granted, also when no draw is out any more: then nothing may be sent.
        """
        self.used = True
        while any(short := self._short(bound)):
            settled = self._settled
            if await self._granted(bound, short, optional):
                return self._draw(bound)
            if self._settled != settled:  # while this one asked: it may need less now
                continue
            if not self._out and not self._asking:
                cost = f" ({dollars(bound.usd)})" if bound.usd else ""
                raise BudgetError(
                    f"another attempt may cost {bound.tokens} tokens{cost}, which do not fit",
                    "tokens" if short.tokens else "usd",
                )
            self._waiting.append(asyncio.get_running_loop().create_future())
            await self._waiting[-1]
        self._drawn = self._drawn.plus(bound)
        return self._draw(bound)

    def hold(self, bound: Bound) -> Draw:
        """Set ``bound`` aside for a call that makes no draws and says afterwards what it cost."""
        self._drawn = self._drawn.plus(bound)
        return self._draw(bound)

    def _draw(self, bound: Bound) -> Draw:
        self._out += 1
        return Draw(self, bound)

    async def _granted(self, bound: Bound, short: Bound, optional: bool) -> bool:
        """Ask for what is short; while that is open, ``bound`` counts as drawn."""
        if self._more is None:
            return False
        self._drawn = self._drawn.plus(bound)
        self._asked = self._asked.plus(short)  # so that who asks meanwhile does not ask for this share as well
        granted, self._asking = False, self._asking + 1
        try:
            granted = await self._more(short, optional=optional)
        except BaseException:
            self._settled += 1
            raise
        finally:
            self._asking -= 1
            self._asked = self._asked.plus(Bound(-short.tokens, -short.usd))
            if granted:
                self.granted = self.granted.plus(short)
            else:  # refused, or cancelled while asking: nothing is sent
                self._drawn = self._drawn.plus(Bound(-bound.tokens, -bound.usd))
                if not self._asking and not self._out:  # nothing else would wake those who wait
                    self._wake()
        return granted

    def _short(self, bound: Bound) -> Bound:
        """How much of a bound is not covered by what was granted or is being asked for."""
        usd = bound.usd + self._drawn.usd + self.spent.usd - self.granted.usd - self._asked.usd
        tokens = bound.tokens + self._drawn.tokens + self.spent.tokens - self.granted.tokens - self._asked.tokens
        return Bound(max(0, tokens), usd if usd > 1e-12 else 0.0)

    def _close(self, usage: Usage, freed: Bound) -> None:
        self._drawn = self._drawn.plus(Bound(-freed.tokens, -freed.usd))
        self.spent = self.spent + usage if self.spent else usage
        self._out, self._settled = self._out - 1, self._settled + 1
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def total(self) -> Usage:
        """What was spent; attempts that never said what they cost count in full."""
        if not any(self._drawn):
            return self.spent
        return self.spent + Usage(prompt=self._drawn.tokens, usd=max(0.0, self._drawn.usd))

    def close(self) -> None:
        """Nothing more is spent: what was granted becomes what the call cost, or may have cost."""
        if self._ledger is not None:
            self._ledger.settle(self.granted, self.total())
            self._ledger = self._more = None  # which may know the call: a cycle would keep the table of a debate alive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class More(Protocol):
    """Asks for more than was set aside; the answer says whether it was granted. The call does without what is ``optional``."""

    def __call__(self, bound: Bound, /, *, optional: bool) -> Awaitable[bool]: ...


def spend(ledger: Ledger, bound: Bound, more: More | None = None) -> Purse:
    """Set ``bound`` aside and open a purse on it; ``more`` grants what further attempts need, without it the ledger does.

    Raises :class:`~maci.errors.BudgetError` where it does not fit. Nothing is set aside then.
    """
    if not ledger.reserve(bound):
        raise BudgetError(ledger.refusal(bound), ledger.lacks(bound) or "tokens")
    return Purse(bound, more or ledger.grant, ledger)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A call that has been prepared and not made."""

    bound: Bound
    """The most its first attempt can cost. Never too small."""
    make: Callable[[Purse], Awaitable[T]]
    """Makes it, within a purse."""

    async def within(self, ledger: Ledger | None = None) -> T:
        """Make it within a ledger; without one there is no ceiling."""
        with spend(ledger or Ledger(), self.bound) as purse:
            return await self.make(purse)


def reported(ceiling: int | Bound, free: bool, ask: Callable[[], Awaitable[tuple[T, Usage]]]) -> Call[T]:
    """A call that draws on no purse: ``ask`` gives its value and what it cost. Until then all of ``ceiling`` counts, or nothing if
    it is ``free``. One that fails cost nothing, unless it raises :class:`~maci.llm.usage.PaidFailure`; an error that may have
    been charged (``charged``) counts in full.
    """
    most = ceiling if isinstance(ceiling, Bound) else Bound(ceiling)
    bound = Bound(max(0, most.tokens), max(0.0, most.usd))

    async def make(purse: Purse) -> T:
        held = purse.hold(Bound() if free else bound)
        try:
            value, usage = await ask()
            if not isinstance(usage, Usage):
                raise InputError(f"what it cost was given as {type(usage).__name__}, not as Usage")
        except Exception as error:
            if isinstance(error, PaidFailure):
                held.settle(error.usage)
            elif isinstance(error, ModelError) and error.charged:
                held.forfeit()
            else:
                held.release()
            raise
        held.settle(usage)
        return value

    return Call(bound, make)


class RunLedger(Ledger):
    """A :class:`~maci.llm.budget.Ledger` that tells ``note`` of every change, and is told what all runs have come to.

    >>> seen = []
    >>> def note(spent, aside):
    ...     seen.append((spent.tokens, aside.tokens))
    ...     return Bound(20).plus(spent).plus(aside)
    >>> run = RunLedger(tokens=100, before=Bound(20), note=note)
    >>> own = Ledger(tokens=1000, parent=run)
    >>> own.reserve(Bound(70)), own.reserve(Bound(70)), run.reached
    (True, False, 'tokens')
    >>> own.settle(Bound(70), Usage(generated=5))
    >>> seen, run.left.tokens
    ([(0, 70), (5, 0)], 75)
    """

    def __init__(
        self,
        tokens: int | None = None,
        usd: float | None = None,
        *,
        before: Bound = Bound(),
        note: Callable[[Bound, Bound], Bound] | None = None,
    ) -> None:
        self._spent, self._aside, self._note = Usage(), Bound(), note
        self._before = before
        """Spent by other runs of the same study, and set aside."""
        self.tokens, self.usd, self.parent = tokens, usd, None

    @property
    def spent(self) -> Usage:
        """By all runs, with what the others have set aside."""
        return Usage(prompt=self._before.tokens, usd=self._before.usd) + self._spent

    @spent.setter
    def spent(self, total: Usage) -> None:
        before = self._before
        self._spent = Usage(prompt=total.tokens - before.tokens, usd=total.usd - before.usd)
        self._write()

    @property
    def reserved(self) -> Bound:
        """Set aside for calls under way."""
        return self._aside

    @reserved.setter
    def reserved(self, aside: Bound) -> None:
        self._aside = aside  # what is freed is written with what was spent of it

    def reserve(self, bound: Bound, *, optional: bool = False) -> bool:
        """Write down what is set aside, then look at what all runs have come to: what another run took meanwhile is not there."""
        if self.lacks(bound, optional=optional) is not None:
            return False
        self._aside = self._aside.plus(bound)
        self._write()
        if self.lacks(Bound(), optional=optional) is None:
            return True
        self._aside = self._aside.plus(Bound(-bound.tokens, -bound.usd))
        self._write()
        return False

    @property
    def own(self) -> Bound:
        """Spent by this run."""
        return Bound(self._spent.tokens, self._spent.usd)

    def _write(self) -> None:
        """Tell ``note``, and hear from it what the other runs have come to."""
        if self._note is not None:
            total, own = self._note(self.own, self._aside), self.own.plus(self._aside)
            self._before = Bound(max(0, total.tokens - own.tokens), max(0.0, total.usd - own.usd))
