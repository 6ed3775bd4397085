"""What is known of a record besides its events: where it lies, whether it was recomputed, where it breaks off."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from maci.errors import ReplayMismatch
from maci.record.replay import replay
from maci.record.transcript import Recording

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

    @classmethod
    def of(cls, recording: Recording, path: Path, *, priced: bool = True) -> Self:
        """What stands behind the report of a record: the record is computed again."""
        compared, differs, unfinished, resume = None, "", "", ""
        try:
            again = replay(recording.events)
            compared = again.compared
            if not again.complete:
                unfinished, resume = again.where(), f"maci debate --resume --out {shlex.quote(str(path.parent))}"
        except ReplayMismatch as error:
            differs = str(error)
        return cls(
            transcript=str(path), hashes=recording.hashes, compared=compared, differs=differs,
            unfinished=unfinished, resume=resume, priced=priced,
        )  # fmt: skip
