"""What others wrote into a record or a case does nothing at a terminal, and a record that no debate can have written is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzz.records import chained, records
from maci.cases.case import load_case
from maci.errors import CaseError
from web_helpers import Browser, visit

ODD = "\x1b[2J\x9b31m\x85\u202e"
"""An escape sequence in its seven-bit and its eight-bit form, and a letter that turns the text around."""


def forged(folder: Path, change: Any) -> Path:
    """A record whose chain holds, changed in one event."""
    events = [json.loads(line) for line in records()[0].splitlines()]
    change(events)
    run = folder / "run"
    run.mkdir()
    (run / "transcript.jsonl").write_bytes(chained("\n".join(map(json.dumps, events)).encode()))
    return run


def first(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(event for event in events if event["type"] == kind)


IMPOSSIBLE = {
    "a vector of another length": lambda events: first(events, "retrieved").update(theta="AAAA"),
    "a vector that is none": lambda events: first(events, "retrieved").update(theta="?"),
    "nobody at the table": lambda events: events[0].update(agents=[]),
    "no distribution": lambda events: events[-1].update(distribution={}),
    "a turn of nobody": lambda events: first(events, "turn").update(agent="nobody"),
    "a belief in nothing": lambda events: first(events, "turn")["turn"].update(belief={}),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_a_record_that_no_debate_can_have_written_is_refused_in_words(maci, tmp_path: Path, what: str) -> None:
    run = forged(tmp_path, IMPOSSIBLE[what])
    for command in (("show",), ("report",), ("plan",), ("replay",)):
        ran = maci(*command, run, "--quiet")
        assert ran.code in (0, 1, 2), ran
        assert ran.code == 0 or ran.err.startswith("maci: "), ran
    assert maci("replay", run).code == 1

    async def walk(browser: Browser) -> None:
        for page in ("", "/report.html", "/calls", "/replay?tau_q=0.2", "/result.json"):
            answer = await browser.get(f"/debates/run{page}")
            assert answer.status_code in (200, 422), (page, answer.text[:300])
        assert (await browser.get("/")).status_code == 200

    visit(tmp_path, walk)


def test_control_characters_of_a_record_reach_no_terminal(maci, tmp_path: Path) -> None:
    def change(events: list[dict[str, Any]]) -> None:
        events[0]["case"]["question"] += ODD
        events[0]["case"]["title"] = ODD
        events[-1]["detail"] += ODD
        for event in events:
            if event["type"] == "turn":
                event["turn"]["arguments"][0]["claim"] += ODD

    run = forged(tmp_path, change)
    for words in (
        ("show",),
        ("show", "--json"),
        ("report", "--format", "md"),
        ("plan",),
        ("plan", "--json"),
        ("export",),
    ):
        ran = maci(words[0], run, *words[1:])
        assert ran.out and not [letter for letter in ODD if letter in ran.out + ran.err and letter not in "[2J31m"], (
            words
        )
    shown = json.loads(maci("show", run, "--json").out)
    assert shown[0]["case"]["question"].endswith(ODD)  # the same data, written as escapes


@pytest.mark.parametrize("far", [1e308, 1e16, 1e-300])
def test_a_metric_that_cannot_be_computed_with_is_refused(tmp_path: Path, far: float) -> None:
    outcomes = {"kind": "closed", "labels": ["a", "b"], "metric": [[0, far], [far, 0]]}
    (tmp_path / "case.json").write_text(json.dumps({"question": "Which?", "outcomes": outcomes}))
    with pytest.raises(CaseError, match="write all of it in other units"):
        load_case(str(tmp_path / "case.json"))


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0, 1e300)])
def test_a_scale_that_reaches_too_far_is_refused(tmp_path: Path, ends: tuple[float, float]) -> None:
    outcomes = {"kind": "ordered", "labels": ["a", "b"], "positions": list(ends)}
    (tmp_path / "case.json").write_text(json.dumps({"question": "Which?", "outcomes": outcomes}))
    with pytest.raises(CaseError, match="larger units"):
        load_case(str(tmp_path / "case.json"))


def test_a_record_that_says_another_result_than_it_leads_to_is_named_so_everywhere(maci, tmp_path: Path) -> None:
    def change(events: list[dict[str, Any]]) -> None:
        shares = events[-1]["distribution"]
        events[-1]["distribution"] = dict(zip(shares, reversed(shares.values()), strict=True))
        events[-1]["answer"] = list(shares)[-1] if events[-1]["answer"] != list(shares)[-1] else next(iter(shares))

    run = forged(tmp_path, change)
    for words in (("show",), ("show", "--json"), ("show", "--calls"), ("show", "--quiet"), ("replay",), ("export",)):
        ran = maci(words[0], run, *words[1:])
        assert ran.code == 1 and "recomputed" in ran.err, (words, ran)
    for format in ("html", "md"):
        ran = maci("report", run, "--format", format)
        assert ran.code == 0 and ran.err.startswith("Warning: ") and "recomputed" in ran.err, ran
        assert "differs" in (ran.out if format == "md" else (run / "report.html").read_text(encoding="utf-8"))
