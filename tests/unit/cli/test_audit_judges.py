"""`maci audit judges` as a person types it."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from dataset_files import pairs as write_pairs
from fake_house import FakeHouse
from maci.errors import WrongKey
from maci.lab.audit.judges.audit import Audit

FROZEN = Path(__file__).parents[2] / "transcripts" / "format-6.jsonl"
QUICK = ("--n", 9, "--probed", 3, "--resamples", 50)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def house(monkeypatch):
    """Models that answer by the schema; nothing is looked up or fetched."""
    found = FakeHouse()
    monkeypatch.setattr("maci.cli.audit.judges.open_house", lambda spec, choice: found)
    monkeypatch.setattr("maci.cli.audit.judges.check_models", lambda spec, house, fetch: None)
    return found


def test_the_reader_judges_are_audited_on_built_in_arguments(maci):
    ran = maci("audit", "judges", *QUICK, "--out", "report")
    assert ran.code == 0
    assert "letters (surface), words (surface), phrases (surface): 9 arguments of 3 debates" in ran.out
    for said in (
        "Krippendorff's α",
        "winner flips, ties counted",
        "padded",
        "Reader judges compare cited texts",
        "written: report",
    ):
        assert said in ran.out
    assert sorted(path.name for path in Path("report").iterdir()) == [
        "audit.html",
        "audit.json",
        "audit.md",
        "scores.csv",
    ]
    page = Path("report/audit.html").read_text()
    assert "<svg" in page and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    rows = list(csv.DictReader(io.StringIO(Path("report/scores.csv").read_text(), newline="")))
    assert {row["probe"] for row in rows} == {"plain", "turned", "padded", "signed", "batch", "again"}
    assert sum(row["probe"] == "plain" for row in rows) == 27


def test_json_is_one_object_that_fits_the_published_schema(maci):
    ran = maci("audit", "judges", *QUICK, "--json")
    assert ran.code == 0 and ran.err == ""
    found = json.loads(ran.out)
    assert found["arguments"] == 9 and found["judges"][0]["name"] == "letters" and found["people"] is None
    TypeAdapter(Audit).validate_python({key: value for key, value in found.items() if key not in ("people", "out")})
    assert "NaN" not in ran.out


def test_strict_fails_on_a_bad_verdict_and_only_then(maci, house):
    """Models that grade at random: α near 0 is bad."""
    judges = "openai/a,anthropic/b,gemini/c"
    command = ("audit", "judges", "--judges", judges, "--n", 30, "--probed", 10, "--resamples", 50)
    assert maci(*command).code == 0
    ran = maci(*command, "--strict")
    assert ran.code == 1 and "checks of the judges fail" in ran.err and "agreement" in ran.err


def test_arguments_of_a_transcript_and_quiet(maci):
    ran = maci("audit", "judges", "--arguments", FROZEN, "--n", 6, "--resamples", 50, "--quiet")
    assert ran.code == 0 and ran.err == "" and len(ran.out.splitlines()) == 1


def test_models_are_asked_and_counted(maci, house):
    ran = maci("audit", "judges", "--judges", "openai/a,reader", *QUICK, "--json")
    found = json.loads(ran.out)
    # 9 plain, then 3 arguments each padded, signed and twice again, and turned where there is something to turn
    assert 9 + 3 * 4 <= house.calls <= 9 + 3 * 5
    assert [judge["name"] for judge in found["judges"]] == ["openai/a", "letters", "words", "phrases"]
    assert found["tokens"] > 0 and house.closed
    assert any("call of its own" in note for note in found["notes"])


def test_a_dry_run_sends_nothing(maci, house):
    ran = maci("audit", "judges", "--judges", "openai/a", *QUICK, "--dry-run")
    assert ran.code == 0 and "Nothing was sent" in ran.out and "2,000,000" in ran.out and house.calls == 0


def test_a_ceiling_too_low_for_one_score_is_exit_4(maci, house):
    ran = maci("audit", "judges", "--judges", "openai/a", *QUICK, "--budget-tokens", 10)
    assert ran.code == 4 and "no score fits the ceiling" in ran.err and house.calls == 0


def test_a_ceiling_ends_it_early_and_it_is_said(maci, house):
    ran = maci("audit", "judges", "--judges", "openai/a", *QUICK, "--budget-tokens", 6000)
    assert ran.code == 0 and "The ceiling came first" in ran.out and 0 < house.calls < 20


def test_a_wrong_key_is_exit_3(maci, monkeypatch):
    refusing = FakeHouse(lambda name, request: WrongKey("no such key"))
    monkeypatch.setattr("maci.cli.audit.judges.open_house", lambda spec, choice: refusing)
    monkeypatch.setattr("maci.cli.audit.judges.check_models", lambda spec, house, fetch: None)
    ran = maci("audit", "judges", "--judges", "openai/a", *QUICK)
    assert ran.code == 3 and "no such key" in ran.err and refusing.closed


def test_people_s_scores_go_out_blind_and_come_back(maci):
    ran = maci("audit", "judges", *QUICK, "--export", "people.csv")
    assert ran.code == 0 and "9 arguments for people, blind: people.csv" in ran.err
    rows = list(csv.DictReader(io.StringIO(Path("people.csv").read_text(), newline="")))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, rows[0])
    writer.writeheader()
    writer.writerows({**row, "score": n} for n, row in enumerate(rows))
    Path("people.csv").write_text(buffer.getvalue())
    found = json.loads(maci("audit", "judges", *QUICK, "--import", "people.csv", "--json").out)
    assert [entry["judge"] for entry in found["people"]] == ["letters", "words", "phrases", "mean of the judges"]
    assert found["people"][0]["rho"]["n"] == 9
    shown = maci("audit", "judges", *QUICK, "--import", "people.csv")
    assert "Against people" in shown.out and "one person only" in shown.out


def test_against_people_on_a_public_set(maci, tmp_path):
    write_pairs(tmp_path / "data")
    ran = maci(
        "audit", "judges", "--human", "ukp_convarg", "--data", tmp_path / "data", "--resamples", 50, "--out", "h"
    )
    assert ran.code == 0 and "the longer one wins" in ran.out and "By topic side" in ran.out
    assert sorted(path.name for path in Path("h").iterdir()) == ["human.html", "human.json", "human.md"]
    found = json.loads(Path("h/human.json").read_text())
    assert found["sides"] == 12 and found["judges"][-1]["judge"] == "mean of the judges"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--human", "nonsense"), "ukp_convarg"),
        (("--human", "ukp_convarg", "--arguments", "x"), "leave out"),
        (("--probes", "upside-down"), "turned"),
        (("--judges", "none"), "nobody to audit"),
        (("--panel", "paper"), "name judges"),
        (("--panel", "readers", "--judges", "reader"), "not both"),
        (("--arguments", "nowhere"), "no such file"),
        (("--import", "nowhere.csv"), "no such file"),
        (("--judges", "gpt"), "provider/model"),
        (("--cache", "x", "--no-cache"), "not both"),
    ],
)
def test_wrong_use_is_exit_2_and_says_what_to_do(maci, options, says):
    ran = maci("audit", "judges", "--n", 4, *options)
    assert ran.code == 2 and says in ran.err


def _own(n, vary):
    lines = [
        {
            "question": "Which?",
            "claim": f"Claim {k * vary}.",
            "reasons": ["It rains."],
            "spans": ["It rains in the north."],
        }
        for k in range(n)
    ]
    Path("own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_too_few_arguments_have_figures_and_no_verdict(maci):
    _own(1, True)
    ran = maci("audit", "judges", "--arguments", "own.jsonl", "--resamples", 50, "--strict")
    assert ran.code == 0 and "UNKNOWN. Too few to say: 1 argument;" in ran.out and "bad" not in ran.out
    assert "1 argument of 1 debate about 1 case;" in ran.out and "fewer than two arguments" in ran.out


def test_arguments_that_all_score_alike_say_nothing_of_the_judges(maci):
    _own(12, False)
    found = json.loads(maci("audit", "judges", "--arguments", "own.jsonl", "--resamples", 50, "--json").out)
    assert found["verdict"] == "unknown" and found["alpha"]["value"] is None
    assert "every judge gives all arguments nearly the same score" in found["alpha"]["how"]
    assert {finding["level"] for finding in found["findings"]} == {"unknown"} and found["cases"] == 1
    assert "Nothing to say: every judge" in Path("maci-audit/judges/audit.html").read_text()


def test_a_dry_run_needs_no_key(maci, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ran = maci("audit", "judges", "--judges", "openai/gpt-4o-mini", "--arguments", FROZEN, "--dry-run")
    assert ran.code == 0 and "Nothing was sent" in ran.out, ran.err


def test_arguments_that_cite_nothing_are_not_for_reader_judges(maci):
    Path("bare.jsonl").write_text(json.dumps({"question": "Which?", "claim": "This."}) + "\n")
    ran = maci("audit", "judges", "--arguments", "bare.jsonl")
    assert ran.code == 2 and "cite nothing" in ran.err
