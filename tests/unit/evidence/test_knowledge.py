"""The built-in knowledge and cases are whole and fit together."""

from __future__ import annotations

import pytest

from maci.cases.case import builtin_cases
from maci.cases.outcomes import normal
from maci.evidence.knowledge import builtin_spans, conditions

CASES = {name: case for name, case in builtin_cases().items() if not name.startswith("paper-")}


def test_there_is_enough_of_it():
    assert len(conditions()) >= 60
    assert sum(case.outcomes.kind == "closed" for case in CASES.values()) >= 40
    assert any(case.outcomes.kind == "ordered" for case in CASES.values())
    assert {"dengue", "hepatitis"} <= set(CASES)


def test_every_condition_says_how_it_looks_and_what_would_tell():
    for condition in conditions():
        assert condition.presentation and condition.distinguishing and condition.tests and condition.lay, condition.name
        assert all(0 < p < 1 for p in condition.symptoms.values()), condition.name


def test_names_and_aliases_are_unambiguous():
    names = [normal(name) for condition in conditions() for name in (condition.name, *condition.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.outcomes.kind == "closed"])
def test_a_case_does_not_name_its_answer_and_asks_for_known_conditions(name):
    case = CASES[name]
    known = {condition.name: condition for condition in conditions()}
    assert set(case.outcomes.labels) <= set(known)
    gold = known[case.gold]
    text = f" {normal(case.context)} "
    assert not any(f" {normal(word)} " in text for word in (gold.name, *gold.aliases))
    assert case.hidden


def test_spans_are_labelled_and_distinct():
    spans = builtin_spans()
    assert all(span.label for span in spans)
    assert len({span.id for span in spans}) == len(spans)


def test_the_package_says_that_it_is_not_for_medical_use():
    from maci.evidence import knowledge

    assert "not for medical use" in (knowledge.__doc__ or "").casefold()
