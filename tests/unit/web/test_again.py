"""A recorded debate in the form: every field as it was, and what no field can hold taken from the record."""

from __future__ import annotations

import pytest

from helpers import make_case, script, seat, settings, turn
from maci.acquisition.gain import Stakes
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.seating.table import opening
from maci.web import Limits
from maci.web.forms import case_of, choice_of, fields_of

SCALE = OutcomeSpace(kind="ordered", labels=("-1", "0", "+1"), positions=(-1, 0, 2), aliases={"good": "+1"})
CASE = Case(
    question="What is the tone?", context="A cold report.", outcomes=SCALE, gold="0", title="Tone", id="tone",
    hidden={"Who wrote it?": "A clerk."}, evidence=(Document("Cold.", "desk", "e1", "0"),),
)  # fmt: skip


def filled(case: Case = CASE, *sets: str, panel: str = "readers", seed: int = 3) -> dict[str, str]:
    table = seat([script("a", turn(1.0)), script("b", turn(1.0))], case=case)
    return fields_of("x", opening(case, table, settings(*sets), seed=seed, panel=panel), ["readers", "paper"])


def again(form: dict[str, str], recorded: Case = CASE) -> Case:
    return case_of(form, {}, Limits(), recorded)


def test_utilities_come_back_as_they_were_given() -> None:
    stakes = Stakes(actions={"print": {"-1": -3.0, "good": 2.5, "otherwise": 0.0}, "no": {"otherwise": 0.0}}, cost=0.5)
    table = seat([script("a", turn(1.0)), script("b", turn(1.0))], case=CASE)
    form = fields_of("x", opening(CASE, table, settings(), stakes=stakes), ["readers"])
    assert choice_of(form).stakes == stakes
    assert choice_of(filled()).stakes is None


def test_a_form_that_nobody_changed_is_the_same_case_and_choice() -> None:
    form = filled(CASE, "max_rounds=5", "budget.tokens=7000", "budget.usd=0.5", "consensus=false", "plan.acquire=2")
    assert again(form) == CASE
    choice = choice_of(form)
    assert choice.panel == "readers" and choice.seed == 3 and choice.source == "ask"
    _, config = choice.settled()
    assert (config.stop.max_rounds, config.budget.tokens, config.budget.usd) == (5, 7000, 0.5)
    assert config.stop.consensus is False and config.plan.acquire == 2


def test_what_is_as_usual_is_left_empty() -> None:
    form = filled(make_case(("a", "b")), seed=0)
    assert not any(form[name] for name in ("settings", "budget_tokens", "budget_usd", "questions", "seed"))


def test_another_context_keeps_scale_truth_and_findings() -> None:
    case = again({**filled(), "context": "A warm report."})
    assert case.context == "A warm report." and case.outcomes == SCALE and case.gold == "0" and case.hidden


@pytest.mark.parametrize("change", [{"question": "Another?"}, {"outcomes": "cold\nwarm"}])
def test_another_question_or_other_outcomes_have_no_known_answer(change: dict[str, str]) -> None:
    case = again({**filled(), **change})
    assert case.gold is None and not case.hidden and not case.title and case.evidence == CASE.evidence
    other = OutcomeSpace(
        kind="ordered", labels=("cold", "warm"), positions=(0.0, 1.0)
    )  # the tick says that it is a scale
    assert case.outcomes == (SCALE if "question" in change else other)


def test_evidence_is_kept_only_where_the_box_is_ticked() -> None:
    form = {**filled(), "keep_evidence": "", "evidence": "Warm."}
    assert [document.text for document in again(form).evidence] == ["Warm."]


def test_models_without_a_panel_of_a_known_name_are_named_themselves() -> None:
    table = seat([script("a", turn(1.0)), script("b", turn(1.0))], case=CASE)
    spec = {"agents": [{"model": "openai/x"}, {"model": "gemini/y"}], "judges": []}
    form = fields_of("x", opening(CASE, table, settings(), panel="mine", spec=spec), ["readers"])
    assert form["agents"] == "openai/x, gemini/y" and form["judges"] == "none" and "panel" not in form
