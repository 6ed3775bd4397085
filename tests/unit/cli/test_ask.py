"""`maci ask` as a person types it."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hash_encoder import HashEncoder
from maci.cli.app import app
from maci.config import Config
from maci.controller.events import is_decision
from maci.controller.fold import start, step
from maci.record.replay import replay
from maci.record.transcript import read
from maci.story.result import AskResult

PANEL = """
evidence: [{id: e1, text: "High fever points to dengue."}]
agents:
  - name: x
    family: fx
    turns: [{belief: {yes: %s, no: %s}, arguments: [{claim: It is., cite: [e1], outcome: "yes"}]}]
  - name: y
    family: fy
    turns: [{belief: {yes: 0.9, no: 0.1}, arguments: [{claim: It seems., cite: [e1], outcome: "yes"}]}]
judges: [{name: j, family: fj}]
"""
CASE = "question: Is it dengue?\ncontext: High fever.\noutcomes: [yes, no]\ngold: yes\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MACI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    (tmp_path / "case.yaml").write_text(CASE)
    (tmp_path / "sure.yaml").write_text(PANEL % (0.98, 0.02))
    (tmp_path / "unsure.yaml").write_text(PANEL % (0.52, 0.48))


def ask(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["ask", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_one_json_object_with_stage_and_explanation() -> None:
    code, said = ask("case.yaml", "--panel", "sure.yaml", "--json", "--out", "run")
    found = AskResult.model_validate_json(said)
    assert code == 0
    assert (found.answer, found.stage, found.stop_reason, found.rounds) == ("yes", "single", "triage", 0)
    assert {"answer", "distribution", "stop_reason", "rounds", "tokens", "transcript", "warnings"} <= json.loads(
        said
    ).keys()
    assert [path.name for path in Path("run").iterdir()] == ["transcript.jsonl"]


def test_it_says_in_words_why_it_stopped() -> None:
    _, said = ask("case.yaml", "--panel", "sure.yaml", "--plain")
    assert "One agent was asked." in said and "(triage)" in said
    assert "Known answer: yes" in said
    assert "Triage after one agent: stops here" in ask("case.yaml", "--panel", "sure.yaml", "--plain", "--verbose")[1]
    assert "≥ 20" not in said


def test_a_known_answer_in_another_spelling_is_the_same_answer() -> None:
    text = Path("case.yaml").read_text()
    assert "gold: yes" in text or 'gold: "yes"' in text
    Path("case.yaml").write_text(text.replace("gold: yes", "gold: 'YES'").replace('gold: "yes"', "gold: 'YES'"))
    _, said = ask("case.yaml", "--panel", "sure.yaml", "--plain")
    assert "Known answer: yes" in said and "so this is wrong" not in said


def test_explain_shows_tests_thresholds_gains_and_costs() -> None:
    _, said = ask("case.yaml", "--panel", "unsure.yaml", "--plain", "--explain", "--worth", "1e6")
    assert "Triage after one agent: continues" in said
    assert "no  outcomes 2 ≥ 20: so many that debate is likely to pay" in said
    assert "yes vote: +" in said
    assert "Triage after the vote of all openings" in said


@pytest.mark.parametrize("risk", ["nan", "3", "-0.1", "much"])
def test_a_risk_is_a_number_between_0_and_1(risk: str) -> None:
    code, said = ask("case.yaml", "--panel", "sure.yaml", "--risk", risk)
    assert code == 2
    assert f"{risk} is not a number between 0 and 1" in said


def test_a_coverage_that_nothing_can_promise_is_named() -> None:
    _, said = ask("case.yaml", "--panel", "sure.yaml", "--plain", "--set", "coverage=0.8")
    assert "answer.coverage does nothing here: prediction sets need a calibration" in said
    _, said = ask("case.yaml", "--panel", "sure.yaml", "--plain")
    assert "answer.coverage" not in said


def test_it_goes_on_while_the_answer_would_be_withheld() -> None:
    for risk, stage in (("0.1", "single"), ("0.01", "debate")):  # x says 0.98
        _, said = ask("case.yaml", "--panel", "sure.yaml", "--json", "--risk", risk, "--out", f"run{risk}")
        found = AskResult.model_validate_json(said)
        assert (found.stage, found.abstained is not None) == (stage, stage == "debate")
        assert replay(read(Path(f"run{risk}") / "transcript.jsonl").events).complete
    assert [verdict.escalate for verdict in found.explain] == [True, True]
    assert (
        "withheld at the risk asked for (p of yes is 0.98, not calibrated, below 0.99): going on"
        in found.explain[0].why[0]
    )


def test_a_record_made_before_that_rule_stops_where_it_stopped() -> None:
    ask("case.yaml", "--panel", "sure.yaml", "--json", "--risk", "0.1", "--out", "run")
    opened, *rest = read(Path("run/transcript.jsonl")).events
    asked = opened.config.answer.model_copy(update={"risk": 0.01})
    before = opened.config.triage.model_copy(update={"until_sure": False})
    assert not Config().triage.until_sure  # what a record without the setting is read as
    old = replace(opened, config=opened.config.model_copy(update={"answer": asked, "triage": before}))
    events = [each for each in rest if not is_decision(each)]
    state = start(old)
    for each in events:
        state, _ = step(state, each)
    assert state.finished is not None and state.finished.stop_reason == "triage" and state.finished.abstained


def test_worth_nothing_never_goes_on_where_it_costs() -> None:
    code, said = ask("dengue", "--worth", "0", "--json")
    found = json.loads(said)
    assert (code, found["stage"]) == (0, "single")
    assert all(not step["pays"] for verdict in found["explain"] for step in verdict["steps"])


def test_resuming_what_is_finished_says_the_same_again() -> None:
    _, first = ask("case.yaml", "--panel", "unsure.yaml", "--json", "--out", "run")
    code, again = ask("--resume", "--json", "--out", "run")
    assert code == 0
    assert json.loads(again) == json.loads(first)


def test_too_small_a_budget_is_exit_4() -> None:
    from maci.errors import BudgetError

    with pytest.raises(BudgetError, match="raise --budget-tokens"):
        ask("dengue", "--budget-tokens", "10")


def test_show_prints_the_tests_and_replay_recomputes_them() -> None:
    ask("case.yaml", "--panel", "sure.yaml", "--out", "run", "--quiet")
    shown = CliRunner().invoke(app, ["show", "run", "--plain"]).output
    assert "Triage after one agent" in shown and "≥ 20" in shown
    again = CliRunner().invoke(app, ["replay", "run"])
    assert again.exit_code == 0 and "all equal" in again.output
    told = [e.type for e in read("run/transcript.jsonl").events if is_decision(e)]
    assert told == ["triaged", "initialized", "planned", "finished"]
