"""The seconds of a debate's budget."""

from __future__ import annotations

from time import monotonic

__all__ = ["Clock"]


class Clock:
    """Runs until the budget's seconds are over; those of a pause, and those a person takes to answer, are not among them."""

    def __init__(self, seconds: float | None) -> None:
        """``None``: without end."""
        self._deadline = None if seconds is None else monotonic() + seconds
        self._stopped_at: float | None = None

    def stop(self, stopped: bool) -> None:
        """Stop it, or let it go on."""
        if stopped and self._stopped_at is None:
            self._stopped_at = monotonic()
        elif not stopped and self._stopped_at is not None:
            if self._deadline is not None:
                self._deadline += monotonic() - self._stopped_at
            self._stopped_at = None

    @property
    def left(self) -> float | None:
        """Seconds until time is up, below 0 after it; ``None`` without an end, and while it is stopped."""
        return None if self._deadline is None or self._stopped_at is not None else self._deadline - monotonic()

    @property
    def over(self) -> bool:
        """Whether time is up."""
        left = self.left
        return left is not None and left <= 0
