"""The list of debates: from first and last lines, never from guesses."""

from __future__ import annotations

from pathlib import Path

import pytest

import stories
from helpers import LABELS, make_case, script, seat, settings, turn, write
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError
from maci.web.guard import Visit
from maci.web.history import History
from maci.web.pages.home import home_page


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


def test_badges_say_what_became_of_a_debate_and_a_withheld_answer_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    for name in stories.NAMES:
        stories.write(name, tmp_path)
    badges = {summary.id: summary.badges for summary in History(tmp_path).summaries()}
    assert badges == {
        "outage": ("agreed", "right"), "bridge": ("split",), "painting": ("withheld", "agreed"), "recall": ("agreed", "wrong"),
    }  # fmt: skip


def test_a_row_of_a_withheld_answer_does_not_show_it(tmp_path: Path) -> None:
    stories.write("painting", tmp_path)
    page = home_page(History(tmp_path).summaries(), 1, "", 1, Visit("session"))
    assert ">withheld<" in page and "his workshop" not in page and "51\N{NO-BREAK SPACE}%" not in page


def test_a_folder_that_takes_long_is_not_looked_through_for_every_page(tmp_path: Path, monkeypatch) -> None:
    record(tmp_path, "one")
    history = History(tmp_path)
    monkeypatch.setattr("maci.web.history._SLOW", -1.0)
    assert len(history.summaries()) == 1
    history._last = (float("inf"), history._last[1])
    record(tmp_path, "two")
    assert len(history.summaries()) == 1
    history._last = (0.0, [])
    assert len(history.summaries()) == 2


def test_a_known_answer_is_compared_by_the_names_of_the_outcomes(tmp_path: Path) -> None:
    spaces = {
        "alias": OutcomeSpace(labels=LABELS, aliases={"breakbone fever": LABELS[0]}),
        "other": OutcomeSpace(labels=LABELS),
        "open": OutcomeSpace(kind="open", labels=LABELS),
    }
    for name, gold in (("alias", "Breakbone fever"), ("other", LABELS[1]), ("open", LABELS[0])):
        table, case = (
            seat([script("ada", turn(0.9, 0.1)), script("bob", turn(0.8, 0.2))]),
            make_case(spaces[name], gold=gold),
        )
        write(tmp_path / name / "transcript.jsonl", table, settings("max_rounds=2"), case)
    right = {summary.id: (summary.answer, summary.right) for summary in History(tmp_path).summaries()}
    assert right == {"alias": (LABELS[0], True), "other": (LABELS[0], False), "open": (LABELS[0], None)}
