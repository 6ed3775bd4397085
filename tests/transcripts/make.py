"""How the frozen file of the current format was made: the paper's dengue case, with calls that cost something, broken off once.

python tests/transcripts/make.py   (only when FORMAT is raised; an existing file is never written again)
"""

import asyncio
from pathlib import Path

from maci.calls import Table
from maci.case.case import load_case
from maci.config import load
from maci.controller.inputs import Sent
from maci.debate import debate
from maci.evidence.encode import load_encoder
from maci.panel import build_table
from maci.record.events import FORMAT
from maci.record.transcript import Transcript
from maci.run import opening

PATH = Path(__file__).parent / f"format-{FORMAT}.jsonl"


def table() -> Table:
    case = load_case("paper-dengue")
    made = build_table("paper", case, load_encoder("wordllama"))
    for seat in (*made.agents, *made.judges):
        seat._ceiling = 500
    return made


async def main() -> None:
    case, config = load_case("paper-dengue"), load(environ={})
    opened = opening(case, table(), config, seed=7, panel="paper")
    with Transcript.create(PATH) as record:
        async for event in debate(opened, table(), record=record):
            if isinstance(event, Sent) and event.round == 2:
                break  # as if killed with calls under way
    record, recording = Transcript.resume(PATH)
    with record:
        async for _ in debate(recording.opened, table(), record=record, recorded=recording.events):
            pass


if __name__ == "__main__":
    asyncio.run(main())
