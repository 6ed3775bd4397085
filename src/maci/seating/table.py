"""The table of a debate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maci.acquisition.proposals import Proposer
from maci.acquisition.sources.source import Source
from maci.agents.agent import Agent
from maci.agents.judges.judge import Judge
from maci.errors import InputError
from maci.evidence.encode import Encoder
from maci.evidence.source import EvidenceSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Who debates, on what evidence."""

    agents: Sequence[Agent]
    judges: Sequence[Judge]
    evidence: EvidenceSource
    encoder: Encoder
    proposer: Proposer | None = None
    """Who looks for what could be found out; without one, only agents' requests and disagreements are considered."""
    source: Source | None = None
    """Who answers what the plan asks."""
    panel: str = ""
    """The panel that sits here, by name; nothing for one made in Python."""
    spec: Mapping[str, Any] | None = None
    """A panel of models as it was resolved."""

    def __post_init__(self) -> None:
        for seats, kind in ((self.agents, Agent), (self.judges, Judge)):
            for seat in seats:
                if not isinstance(seat, kind):
                    raise InputError(
                        f"{type(seat).__name__} is not a maci.{kind.__name__}: derive it from maci.{kind.__name__}"
                    )
