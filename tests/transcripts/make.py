"""How the frozen file of the current format was made: the paper's dengue case, with calls that cost something, broken off once,
under a schedule that learns; something is found out where it would have ended, and utilities say what is worth asking.

python tests/transcripts/make.py   (only when FORMAT is raised; an existing file is never written again)
"""

import asyncio
from dataclasses import replace
from pathlib import Path

from maci.acquisition.gain import Stakes
from maci.acquisition.sources import Called
from maci.cases.case import load_case
from maci.config import load
from maci.controller.bandit import Arms, Context, Learned, Lesson
from maci.controller.events import FORMAT
from maci.controller.inputs import Sent
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.record.transcript import Transcript
from maci.seating.table import Table, opening
from maci.seating.tables import Tables

PATH = Path(__file__).parent / f"format-{FORMAT}.jsonl"


def table() -> Table:
    case = load_case("paper-dengue")
    made = replace(Tables("paper", load_encoder("wordllama")).table(case), source=Called(lambda item: True, "frozen"))
    for seat in (*made.agents, *made.judges):
        seat._ceiling = 500
    return made


async def main() -> None:
    case, config = (
        load_case("paper-dengue"),
        load(
            environ={},
            sets=["schedule=linucb", "triage.enabled=true", "triage.worth=1e9", "plan.acquire=1", "plan.gate=false"],
        ),
    )
    context = Context(d=0.5, d_change=None, q=0.7, q_change=None, gain=0.1, gain_change=None, budget=0.9)
    taught = Arms.fresh().taught(Lesson(action=0, context=context, reward=0.2, cost=1500, growth=1.1))
    learned = Learned(task="dengue", debate="frozen", debates=1, arms=taught.records())
    stakes = Stakes(actions={"treat": {"Dengue Fever": 5.0, "otherwise": -4.0}, "wait": {"otherwise": 0.0}}, cost=0.0)
    opened = opening(case, table(), config, seed=7, learned=learned, stakes=stakes)
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
