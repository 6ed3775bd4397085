"""The frozen transcript of the current format can be read and recomputed."""

from pathlib import Path

from maci.controller.events import FORMAT
from maci.record.replay import replay
from maci.record.transcript import read


def test_the_frozen_transcript_replays():
    done = replay(read(Path(__file__).parent / f"format-{FORMAT}.jsonl").events)
    assert done.complete
    assert (done.state.finished.answer, done.state.finished.rounds) == ("Dengue Fever", 4)
