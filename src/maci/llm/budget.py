"""The ledger: the most a call can cost is set aside before it is sent; what does not fit is not sent.

>>> ledger = Ledger(tokens=100)
>>> ledger.reserve(80), ledger.reserve(30)
(True, False)
>>> ledger.settle(80, 25)
>>> ledger.spent, ledger.reserve(30)
(25, True)
"""

from __future__ import annotations

__all__ = ["Ledger"]


class Ledger:
    """Tokens spent and set aside under a ceiling."""

    def __init__(self, tokens: int, spent: int = 0) -> None:
        self.ceiling, self.spent, self.reserved = tokens, spent, 0

    @property
    def left(self) -> int:
        """What may still be promised."""
        return self.ceiling - self.spent - self.reserved

    def reserve(self, tokens: int) -> bool:
        """Set ``tokens`` aside if they fit. Once more was used than was promised, nothing fits any more."""
        if tokens > self.left:
            return False
        self.reserved += tokens
        return True

    def settle(self, reserved: int, used: int) -> None:
        """Turn a reservation into what the call did cost."""
        self.reserved -= reserved
        self.spent += used
