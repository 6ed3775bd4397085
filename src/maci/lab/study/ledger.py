"""The ceiling of a whole run, on record: what is set aside is written down before a call is made, what it cost afterwards.

So a run that is killed and started again knows what it may have spent: what was open counts in full.
"""

from __future__ import annotations

from collections.abc import Callable

from maci.llm.budget import Ledger
from maci.llm.usage import Bound, Usage


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

    def reserve(self, bound: Bound) -> bool:
        """Write down what is set aside, then look at what all runs have come to: what another run took meanwhile is not there."""
        if self.lacks(bound) is not None:
            return False
        self._aside = self._aside.plus(bound)
        self._write()
        if self.lacks(Bound()) is None:
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
