"""Negations and opposites: what a cited text does to a claim."""

from __future__ import annotations

import pytest

from maci.agents.judges.reader import assertion, bearing

PAIRS = [
    (
        "The door was locked.",
        "The door was found locked with the key inside.",
        "The door was not locked when the guard came.",
    ),
    (
        "The witness saw the driver.",
        "The witness saw the driver clearly from the kerb.",
        "The witness did not see the driver.",
    ),
    ("The soil contains lead.", "Lead found in three of four soil samples.", "No lead was detected in the soil."),
    (
        "The tenant did not give notice.",
        "No notice from the tenant is on file.",
        "Notice from the tenant received by letter in May.",
    ),
    ("The patient has never smoked.", "Smoking: never.", "Smokes a pack a day."),
    ("The student submitted the thesis.", "Thesis received by the office.", "The thesis was never submitted."),
    (
        "The contract has no arbitration clause.",
        "Clauses 1 to 19: none on arbitration.",
        "Clause 17: arbitration in Geneva.",
    ),
    ("The meat was frozen.", "The meat arrived frozen.", "The meat was not frozen on arrival."),
    (
        "The vaccine was stored properly.",
        "Stored properly throughout, logger within limits.",
        "The vaccine was not stored properly.",
    ),
    (
        "The dog was vaccinated against rabies.",
        "Rabies vaccine given, booster due next year.",
        "There is no record of a rabies vaccine.",
    ),
    ("The valve was closed.", "Valve position: closed.", "Valve position: open."),
    (
        "The reactor was shut down manually.",
        "Operator pressed the manual shutdown button.",
        "The reactor was not shut down manually; it tripped.",
    ),
    (
        "The seller knew about the damp.",
        "E-mail of the seller in May: the cellar is damp again.",
        "The seller was never told of any damp.",
    ),
    ("The bacteria are resistant to penicillin.", "Penicillin: resistant.", "Penicillin: not resistant."),
    (
        "The employee worked overtime every week in May.",
        "Timesheets May: overtime in all four weeks.",
        "Timesheets May: no overtime.",
    ),
    (
        "There was no fire alarm in the hall.",
        "Fire survey: hall without alarm.",
        "Fire survey: hall fitted with two alarms.",
    ),
    (
        "The backup generator failed to start.",
        "Generator: start attempts 3, running hours 0.",
        "Generator started after four seconds.",
    ),
    (
        "The window was broken from outside.",
        "Glass lay inside the room; broken from outside.",
        "Glass lay in the yard; not broken from outside.",
    ),
    ("The cat is neutered.", "Neutered at six months.", "Not neutered."),
    ("No medication was given that evening.", "Evening round: nothing given.", "Evening round: 10 mg morphine given."),
    ("The bottle was empty.", "Bottle found empty.", "Bottle found two thirds full."),
]


@pytest.mark.parametrize(("claim", "support", "contradiction"), PAIRS)
def test_a_text_agrees_with_a_claim_or_contradicts_it(claim: str, support: str, contradiction: str) -> None:
    assert (bearing(claim, support), bearing(claim, contradiction)) == (1, -1)


def test_a_denial_of_something_else_shows_neither() -> None:
    assert bearing("The sample contained stanozolol.", "B sample: no water was added.") == 0
    assert bearing("The parcel was scanned in the depot.", "Scan at the depot 04:12; no later scan.") == 1


def test_the_conclusion_of_an_argument_is_not_looked_for_in_the_text() -> None:
    text = "The lock had been cut, so the bicycle was not stolen by its owner."
    assert assertion(text) == "The lock had been cut"
    assert bearing(text, "A cut lock was found at the rack.") == 1


def test_a_claim_that_something_is_gone_agrees_with_a_text_that_says_so() -> None:
    assert bearing("The index was removed.", "The release removed the index.") == 1
    assert bearing("The index was used.", "The index was removed.") == -1
