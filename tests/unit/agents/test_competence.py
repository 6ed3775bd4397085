"""Readers know what they can do (D21): told apart when held out, and a case like the texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hash_encoder import HashEncoder
from maci.agents.competence import ENOUGH, Competence, asks, examine, relies, resembles, tells
from maci.agents.library import Library
from maci.evidence.encode import load_encoder
from maci.evidence.intake import firm
from maci.evidence.span import Span

WORDS = {
    "Flood": "water cellar pump river dry sandbag level wet",
    "Fire": "smoke flame alarm burn ash heat hose soot",
    "Theft": "lock window thief stolen jewel police guard safe",
}


def spans(texts: int, *, muddled: bool = False) -> list[Span]:
    """Texts of words of their outcome; where muddled, of everything's."""
    rng = np.random.default_rng(0)
    everything = " ".join(WORDS.values()).split()
    made = []
    for label, own in WORDS.items():
        for n in range(texts):
            drawn = rng.choice(everything if muddled else own.split(), 5, replace=False)
            made.append(Span.of(f"{label} {n}: {' '.join(drawn)}", "test", n, label))
    return made


def library(found: list[Span]) -> Library:
    return Library(found, tuple(WORDS), HashEncoder())


def known(found: list[Span]) -> Competence:
    return examine(library(found), HashEncoder().encode([span.text for span in found]))


def test_texts_that_differ_are_told_apart() -> None:
    competence = known(spans(5))
    assert competence.told is not None and competence.told > 0.9
    assert competence.low is not None and 0.5 < competence.low < competence.told
    assert competence.doubt == ""


def test_texts_whose_words_say_nothing_of_their_outcome_are_not() -> None:
    competence = known(spans(8, muddled=True))
    assert competence.low is not None and competence.low <= 0.5
    assert "24 texts, each left out once" in competence.doubt and "where guessing reaches 50 %" in competence.doubt


def test_the_name_of_an_outcome_does_not_give_a_text_away() -> None:
    found = [Span.of(f"{label} in the report of day {n}", "test", n, label) for label in WORDS for n in range(6)]
    assert library(found).nameless(0).split() == ["in", "the", "report", "of", "day", "0"]
    assert known(found).doubt


NEED, LABEL = f"each outcome needs at least {ENOUGH}", "and `label` says what a text is about"


@pytest.mark.parametrize("texts", [1, ENOUGH - 1])
def test_too_few_texts_are_said_so_and_nothing_is_held_out(texts: int) -> None:
    competence = known(spans(texts))
    assert competence.told is None
    named = f"{texts} about Flood, {texts} about Fire, {texts} about Theft"
    assert competence.doubt == f"{3 * texts} texts for 3 outcomes, with {named}; {NEED}, {LABEL}"


def test_an_outcome_without_texts_counts() -> None:
    found = [span for span in spans(5) if span.label != "Theft"]
    assert known(found).doubt == f"10 texts for 3 outcomes, with none about Theft; {NEED}, {LABEL}"
    many = examine(Library(found, (*WORDS, *"ABCD"), HashEncoder()), HashEncoder().encode([s.text for s in found]))
    assert "with none about Theft, none about A, none about B, too few about 2 more; " in many.doubt


def test_a_case_resembles_texts_whose_words_it_shares() -> None:
    books = library(spans(5))
    assert resembles(books.view("Smoke and soot, and the alarm rang at night."), books, 0.8)
    assert not resembles(books.view("Smoke and soot, and the alarm rang at night."), books, 0.1)
    assert not resembles(books.view("Seventeen invoices were booked on the wrong account in May."), books, 0.8)
    assert not resembles(books.view(""), books, 0.8)


def test_words_that_the_case_denies_do_not_make_it_resemble() -> None:
    books = library(spans(5))
    assert not resembles(books.view("No smoke, flame, soot or ash; the invoice was booked twice."), books, 0.8)


def test_a_case_tells_something_by_a_word_that_some_outcomes_have_and_others_have_not() -> None:
    found = [*spans(5), *(Span.of(f"A report of damage by {label}", "test", 9, label) for label in WORDS)]
    books = library([*found, Span.of("A case of theft in the night, two days ago", "test", 10, "Theft")])
    assert tells("The alarm rang.", books)
    assert not tells("There was damage, says the report.", books)  # whatever it was
    assert not tells("Which case is it, of two days ago?", books)  # no findings
    assert tells("Was it a fire?", books) and not tells("Was it a fire?", books, named=False)
    assert not tells("", books)


def test_built_in_knowledge_tells_its_conditions_apart() -> None:
    from maci.cases.case import load_case
    from maci.seating.tables import Tables

    case = load_case("dengue")
    assert Tables("readers", load_encoder()).table(case).unfit == ""


def test_texts_about_one_outcome_tell_nothing_apart() -> None:
    found = [Span.of(f"Flood {n}: water in the cellar", "test", n, "Flood") for n in range(5)]
    one = examine(Library(found, ("Flood",), HashEncoder()), HashEncoder().encode([span.text for span in found]))
    assert one.doubt == "all texts are about one outcome"


FILLERS = ("again", "once more", "as reported", "see file", "closed")


def test_copies_of_a_text_count_once() -> None:
    """Fifteen texts that are three, each with another filler: held out one by one they would be told apart perfectly."""
    found = [
        Span.of(f"{label}: {own} {filler}", "test", n, label)
        for label, own in WORDS.items()
        for n, filler in enumerate(FILLERS)
    ]
    competence = known(found)
    assert (competence.fewest, competence.told) == (1, None)
    named = "with 1 about Flood, 1 about Fire, 1 about Theft"
    assert competence.doubt == f"15 texts for 3 outcomes, {named}; {NEED} that are not copies of one another, {LABEL}"


