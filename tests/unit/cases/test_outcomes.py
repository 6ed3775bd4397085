from __future__ import annotations

import pytest

from maci.cases.labels import canonical
from maci.cases.outcomes import OutcomeSpace, normal
from maci.errors import BeliefError, CaseError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"labels": ("a",)}, "a debate needs at least two outcomes, got ['a']; list more, or use kind: open"),
        ({"labels": ()}, "at least two outcomes"),
        ({"labels": ("a", "a")}, "outcomes 'a' and 'a' are the same label"),
        ({"labels": ("Dengue", " dengue ")}, "are the same label"),
        ({"labels": ("Ménière", "Meniere")}, "are the same label"),
        ({"labels": ("2", "+2.0")}, "are the same label"),
        ({"labels": ("a", " ")}, "an outcome label is empty"),
        ({"labels": ("a", "b"), "kind": "fuzzy"}, "choose closed, open or ordered"),
        ({"labels": ("a", "b"), "aliases": {"x": "c"}}, "alias 'x' points to 'c', which is not an outcome"),
        ({"labels": ("a", "b"), "kind": "ordered"}, "2 labels, 0 positions"),
        ({"labels": ("a", "b"), "kind": "ordered", "positions": (1.0, 1.0)}, "must increase strictly"),
        ({"labels": ("a", "b"), "kind": "ordered", "positions": (2.0, 1.0)}, "must increase strictly"),
        ({"labels": ("a", "b"), "kind": "ordered", "positions": (1.0, float("inf"))}, "must increase strictly"),
        ({"labels": ("a", "b"), "kind": "ordered", "positions": (-1e308, 1e308)}, "reach too far"),
        ({"labels": ("a", "b"), "metric": ((0.0, 1.0),)}, "2 x 2 table"),
        ({"labels": ("a", "b"), "metric": ((0.0, 1.0), (2.0, 0.0))}, "not a distance at ('a', 'b')"),
        ({"labels": ("a", "b"), "metric": ((0.0, 0.0), (0.0, 0.0))}, "not a distance at ('a', 'b'): 0.0"),
        ({"labels": ("a", "b"), "metric": ((0.0, -1.0), (-1.0, 0.0))}, "not a distance"),
    ],
)
def test_a_space_that_cannot_be_debated_is_refused(given: dict, says: str) -> None:
    with pytest.raises(CaseError) as error:
        OutcomeSpace(**given)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("α-thalassemia", "β-thalassemia"),
        ("1000001", "1000002"),
        ("-2", "2"),
        ("Hepatitis B", "Hepatitis C"),
        ("がん", "かん"),
        ("दिन", "दान"),
        ("肝炎", "流感"),
        ("日本 flu", "flu"),
    ],
)
def test_labels_that_differ_stay_apart(one: str, two: str) -> None:
    assert normal(one) != normal(two)
    assert OutcomeSpace(labels=(one, two)).labels == (one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [("Dengue  Fever", "dengue fever"), ("Crohn’s disease", "crohn's disease"), ("+2", "2.0"), ("-0", "0"), ("É", "é")],
)
def test_labels_that_differ_only_in_writing_are_one(one: str, two: str) -> None:
    assert normal(one) == normal(two) != ""


CLOSED = OutcomeSpace(labels=("Dengue fever", "Malaria"), aliases={"breakbone": "Dengue fever"})


@pytest.mark.parametrize("name", ["Dengue fever", "DENGUE FEVER", " dengue-fever ", "Breakbone"])
def test_a_closed_label_is_found_by_case_blanks_and_alias(name: str) -> None:
    assert canonical(name, CLOSED, CLOSED.labels) == "Dengue fever"


def test_an_unknown_label_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BeliefError, match="'Denge fever' is not an outcome of this case: Dengue fever, Malaria"):
        canonical("Denge fever", CLOSED, CLOSED.labels)  # a closed space guesses no spelling


@pytest.mark.parametrize("spelled", ["other", "Other", "OTHER"])
def test_an_open_space_has_one_bucket_for_the_rest_however_it_is_spelled(spelled: str) -> None:
    space = OutcomeSpace(kind="open", labels=("Dengue", spelled))
    assert space.start == ("Dengue", spelled)
    assert space.rest == spelled
    assert OutcomeSpace(kind="open").start == ("other",)
    assert CLOSED.rest is None


def test_the_size_of_a_space_is_what_was_seen_or_declared() -> None:
    assert OutcomeSpace(kind="open", declared=30).size(4) == 30
    assert OutcomeSpace(kind="open", declared=3).size(4) == 4


def test_the_bucket_names_nothing() -> None:
    space = OutcomeSpace(kind="open", labels=("Dengue", "Other"))
    assert space.named((*space.start, "Malaria")) == ("Dengue", "Malaria")
    assert OutcomeSpace(labels=("Dengue", "other")).named(("Dengue", "other")) == ("Dengue", "other")
