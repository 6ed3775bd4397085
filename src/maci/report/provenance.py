"""What is known of a record besides its events: where it lies, whether it was recomputed, where it breaks off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What stands behind a report."""

    transcript: str = ""
    """As it was named."""
    hashes: Sequence[str] = ()
    """Of every line of the record, each chained to the one before."""
    compared: int | None = None
    """Decisions that were computed again from the inputs and are the same; ``None`` where nobody looked."""
    differs: str = ""
    """The first decision that is not what its inputs lead to."""
    unfinished: str = ""
    """Where the record ends, if not with a result."""
    resume: str = ""
    """The command that goes on with it."""
    priced: bool = True
    """Whether the price of every model is known."""