@pytest.mark.parametrize("before", [True, False])
def test_short_copies_behind_words_that_mean_nothing_count_once(before: bool) -> None:
    """Four words of a text, and four that no other text has."""
    found = []
    for label, own in WORDS.items():
        for n in range(5):
            filler = " ".join(f"{sound}{label.lower()}{'xyzvw'[n]}" for sound in ("blor", "gnim", "trask", "quon"))
            said = " ".join(own.split()[:4])
            found.append(Span.of(f"{filler} {said}" if before else f"{said} {filler}", "test", n, label))
    competence = known(found)
    assert (competence.fewest, competence.told, competence.copied) == (1, None, True)


def test_copies_are_held_out_together() -> None:
    """Texts that say nothing of their outcome, each written out five times: a copy left in would give each away."""
    once = spans(8, muddled=True)
    found = [
        Span.of(f"{span.text} {filler}", "test", n, span.label) for n, span in enumerate(once) for filler in FILLERS
    ]
    competence = known(found)
    assert competence.fewest == ENOUGH
    assert "where guessing reaches 50 %" in competence.doubt


def like(books: Library) -> Callable[[str], bool]:
    return lambda text: resembles(books.view(text), books, 1.0)


def test_an_answer_that_relies_on_what_is_denied_or_in_order_is_withheld() -> None:
    books = library(spans(40))
    denied = "The cellar is not wet, the pump did not run and the river stays low. Someone fled."
    assert "what is not so" in relies(denied, books, like(books))
    in_order = "River level, cellar, pump and water are normal. The window lock, the safe and the jewel were stolen."
    assert relies(in_order, books, like(books)) == ""  # the rest says the same
    fine = "The river, the water level, the pump in the cellar and the sandbag are fine. The thief broke a window."
    assert "in order" in relies(fine, books, like(books))


FLOOD = "water in the cellar, a wet pump, a river at its highest level and a sandbag"
ELSEWHERE = [
    f"Her sister had {FLOOD} last month. The thief took the jewel from the safe.",
    f"The neighbour's house was hit: his father had {FLOOD}. The thief took the jewel from the safe.",
    f"My brother got {FLOOD}, but the thief took the jewel from the safe.",
    f"Her colleagues had {FLOOD}. The thief took the jewel from the safe.",
    f"If there were {FLOOD}, one would think otherwise. The thief took the jewel from the safe.",
    f"Had there been {FLOOD}, it would be another matter. The thief took the jewel from the safe.",
    f"Suppose we found {FLOOD}. The thief took the jewel from the safe.",
    f"Imagine {FLOOD}. The thief took the jewel from the safe.",
    f"{FLOOD}: all of these he had expected, and not one occurred. The thief took the jewel from the safe.",
    f"He expected {FLOOD}. None of them came. The thief took the jewel from the safe.",
]


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_is_said_of_others_supposed_or_taken_back_does_not_carry_the_answer(case: str) -> None:
    books = library(spans(40))
    assert "says of others" in relies(case, books, like(books))
    assert firm(case).endswith("the thief took the jewel from the safe.".removeprefix("the "))


def test_what_is_said_of_others_is_harmless_where_the_rest_says_the_same() -> None:
    books = library(spans(40))
    case = "My brother had water in the cellar. The pump is wet, the river is at its highest level, we need a sandbag."
    assert relies(case, books, like(books)) == ""


def test_with_little_text_no_sentence_alone_may_carry_the_answer() -> None:
    case = "Pump, water, river, cellar, sandbag, level: all dry. The thief took the jewel from the safe."
    assert "one part of it" in relies(case, library(spans(8)), like(library(spans(8))))
    much = library(spans(40))
    assert relies(case, much, like(much)) == ""


def test_with_little_text_no_clause_may_speak_for_another_outcome() -> None:
    books = library(spans(8))
    case = "We pumped the river water out of the cellar, the level was dry by noon, and the thief took the jewel."
    assert "one part of it" in relies(case, books, like(books))
    assert relies(case.replace("thief took the jewel", "sandbag stayed wet"), books, like(books)) == ""
    fine = case.replace("and the thief took the jewel", "and no thief took the jewel")
    assert relies(fine, books, like(books)) == ""  # a clause that denies speaks for nothing


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which of these is NOT the problem?", "NOT"),
        ("Which queue shouldn't it go to?", "shouldn't"),
        ("What can be ruled out?", "ruled out"),
        ("Which of the three is the least likely cause?", "least"),
        ("Which bird is bigger than the others?", "than"),
        ("Which supplier is the cheapest?", "cheapest"),
        ("Which lands first?", "first"),
        ("How many tickets are about delivery?", "How many"),
        ("It does not start and clicks. What is wrong?", ""),
        ("Which condition best explains this presentation?", ""),
        ("What is the most likely diagnosis?", ""),
        ("What happened first thing on Monday?", ""),
        ("", ""),
    ],
)
def test_a_question_about_more_than_likeness_is_not_for_readers(question: str, words: str) -> None:
    assert asks(question) == words


def test_an_answer_that_stands_without_the_denials_is_given() -> None:
    books = library(spans(8))
    assert relies("Smoke, flame and soot; the alarm rang. No thief, no stolen jewel.", books, like(books)) == ""
    assert relies("I cannot stop the water in the cellar, the pump is wet.", books, like(books)) == ""


def test_a_text_that_denies_an_outcome_is_not_about_it() -> None:
    books = library(
        [Span.of("No flood was seen.", "test", 0), Span.of("Theft was ruled out; it was a fire.", "test", 1)]
    )
    assert [books.outcomes[i] for i in books.subject] == ["Fire"]
