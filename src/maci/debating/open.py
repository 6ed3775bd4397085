"""Running a debate from start to result in a line of Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from maci.agents.agent import Agent
from maci.agents.judges.crit import Judge
from maci.cases.case import Case
from maci.config import Config
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.debating.loop import Nowhere, Recorder, debate
from maci.evidence.encode import Encoder, load_encoder
from maci.evidence.source import CaseEvidence
from maci.seating.table import Table, opening


def run(
    case: Case,
    agents: Sequence[Agent],
    judges: Sequence[Judge],
    *,
    config: Config | None = None,
    encoder: Encoder | None = None,
    seed: int = 0,
    record: Recorder = Nowhere(),
    watch: Callable[[Event], object] = lambda event: None,
) -> Finished:
    """Debate a case and return the result; ``watch`` is called with every event."""
    config = config or Config()
    encoder = encoder or load_encoder(config.evidence.encoder)
    table = Table(agents=agents, judges=judges, evidence=CaseEvidence(case), encoder=encoder)

    async def play() -> Finished:
        last: Event | None = None
        async for last in debate(opening(case, table, config, seed=seed), table, record=record):
            watch(last)
        assert isinstance(last, Finished)
        return last

    return asyncio.run(play())
