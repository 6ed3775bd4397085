from __future__ import annotations

import pytest

from maci.cases.names import Relation, bare, relate, share_a_word
from maci.config.sections import Beliefs


@pytest.mark.parametrize(
    ("one", "two", "layer"),
    [
        ("Roe, Jane", "Jane Roe", "exact"),
        ("the Ministry of Works", "Ministry of Works", "exact"),
        ("Castle Ltd (formerly Tower)", "Tower", "exact"),
        ("Stroke", "cerebrovascular accident", "alias"),
        ("COPD", "Chronic obstructive pulmonary disease", "abbreviation"),
        ("acute PE", "acute pulmonary embolism", "abbreviation"),
        ("C. S. Lewis", "Clive Staples Lewis", "abbreviation"),
        ("Oedema", "edema", "spelling"),
        ("Gastro-oesophageal reflux disease", "gastroesophageal reflux disease", "spelling"),
        ("pnuemonia", "pneumonia", "spelling"),
        ("renal failure", "kidney failure", "spelling"),
        ("cancer of the lung", "lung cancer", "spelling"),
        ("Diabetes mellitus type 2", "type II diabetes mellitus", "spelling"),
        ("The fire was caused by a heater", "A heater caused the fire", "spelling"),
        ("Alzheimer's disease", "Alzheimer's", "qualifier"),
        ("Borealis GmbH", "Borealis", "qualifier"),
    ],
)
def test_names_of_one_thing_are_joined_and_the_layer_is_said(one: str, two: str, layer: str) -> None:
    assert relate(one, two) == ("same", layer)
    assert relate(two, one) == ("same", layer)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("chronic gastritis", "gastritis"),
        ("type 1 diabetes", "diabetes"),
        ("stage 3 melanoma", "melanoma"),
        ("Iron Deficiency Anemia", "anaemia"),
        ("steam engine", "engine"),
        ("migraine with aura", "migraine"),
        ("The engine stopped after the flood", "The engine stopped"),
        ("Leeds branch of the Northern Bank", "Northern Bank"),
    ],
)
def test_a_narrower_name_is_told_from_the_wider_one(narrow: str, wide: str) -> None:
    assert relate(narrow, wide) == ("narrower", "qualifier")
    assert relate(wide, narrow) == ("broader", "qualifier")
    assert relate(narrow, wide).turned == relate(wide, narrow)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Hepatitis B", "Hepatitis C"),
        ("type 1 diabetes", "type 2 diabetes"),
        ("hypokinesis", "hyperkinesis"),
        ("Henry VII", "Henry VIII"),
        ("The permit is void", "The permit is voidable"),
        ("The motion passed", "The motion did not pass"),
        ("The dose is 5 mg", "The dose is 50 mg"),
        ("The landlord owes the tenant money", "The tenant owes the landlord money"),
        ("viral meningitis", "bacterial meningitis"),
        ("chlorpropamide tablets", "chlorpromazide tablets"),  # nearly the same letters, and no slip of the pen
        ("Grant James", "James Grant"),
        ("Jo Ray (room 3)", "Jo Ray (room 4)"),
    ],
)
def test_names_that_differ_in_a_telling_word_are_two_outcomes(one: str, two: str) -> None:
    assert relate(one, two) == ("other", "opposed")
    assert relate(one, two, 0.99) == ("other", "opposed")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Royal Bank of Scotland", "Bank of Scotland"),  # a proper name with a word before it may be another
        ("New York University", "York University"),
        ("German measles", "measles"),
        ("Jane Roe", "Joan Roe"),
        ("Jo Ray (actor)", "Jo Ray (judge)"),
        ("MS (multiple sclerosis)", "mitral stenosis"),
        ("heart disease", "heart"),
        ("Nobody signed in time", "Nobody signed"),  # under a negation more words say less
        ("The fine is 5 euros and rises every year", "The costs are 7 dollars"),  # too little is shared to tell
    ],
)
def test_what_words_cannot_tell_is_left_open(one: str, two: str) -> None:
    assert relate(one, two) is None
    assert relate(two, one) is None


def test_embeddings_join_no_words_spelled_nearly_alike_and_no_roles_reversed() -> None:
    assert relate("Infarction", "Heart attack", 0.95, 0.9) == ("same", "embedding")
    assert relate("Infarction", "Heart attack", 0.85, 0.9) is None
    assert relate("prednisone", "prednisolone", 0.99, 0.9) == ("other", "opposed")
    assert relate("the buyer paid the seller early", "the seller paid the buyer soon", 0.99, 0.9) is None


def test_small_words_are_not_shared_words() -> None:
    assert share_a_word("tennis elbow", "golfer's elbow")
    assert not share_a_word("The end of it", "The start of this")


def test_names_that_a_dense_encoder_finds_alike_stay_apart_by_default() -> None:
    pair, cosine = ("Bavarian Red Cross", "German Red Cross"), 0.93  # of all-MiniLM-L6-v2
    assert relate(*pair, cosine, Beliefs().label_match) is None and relate(*pair, cosine) is None
    assert relate(*pair, cosine, 0.9) == Relation("same", "embedding")  # words alone do not keep them apart


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("1. Dengue fever", "Dengue fever"),
        ("Final answer: a stuck valve", "a stuck valve"),
        ("Most likely a stuck valve", "stuck valve"),
        ("Dengue fever (most likely)", "Dengue fever"),
        ("Dengue fever \u2013 probable", "Dengue fever"),
        ("It is possibly dengue", "dengue"),
        ("The patient has dengue", "dengue"),
        ("Probable cause", "Probable cause"),
        ("3 days of fever", "3 days of fever"),
        ("1.5 mg too much", "1.5 mg too much"),
        ("Answering machine broken", "Answering machine broken"),
        ("Outcome unknown", "Outcome unknown"),
        ("It failed", "It failed"),
        ("likely", "likely"),
    ],
)
def test_how_sure_somebody_is_belongs_to_no_name(said: str, name: str) -> None:
    assert bare(said) == name


@pytest.mark.parametrize("said", ["Unlikely dengue fever", "Not dengue fever", "Probably not dengue fever"])
def test_a_name_that_is_doubted_is_another_outcome(said: str) -> None:
    assert relate("Dengue fever", said) == Relation("other", "opposed")
