"""The examples are what they are said to be."""

from __future__ import annotations

from pathlib import Path

from maci.controller.events import FORMAT
from maci.controller.inputs import Opened, TurnTaken
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.file import load_panels

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_panels_can_be_read() -> None:
    assert "two-qwens" in load_panels(EXAMPLES / "panels.yaml").panels


def test_the_recorded_debate_of_two_models_replays_and_kept_what_was_asked_and_said() -> None:
    record = read(EXAMPLES / "two-qwens.jsonl")
    opened, turns = record.events[0], [event for event in record.events if isinstance(event, TurnTaken)]
    assert isinstance(opened, Opened) and (opened.format, opened.panel) == (FORMAT, "two-qwens")
    finished = replay(record.events).state.finished
    assert finished is not None and (finished.answer, finished.stop_reason) == ("worn chain", "stalemate")
    assert all(event.turn.raw and event.turn.prompt for event in turns) and len(turns) == 6
