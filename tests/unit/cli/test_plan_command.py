"""`maci plan` and the closed loop as a person types them."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

CASE = """
question: Which animal left these tracks?
context: Round tracks in the snow along the garden wall.
outcomes: [cat, dog, fox]
evidence:
  - {text: "small round tracks, hidden claws, short steps", label: cat}
  - {text: "small round tracks, hidden claws, soft pads", label: cat}
  - {text: "large tracks, clear claw marks, long steps", label: dog}
  - {text: "large tracks, clear claw marks, deep prints", label: dog}
  - {text: "narrow tracks, clear claw marks, one straight line", label: fox}
  - {text: "narrow tracks, bushy tail marks, one straight line", label: fox}
hidden: {clear claw marks: "no", one straight line: "no", hidden claws: "yes"}
gold: cat
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    (tmp_path / "case.yaml").write_text(CASE, encoding="utf-8")


def test_a_debate_ends_with_a_plan_that_can_be_read_again(maci, tmp_path):
    done = maci("debate", "case.yaml", "--force", "--out", "run", "--plain", "--verbose")
    assert done.code == 0
    assert "To find out next" in done.out
    read = maci("plan", "run")
    assert read.code == 0
    assert "The remaining uncertainty is " in read.out
    assert "takes the lead" in read.out or "keeps the lead" in read.out
    assert all(len(line) <= 80 for line in read.out.splitlines())
    page = json.loads(maci("plan", "run", "--json").out)
    first = page["items"][0]
    assert {"kind", "text", "separates", "expected_information_gain", "cost"} <= first.keys()
    assert page["items"] == sorted(
        page["items"], key=lambda i: -i["added_gain"] / i["cost"] * (0.5 if i["assumed"] else 1)
    )
    assert maci("replay", "run").code == 0


def test_the_result_of_a_debate_holds_its_plan(maci):
    result = json.loads(maci("debate", "case.yaml", "--out", "run", "--json").out)
    assert result["plan"] == json.loads(maci("plan", "run", "--json").out)
    assert result["plan"]["items"]
    without = json.loads(maci("debate", "case.yaml", "--out", "two", "--json", "--set", "plan.enabled=false").out)
    assert without["plan"] is None
    asked = json.loads(maci("ask", "case.yaml", "--out", "three", "--json").out)
    assert "plan" in asked


def test_a_batch_utilities_and_queries(maci, tmp_path):
    maci("debate", "case.yaml", "--out", "run", "--quiet")
    assert len(json.loads(maci("plan", "run", "--batch", "2", "--json").out)["items"]) == 2
    (tmp_path / "u.yaml").write_text("shoo: {dog: 5, otherwise: -1}\nwait: {dog: -5, otherwise: 0}\n", encoding="utf-8")
    valued = json.loads(maci("plan", "run", "--utilities", "u.yaml", "--json").out)["items"]
    assert valued
    assert all(item["value"] > 0 for item in valued)
    maci("plan", "run", "--export", "queries.json")
    queries = json.loads((tmp_path / "queries.json").read_text(encoding="utf-8"))
    assert {"query", "filters", "decision"} <= queries[0].keys()


@pytest.mark.parametrize(
    ("text", "says"),
    [("a: {dog: 1}", "at least two actions"), ("a: {dog: x, otherwise: 0}\nb: {otherwise: 0}", "not a number"),
     ("a: {cow: 1, otherwise: 0}\nb: {otherwise: 0}", "cow is not an outcome"), ("a: {dog: 1}\nb: {otherwise: 0}", "add it, or")],
)  # fmt: skip
def test_utilities_that_cannot_be_used_say_why(maci, tmp_path, text, says):
    maci("debate", "case.yaml", "--out", "run", "--quiet")
    (tmp_path / "u.yaml").write_text(text, encoding="utf-8")
    done = maci("plan", "run", "--utilities", "u.yaml")
    assert done.code == 2
    assert says in done.err


def test_utilities_choose_what_is_asked_and_say_what_to_do(maci, tmp_path):
    (tmp_path / "u.yaml").write_text("shoo: {fox: 5, otherwise: -1}\nwait: {fox: -5, otherwise: 0}\n", encoding="utf-8")
    loop = [
        "debate",
        "case.yaml",
        "--acquire",
        "2",
        "--source",
        "hidden",
        "--utilities",
        "u.yaml",
        "--out",
        "run",
        "--force",
    ]
    done = maci(*loop, "--plain")
    assert done.code == 0
    assert "By the utilities: wait (expected utility" in done.out
    assert ", value " in done.out
    result = json.loads(maci(*loop, "--resume", "--json").out)
    p = result["distribution"]
    shoo = 5 * p["fox"] - p["cat"] - p["dog"]
    assert result["favoured"]["actions"] == {"shoo": pytest.approx(shoo), "wait": pytest.approx(-5 * p["fox"])}
    assert result["plan"]["favoured"] == result["favoured"]
    assert maci("replay", "run").code == 0
    recorded = json.loads(maci("plan", "run", "--json").out)
    assert recorded == result["plan"]
    bits = json.loads(maci("plan", "run", "--bits", "--json").out)
    assert bits["favoured"] is None
    assert all(item["value"] is None for item in bits["items"])
    (tmp_path / "v.yaml").write_text("pet: {cat: 5, otherwise: -9}\nwait: {otherwise: 0}\n", encoding="utf-8")
    other = json.loads(maci("plan", "run", "--utilities", "v.yaml", "--json").out)
    assert set(other["favoured"]["actions"]) == {"pet", "wait"}
    assert maci("plan", "run", "--utilities", "v.yaml", "--bits").code == 2
    wrong = maci(*loop[:7], "v.yaml", "--out", "run", "--resume")
    assert wrong.code == 2
    assert "--utilities v.yaml (recorded: shoo: {fox: 5, otherwise: -1}" in wrong.err
    assert "By the utilities: wait" in maci("report", "run", "--format", "md").out
    assert "By the utilities: wait" in maci("show", "run").out


