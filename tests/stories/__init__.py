"""Whole debates from several fields, scripted: real arguments that answer each other, for pages, reports and terminals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from helpers import open_debate, play, settings
from maci.acquisition.sources import Hidden
from maci.cases.case import parse_case
from maci.controller.events import Event
from maci.evidence.encode import load_encoder
from maci.files.parse import load
from maci.record.transcript import Transcript
from maci.seating.tables import Script
from maci.story import Story

HERE = Path(__file__).parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.yaml")))
"""`outage` ends agreed, `bridge` split, `painting` withheld, `recall` agreed and wrong, `engine` asks on the way."""


@cache
def events_of(name: str, *sets: str) -> tuple[Event, ...]:
    """The events of a story; ``sets`` beside its own settings."""
    return tuple(_play(name, sets))


def story_of(name: str, *sets: str) -> Story:
    """A story, told."""
    return Story.of(events_of(name, *sets))


def write(name: str, folder: Path, *sets: str) -> Path:
    """A story as a transcript; its folder's name is its own."""
    path = folder / name / "transcript.jsonl"
    with Transcript.create(path) as record:
        _play(name, sets, record=record, created="2026-11-16T09:27:31+00:00", panel="scripted")
    return path


def _play(name: str, sets: tuple[str, ...], record: Transcript | None = None, **changes: Any) -> list[Event]:
    found: Any = load((HERE / f"{name}.yaml").read_text(encoding="utf-8"), "YAML")
    case = parse_case(found["case"], name)
    table = Script.model_validate(found["panel"]).table(case, load_encoder("wordllama"))
    if case.hidden:
        table = replace(table, source=Hidden(case.hidden, table.encoder))
    own = [f"{key}={value}" for key, value in found.get("set", {}).items()]
    config = settings(*own, *sets)
    return play(table, config, case, record=record, opened=open_debate(table, config, case, **changes))
