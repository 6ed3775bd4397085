"""Reader judges: what they reward and what they do not."""

from __future__ import annotations

import asyncio

import pytest

from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.judges.crit import JudgeAbstained, ScoreRequest
from maci.agents.judges.reader import FEATURES, ReaderJudge, letters, reader_judges
from maci.evidence.span import CASE, Span

NEAR = Span.of("High fever with pain behind the eyes and a rash.", "a", 0, "Dengue")
FAR = Span.of("The big toe is swollen and red at night.", "a", 0, "Gout")
LIBRARY = [
    NEAR,
    FAR,
    Span.of("Fever and cough with red eyes.", "a", 0, "Measles"),
    Span.of("Pain in many joints after a fever.", "a", 0, "Chikungunya"),
]
QUESTION = Question(
    "What is it?", "Three days of high fever, a rash, and pain behind the eyes.", "closed", ("Dengue", "Gout")
)


def score(judge, *spans, outcome="Dengue", unverified=0):
    argument = Argument(claim=f"It is {outcome}.", reasons=("Look.",), outcome=outcome)
    request = ScoreRequest(question=QUESTION, argument=argument, spans=spans, unverified=unverified)
    return asyncio.run(judge.score(request))[0]


@pytest.fixture(params=FEATURES)
def judge(request):
    return ReaderJudge(request.param, LIBRARY)


def test_evidence_near_the_case_scores_higher(judge):
    assert score(judge, NEAR).composite > score(judge, FAR, outcome="Gout").composite


def test_evidence_about_another_outcome_does_not_support_the_claim(judge):
    wrong = score(judge, NEAR, outcome="Gout")
    assert wrong.evidence == 0 and wrong.logic == 0


def test_a_counter_argument_is_coherent_only_if_its_own_side_is_closer(judge):
    assert score(judge, NEAR, FAR, outcome="Dengue").logic > 0.5 > score(judge, NEAR, FAR, outcome="Gout").logic


def test_citations_that_do_not_stand_count_against_the_argument(judge):
    assert score(judge, NEAR, unverified=1).evidence == pytest.approx(score(judge, NEAR).evidence / 2)


def test_nothing_verified_is_an_abstention(judge):
    with pytest.raises(JudgeAbstained):
        score(judge, unverified=2)


FACTS = [
    Span.of("Finger-prick glucose on arrival 2.1 mmol/l; patient sweating.", "the ambulance record"),
    Span.of("Glucose on scene 7.8 mmol/l.", "the second sheet"),
    Span.of("The ambulance passed its annual test in February.", "the fleet log"),
    Span.of("The neighbour thinks the fall came from low blood sugar.", CASE),
    Span.of("Crew: no glucose was measured.", "a letter"),
]


def stated(judge, *spans):
    """A claim of fact, with citations that differ."""
    question = Question("Was it low blood sugar?", FACTS[3].text, "closed", ("low blood sugar", "a rhythm problem"))
    argument = Argument(
        claim="The glucose was below 3 mmol/l when found.", reasons=("It was measured.",), outcome="low blood sugar"
    )
    return asyncio.run(judge.score(ScoreRequest(question=question, argument=argument, spans=spans)))[0]


def test_the_cited_words_decide_and_not_that_something_is_cited(judge):
    support, number, other, case, negation = (stated(judge, fact) for fact in FACTS)
    nothing = stated(judge)
    assert support.composite > 0.5
    assert all(score.composite < 0.35 for score in (number, other, case, negation, nothing))
    assert number.evidence == negation.evidence == case.evidence == nothing.evidence == 0
    assert number.justification == f"{FACTS[1].id} says otherwise."
    assert (case.justification, nothing.justification) == ("Only the case itself is cited.", "Nothing is cited.")


def test_the_case_beside_support_takes_nothing_from_the_evidence_and_adds_nothing(judge):
    assert stated(judge, FACTS[0], FACTS[3]).evidence == stated(judge, FACTS[0]).evidence > 0.5


def test_a_record_of_the_outcome_that_says_the_opposite_does_not_support_the_claim(judge):
    cold = Span.of("A runny nose and sneezing, without a high fever or a rash.", "a", 0, "Dengue")
    argument = Argument(claim="The rash is typical of it.", outcome="Dengue")
    request = ScoreRequest(question=QUESTION, argument=argument, spans=(cold,))
    assert asyncio.run(judge.score(request))[0].evidence == 0


def test_the_three_are_of_one_family_that_no_reader_has():
    assert [j.name for j in reader_judges(LIBRARY)] == ["letters", "words", "phrases"]
    assert {j.family for j in reader_judges(LIBRARY)} == {"surface"}


def test_a_mean_that_rounds_above_its_terms_is_no_abstention():
    """Three equal likenesses: their mean over one of them was 1.0000000000000002, which no score may be."""
    text = "warm rain falls on the old grey roof"
    spans = tuple(Span(f"s{n}", text) for n in range(3))
    for judge in reader_judges([Span.of(text), Span.of("cold snow falls"), Span.of("dry wind blows on the old road")]):
        for case in (text, "old grey roof", "rain on the road", "grey wind", "falls"):
            request = ScoreRequest(
                question=Question("?", case, "closed", ()), argument=Argument(claim="c"), spans=spans
            )
            score, _ = asyncio.run(judge.score(request))
            assert score.logic <= 1


def test_a_rebuttal_that_shares_nothing_with_the_case_has_no_support_and_is_no_abstention():
    judge = ReaderJudge("words", LIBRARY)
    question = Question("What is it?", "zzz", "closed", ("Dengue", "Gout"))
    argument = Argument(claim="It is Dengue.", reasons=("Look.",), outcome="Dengue")
    request = ScoreRequest(question=question, argument=argument, spans=(NEAR, FAR), unverified=0)
    scored = asyncio.run(judge.score(request))[0]
    assert scored.evidence == scored.logic == scored.relevance == 0.0


def test_a_word_without_end_is_read_once():
    assert letters("x" * 300_000) == {" xx", "xxx", "xx "}  # in linear time: a million letters took minutes
