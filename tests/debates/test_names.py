"""Debates in free text: agents that name one outcome differently agree, and a narrower name is kept under the wider one (D14)."""

from __future__ import annotations

import pytest

from helpers import arg, judge, make_case, of, play, result, script, seat, settings, turn
from maci.cases.outcomes import OutcomeSpace
from maci.controller.decisions import Initialized, Weighed
from maci.record.replay import replay

OPEN = OutcomeSpace(kind="open")


def said(*names: str, p: tuple[float, ...] = (0.9, 0.1)):
    return turn(*p, labels=names, args=(arg("It fits.", "e4", outcome=names[0]),))


def debate(ada, ben, *, gold=None, rounds=2):
    case = make_case(OPEN, gold=gold)
    agents = [script("ada", *[ada] * (rounds + 1)) if not isinstance(ada, list) else script("ada", *ada)]
    agents.append(script("ben", *[ben] * (rounds + 1)) if not isinstance(ben, list) else script("ben", *ben))
    return play(seat(agents, [judge()], case), settings(f"stop.max_rounds={rounds}"), case)


@pytest.mark.parametrize(
    ("one", "two", "layer"),
    [
        ("Dengue fever", "Dengue", "alias"),
        ("GERD", "Gastroesophageal reflux disease", "abbreviation"),
        ("Heart attack", "Myocardial infarction", "alias"),
        ("Lyme disease", "Lyme", "qualifier"),
    ],
)
def test_two_names_of_one_outcome_are_an_agreement(one: str, two: str, layer: str) -> None:
    events = debate(said(one, "zebra bite"), said(two, "zebra bite"), gold=two)
    (start,) = of(Initialized, events)
    assert start.d == pytest.approx(0, abs=1e-6)
    assert [(j.name, j.label, j.kind, j.layer) for j in start.joined] == [(two, one, "same", layer)]
    assert start.correct
    end = result(events)
    assert end.answer == one and end.distribution[one] == pytest.approx(0.9)
    assert not end.narrower
    assert not of(Weighed, events)[-1].joined  # said once


def test_look_alikes_stay_a_disagreement() -> None:
    events = debate(said("Hepatitis A", "x-ray burn"), said("Hepatitis B", "x-ray burn"))
    assert of(Initialized, events)[0].d > 0.5


def test_a_narrower_name_counts_for_the_wider_and_its_share_is_reported() -> None:
    ada = turn(0.6, 0.3, 0.1, labels=("viral pneumonia", "pneumonia", "flu"))
    events = debate(ada, said("Pneumonia", "flu"), gold="viral pneumonia")
    end = result(events)
    assert end.answer == "pneumonia"
    assert set(end.distribution) == {"other", "pneumonia", "flu"}
    assert end.distribution["pneumonia"] == pytest.approx(0.9)
    (share,) = end.narrower.values()
    assert share == pytest.approx(0.6 / 0.9 / 2)  # two thirds of one of two agents
    case = make_case(OPEN, gold="viral pneumonia")
    assert case.gold_among(end.raw) == "pneumonia"
    assert case.gold_is(end.answer, end.narrower) is False  # less than half of it is that narrow
    assert case.gold_is(end.answer, {"viral pneumonia": 0.7}) is True


def test_a_wider_name_that_comes_later_takes_in_the_narrower_label() -> None:
    ada = [said("viral pneumonia", "flu")] * 4
    ben = [said("viral pneumonia", "flu"), *[said("pneumonia", "flu", p=(0.8, 0.2))] * 3]
    events = debate(ada, ben, rounds=3)
    start, first = of(Initialized, events)[0], of(Weighed, events)[0]
    assert "viral pneumonia" in start.labels and "pneumonia" not in start.labels
    assert "pneumonia" in first.labels and "viral pneumonia" not in first.labels
    assert [j.name for j in first.joined] == ["viral pneumonia"]
    assert first.beliefs["ada"]["pneumonia"] == pytest.approx(0.9)
    end = result(events)
    assert end.answer == "pneumonia" and end.narrower["viral pneumonia"] == pytest.approx(0.9 / 1.7)
    assert end.harm is not None and end.harm.moves == 0  # nobody changed its mind
    assert set(end.harm.openings.values()) == {"pneumonia"}
    assert replay(events).state.finished == end


def test_a_gold_that_is_wider_than_the_answer_is_met_by_it_but_not_exactly() -> None:
    case = make_case(OPEN, gold="pneumonia")
    assert case.gold_among({"flu": 0.1, "viral pneumonia": 0.3, "bacterial pneumonia": 0.6}) == "bacterial pneumonia"
    assert case.gold_is("bacterial pneumonia") is False
    assert case.gold_is("Pneumonias") is True
    assert make_case(OPEN).gold_is("flu") is None


def test_models_are_shown_the_names_in_use_without_the_bucket() -> None:
    case = make_case(OPEN)
    agents = [script("ada", *[said("gout", "flu")] * 3), script("ben", *[said("gout", "flu")] * 3)]
    play(seat(agents, [judge()], case), settings("stop.max_rounds=2"), case)
    assert [request.question.labels for request in agents[0].history][:2] == [(), ("gout", "flu")]
