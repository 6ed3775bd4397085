"""The ceiling of a whole run, on record: what is set aside is written down before a call is made, what it cost afterwards.

So a run that is killed and started again knows what it may have spent: what was open counts in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from maci.errors import BudgetError
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
        """Spent by earlier runs of the same study."""
        self.reached: Literal["tokens", "usd"] | None = None
        """What did not suffice, once something did not."""
        self.tokens, self.usd, self.parent = tokens, usd, None

    @property
    def spent(self) -> Usage:
        """By all runs."""
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
        old, self._aside = self._aside, aside
        if aside.tokens <= old.tokens and aside.usd <= old.usd:
            return  # what is freed is written with what was spent of it
        total = self._write()
        if total is None:
            return
        over = self.tokens is not None and total.tokens > self.tokens
        if over or (self.usd is not None and total.usd > self.usd + 1e-9):  # another run took it meanwhile
            self._aside, self.reached = old, "tokens" if over else "usd"
            self._write()
            raise BudgetError("runs elsewhere have taken what was left of the budget", self.reached)

    def lacks(self, bound: Bound) -> Literal["tokens", "usd"] | None:
        """As any ledger, and remembers that it had to refuse."""
        lacking = super().lacks(bound)
        self.reached = lacking or self.reached
        return lacking

    @property
    def own(self) -> Bound:
        """Spent by this run."""
        return Bound(self._spent.tokens, self._spent.usd)

    def _write(self) -> Bound | None:
        return None if self._note is None else self._note(self.own, self._aside)
