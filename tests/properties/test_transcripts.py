"""A transcript tells its debate again, notices every change to it, and can be gone on with from wherever it was cut."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import Wild, decisions, play, write
from maci.controller.events import Event
from maci.controller.inputs import JudgeAbstention, Scored, TurnFailed, TurnTaken
from maci.errors import MaciError, TranscriptError
from maci.record.replay import replay
from maci.record.transcript import Transcript, read

THOROUGH = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
DEBATES = [
    Wild(seed=1, sets=("max_rounds=2", "min_rounds=2")),
    Wild(seed=2, agents=3, kind="open", sets=("max_rounds=2", "min_rounds=2"), paid=True),
    Wild(seed=3, agents=2, kind="ordered", sets=("max_rounds=3", "min_rounds=3", "crit.enabled=false"), trouble=0.6),
]


@pytest.fixture(autouse=True, scope="module")
def no_disk_sync() -> Iterator[None]:
    """What is tested is what is written, not how hard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(scope="module")
def recorded(folder: Path) -> list[tuple[Wild, bytes, list[Event]]]:
    """Finished debates with their transcripts, byte for byte."""
    found = []
    for number, wild in enumerate(DEBATES):
        path = folder / f"{number}.jsonl"
        events = write(path, wild.table(), wild.config(), wild.case())
        found.append((wild, path.read_bytes(), events))
    return found


def sound(path: Path) -> bool:
    """Whether `maci replay` would say yes."""
    recording = read(path)
    return replay(recording.events).complete and not recording.torn


@pytest.mark.parametrize("number", range(len(DEBATES)))
def test_an_untouched_transcript_is_sound(number: int, recorded: list, folder: Path) -> None:
    assert sound(folder / f"{number}.jsonl")
    assert read(folder / f"{number}.jsonl").events == tuple(recorded[number][2]) or number != 0


def noticed(folder: Path, data: bytes) -> bool:
    path = folder / "changed.jsonl"
    path.write_bytes(data)
    try:
        return not sound(path)
    except MaciError:
        return True


@THOROUGH
@given(which=st.integers(0, len(DEBATES) - 1), place=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_changing_any_byte_is_noticed(recorded: list, folder: Path, which: int, place: float, mask: int) -> None:
    data = bytearray(recorded[which][1])
    data[int(place * len(data))] ^= mask
    assert noticed(folder, bytes(data))


def test_changing_each_single_byte_of_the_last_and_first_lines_is_noticed(recorded: list, folder: Path) -> None:
    data = recorded[0][1]
    last = data[:-1].rindex(b"\n") + 1
    for place in [*range(0, 200), *range(last, last + 120), len(data) - 2, len(data) - 1]:
        for mask in (1, 0x20, ord("\n") ^ data[place] or 3):
            changed = bytearray(data)
            changed[place] ^= mask
            assert noticed(folder, bytes(changed)), (place, mask)


@THOROUGH
@given(data=st.data())
def test_deleting_inserting_or_moving_bytes_and_lines_is_noticed(
    recorded: list, folder: Path, data: st.DataObject
) -> None:
    _, whole, _ = recorded[data.draw(st.integers(0, len(DEBATES) - 1), label="debate")]
    lines = whole.splitlines(keepends=True)
    line = st.integers(0, len(lines) - 1)
    byte = st.integers(0, len(whole) - 1)
    match data.draw(st.sampled_from(["drop", "repeat", "swap", "cut", "insert", "erase"]), label="change"):
        case "drop":
            del lines[data.draw(line)]
            changed = b"".join(lines)
        case "repeat":
            i = data.draw(line)
            lines.insert(data.draw(line), lines[i])
            changed = b"".join(lines)
        case "swap":
            i, j = data.draw(line), data.draw(line)
            lines[i], lines[j] = lines[j], lines[i]
            changed = b"".join(lines)
        case "cut":
            changed = whole[: data.draw(byte)]
        case "insert":
            i = data.draw(byte)
            changed = whole[:i] + data.draw(st.binary(min_size=1, max_size=3)) + whole[i:]
        case _:
            i = data.draw(byte)
            changed = whole[:i] + whole[i + 1 :]
    assert changed == whole or noticed(folder, changed)


@THOROUGH
@given(which=st.integers(0, len(DEBATES) - 1), place=st.floats(0, 1), order=st.integers(0, 2**16))
def test_a_debate_cut_at_any_byte_goes_on_to_the_same_decisions(
    recorded: list, folder: Path, which: int, place: float, order: int
) -> None:
    wild, whole, events = recorded[which]
    kept = whole[: round(place * len(whole))]
    path = folder / "cut.jsonl"
    path.write_bytes(kept)
    if b"\n" not in kept:
        with pytest.raises(TranscriptError, match="no whole line"):
            Transcript.resume(path)
        assert path.read_bytes() == kept  # what cannot be read is left as it is
        return
    table = wild.table(order=order)
    transcript, recording = Transcript.resume(path)
    with transcript:
        resumed = play(table, wild.config(), wild.case(), record=transcript, recorded=recording.events)
    assert [repr(e) for e in decisions(resumed)] == [repr(e) for e in decisions(events)]
    assert sound(path)
    for agent in table.agents:
        had = {e.round for e in recording.events if isinstance(e, TurnTaken | TurnFailed) and e.agent == agent.name}
        assert not had & set(agent.asked)
    answered = sum(isinstance(e, Scored | JudgeAbstention) for e in recording.events)
    total = sum(isinstance(e, Scored | JudgeAbstention) for e in events)
    assert sum(len(j.asked) for j in table.judges) == total - answered
