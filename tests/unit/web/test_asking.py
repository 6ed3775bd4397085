"""A question on the page: what the answer would tell, and buttons that can be an answer."""

from __future__ import annotations

from maci.acquisition.answers import read_answer
from maci.acquisition.plan import NONE_OF_THESE, Item, Shift
from maci.web.pages.debate import buttons
from maci.web.pages.parts import tells


def item(*answers: str, kind: str = "question") -> Item:
    shifts = tuple(
        Shift(answer=answer, probability=0.5, leader="a", before=0.5, after=0.6, changes=False) for answer in answers
    )
    return Item(
        id="q1", kind=kind, text="A rash?", subject="rash", separates=("measles", "dengue", "gout"), expected={},
        expected_information_gain=0.5, added_gain=0.4, cost=1.0, gain_per_cost=0.4, shifts=shifts, asked_for_by=(), evidence=(),
        origin=(), assumed=False,
    )  # fmt: skip


def test_a_question_has_yes_and_no_on_its_buttons() -> None:
    asking = item("present", "absent")
    assert [value for value, _ in buttons(asking)] == ["yes", "no", "unknown", "stop"]
    assert tells(asking) == "The answer tells measles from dengue; 0.40 bits are expected of it."


def test_a_test_has_what_it_can_show_on_its_buttons() -> None:
    """A bare yes would not say which, and would not be used."""
    asking = item("low platelets", "anaemia", NONE_OF_THESE, kind="test")
    values = [value for value, _ in buttons(asking)]
    assert values == ["low platelets", "anaemia", "none", "unknown", "stop"]
    assert [read_answer(value).verdict for value in values] == ["told", "told", "absent", "unknown", "stopped"]
