"""The list of debates: from first and last lines, never from guesses."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

import stories
from helpers import LABELS, make_case, script, seat, settings, turn, write
from maci.cases.outcomes import OutcomeSpace
from maci.errors import InputError
from maci.web.guard import Visit
from maci.web.history import LABEL, Summary
from maci.web.index import INDEX, Found, History
from maci.web.pages.home import PER_PAGE, home_page
from web_helpers import Browser, visit


def record(folder: Path, name: str, **more: object) -> Path:
    path = folder / name / "transcript.jsonl"
    write(
        path,
        seat([script("ada", turn(0.9, 0.1)), script("bob", turn(0.2, 0.8))]),
        settings("max_rounds=2"),
        make_case(**more),
    )
    return path


def listed(folder: Path | History, query: str = "", only: str = "") -> list[Summary]:
    """What a search finds, with the index up to date."""
    history = folder if isinstance(folder, History) else History(folder)
    if history.folder.is_dir():
        history.refresh()
    return history.search(query, only).rows


def test_finished_broken_and_unreadable_debates_are_told_apart(tmp_path: Path) -> None:
    record(tmp_path, "one")
    cut = record(tmp_path, "two")
    lines = cut.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:-1]) + b'{"hash":"half a li')
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "transcript.jsonl").write_bytes(b"no transcript\n")
    (tmp_path / "empty folder").mkdir()
    found = {summary.id: summary for summary in listed(tmp_path)}
    assert {id: summary.state for id, summary in found.items()} == {
        "one": "finished",
        "two": "broken",
        "three": "unreadable",
    }
    assert found["one"].rounds == 2 and found["one"].answer is not None
    assert found["two"].answer is None and found["two"].p is None


def test_a_search_needs_every_word_and_looks_at_question_and_outcomes(tmp_path: Path) -> None:
    record(tmp_path, "one", question="Is the bridge safe?")
    for query, fits in (
        ("", 1),
        ("BRIDGE safe", 1),
        ("ada", 1),
        ("bridge tunnel", 0),
        ("%", 0),
        ("is", 1),
        ("idge is", 1),
        ("xq", 0),
        ('"bridge', 0),
        ("bridge OR tunnel", 0),
    ):
        assert len(listed(tmp_path, query)) == fits, query


def test_of_very_many_words_the_first_are_looked_for_and_beyond_the_list_is_nothing(tmp_path: Path) -> None:
    words = [f"word{n:02}" for n in range(50)]
    record(tmp_path, "one", question=" ".join(words))
    history = History(tmp_path)
    asked = " ".join([*words, *words, *(f"more{n}" for n in range(100_000))])
    assert [each.id for each in listed(history, asked)] == ["one"] and not listed(history, "word00 more1")
    assert history.search(start=10**25).rows == []
    history.close()


def test_a_record_that_grew_is_read_again(tmp_path: Path) -> None:
    path = record(tmp_path, "one")
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    history = History(tmp_path)
    assert listed(history)[0].state == "broken"
    path.write_bytes(whole)
    assert listed(history)[0].state == "finished"


def test_no_folder_is_no_debates(tmp_path: Path) -> None:
    assert History(tmp_path / "nothing").search() == Found()


@pytest.mark.parametrize("id", ["", "..", ".", "a/b", "/etc", ".hidden", "a\\b", "a\0b"])
def test_only_names_inside_the_folder_are_debates(tmp_path: Path, id: str) -> None:
    with pytest.raises(InputError, match="no debate of this folder"):
        History(tmp_path).path(id)


def test_badges_say_what_became_of_a_debate_and_a_withheld_answer_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    for name in stories.NAMES:
        stories.write(name, tmp_path)
    badges = {summary.id: summary.badges for summary in listed(tmp_path)}
    assert badges == {
        "outage": ("agreed", "right"), "bridge": ("split",), "painting": ("withheld", "agreed"), "recall": ("agreed", "wrong"),
        "engine": ("agreed", "asked"),
    }  # fmt: skip


def test_a_row_of_a_withheld_answer_does_not_show_it(tmp_path: Path) -> None:
    stories.write("painting", tmp_path)
    page = home_page(Found(listed(tmp_path), 1, 1), Visit("session"))
    assert ">withheld<" in page and "his workshop" not in page and "51\N{NO-BREAK SPACE}%" not in page


def test_a_folder_that_takes_long_is_not_looked_through_for_every_page(tmp_path: Path, monkeypatch) -> None:
    record(tmp_path, "one")
    history = History(tmp_path)
    monkeypatch.setattr("maci.web.index._SLOW", -1.0)
    assert history.search().total == 1
    history._due = float("inf")
    record(tmp_path, "two")
    assert history.search().total == 1
    history._due = 0.0
    history.refresh()
    assert history.search().total == 2


def test_a_name_and_tags_stay_with_the_debate_and_the_record_is_not_touched(tmp_path: Path) -> None:
    path = record(tmp_path, "one")
    before = path.read_bytes()
    listed(history := History(tmp_path))
    history.label("one", "  The  bridge ", "Release 4, #urgent, urgent, [x]")
    history.close()
    (tmp_path / INDEX).unlink()
    (found,) = listed(tmp_path, "bridge urgent")
    assert (found.name, found.tags) == ("The bridge", ("release 4", "urgent", "[x]")) and path.read_bytes() == before
    assert (
        listed(tmp_path, only="#urgent") and not listed(tmp_path, only="#urg") and not listed(tmp_path, only="#other")
    )
    shown = home_page(Found([found], 1, 1), Visit("session"))
    assert ">The bridge</a>" in shown and "/?only=%23release+4" in shown
    history.label("one", "", "")
    assert listed(history)[0].name == "" and listed(history, "urgent") == []
    with pytest.raises(InputError, match="no debate"):
        history.label("another", "x", "")


def test_what_people_did_is_read_from_the_events_not_from_words(tmp_path: Path) -> None:
    plain = record(tmp_path, "plain", question='Does it say ,"type":"intervened", here?')
    lines = plain.read_bytes().splitlines(keepends=True)
    (tmp_path / "steered").mkdir()
    hand = b'{"hash":"0","seq":9,"type":"intervened","stop":true,"by":"Ana"}\n'
    (tmp_path / "steered" / "transcript.jsonl").write_bytes(b"".join([*lines[:-1], hand, lines[-1]]))
    assert {s.id: s.by_hand for s in listed(tmp_path)} == {"plain": False, "steered": True}
    assert [s.id for s in listed(tmp_path, only="by hand")] == ["steered"]


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be looked at" * 9, b""])
def test_an_index_that_cannot_be_used_is_made_again(tmp_path: Path, content: bytes) -> None:
    record(tmp_path, "one")
    (tmp_path / INDEX).write_bytes(content)
    assert [s.id for s in listed(tmp_path)] == ["one"]
    with closing(sqlite3.connect(tmp_path / INDEX)) as index:
        assert index.execute("SELECT id FROM debates").fetchall() == [("one",)]


def test_a_list_that_is_not_whole_yet_says_so(tmp_path: Path, monkeypatch) -> None:
    record(tmp_path, "one")
    history = History(tmp_path)
    monkeypatch.setattr("maci.web.index._PATIENCE", 0.0)
    monkeypatch.setattr(History, "refresh", lambda self: None)
    found = history.search()
    assert found.total == 0 and found.unread is None
    assert "still being read" in home_page(found, Visit("session"))
    assert "1 debate; 3 records still to be read" in home_page(Found([], 1, 1, 3), Visit("session"))


def test_records_that_are_gone_leave_the_list(tmp_path: Path) -> None:
    path = record(tmp_path, "one")
    record(tmp_path, "two")
    assert len(listed(history := History(tmp_path))) == 2
    path.unlink()
    assert [s.id for s in listed(history)] == ["two"]


def test_a_list_is_paged_and_those_under_way_are_found_by_what_they_do(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        cut = record(tmp_path, name)
        cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:3]))
    history = History(tmp_path)
    history.refresh()
    part = history.search(start=1, most=1)
    assert [s.id for s in part.rows] == ["b"] and (part.fits, part.total) == (3, 3)
    live = {"a": "asking"}
    assert [s.id for s in history.search(only="asking", live=live).rows] == ["a"]
    assert {s.id for s in history.search(only="broken", live=live).rows} == {"b", "c"}


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
    right = {summary.id: (summary.answer, summary.right) for summary in listed(tmp_path)}
    assert right == {"alias": (LABELS[0], True), "other": (LABELS[0], False), "open": (LABELS[0], None)}


@pytest.mark.parametrize(
    ("line", "key", "forged"),
    [
        (-1, "tokens", "zz"),
        (-1, "rounds", {"a": 1}),
        (-1, "distribution", dict.fromkeys(LABELS, "abc")),
        (0, "panel", "half a character: \ud800"),
    ],
)
def test_a_record_with_something_else_for_a_figure_or_half_a_character_takes_no_other_with_it(
    tmp_path: Path, line: int, key: str, forged: object
) -> None:
    path = record(tmp_path, "odd")
    record(tmp_path, "sound")
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[line] = json.dumps({**json.loads(lines[line]), key: forged}, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = listed(tmp_path)
    assert {row.id: row.state for row in found} == {"odd": "unreadable", "sound": "finished"}
    assert "sound" in home_page(Found(found, 2, 2), Visit("session"))


@pytest.mark.parametrize("odd", ["circle", "name", "pipe", "label"])
def test_an_odd_entry_of_the_folder_keeps_no_debate_out_of_the_list(tmp_path: Path, odd: str) -> None:
    record(tmp_path, "sound")
    if odd == "circle":
        (tmp_path / "odd").symlink_to("odd")
    elif odd == "name":
        (tmp_path / "odd\udcff").mkdir()  # a byte that is no UTF-8
        os.link(tmp_path / "sound" / "transcript.jsonl", tmp_path / "odd\udcff" / "transcript.jsonl")
    elif odd == "pipe":
        (tmp_path / "odd").mkdir()
        os.mkfifo(tmp_path / "odd" / "transcript.jsonl")
    else:
        os.mkfifo(tmp_path / "sound" / LABEL)
    history, told = History(tmp_path), list[str]()
    thread = threading.Thread(
        target=lambda: told.extend(f"{row.id} {row.state}" for row in history.search().rows), daemon=True
    )
    thread.start()
    thread.join(30)
    assert sorted(told) == (["odd unreadable"] if odd == "pipe" else []) + ["sound finished"]


def test_debates_that_broke_off_are_named_however_far_down_the_list_they_are(tmp_path: Path) -> None:
    for n in range(12):
        cut = record(tmp_path, f"a{n:02d}")
        cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:-1]))
    whole = record(tmp_path, "b").read_bytes()
    for n in range(PER_PAGE):
        (tmp_path / f"c{n:02d}").mkdir()
        (tmp_path / f"c{n:02d}" / "transcript.jsonl").write_bytes(whole)

    async def walk(browser: Browser) -> None:
        for _ in range(100):
            first = (await browser.get("/")).text
            if "12 debates broke off" in first:
                break
            await asyncio.sleep(0.1)
        assert "12 debates broke off" in first and first.count("/resume") == 10 and "/?only=broken" in first
        assert "broke off" not in (await browser.get("/?page=2")).text.partition('id="debates"')[0]

    visit(tmp_path, walk)
