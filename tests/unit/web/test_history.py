"""The list of debates: from first and last lines, never from guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import make_case, script, seat, settings, turn, write
from maci.errors import InputError
from maci.web.history import History


def record(folder: Path, name: str, **more: object) -> Path:
    path = folder / name / "transcript.jsonl"
    write(
        path,
        seat([script("ada", turn(0.9, 0.1)), script("bob", turn(0.2, 0.8))]),
        settings("max_rounds=2"),
        make_case(**more),
    )
    return path


def test_finished_broken_and_unreadable_debates_are_told_apart(tmp_path: Path) -> None:
    record(tmp_path, "one")
    cut = record(tmp_path, "two")
    lines = cut.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:-1]) + b'{"hash":"half a li')
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "transcript.jsonl").write_bytes(b"no transcript\n")
    (tmp_path / "empty folder").mkdir()
    found = {summary.id: summary for summary in History(tmp_path).summaries()}
    assert {id: summary.state for id, summary in found.items()} == {
        "one": "finished",
        "two": "broken",
        "three": "unreadable",
    }
    assert found["one"].rounds == 2 and found["one"].answer is not None
    assert found["two"].answer is None and found["two"].p is None


def test_a_search_needs_every_word_and_looks_at_question_and_outcomes(tmp_path: Path) -> None:
    record(tmp_path, "one", question="Is the bridge safe?")
    summary = History(tmp_path).summaries()[0]
    assert summary.fits("") and summary.fits("BRIDGE safe") and summary.fits("ada")
    assert not summary.fits("bridge tunnel")


def test_a_record_that_grew_is_read_again(tmp_path: Path) -> None:
    path = record(tmp_path, "one")
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    history = History(tmp_path)
    assert history.summaries()[0].state == "broken"
    path.write_bytes(whole)
    assert history.summaries()[0].state == "finished"


def test_no_folder_is_no_debates(tmp_path: Path) -> None:
    assert History(tmp_path / "nothing").summaries() == []


@pytest.mark.parametrize("id", ["", "..", ".", "a/b", "/etc", ".hidden", "a\\b", "a\0b"])
def test_only_names_inside_the_folder_are_debates(tmp_path: Path, id: str) -> None:
    with pytest.raises(InputError, match="no debate of this folder"):
        History(tmp_path).path(id)
