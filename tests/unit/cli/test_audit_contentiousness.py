"""``maci audit contentiousness`` as a person calls it."""

from __future__ import annotations

import asyncio
import csv
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_server import FakeServer

SMALL = ("--levels", "0.9,0.1", "--topics", "dengue", "--topics", "lupus", "--seeds", 1, "--rounds", 2)


def test_readers_are_audited_without_a_word_about_their_wording(maci: Callable[..., Any], tmp_path: Path) -> None:
    ran = maci("audit", "contentiousness", *SMALL, "--out", tmp_path, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0 and ran.err == ""
    assert found["panel"] == "readers" and found["debates"] == 4 and found["left_out"] == 0
    assert found["auc"] is None and found["placebo"] is None
    assert found["aspects"][0] == {**found["aspects"][0], "name": "wording", "answer": "withheld"}
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "# Does the behaviour dial" in page
    assert "debates of 2 rounds" in page and "Î, rounds 1–2" in page and "Î of rounds 1–2" in page
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


def test_any_transcript_shows_its_patterns_by_round(maci: Callable[..., Any], tmp_path: Path) -> None:
    maci("debate", "dengue", "--out", tmp_path / "run", "-q")
    shown = maci("audit", "contentiousness", "--transcript", tmp_path / "run")
    assert shown.code == 0 and "round 0" in shown.out and "arguments that answer another agent" in shown.out
    found = json.loads(maci("audit", "contentiousness", "--transcript", tmp_path / "run", "--json").out)
    assert found["rounds"][0]["round"] == 0 and 0 < found["rounds"][-1]["specificity"] <= 1


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeServer]:
    """Models of two families behind a fake server in a thread of its own."""
    fake, loop, up, over = FakeServer(), asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with fake:
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert up.wait(10)
    panels = tmp_path / "panels.yaml"
    panels.write_text(
        f"panels:\n  pair: {{agents: [vllm/alpha, vllm/alpha], judges: []}}\nmodels: {{vllm: {{base_url: '{fake.url}/v1'}}}}\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("MACI_PANELS", str(panels))
    yield fake
    loop.call_soon_threadsafe(over.set)
    thread.join(10)
    loop.close()


def test_models_are_audited_beside_a_placebo_and_people_may_guess(
    maci: Callable[..., Any], tmp_path: Path, server: FakeServer
) -> None:
    items = tmp_path / "items.csv"
    common = ("audit", "contentiousness", "--panel", "pair", *SMALL, "--rounds", 1, "--out", tmp_path / "audit")
    common = (*common, "--cache", tmp_path / "cache.sqlite")
    ran = maci(*common, "--export", items, "--self-summaries", "vllm/gamma", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["debates"] == 8 and found["placebo"]["turns"] == 8 == found["auc"]["turns"]
    assert found["exported"]["items"] == 8 and len(found["self_summaries"]["manners"]) == 2
    asked = sum(count.requests for count in server.counts.values())
    with items.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with items.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "guess": 1 + i % 2} for i, row in enumerate(rows))
    again = maci(*common, "--import", items, "--plain")
    assert again.code == 0 and "People: 8 guesses (0 left open, 0 unknown)" in again.out
    assert sum(count.requests for count in server.counts.values()) == asked  # every debate is on record


def test_readers_sentences_are_not_for_people_to_guess(maci: Callable[..., Any], tmp_path: Path) -> None:
    for asked in (
        ("--export", tmp_path / "items.csv"),
        ("--import", tmp_path / "items.csv"),
        ("--self-summaries", "foo"),
    ):
        ran = maci("audit", "contentiousness", *SMALL, "--out", tmp_path / "new", *asked, "-q")
        assert ran.code == 2 and f"{asked[0]}: no language model" in ran.err and not (tmp_path / "new").exists()


def test_a_model_that_is_none_is_refused_before_anything_is_held(maci: Callable[..., Any], tmp_path: Path) -> None:
    common = ("audit", "contentiousness", *SMALL, "--agents", "vllm/a,vllm/a", "--out", tmp_path / "new")
    ran = maci(*common, "--self-summaries", "foo")
    assert ran.code == 2 and "--self-summaries" in ran.err and "provider/model" in ran.err
    assert not (tmp_path / "new").exists()


def test_a_folder_of_debates_names_those_in_it(maci: Callable[..., Any], tmp_path: Path) -> None:
    maci("debate", "dengue", "--out", tmp_path / "run", "-q")
    ran = maci("audit", "contentiousness", "--transcript", tmp_path)
    assert ran.code == 2 and "folder of 1 debate" in ran.err and str(tmp_path / "run") in ran.err
