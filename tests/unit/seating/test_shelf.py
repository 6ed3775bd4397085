"""The shelf of a case depends on the case alone, whichever came before it."""

from __future__ import annotations

from itertools import permutations

import pytest

from hash_encoder import HashEncoder
from helpers import make_case
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.evidence.span import Span
from maci.seating.shelf import Bookcase, Shelf, Sources

SPANS = (
    Span("flu", "Influenza begins with sudden fever."),
    Span("cold", "Coryza begins with a runny nose."),
    Span("grippe", "Breakbone ache is what patients remember of it."),
)
LABELS = ("influenza", "coryza")
CASES = tuple(
    make_case(OutcomeSpace(labels=LABELS, aliases=aliases), evidence=())
    for aliases in ({}, {"breakbone ache": "influenza"}, {"breakbone ache": "coryza"})
)


def about(books: Bookcase, case: Case) -> Shelf:
    return books.about(case)


def whole(books: Bookcase, case: Case) -> Shelf:
    return books.whole(case, for_readers=False)


def content(shelf: Shelf) -> tuple[object, ...]:
    """What lies on it, and which outcome each text is read for."""
    library = shelf.library
    subjects = {span.id: library.outcomes[i] for span, i in zip(library.spans, library.subject, strict=True)}
    return tuple(span.id for span in shelf.spans), subjects


@pytest.mark.parametrize("take", [about, whole])
@pytest.mark.parametrize("sources", [Sources(corpus=SPANS), Sources(background=SPANS)], ids=["given", "background"])
def test_cases_that_differ_in_aliases_alone_each_have_their_own_shelf_in_any_order(take, sources):
    alone = [content(take(Bookcase(sources, HashEncoder()), case)) for case in CASES]
    assert [subjects.get("grippe") for _, subjects in alone] == [None, "influenza", "coryza"]
    for order in permutations(range(len(CASES))):
        books = Bookcase(sources, HashEncoder())
        assert [content(take(books, CASES[i])) for i in order] == [alone[i] for i in order]


def test_a_case_that_comes_again_finds_its_shelf_made():
    books = Bookcase(Sources(corpus=SPANS), HashEncoder())
    assert about(books, CASES[1]) is about(books, CASES[1])
    assert whole(books, CASES[1]) is whole(books, CASES[1])


def test_an_open_case_without_readers_has_no_background_whoever_came_before():
    given = (Span("own", "A note.", label="influenza"),)
    sources = Sources(documents=given, background=SPANS[:1])
    case = make_case(OutcomeSpace(kind="open"), evidence=())
    books = Bookcase(sources, HashEncoder())
    books.whole(case, for_readers=True)
    assert books.whole(case, for_readers=False).spans == given
