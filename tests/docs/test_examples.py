"""The examples are what they are said to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from maci.controller.decisions import Gated
from maci.controller.inputs import TurnFailed, TurnTaken
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.file import load_panels

EXAMPLES = Path(__file__).parents[2] / "examples"
TRANSCRIPTS = sorted(EXAMPLES.glob("*/transcript.jsonl"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.parent.name)
def test_every_transcript_replays(path: Path) -> None:
    assert replay(read(path).events).complete


def test_the_panels_can_be_read() -> None:
    assert "two-qwens" in load_panels(EXAMPLES / "panels.yaml").panels


def test_two_qwens_end_with_dengue_on_admitted_arguments_and_every_turn_was_read() -> None:
    events = read(EXAMPLES / "two-qwens" / "transcript.jsonl").events
    end = replay(events).state.finished
    assert end is not None and end.answer == "Dengue fever"
    assert end.stop_reason not in {"budget", "error", "stopped_by_user"}
    admitted = [a for e in events if isinstance(e, Gated) for a in e.admissions if a.admitted]
    assert any(citation.verified for a in admitted for citation in a.citations)
    assert not [e for e in events if isinstance(e, TurnFailed)]
    assert all(e.turn.raw and e.turn.prompt for e in events if isinstance(e, TurnTaken))
    late = [e.turn.usage for e in events if isinstance(e, TurnTaken) and e.round >= 2]
    assert (
        sum(usage.cached for usage in late) >= 0.6 * sum(usage.prompt for usage in late) > 0
    )  # by llama.cpp's own count
