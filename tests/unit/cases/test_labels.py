from __future__ import annotations

import numpy as np
import pytest

from maci.cases.labels import (
    Comparing,
    Join,
    NameQuestion,
    canonical,
    near_pairs,
    open_pairs,
    open_question,
    place_names,
)
from maci.cases.outcomes import OutcomeSpace
from maci.errors import BeliefError

OPEN = OutcomeSpace(kind="open")


def test_an_open_space_joins_spellings_but_not_discriminating_tokens() -> None:
    known = ("Dengue fever", "Hepatitis B", "hypothyroidism", "Diabetes type 1")
    assert canonical("Dengeu fever", OPEN, known) == "Dengue fever"
    assert canonical("Dengue", OPEN, known) == "Dengue fever"
    for other in ("Hepatitis C", "hyperthyroidism", "Diabetes type 2", "Diabetes type II"):
        alike = Comparing(vectors=dict.fromkeys((other, *known), np.ones(1, np.float32)))
        assert canonical(other, OPEN, known, by=alike) == other
    with pytest.raises(BeliefError, match="no letters or digits"):
        canonical("?!", OPEN, known)


def test_an_open_space_joins_names_that_mean_the_same() -> None:
    def placed(cos: float, known: tuple[str, ...]) -> str:
        near = np.array([cos, (1 - cos**2) ** 0.5], np.float32)
        vectors = {"mosquito illness": near, **dict.fromkeys(known, np.array([1, 0], np.float32))}
        return canonical("mosquito illness", OPEN, known, by=Comparing(vectors=vectors))

    assert placed(0.96, ("Dengue fever", "other")) == "Dengue fever"
    assert placed(0.94, ("Dengue fever", "other")) == "mosquito illness"
    assert placed(0.99, ("other",)) == "mosquito illness"  # the rest attracts nothing


def test_a_narrower_name_is_held_by_its_label_whichever_comes_first() -> None:
    for order in (["Pneumonia", "viral pneumonia"], ["viral pneumonia", "Pneumonia"]):
        placed = place_names(order, OPEN.start, OPEN)
        assert placed.labels == ("other", "Pneumonia")
        assert placed.joins == {"viral pneumonia": Join("Pneumonia", "narrower", "qualifier")}


def test_a_broader_name_takes_in_all_that_is_narrower_with_what_they_hold() -> None:
    first = place_names(["viral pneumonia", "bacterial pneumonia", "viral pneumonias", "flu"], OPEN.start, OPEN)
    assert first.labels == ("other", "viral pneumonia", "bacterial pneumonia", "flu")
    later = place_names(["pneumonia"], first.labels, OPEN, first.joins)
    assert later.labels == ("other", "flu", "pneumonia")
    assert {name: later.label(name) for name in later.joins} == dict.fromkeys(
        ("viral pneumonia", "bacterial pneumonia", "viral pneumonias"), "pneumonia"
    )
    assert all(join.kind == "narrower" for join in later.joins.values())


def test_declared_labels_stay_as_they_are() -> None:
    space = OutcomeSpace(kind="open", labels=("viral pneumonia", "bacterial pneumonia"))
    placed = place_names(["pneumonia"], space.start, space, by=Comparing(answers={space.labels: "same"}))
    assert placed.labels == ("viral pneumonia", "bacterial pneumonia", "other", "pneumonia")


def test_an_alias_joins_by_the_same_layers() -> None:
    space = OutcomeSpace(kind="open", aliases={"Acute coronary occlusion": "MI"})
    assert canonical("acute coronary occlusions", space, ("MI", "Angina")) == "MI"
    assert place_names(["Acute Coronary Occlusion"], ("other",), space).labels == ("other", "MI")


def test_an_answer_of_a_model_joins_labels_in_use() -> None:
    labels = ("other", "melanoma", "skin cancer", "wart", "verruca")
    answers = {("melanoma", "skin cancer"): "narrower", ("verruca", "wart"): "same", ("wart", "melanoma"): "other"}
    placed = place_names([], labels, OPEN, by=Comparing(answers=answers))
    assert placed.labels == ("other", "skin cancer", "wart")
    assert placed.joins == {
        "melanoma": Join("skin cancer", "narrower", "model"),
        "verruca": Join("wart", "same", "model"),
    }


def test_another_name_of_a_narrower_one_goes_where_that_went() -> None:
    joins = {"melanoma": Join("skin cancer", "narrower", "model")}
    for name in ("Melanomas", "metastatic melanoma"):
        placed = place_names([name], ("other", "skin cancer"), OPEN, joins)
        assert placed.labels == ("other", "skin cancer")
        assert placed.joins[name].kind == "narrower"


def test_a_question_lists_all_names_that_stand_open_and_leaves_out_what_one_author_told_apart() -> None:
    labels = ("other", "gout", "podagra", "hepatitis A", "hepatitis B")
    placed = place_names([], labels, OPEN)
    mass = {"gout": 0.4, "podagra": 0.3, "hepatitis A": 0.2}
    one, two = {"gout": 0.6, "hepatitis A": 0.4}, {"podagra": 1.0}
    left = list(open_pairs(mass, placed, OPEN, Comparing()))
    asked = open_question(mass, [one, two], placed, left)
    assert asked == NameQuestion("podagra", ("gout", "hepatitis A", "hepatitis B"))
    assert open_question(mass, [{**one, **two, "hepatitis B": 0.1}], placed, left) is None
    known = asked.answered("gout", "same")
    assert known["podagra", "hepatitis A"] == "other" and asked.answered("gout", "broader") == {
        ("podagra", "gout"): "broader"
    }
    joined = place_names([], labels, OPEN, by=Comparing(answers=known))
    assert joined.labels == ("other", "gout", "hepatitis A", "hepatitis B")
    assert not list(open_pairs(mass, joined, OPEN, Comparing(answers=known)))  # it answers for gout too
    assert not list(near_pairs(mass, placed, OPEN, Comparing(), 0.5))  # no shared word, and none is close


def test_words_outrank_a_model() -> None:
    by = Comparing(answers={("Hepatitis A", "Hepatitis B"): "same"})
    assert canonical("Hepatitis A", OPEN, ("Hepatitis B",), by=by) == "Hepatitis A"


def test_what_is_worth_a_question_shares_a_word_or_is_close_and_is_asked_by_mass() -> None:
    labels = ("other", "tennis elbow", "golfer's elbow", "gout", "hepatitis A", "hepatitis B")
    placed = place_names([], labels, OPEN)
    mass = {"golfer's elbow": 0.3, "tennis elbow": 0.2, "gout": 0.4, "hepatitis A": 0.1, "hepatitis B": 0.1}
    assert list(near_pairs(mass, placed, OPEN, Comparing(), 0.5)) == [("tennis elbow", "golfer's elbow")]
    close = {"gout": np.array([1, 0], np.float32), "tennis elbow": np.array([0.6, 0.8], np.float32)}
    pairs = list(near_pairs(mass, placed, OPEN, Comparing(vectors=close), 0.5))
    assert set(pairs) == {("tennis elbow", "golfer's elbow"), ("tennis elbow", "gout")}
    by = Comparing(answers={("golfer's elbow", "tennis elbow"): "other"})
    assert not list(near_pairs(mass, placed, OPEN, by, 0.5))