def test_utilities_that_do_not_fit_the_case_are_refused_before_anything_is_written(maci, tmp_path):
    (tmp_path / "u.yaml").write_text("shoo: {wolf: 5, otherwise: -1}\nwait: {otherwise: 0}\n", encoding="utf-8")
    done = maci("debate", "case.yaml", "--utilities", "u.yaml", "--out", "run")
    assert done.code == 2
    assert "u.yaml: shoo.wolf is not an outcome of this debate (cat, dog, fox)" in done.err
    assert not Path("run").exists()


def test_a_debate_finds_out_what_is_hidden(maci):
    done = maci("debate", "case.yaml", "--acquire", "2", "--source", "hidden", "--out", "run", "--plain", "--force")
    assert done.code == 0
    assert "Pause (" in done.out
    assert " expected)." in done.out
    assert "Answer: cat" in done.out
    assert maci("replay", "run").code == 0


def test_a_broken_loop_is_resumed_with_the_options_it_began_with(maci, tmp_path):
    loop = ["debate", "case.yaml", "--acquire", "2", "--source", "hidden", "--out", "run", "--quiet"]
    assert maci(*loop).code == 0
    path = tmp_path / "run" / "transcript.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"\n", 0, whole.index(b'"type":"acquired"')) + 1])
    wrong = maci(*[{"2": "3", "hidden": "ask"}.get(word, word) for word in loop], "--resume")
    assert wrong.code == 2
    assert "--acquire 3 (recorded: 2)" in wrong.err
    assert "--source ask (recorded: hidden)" in wrong.err
    assert maci(*loop, "--resume").code == 0
    assert path.read_bytes() == whole


def test_a_dead_endpoint_is_complained_of_once(maci):
    url = "http://127.0.0.1:9/ask"
    done = maci("debate", "case.yaml", "--acquire", "3", "--source", url, "--out", "run", "--plain", "-v")
    assert done.code == 0
    (said,) = [line for line in done.out.splitlines() if line.startswith("Note: ") and "does not answer" in line]
    assert said.endswith("(3 times)")
    assert done.out.count("does not answer") == 2  # where it happened, and at the end
    assert done.out.count("Note: as before.") == 2


def test_a_person_is_asked_at_the_terminal_and_may_stop(maci, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("unknown\nno\nstop\n"))
    done = maci("debate", "case.yaml", "--acquire", "5", "--source", "ask", "--out", "run", "--plain")
    assert done.code == 0
    assert done.err.count("Answer yes, no, unknown, or in your own words") == 3
    assert "Answer (ask): unknown." in done.out
    assert "Answer (ask): no." in done.out
    assert "Answer (ask): stop" in done.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--acquire", "2"], "needs somebody to ask"),
        (["--source", "hidden"], "is asked nothing"),
        (["--acquire", "2", "--source", "oracle"], "is not known"),
        (["--acquire", "2", "--source", "hidden", "--set", "plan.enabled=false"], "plan.enabled is false"),
    ],
)
def test_half_of_the_options_says_what_is_missing(maci, options, says):
    done = maci("debate", "case.yaml", "--out", "run", *options)
    assert done.code == 2
    assert says in done.err
    assert not Path("run").exists()


def test_a_question_is_shown_in_full_on_a_narrow_terminal(maci, monkeypatch):
    maci("debate", "dengue", "--out", "run", "--quiet")
    monkeypatch.setenv("COLUMNS", "50")
    asked = [item["text"] for item in json.loads(maci("plan", "run", "--json").out)["items"]]
    shown = maci("plan", "run").out
    words = " ".join(shown.split()).replace("- ", "-")
    assert max(map(len, asked)) > 40
    assert all(text.replace("- ", "-") in words for text in asked)


def test_a_person_who_says_yes_to_a_test_is_asked_what_it_shows(maci, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\nlow platelets and low white cells\n"))
    asked = ("--acquire", "1", "--source", "ask", "--set", "schedule=plateau")  # under it the first question is a test
    assert maci("debate", "dengue", *asked, "--out", "run", "--quiet").code == 0
    shown = maci("show", "run").out
    assert "Question: Full blood count: what does it show?" in shown
    assert "Answer (ask): low platelets and low white cells." in shown
