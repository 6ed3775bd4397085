"""One request to a model and what came of it, for the record."""

from __future__ import annotations

from dataclasses import dataclass, field

from maci.llm.model import Message
from maci.llm.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was asked, when, of whom, and how it went."""

    model: str
    """``provider/model``, as it was asked."""
    messages: tuple[Message, ...]
    at: str
    """When it was asked, UTC."""
    seconds: float = 0.0
    """Until it was answered, waiting and further attempts included."""
    served: str = ""
    """The model's name as the server reports it."""
    attempts: int = 0
    """How often it was sent; 0 where the reply came from the response cache or nothing was sent."""
    cached: bool = False
    """The reply came from the response cache."""
    limit: int = 0
    """Most tokens it could generate."""
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    without: tuple[str, ...] = ()
    """Parameters left out."""
    error: str = ""
    """Why there was no reply."""
