"""A transcript of every format version that was ever written can still be read and recomputed."""

from pathlib import Path

import pytest

from maci.controller.events import FORMAT
from maci.record.replay import replay
from maci.record.transcript import read

FILES = sorted(Path(__file__).parent.glob("format-*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_frozen_transcript_replays(file):
    done = replay(read(file).events)
    assert done.complete
    rounds = 4 if done.state.acquired else 3  # what was found out is debated in a round of its own
    assert (done.state.finished.answer, done.state.finished.rounds) == ("Dengue Fever", rounds)


def test_the_current_format_is_frozen_too():
    assert f"format-{FORMAT}" in {file.stem for file in FILES}
