"""The examples print what they are shown to print."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from maci.controller.events import FORMAT
from maci.controller.inputs import Opened, TurnTaken
from maci.record.replay import replay
from maci.record.transcript import read
from maci.seating.file import load_panels

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
sys.path.append(str(EXAMPLES))
from run import ELSEWHERE, OFFLINE, output, run  # noqa: E402  the examples are no package


@pytest.mark.parametrize("name", OFFLINE)
def test_an_example_prints_what_is_shown(name: str) -> None:
    assert run(name) == output(name).read_text(encoding="utf-8"), "run `make docs`"


@pytest.mark.system
@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_example_that_needs_another_package_prints_what_is_shown(name: str) -> None:
    if not find_spec(ELSEWHERE[name]):
        pytest.skip(f"{ELSEWHERE[name]} is not installed here")
    assert run(name) == output(name).read_text(encoding="utf-8"), f"run `python examples/run.py {name}`"


def test_every_guide_shows_an_example_and_every_example_is_run() -> None:
    shown = {
        name
        for guide in (ROOT / "docs" / "howto").glob("*.md")
        for name in re.findall(r"examples/([\w]+\.(?:py|sh))\n", guide.read_text(encoding="utf-8"))
    }
    assert shown == {*OFFLINE, *ELSEWHERE} and len(shown) == len(list((ROOT / "docs" / "howto").glob("*.md"))) == 10


def test_the_panels_can_be_read() -> None:
    assert "two-qwens" in load_panels(EXAMPLES / "panels.yaml").panels


def test_the_recorded_debate_of_two_models_replays_and_kept_what_was_asked_and_said() -> None:
    record = read(EXAMPLES / "two-qwens.jsonl")
    opened, turns = record.events[0], [event for event in record.events if isinstance(event, TurnTaken)]
    assert isinstance(opened, Opened) and (opened.format, opened.panel) == (FORMAT, "two-qwens")
    finished = replay(record.events).state.finished
    assert finished is not None and (finished.answer, finished.stop_reason) == ("worn chain", "stalemate")
    assert all(event.turn.raw and event.turn.prompt for event in turns) and len(turns) == 6
