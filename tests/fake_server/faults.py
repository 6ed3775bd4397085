"""What can go wrong with a request, and how often."""

from __future__ import annotations

from dataclasses import dataclass, fields
from random import Random

from maci.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The probability of each fault; a request has one at most.

    >>> round(Faults.every(0.32).reset, 3)
    0.02
    """

    limited: float = 0.0
    """429 without a Retry-After."""
    limited_wait: float = 0.0
    """429 with one."""
    broken: float = 0.0
    """500, after the work: it is charged."""
    unavailable: float = 0.0
    """503."""
    reset: float = 0.0
    """The connection is reset in the middle of the body."""
    hang: float = 0.0
    """No answer, until the client goes away."""
    drip: float = 0.0
    """A whole answer, in small pieces."""
    cut: float = 0.0
    """The body ends before its length."""
    bad_body: float = 0.0
    """The body is not JSON."""
    bad_content: float = 0.0
    """The model's text is not JSON."""
    wrong_schema: float = 0.0
    """It is JSON of another shape."""
    nan: float = 0.0
    """It has NaN for a number."""
    negative: float = 0.0
    """It has a negative number."""
    empty: float = 0.0
    """It is empty."""
    huge: float = 0.0
    """It is 1 MB."""
    refused: float = 0.0
    """The model will not answer."""

    def __post_init__(self) -> None:
        values = [getattr(self, field.name) for field in fields(self)]
        if min(values) < 0 or sum(values) > 1 + 1e-9:
            raise ConfigError(
                f"fault probabilities must be 0 or more and sum to 1 at most, these sum to {sum(values)}: lower them"
            )

    @classmethod
    def every(cls, rate: float) -> Faults:
        """All of them, equally often, ``rate`` in all."""
        names = [field.name for field in fields(cls)]
        return cls(**dict.fromkeys(names, rate / len(names)))

    def table(self) -> tuple[tuple[float, str], ...]:
        """Cumulative probability and name of each fault there is."""
        rows, total = [], 0.0
        for field in fields(self):
            if (p := getattr(self, field.name)) > 0:
                total += p
                rows.append((total, field.name))
        return tuple(rows)


REFUSED = frozenset({"limited", "limited_wait", "unavailable"})
"""Faults before any work: the server charges nothing for them."""
CONTENT = frozenset({"bad_content", "wrong_schema", "nan", "negative", "empty", "huge"})
"""Faults of the model's text; the answer around it is in order."""


def draw(table: tuple[tuple[float, str], ...], rng: Random) -> str | None:
    """Which fault a request has, if any."""
    if not table:
        return None
    u = rng.random()
    return next((name for total, name in table if u < total), None)
