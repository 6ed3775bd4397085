"""What a call cost, the most it can cost, and how its requests went."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple

from maci.errors import ModelError

PROMPT_CUT = "the prompt was cut"
"""How the note on a call begins whose prompt the server did not read to its end."""


def dollars(usd: float) -> str:
    """An amount with at least two figures of it to be seen.

    >>> dollars(1.5), dollars(0.0312), dollars(0.0000123), dollars(0.0)
    ('$1.50', '$0.0312', '$0.000012', '$0')
    """
    if usd <= 0:
        return "$0"
    return f"${usd:.{2 if usd >= 1 else max(4, 1 - floor(log10(usd)))}f}"


class Bound(NamedTuple):
    """The most something can cost."""

    tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Bound) -> Bound:
        """Both together."""
        return Bound(self.tokens + other.tokens, self.usd + other.usd)

    def times(self, n: int) -> Bound:
        """The same ``n`` times."""
        return Bound(self.tokens * n, self.usd * n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call, or several together, cost."""

    prompt: int = 0
    cached: int = 0
    """Prompt tokens that came from a cache of the provider's."""
    generated: int = 0
    thought: int = 0
    """Generated tokens that were thinking, as far as the provider counts them."""
    usd: float = 0.0
    free: bool = False
    """Counts against the token ceiling, but nobody pays for it: a reader's words, a reply from the response cache."""
    seconds: float = 0.0
    """How long the calls took, added up."""
    kept: bool = False
    """The reply is on disk already, in the response cache."""
    saved: float = 0.0
    """Dollars that replies from the response cache did cost when they were bought."""

    @property
    def tokens(self) -> int:
        """All tokens that count against the budget."""
        return self.prompt + self.generated

    @property
    def paid(self) -> bool:
        """Whether losing the reply would cost something."""
        return not self.free and not self.kept and (self.tokens > 0 or self.usd > 0)

    def __add__(self, other: Usage) -> Usage:
        if not other:
            return self
        if not self:
            return other
        return Usage(
            prompt=self.prompt + other.prompt,
            cached=self.cached + other.cached,
            generated=self.generated + other.generated,
            thought=self.thought + other.thought,
            usd=self.usd + other.usd,
            free=self.free and other.free,
            seconds=self.seconds + other.seconds,
            kept=self.kept and other.kept,
            saved=self.saved + other.saved,
        )

    def __bool__(self) -> bool:
        return bool(self.prompt or self.generated or self.usd)


NOTHING = Usage()
"""What cost nothing."""


class PaidFailure(ModelError):
    """A call that failed and says what it cost."""

    charged = True

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """Of whom something was asked, when, and how it went."""

    model: str
    """``provider/model``, as it was asked."""
    at: str
    """When it was asked, UTC."""
    seconds: float = 0.0
    """Until it was answered, waiting and further attempts included."""
    served: str = ""
    """The model's name as the server reports it."""
    attempts: int = 0
    """How often it was sent; 0: the reply was in the response cache, or nothing was sent."""
    cached: bool = False
    """The reply came from the response cache."""
    limit: int = 0
    """Most tokens it could generate, thinking included."""
    truncated: bool = False
    """The reply ran into the limit."""
    without: tuple[str, ...] = ()
    """Parameters that were left out because the model or its API does not take them."""
    error: str = ""
    """Why there was no reply."""
