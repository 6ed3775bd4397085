"""What answers do to a debate of the embedded readers: a denial never counts for the outcomes that have what is denied."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from maci.acquisition.answers import AnswerSource
from maci.acquisition.plan import Item
from maci.acquisition.sources import Called, Hidden, Person
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import build
from maci.controller.decisions import Finished, Planned
from maci.controller.inputs import Acquired, TurnTaken
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.seating.table import opening
from maci.seating.tables import Tables

LISTS = (
    ("high fever, joint pain, skin rash", "dengue"), ("joint pain, high fever, headache", "dengue"),
    ("runny nose, sneezing, mild fever", "cold"), ("sneezing, runny nose, sore throat", "cold"),
    ("wheezing, tight chest, night cough", "asthma"), ("tight chest, wheezing, night cough", "asthma"),
)  # fmt: skip
CASE = Case(
    question="What is it?",
    context="A man of thirty has been ill with a high fever and a sore throat for a week.",
    outcomes=OutcomeSpace(labels=("dengue", "cold", "asthma")),
    evidence=tuple(Document(text, label=label) for text, label in LISTS),
    hidden={"joint pain": "He denies joint pain.", "tight chest": "no", "Blood culture": "no growth"},
)
ENCODER = load_encoder()


def play(source: AnswerSource | None, case: Case = CASE, **more: object) -> list:
    config = build(
        "default", {"plan.acquire": 3 if source else 0, "plan.worth": 0, "plan.least": 0, "plan.price": 0, **more}
    )
    table = replace(Tables("readers", ENCODER, build("default", {})).table(case), source=source)

    async def go() -> list:
        return [event async for event in debate(opening(case, table, config), table)]

    return asyncio.run(go())


def p(events: list, outcome: str) -> float:
    return next(e for e in events if isinstance(e, Finished)).distribution[outcome]


def person(said: str) -> Person:
    async def line(_: object) -> str:
        return said

    return Person(line)


@pytest.mark.parametrize("said", ["no joint pain", "He denies joint pain.", "There is no joint pain or rash"])
@pytest.mark.parametrize("kind", ["function", "person"])
def test_no_joint_pain_never_counts_for_the_outcome_that_has_joint_pain(said, kind):
    source: AnswerSource = Called(lambda item: said) if kind == "function" else person(said)
    events = play(source)
    assert any(isinstance(e, Acquired) for e in events)
    assert p(events, "dengue") <= p(play(None), "dengue") + 1e-9


def test_a_test_that_finds_nothing_never_counts_for_the_outcome_whose_texts_name_the_test():
    smears = (
        ("high fever after a trip, parasites in the blood smear", "malaria"),
        ("a blood smear shows parasites, fever", "malaria"),
    )
    case = replace(
        CASE,
        context="A man of thirty has been ill with a high fever for a week.",
        outcomes=OutcomeSpace(labels=("dengue", "cold", "malaria")),
        evidence=tuple(Document(text, label=label) for text, label in (*LISTS[:4], *smears)),
        hidden={"Blood smear": "no parasites seen"},
    )
    events = play(Hidden(case.hidden, ENCODER), case)
    assert [e.text for e in events if isinstance(e, Acquired)] == ["Blood smear: no parasites seen"]
    [at] = [i for i, e in enumerate(events) if isinstance(e, Acquired)]
    before, after = (
        {e.agent: e.turn.belief["malaria"] for e in part if isinstance(e, TurnTaken)}
        for part in (events[:at], events[at:])
    )
    assert all(after[agent] < before[agent] for agent in before)


def test_a_source_with_a_menu_is_asked_for_what_it_has_and_nothing_else():
    events = play(Hidden(CASE.hidden, ENCODER))
    answers = {e.item: e for e in events if isinstance(e, Acquired)}
    items = {item.id: item for e in events if isinstance(e, Planned) for item in e.items}
    assert {items[i].subject for i in answers} == set(CASE.hidden)
    assert all(answer.verdict != "unknown" for answer in answers.values())
    asked_for = {items[i].subject: a.verdict for i, a in answers.items()}
    assert asked_for["joint pain"] == asked_for["tight chest"] == "absent"
    assert any(not item.askable for item in items.values())  # the plan still names them for people


def test_a_function_may_say_what_it_has_with_an_answer():
    asked = []

    def answer(item: Item) -> object:
        asked.append(item.subject)
        known = {"tight chest": "no", "Blood culture": "no growth"}
        return {"text": known.get(item.subject, "unknown"), "menu": list(known)}

    events = play(Called(answer))
    assert set(asked[1:]) == {"tight chest", "Blood culture"} and asked[0] not in asked[1:]
    verdicts = {s: e.verdict for s, e in zip(asked, (e for e in events if isinstance(e, Acquired)), strict=True)}
    assert verdicts["tight chest"] == "absent" and verdicts[asked[0]] == "unknown"


def test_an_answer_that_is_not_known_is_not_asked_for_again():
    events = play(Called(lambda item: "unknown"))
    items = {item.id: item for e in events if isinstance(e, Planned) for item in e.items}
    subjects = [items[e.item].subject for e in events if isinstance(e, Acquired)]
    assert len(subjects) == len(set(subjects)) > 1


CLAIM = Case(
    question="Is the claim genuine?",
    context="A bicycle worth 4,000 euros was stolen from a locked cellar, six weeks after the policy began.",
    outcomes=OutcomeSpace(labels=("Genuine", "Staged theft")),
    evidence=tuple(
        Document(text, label=label)
        for text, label in (
            ("The police report is filed within a day and the receipt matches the frame number.", "Genuine"),
            ("The claimant can describe the lock and shows photographs of the bicycle in use.", "Genuine"),
            ("There are no traces on the door, and the bicycle is later offered online by a relative.", "Staged theft"),
            ("The policy is new, and the claimant presses for a quick payment.", "Staged theft"),
        )
    ),
)


@pytest.mark.parametrize("said", ["1", "2"])
def test_a_case_that_is_closer_to_a_sentence_does_not_say_all_of_it(said):
    """Beside the whole sentence, told as a fact of the case, the choice of one moves readers towards its side, and less far."""
    choice = play(person(said), CLAIM, **{"plan.acquire": 1})
    item = next(i for e in choice if isinstance(e, Planned) for i in e.items if i.id in e.acquire)
    assert item.text.startswith("Which is closer to this case: “")
    side = (
        item.separates[0]
        if item.expected[item.separates[0]].startswith(item.shifts[int(said) - 1].answer)
        else item.separates[1]
    )
    sentence = f"It is known of this case: {item.shifts[int(said) - 1].answer}."
    whole = play(person(sentence), CLAIM, **{"plan.acquire": 1})
    assert p(play(None, CLAIM), side) < p(choice, side) < p(whole, side)
