"""The chance of an answer: prior, what is learnt, and how it ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from maci.acquisition.plan import Proposal, make_plan
from maci.controller.acquiring import chances, rule_of_succession

LABELS = ("Flu", "Cold")
P = np.array([0.6, 0.4])


def ask(subject: str, kind: str = "question", origin: str = "knowledge", present: float = 0.8) -> Proposal:
    return Proposal(
        id=subject, kind=kind, text=f"Any {subject}?", subject=subject, table={"Flu": (present, 1 - present)},
        otherwise=(1 - present, present), origin=(origin,),
    )  # type: ignore[arg-type]  # fmt: skip


def items(*candidates: Proposal):
    return {item.id: item for item in make_plan(LABELS, P, candidates).items}


def test_the_prior_is_one_of_each_and_sureness_lasts_until_it_is_broken():
    assert rule_of_succession(0, 0) == 0.5
    assert rule_of_succession(2, 2) == 0.75
    assert rule_of_succession(0, 2) == 0.25
    assert rule_of_succession(5, 5, sure=True) == 1
    assert rule_of_succession(5, 6, sure=True) == pytest.approx(6 / 7)


def test_each_kind_is_learnt_apart_and_the_menu_is_a_kind_of_its_own():
    asked, tested, shown = ask("fever"), ask("biopsy", "test"), ask("Chest X-ray", "test", "menu")
    on_plan = items(asked, tested, shown)
    so_far = [(on_plan["fever"], True), (on_plan["fever"], True), (on_plan["biopsy"], False)]
    found = chances([ask("rash"), ask("culture", "test"), ask("MRI", "test", "menu")], so_far)
    assert found == {"rash": 3 / 4, "culture": 1 / 3, "MRI": 1.0}
    broken = chances([ask("MRI", "test", "menu")], [(on_plan["Chest X-ray"], False)])
    assert broken == {"MRI": 0.5}


def test_a_source_that_is_sure_answers_everything():
    assert chances([ask("rash"), ask("culture", "test")], (), sure=True) == {"rash": 1.0, "culture": 1.0}


def test_a_question_that_is_sure_to_be_answered_goes_before_one_that_tells_more():
    strong, sure = ask("fever", present=0.85), ask("rash", present=0.8)
    alone = {c.id: make_plan(LABELS, P, [c]).items[0].expected_information_gain for c in (strong, sure)}
    assert alone["fever"] > alone["rash"] > alone["fever"] / 2
    plan = make_plan(LABELS, P, [strong, sure], chances={"fever": 0.5, "rash": 1.0})
    first, second = plan.items
    assert (first.id, first.answered, second.answered) == ("rash", 1.0, 0.5)
    assert second.expected_information_gain == pytest.approx(alone["fever"] / 2)
    assert second.if_answered == pytest.approx(2 * second.added_gain)


def test_without_somebody_to_ask_nothing_is_said_of_answers():
    (item,) = make_plan(LABELS, P, [ask("fever")]).items
    assert item.answered is None
    assert item.if_answered == item.added_gain
    (known,) = make_plan(LABELS, P, [ask("fever")], chances={"fever": 1.0}).items
    assert known == replace(item, answered=1.0)
