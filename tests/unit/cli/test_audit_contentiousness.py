"""``maci audit contentiousness`` as a person calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SMALL = ("--levels", "0.9,0.1", "--topics", "dengue", "--topics", "lupus", "--seeds", 1, "--rounds", 2)


def test_readers_are_audited_without_a_word_about_their_wording(maci: Callable[..., Any], tmp_path: Path) -> None:
    ran = maci("audit", "contentiousness", *SMALL, "--out", tmp_path, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0 and ran.err == ""
    assert found["panel"] == "readers" and found["debates"] == 4 and found["left_out"] == 0
    assert found["auc"] is None and found["placebo"] is None
    assert found["aspects"][0] == {**found["aspects"][0], "name": "wording", "answer": "withheld"}
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "# Does the behaviour dial" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert len(list((tmp_path / "debates").rglob("transcript.jsonl"))) == 4


def test_the_same_command_holds_no_debate_twice_and_other_settings_are_refused(
    maci: Callable[..., Any], tmp_path: Path
) -> None:
    maci("audit", "contentiousness", *SMALL, "--out", tmp_path, "-q")
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("transcript.jsonl")}
    assert maci("audit", "contentiousness", *SMALL, "--out", tmp_path, "-q").code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("transcript.jsonl")} == written
    more = maci("audit", "contentiousness", *SMALL, "--rounds", 3, "--out", tmp_path)
    assert more.code == 2 and "other rounds" in more.err and "--out" in more.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--levels", "0.9,loud"), "--levels 0.9,loud"),
        (("--levels", "0.9"), "at least two"),
        (("--levels", "0.9,1.5"), "between 0 and 1"),
        (("--panel", "paper"), "script"),
        (("--topics", "dengue", "--topics", "dengue"), "id"),
    ],
)
def test_wrong_use_is_refused_before_anything_is_held(
    maci: Callable[..., Any], tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    ran = maci("audit", "contentiousness", *options, "--out", tmp_path / "new")
    assert ran.code == 2 and said in ran.err and not (tmp_path / "new").exists()


def test_strict_fails_where_nothing_moves(maci: Callable[..., Any], tmp_path: Path) -> None:
    flat = ("--levels", "0.6,0.61", "--topics", "dengue", "--topics", "lupus", "--seeds", 1, "--rounds", 1)
    assert maci("audit", "contentiousness", *flat, "--out", tmp_path, "-q").code == 0
    assert maci("audit", "contentiousness", *flat, "--out", tmp_path, "-q", "--strict").code == 1
