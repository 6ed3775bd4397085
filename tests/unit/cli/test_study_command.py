"""`maci study` as a person types it: what it prints, and what it exits with."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hash_encoder import HashEncoder
from maci.errors import WrongKey
from study_helpers import FakeMethod, guess, paying, spec_data, toml, write_cases


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a study, without settings from outside, with an encoder that loads at once."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("maci.lab.study.worker.load_encoder", lambda *args, **more: HashEncoder())
    write_cases(tmp_path)


@pytest.fixture
def study(monkeypatch) -> Callable[..., None]:
    """Write study.toml; ``reply`` answers in the place of every method."""

    def make(reply=guess, **changes: object) -> None:
        Path("study.toml").write_text(toml(spec_data(**changes)), encoding="utf-8")
        monkeypatch.setattr("maci.lab.study.worker.build", lambda use, options: FakeMethod(options["name"], reply, []))

    return make


def test_a_run_says_what_it_did_and_where_it_is(maci, study):
    study(methods=[{"use": "average"}])
    ran = maci("study", "run", "study.toml")
    assert ran.code == 0 and "24 of 24 answers, 24 of them new." in ran.out
    assert (
        "Right on the test items of tiny, not calibrated:\n  average  9 of 18 (50 %)" in ran.out
        and "maci study report studies-out/tiny" in ran.out
    )
    assert "tiny: 24 answers" in ran.err
    # a line for every tenth of the answers but the last: there is no terminal here
    assert [line.partition("/")[0] for line in ran.err.splitlines() if "/24 answers · " in line] == [
        str(math.ceil(2.4 * tenth)) for tenth in range(1, 10)
    ]
    assert Path("studies-out/tiny/results.sqlite").is_file()


def test_learning_says_what_it_asks_for(maci, tmp_path):
    write_cases(tmp_path, 90)
    methods = [{"use": "weighted_average"}]
    path = tmp_path / "taught.toml"
    path.write_text(toml(spec_data(methods=methods, seeds=[0], limit=21, learn={"agents": True})), encoding="utf-8")
    told = "tiny, seed 0: learning from 63 dev openings\n"  # of three readers
    assert told in maci("study", "run", path, "--out", "here").err
    assert "learning" not in maci("study", "run", path, "--out", "here").err  # it is kept
    quiet = maci("study", "run", path, "--out", "there", "--quiet")
    assert quiet.code == 0 and quiet.err == ""


def test_json_is_one_object_and_nothing_else(maci, study):
    study(methods=[{"use": "average"}])
    ran = maci("study", "run", "study.toml", "--json", "--limit", "3", "--out", "here")
    found = json.loads(ran.out)
    assert ran.err == "" and found["planned"] == found["answered"] == found["new"] == 3 * 2 * 2
    assert found["left"] == found["failed"] == 0 and found["stopped"] is None
    # the guess is right where (item + seed) mod 3 is item mod 3: with seed 0
    assert found["accuracy"] == {"average": 0.5}
    assert maci("study", "run", "study.toml", "--quiet", "--limit", "3", "--out", "here").out == ""


def test_quick_has_a_folder_of_its_own(maci, study):
    study(methods=[{"use": "average"}], quick={"limit": 1, "seeds": [4]})
    assert "2 of 2 answers" in maci("study", "run", "study.toml", "--quick").out
    assert Path("studies-out/tiny-quick/results.sqlite").is_file()
    assert "no [quick]" not in maci("study", "run", "study.toml", "--quick").err
    study(methods=[{"use": "average"}], name="other")
    ran = maci("study", "run", "study.toml", "--quick")
    assert "study.toml has no [quick]: --quick changes only the results folder, other-quick" in ran.err
    assert Path("studies-out/other-quick/results.sqlite").is_file()


def test_several_data_sets_are_counted_one_by_one(maci, study, tmp_path):
    other = (tmp_path / "cases.jsonl").read_text(encoding="utf-8").replace('"gold": "flu"', '"gold": "gout"')
    (tmp_path / "other.jsonl").write_text(other, encoding="utf-8")
    study(methods=[{"use": "average"}], seeds=[0], data=[{"file": "cases.jsonl"}, {"file": "other.jsonl"}])
    ran = maci("study", "run", "study.toml")
    assert ran.out.count("not calibrated") == 2
    assert "test items of cases, not calibrated:\n  average  9 of 9 (100 %)" in ran.out  # the guess of seed 0 is right
    assert "test items of other, not calibrated:\n  average  6 of 9 (67 %)" in ran.out
    found = json.loads(maci("study", "run", "study.toml", "--json").out)["accuracy_by_data"]
    assert found["cases"] == {"average": 1.0} and found["other"]["average"] < 1


def test_what_was_noticed_about_a_file_is_said_before_it_runs(maci, study, tmp_path):
    path = tmp_path / "cases.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    odd = lines[0].replace('"gold": "gout"', '"gold": "flu"').replace('"id": "c0"', '"id": "c99"')
    path.write_text("\n".join([*lines, lines[1], odd]), encoding="utf-8")
    study(methods=[{"use": "average"}])
    err = maci("study", "run", "study.toml").err
    assert "  tiny: 1 row repeats an earlier text and counts once (line 13).\n" in err
    assert "  tiny: 1 row repeats an earlier text with ANOTHER gold outcome; the first counts (line 14).\n" in err


def test_failures_are_listed_and_counted_and_the_run_is_done(maci, study):
    def reply(case, bench, seed):
        if case.id == "c3":
            raise ValueError("odd")
        return guess(case, bench, seed)

    study(reply, methods=[{"use": "average"}])
    ran = maci("study", "run", "study.toml")
    assert ran.code == 0 and "2 failed and are not scored (--retry-failed tries them again):" in ran.out
    assert "/c3/average: ValueError: odd" in ran.out


def test_nothing_but_failures_is_no_result(maci, study):
    def reply(case, bench, seed):
        raise ValueError("odd")

    study(reply, methods=[{"use": "average"}])
    ran = maci("study", "run", "study.toml")
    assert ran.code == 3 and "none of the 24 answers came; the first: ValueError: odd" in ran.err


def test_a_wrong_key_ends_the_run_with_3(maci, study):
    def reply(case, bench, seed):
        raise WrongKey("the key is not accepted")

    study(reply)
    ran = maci("study", "run", "study.toml")
    assert ran.code == 3 and "maci: the key is not accepted" in ran.err


def test_a_budget_that_ends_it_early_is_a_remark_and_before_a_first_answer_exit_4(maci, study):
    study(paying(30, 100), methods=[{"use": "average"}])
    ran = maci("study", "run", "study.toml", "--budget-tokens", "200")
    assert ran.code == 0 and "4 of 24 answers" in ran.out
    assert (
        "Stopped: the run's budget is used up (120 tokens, $0.0000 by all runs together), 20 of 24 answers are left"
        in ran.err
    )
    assert "24 of 24 answers, 20 of them new" in maci("study", "run", "study.toml", "--budget-tokens", "9999").out
    ran = maci("study", "run", "study.toml", "--budget-tokens", "50", "--out", "other")
    assert ran.code == 4 and "no answer: the run's budget is used up" in ran.err


def test_results_of_another_study_are_refused_with_what_differs(maci, study):
    study(methods=[{"use": "average"}])
    assert maci("study", "run", "study.toml").code == 0
    study(methods=[{"use": "average"}], set={"stop.max_rounds": 3})
    ran = maci("study", "run", "study.toml")
    assert ran.code == 2 and 'set was {}, is {"stop.max_rounds": 3}' in ran.err and "choose another --out" in ran.err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("none.toml",), 2, "cannot read none.toml: No such file"),
        (("study.toml", "--engine", "rey"), 2, "--engine rey: choose local or ray"),
        (("study.toml", "--limit", "0"), 2, "--limit"),
        (("study.toml", "--store", "mysql://u:secret@h/d"), 2, "--store mysql:…: only postgresql://"),
        (("study.toml", "--out", "cases.jsonl/x"), 3, "make its folder writable, or choose another --out"),
        (("study.toml", "--cache", "a", "--no-cache"), 2, "give --cache or --no-cache, not both"),
    ],
)
def test_wrong_use_is_refused(maci, study, args, code, said):
    study()
    ran = maci("study", "run", *args)
    assert ran.code == code and said in ran.err and "secret" not in ran.err


def test_data_that_cannot_be_had_is_refused_before_anything_runs(maci, study):
    study(data=[{"set": "symptom2disease"}])
    ran = maci("study", "run", "study.toml")
    assert ran.code == 2 and "name their folder with --data DIR or MACI_DATA" in ran.err
    study(data=[{"file": "cases.jsonl", "map": {"gold": "truth"}}])
    ran = maci("study", "run", "study.toml")
    assert ran.code == 2 and "has no column 'truth'" in ran.err


def test_models_without_a_key_are_refused_before_anything_runs(maci, study, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    study(panel={"agents": ["openai/gpt-4o-mini", "openai/gpt-4o"], "judges": ["reader"]})
    ran = maci("study", "run", "study.toml")
    assert ran.code == 3 and "there is no key" in ran.err


def test_methods_are_listed_with_what_they_do(maci):
    rows = {row["name"]: row for row in json.loads(maci("study", "methods", "--json").out)}
    assert rows["single"]["each"] is True and "agent" in rows["single"]["options"] and rows["maci"]["about"]
    listed = maci("study", "methods").out
    assert all(name in listed for name in rows)


def test_studies_are_listed_with_how_far_they_are(maci, study):
    assert "no studies in studies-out" in maci("study", "list").err
    study(methods=[{"use": "average"}], about="a first look")
    maci("study", "run", "study.toml")
    assert maci("study", "list").out == "studies-out/tiny  24 of 24 answers, 0 failed  a first look\n"
    assert json.loads(maci("study", "list", "--json").out)[0]["planned"] == 24
    maci("study", "run", "study.toml", "--limit", "2")  # the others are kept, and not counted
    assert maci("study", "list").out == "studies-out/tiny  8 of 8 answers, 0 failed  a first look\n"


def test_rows_are_exported(maci, study):
    study(methods=[{"use": "average"}])
    maci("study", "run", "study.toml")
    assert maci("study", "export", "studies-out/tiny").out == "studies-out/tiny/rows.jsonl: 24 rows\n"
    rows = [json.loads(line) for line in Path("studies-out/tiny/rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["item"] for row in rows if not row["correct"]} == {f"c{n}" for n in range(12)}  # all of seed 1
    assert all(row["context"].startswith(f"Patient {row['item'][1:]} has ") for row in rows)
    Path("cases.jsonl").write_text("", encoding="utf-8")
    ran = maci("study", "export", "studies-out/tiny", "--to", "y.jsonl")
    assert ran.code == 0 and "the texts of tiny are left out: " in ran.err and "has changed since" in ran.err
    assert json.loads(Path("y.jsonl").read_text(encoding="utf-8").splitlines()[0])["context"] is None
    assert maci("study", "export", "studies-out/tiny", "--format", "csv", "--to", "x.csv").out == "x.csv: 24 rows\n"
    assert maci("study", "export", "studies-out/tiny", "--format", "xml").code == 2
    assert maci("study", "export", "nowhere").code == 2
