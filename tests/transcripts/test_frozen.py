"""The frozen transcripts of the current format can be read and recomputed."""

from pathlib import Path

from maci.controller.events import FORMAT
from maci.controller.inputs import Compared
from maci.record.replay import replay
from maci.record.transcript import read


def test_the_frozen_transcript_replays():
    done = replay(read(Path(__file__).parent / f"format-{FORMAT}.jsonl").events)
    assert done.complete
    assert (done.state.finished.answer, done.state.finished.rounds) == ("Dengue Fever", 4)


def test_a_record_of_the_same_format_whose_model_was_asked_about_one_pair_of_names_at_a_time_replays():
    events = read(Path(__file__).parent / f"format-{FORMAT}-pairs.jsonl").events
    asked = [event for event in events if isinstance(event, Compared)]
    assert [(event.round, event.relation, event.among) for event in asked] == [(0, "other", ()), (1, "same", ())]
    done = replay(events)
    assert done.complete and done.state.labels == ("other", "tennis elbow", "golfer elbow")
