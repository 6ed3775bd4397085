"""The case's own sentences are facts: they can be cited, and quoting them back earns nothing (D15)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import arg, judge, make_case, of, play, result, script, seat, settings, turn
from maci.acquisition.answers import SourceReply
from maci.acquisition.plan import Proposal, Residual, Survey
from maci.acquisition.sources import Called
from maci.cases.case import Document, parse_case
from maci.controller.decisions import Dialled, Gated, Initialized, Weighed
from maci.controller.dials import Measured
from maci.controller.inputs import Acquired
from maci.evidence.span import CASE, CaseEvidence, Retrieval, Span, span_id
from maci.record.replay import replay

TEXT = "A traveller has had a fever for three days. There is pain behind the eyes. The rash is faint."
FEVER, EYES, RASH = (span_id(f"{text}.") for text in TEXT.rstrip(".").split(". "))
ROUNDS = ("min_rounds=2", "max_rounds=2", "tau_q=0")
DENGUE = {"outcome": "dengue"}
CHIK = {"outcome": "chikungunya"}


def debate(x, y, *sets: str, judges=None, profile: str | None = None, **changes):
    case = make_case(**{"context": TEXT, **changes})
    lines = [each if isinstance(each, list) else [each] for each in (x, y)]
    table = seat([script("x", *lines[0]), script("y", *lines[1])], judges, case)
    events = play(table, settings(*sets, profile=profile), case)
    assert replay(events).complete
    return events, table


def test_an_argument_that_rests_on_the_case_alone_is_on_record_as_a_fact_without_weight() -> None:
    quoting = turn(0.9, 0.1, args=[arg("It is dengue.", FEVER, **DENGUE)])
    citing = turn(0.2, 0.8, args=[arg("It is not.", "e2", **CHIK)])
    events, table = debate(quoting, citing, *ROUNDS, judges=[judge(score=0.9)])
    mine, other = of(Gated, events)[0].admissions
    assert (mine.fact, mine.admitted, mine.q, mine.reason) == (True, False, None, "it rests on the case alone")
    assert mine.citations[0].verified and mine.citations[0].fact
    assert (other.fact, other.admitted) == (False, True) and other.q is not None
    first = of(Weighed, events)[0].reliability
    assert first["x"] == 0.5 < first["y"]  # Γ of the one that quotes is what it was
    shown = [(entry.id, entry.fact) for entry in table.agents[1].history[2].anchor.record]
    assert shown[2:] == [("1A1", True), ("1B1", False)]  # opponents can read and answer it
    end = result(events)
    assert end.answer == "dengue" and end.rationale == ()
    assert any("no admitted argument speaks for dengue" in note for note in end.warnings)
    assert end.harm.support == 0 and end.dissent.support == pytest.approx(0.9)


def test_a_claim_and_its_opposite_earn_the_same_from_the_same_sentence_nothing() -> None:
    for outcome in (DENGUE, CHIK):
        events, _ = debate(turn(0.6, 0.4, args=[arg("So it is.", EYES, **outcome)]), turn(0.4, 0.6, args=()), *ROUNDS)
        assert all(a.fact for gated in of(Gated, events) for a in gated.admissions)
        assert of(Weighed, events)[-1].reliability == {"x": 0.5, "y": 0.5}
        assert all(measured.q is None and measured.o is None for measured in of(Measured, events))


def test_a_quote_of_the_case_beside_evidence_changes_neither_q_nor_o() -> None:
    def signals(*more: str):
        both = [turn(0.8, 0.2, args=[arg("It fits.", "e1", *more)]), turn(0.7, 0.3, args=[arg("It does.", "e1", "e4")])]
        events, _ = debate(*both, *ROUNDS)
        return [(a.q, a.admitted) for g in of(Gated, events) for a in g.admissions], [m.o for m in of(Measured, events)]

    assert signals() == signals(FEVER, EYES, RASH)


def test_a_fact_must_pass_the_crit_gate_and_its_citation_must_stand() -> None:
    said = [arg("Weak.", FEVER), arg("Nothing.", "nowhere")]
    events, _ = debate(turn(0.9, 0.1, args=said), turn(0.8, 0.2), *ROUNDS, judges=[judge(score=0.2)])
    weak, invented = of(Gated, events)[0].admissions[:2]
    assert not weak.fact and weak.reason == "CRIT 0.200 < τ_CRIT 0.300"
    assert not invented.fact and invented.reason.startswith("no verified citation")


def test_a_dissent_is_not_backed_by_a_sentence_of_the_case() -> None:
    stay = turn(0.3, 0.7, args=[arg("Stay.", "e1")])
    for cited, kept in ((RASH, False), ("e2", True)):
        apart = turn(0.9, 0.1, args=[arg("Look.", cited, **DENGUE)])
        old = turn(0.6, 0.4, args=[arg("Old.", "e1")])
        events, _ = debate([old, old, apart], stay, *ROUNDS)
        assert ("x" not in of(Weighed, events)[1].reverted) is kept


def test_rounds_of_quotes_alone_are_a_stalemate() -> None:
    quoting = turn(0.9, 0.1, args=[arg("It is.", FEVER)])
    assert result(debate(quoting, quoting)[0]).stop_reason == "stalemate"


# --- no evidence beside the case ------------------------------------------------------------------------------------------------

NOTHING = {"evidence": ()}


def test_without_evidence_q_and_o_are_undefined_and_said_so_and_agreement_is_still_possible() -> None:
    x = turn(0.9, 0.1, args=[arg("It is dengue.", FEVER, **DENGUE)])
    y = turn(0.85, 0.15, args=[arg("It is.", EYES, **DENGUE)])
    events, _ = debate(x, y, **NOTHING)
    start = of(Initialized, events)[0]
    assert (start.q, start.o) == (None, None)
    assert any("no evidence beside the case" in note and "by CRIT alone" in note for note in start.notes)
    assert all(measured.q is None and measured.o is None for measured in of(Measured, events))
    assert all(a.admitted and not a.fact for gated in of(Gated, events) for a in gated.admissions)
    end = result(events)
    assert (end.stop_reason, end.answer) == ("consensus", "dengue")
    assert any("no evidence beside the case" in note for note in end.warnings)
    assert not any("hollow" in note for note in end.warnings)
    assert end.rationale and end.harm.support == 0


def test_without_evidence_the_gate_is_crit_alone_and_the_q_gate_never_moves() -> None:
    said = [arg("good"), arg("bad", FEVER)]
    marks = judge(score=lambda request: 0.8 if request.argument.claim == "good" else 0.2)
    sets = ("max_rounds=5", "min_rounds=5", "tau_stop=5")
    events, _ = debate(turn(0.9, 0.1, args=said), turn(0.3, 0.7, args=said), *sets, judges=[marks], **NOTHING)
    assert [a.admitted for a in of(Gated, events)[0].admissions] == [True, False, True, False]
    assert {dialled.dials.tau_q for dialled in of(Dialled, events)} == {0.5}


def test_without_evidence_an_answer_is_not_withheld_for_want_of_it() -> None:
    x = turn(0.95, 0.05, args=[arg("It is dengue.", FEVER, **DENGUE)])
    risk = ("answer.risk=0.2",)
    assert result(debate(x, x, *ROUNDS, *risk, **NOTHING)[0]).abstained is None
    with_evidence = result(debate(x, x, *ROUNDS, *risk)[0])
    assert with_evidence.abstained == "no admitted evidence speaks for dengue"


@pytest.mark.parametrize("kind", ["question", "retrieval"])
def test_an_answer_about_the_case_is_no_evidence_and_a_passage_that_was_looked_up_is(kind: str) -> None:
    class Menu:
        def survey(self, residual: Residual) -> Survey:
            table = {"dengue": (0.9, 0.1)}
            one = Proposal(
                id="q", kind=kind, text="Any rash?", subject="rash", table=table, otherwise=(0.1, 0.9), query="rash"
            )  # type: ignore[arg-type]
            return Survey(candidates=() if residual.asked else (one,), considered=1)

    found = Span("p1", "Mosquitoes of warm countries carry dengue and a fever.", "handbook")
    reply = True if kind == "question" else SourceReply(text="found", verdict="told", spans=(found,))
    case = make_case(context=TEXT, evidence=())
    before, after = (turn(0.5, 0.4, 0.1, args=[arg("It is dengue.", *cited)]) for cited in ((FEVER,), (FEVER, "p1")))
    x = (before, before, before, after)  # it would end in round 2
    table = replace(
        seat([script("x", *x), script("y", *x)], None, case), proposer=Menu(), source=Called(lambda item: reply, "test")
    )
    events = play(table, settings("plan.acquire=1", "plan.gate=false"), case)
    assert replay(events).complete and of(Acquired, events)
    last = of(Measured, events)[-1]
    if kind == "question":
        assert last.q is None and last.o is None
    else:
        assert last.q is not None and last.o == 1.0
        assert of(Dialled, events)[-1].dials.tau_q < 0.5  # fitted to what there is now


# --- what counts as evidence ----------------------------------------------------------------------------------------------------


def test_a_text_that_is_itself_to_be_judged_is_evidence() -> None:
    x = turn(0.9, 0.1, args=[arg("It says so.", FEVER)])
    article = {"context_is": "evidence", "evidence": ()}
    events, _ = debate(x, x, *ROUNDS, **article)
    assert all(measured.q is not None and measured.o == 1.0 for measured in of(Measured, events))
    given, _ = debate(x, x, *ROUNDS, evidence=(Document(TEXT, "article"),))  # the same text as case and as evidence
    assert all(measured.q is not None and measured.o == 1.0 for measured in of(Measured, given))
    assert (
        parse_case({"question": "Fair?", "context": "A text.", "context_is": "evidence"}, "test").context_is
        == "evidence"
    )


def test_in_the_paper_profile_every_cited_span_counts() -> None:
    x = turn(0.9, 0.1, args=[arg("It is.", FEVER)])
    events, _ = debate(x, x, "max_rounds=2", profile="paper", **NOTHING)
    assert all(a.q is not None and not a.fact for gated in of(Gated, events) for a in gated.admissions)
    assert all(measured.o == 1.0 for measured in of(Measured, events))


def test_a_sentence_of_the_case_that_a_search_finds_is_still_the_cases() -> None:
    again = Span.of(TEXT.split(". ")[0] + ".", "corpus")
    other = Span.of("Dengue brings high fever.", "corpus")
    case = make_case(context=TEXT, evidence=())
    found = CaseEvidence(case, lambda query, k, tokens: Retrieval((again, other), (again.id, other.id))).retrieve(
        "q", 8, 999
    )
    assert {span.id: span.source for span in found.spans}[again.id] == CASE
    assert found.core == (other.id,)
