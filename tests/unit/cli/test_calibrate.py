"""``maci calibrate``: for any panel, with its price first, from past debates where there are some; interrupted, it loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fake_server.openai import OpenAI
from hash_encoder import HashEncoder
from maci.controller.inputs import Requested
from maci.debating.loop import debate
from maci.record.outcome import known_runs
from maci.record.transcript import read
from serving import serving
from study_helpers import spec_data, toml, write_cases

PANEL = """\
evidence: [{id: e1, text: "High fever points to dengue."}]
agents:
  - name: first
    family: one
    turns: [{belief: {yes: 0.7, no: 0.3}, arguments: [{claim: It is., cite: [e1], outcome: "yes"}]}]
  - name: second
    family: two
    turns: [{belief: {yes: 0.6, no: 0.4}, arguments: [{claim: It seems., cite: [e1], outcome: "yes"}]}]
judges: [{name: judge, family: three}]
"""
PAIR = (
    "calibrate", "--cases", "dev.jsonl", "--agents", "openai/alpha,openai/beta", "--judges", "reader", "--held-out", "0",
    "--set", "max_rounds=2",
)  # fmt: skip


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder with 22 cases, no keys from outside, an encoder that loads at once."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "MACI_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    dev(22)


def dev(n: int, gold: bool = True) -> list[dict[str, Any]]:
    """Cases with a rule of their own each; every fifth is not what the rule says."""
    cases = []
    for i in range(n):
        fits = i % 5 != 0
        cases.append(
            {
                "id": f"day-{i}",
                "question": "Is it dengue?",
                "context": f"High fever on day {i}.",
                "outcomes": ["yes", "no"],
                "evidence": [{"text": "High fever: yes.", "label": "yes"}, {"text": "No fever: no.", "label": "no"}],
                **({"gold": "yes" if fits else "no"} if gold else {}),
            }
        )
    Path("dev.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    Path("panel.yaml").write_text(PANEL, encoding="utf-8")
    return cases


class Held:
    """Counts debates as they begin, and interrupts the one with this number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cases: list[str] = []
        self.stop_at: int | None = None
        monkeypatch.setattr("maci.debating.batch.debate", self)

    def __call__(self, opened: Any, table: Any, **more: Any) -> Any:
        self.cases.append(opened.case.id)
        if len(self.cases) == self.stop_at:
            raise KeyboardInterrupt
        return debate(opened, table, **more)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server whose models have a version, which can be changed: ``server.version = …``."""
    plain = OpenAI._completion

    def versioned(self: OpenAI, asked: Any, *rest: Any) -> dict[str, Any]:
        return {**plain(self, asked, *rest), "model": f"{asked.model}-{running.version}"}  # type: ignore[attr-defined]

    monkeypatch.setattr(OpenAI, "_completion", versioned)
    with serving("alpha", "beta") as running:
        running.version = "may"  # type: ignore[attr-defined]
        Path("maci-panels.yaml").write_text(
            f"models: {{openai: {{base_url: '{running.url}/v1', price: {{input: 1, output: 2}}}}}}\n", encoding="utf-8"
        )
        yield running


def asked(server: Any) -> int:
    return sum(count.requests for count in server.counts.values())


# --- price ------------------------------------------------------------------------------------------------------------------------


def test_a_panel_of_models_says_its_price_and_sends_nothing_until_told_to(
    maci: Callable[..., Any], server: Any
) -> None:
    refused = maci(*PAIR)
    assert refused.code == 2 and "22 debates: between " in refused.err and "$" in refused.err and "--yes" in refused.err
    priced = maci(*PAIR, "--dry-run", "--json")
    found = json.loads(priced.out)
    assert found["debates"] == 22 and 0 < found["least_tokens"] <= found["tokens"] and 0 < found["usd"] < 10
    assert asked(server) == 0 and not Path("maci-runs").exists() and not Path("calibration.toml").exists()
    ran = maci(*PAIR, "--yes", "--json")
    assert ran.code == 0, ran.err
    learnt = json.loads(ran.out)
    assert learnt["n"] == 22 and learnt["tokens"] > 0 and asked(server) > 0
    assert learnt["settings"]["calibration.made_for"].startswith("agents: openai/alpha, openai/beta; judges ")
    again = asked(server)
    assert maci(*PAIR, "--json").code == 0  # everything is on record: nothing to pay, and nothing to agree to
    assert asked(server) == again


def test_asked_on_a_terminal_a_no_sends_nothing(
    maci: Callable[..., Any], server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda *args, **more: False)
    ran = maci(*PAIR)
    assert ran.code == 0 and "Nothing was sent." in ran.err and asked(server) == 0


def test_readers_and_scripts_are_free_and_nobody_is_asked(maci: Callable[..., Any]) -> None:
    ran = maci("calibrate", "dev.jsonl", "--held-out", "0")
    assert ran.code == 0, ran.err
    assert "tokens" not in ran.err and "Learnt from 22 cases: " in ran.out
    free = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--dry-run", "--held-out", "0")
    assert (free.code, free.out) == (0, "22 debates, free.\n")


# --- another version of a model ----------------------------------------------------------------------------------------------------


def test_a_calibration_is_refused_as_soon_as_the_server_reports_another_version(
    maci: Callable[..., Any], server: Any
) -> None:
    assert maci(*PAIR, "--yes", "--quiet").code == 0
    assert 'served = "openai/alpha=alpha-may,openai/beta=beta-may"' in Path("calibration.toml").read_text("utf-8")
    Path("case.json").write_text(json.dumps({**dev(1)[0], "context": "Fever again."}), encoding="utf-8")
    debated = (
        "debate", "case.json", "--agents", "openai/alpha,openai/beta", "--judges", "reader", "--config", "calibration.toml",
    )  # fmt: skip
    assert maci(*debated, "--out", "same", "--quiet").code == 0
    server.version = "june"
    ran = maci(*debated, "--out", "other", "--quiet", "--no-cache")
    assert ran.code == 2 and "made with openai/" in ran.err and "now answers as" in ran.err and "-june'" in ran.err
    seen = [r.served for e in read("other/transcript.jsonl").events if isinstance(e, Requested) for r in e.requests]
    assert len(seen) == 1  # refused at the first reply


def test_debates_of_an_earlier_version_are_left_out(maci: Callable[..., Any], server: Any) -> None:
    dev(20)
    maci("batch", "dev.jsonl", *PAIR[3:7], "--out", "maci-runs/old", "--set", "max_rounds=2", "--quiet")
    server.version = "june"
    dev(44)
    first = json.loads(maci(*PAIR, "--yes", "--no-cache", "--json").out)
    assert first["n"] == 24 and first["past"] == 20 and len(first["failed"]) == 20
    assert first["settings"]["calibration.served"] == "openai/alpha=alpha-june,openai/beta=beta-june"


# --- nothing is debated twice ------------------------------------------------------------------------------------------------------


def test_interrupted_it_goes_on_where_it_was(maci: Callable[..., Any], held: Held) -> None:
    held.stop_at = 9
    ran = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--held-out", "0", "--jobs", "1")
    assert ran.code == 130 and "what was debated is kept in maci-runs/calibrate-dev-" in ran.err
    assert not Path("calibration.toml").exists()
    before, held.stop_at, held.cases = set(held.cases[:-1]), None, []
    ran = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--held-out", "0", "--json")
    assert ran.code == 0 and json.loads(ran.out)["n"] == 22
    assert len(before) == 8 and not before & set(held.cases) and len(held.cases) == 14


def test_what_a_batch_debated_is_not_debated_again(maci: Callable[..., Any], held: Held) -> None:
    maci("batch", "dev.jsonl", "--panel", "panel.yaml", "--out", "maci-runs/b", "--quiet")
    held.cases = []
    ran = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--held-out", "0", "--json")
    assert json.loads(ran.out)["past"] == json.loads(ran.out)["n"] == 22 and held.cases == []
    other = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--held-out", "0", "--json", "--set", "tau_o=0.31")
    assert json.loads(other.out)["past"] == 0 and len(held.cases) == 22  # other settings: other debates


def test_batch_and_calibrate_hold_the_same_debates(maci: Callable[..., Any], held: Held) -> None:
    maci("batch", "dev.jsonl", "--panel", "panel.yaml", "--out", "maci-runs/b", "--quiet")
    command = ("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--held-out", "0", "--json", "--out")
    taken = json.loads(maci(*command, "taken.toml").out)
    held.cases = []
    own = json.loads(maci(*command, "own.toml", "--runs", "elsewhere").out)
    assert (taken["past"], own["past"], len(held.cases)) == (22, 0, 22)
    for figure in ("n", "accuracy", "ece_before", "ece_after", "settings"):
        assert taken[figure] == own[figure]
    rows = json.loads(Path("maci-runs/b/results.json").read_text())["results"]
    gold = {case["id"]: case["gold"] for case in map(json.loads, Path("dev.jsonl").read_text().splitlines())}
    assert sum(row["answer"] == gold[row["case"]] for row in rows) / len(rows) == own["accuracy"]


def test_a_budget_that_ends_first_keeps_what_was_debated(maci: Callable[..., Any], server: Any) -> None:
    ran = maci(*PAIR, "--yes", "--budget-tokens", "20000", "--quiet")
    assert ran.code == 4 and "raise --budget-tokens" in ran.err and not Path("calibration.toml").exists()
    kept = len(list(known_runs(Path("maci-runs"))))
    assert 0 < kept < 22
    assert json.loads(maci(*PAIR, "--yes", "--json").out)["n"] == 22


# --- from past debates -------------------------------------------------------------------------------------------------------------


def test_it_grows_with_use(maci: Callable[..., Any], held: Held) -> None:
    """Debates without a known answer teach once `maci outcome` says how they turned out."""
    known = dev(22)
    dev(22, gold=False)
    maci("batch", "dev.jsonl", "--panel", "panel.yaml", "--out", "maci-runs/b", "--quiet")
    held.cases = []
    none = maci("calibrate", "--panel", "panel.yaml")
    assert none.code == 2 and "0 of this panel in maci-runs have one" in none.err and "maci outcome RUN" in none.err
    rows = {row["case"]: row["folder"] for row in json.loads(Path("maci-runs/b/results.json").read_text())["results"]}
    for case in known[:20]:
        assert maci("outcome", f"maci-runs/b/{rows[case['id']]}", "--was", case["gold"]).code == 0
    ran = maci("calibrate", "--panel", "panel.yaml", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["n"] == found["past"] == 20 and found["accuracy"] == 16 / 20 and held.cases == []
    assert maci("outcome", f"maci-runs/b/{rows['day-20']}", "--was", "no").code == 0
    assert json.loads(maci("calibrate", "--panel", "panel.yaml", "--json").out)["n"] == 21
    assert "No prediction sets: they need cases to debate" in maci("calibrate", "--panel", "panel.yaml").out


def test_past_debates_of_another_panel_teach_nothing(maci: Callable[..., Any]) -> None:
    maci("batch", "dev.jsonl", "--panel", "panel.yaml", "--out", "maci-runs/b", "--quiet")
    ran = maci("calibrate", "--panel", "readers")
    assert ran.code == 2 and "and 0 of this panel in maci-runs have one" in ran.err


def test_a_debate_suggests_a_calibration_in_one_line_and_only_where_there_is_something_to_learn_from(
    maci: Callable[..., Any],
) -> None:
    case = {**dev(22)[0], "context": "Fever again."}
    Path("away").mkdir()
    Path("away/case.json").write_text(json.dumps(case), encoding="utf-8")
    debated = ("debate", "away/case.json", "--panel", "panel.yaml", "--plain")
    file = maci(*debated, "--out", "a").out
    assert file.count("maci calibrate dev.jsonl") == 1 and "22 cases with known answers" in file
    assert "maci calibrate dev.jsonl" not in maci(*debated, "--out", "withheld", "--risk", "0.001").out
    Path("dev.jsonl").rename("dev.txt")
    assert "maci calibrate" not in maci(*debated, "--out", "b").out.replace("(`maci calibrate`)", "")
    Path("dev.txt").rename("away/dev.jsonl.txt")
    Path("away/same.json").write_text(json.dumps({**case, "context": "The same case."}), encoding="utf-8")
    for again in range(21):  # one case that is debated again and again is one case
        maci("debate", "away/same.json", "--panel", "panel.yaml", "--out", f"maci-runs/again-{again}", "--quiet")
    assert "or more different cases" not in maci(*debated, "--out", "repeats").out
    maci("batch", "away/dev.jsonl.txt", "--panel", "panel.yaml", "--out", "maci-runs/b", "--quiet")
    past = " ".join(maci(*debated, "--out", "c").out.split())
    assert "The answers to 20 or more different cases that this panel debated are known: `maci calibrate`" in past
    maci("calibrate", "--panel", "panel.yaml", "--quiet")
    calibrated = maci(*debated, "--out", "d", "--config", "calibration.toml")
    assert calibrated.code == 0 and "different cases that this panel debated" not in calibrated.out


def test_the_dev_answers_of_a_study_give_a_temperature_for_its_panel(
    maci: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maci.lab.study.worker.load_encoder", lambda *args, **more: HashEncoder())
    write_cases(Path(), 60)
    Path("study.toml").write_text(toml(spec_data(seeds=[0, 1], methods=[{"use": "maci"}])), encoding="utf-8")
    ran = maci("study", "run", "study.toml", "--out", "small", "--quiet")
    assert ran.code == 0, ran.err
    found = maci("calibrate", "--study", "small", "--json")
    assert found.code == 0, found.err
    assert set(json.loads(found.out)["settings"]) == {"calibration.made_for", "calibration.temperature"}
    assert json.loads(found.out)["settings"]["calibration.made_for"].startswith("readers: reader-lexical")
    n = json.loads(found.out)["n"]
    assert f"Learnt from {n} distinct dev cases, 2 seeds: " in maci("calibrate", "--study", "small").out
    assert f"# Calibration from {n} distinct dev cases, 2 seeds (" in Path("calibration.toml").read_text("utf-8")
    assert maci("debate", "dengue", "--config", "calibration.toml", "--out", "a", "--quiet").code == 0
    none = maci("calibrate", "--study", "nowhere")
    assert none.code != 0 and "nowhere" in none.err


# --- what cannot be ----------------------------------------------------------------------------------------------------------------


def test_cases_given_twice_and_settings_with_a_calibration_are_refused(maci: Callable[..., Any]) -> None:
    assert "give one of CASES, --cases and --study" in maci("calibrate", "dev.jsonl", "--cases", "dev.jsonl").err
    assert maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--quiet").code == 0
    again = maci("calibrate", "dev.jsonl", "--panel", "panel.yaml", "--config", "calibration.toml")
    assert again.code == 2 and "hold a calibration already" in again.err
