"""Which answer is given: rollback, abstention, prediction sets, and the minority report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import DOCUMENTS, arg, judge, make_case, of, open_debate, play, result, script, seat, settings, turn
from maci.controller.decisions import Gated
from maci.controller.triage import Triaged, chance_right
from maci.record.replay import difference, replay

ROUNDS = ("min_rounds=2", "max_rounds=2", "tau_q=0")
OWN = "agents: family-x, family-y; judges fake-judge | fake-hash/64 | format 6"
"""What a calibration of the tables here is made for."""


def says(outcome: str, *spans: str) -> tuple:
    return (arg(f"It is {outcome}, because of {' and '.join(spans)}.", *spans, outcome=outcome),)


def talked_out(*sets: str):
    """x and y open with dengue and show e1 and e4 for it; then both go over to chikungunya, with e2 alone behind it."""
    for_dengue = turn(0.7, 0.2, 0.1, args=says("dengue", "e1", "e4"))
    x = script("x", for_dengue, for_dengue, turn(0.1, 0.8, 0.1, args=says("chikungunya", "e2")))
    y = script(
        "y", turn(0.6, 0.3, 0.1, args=says("dengue", "e1")), turn(0.5, 0.4, 0.1, args=()), turn(0.1, 0.8, 0.1, args=())
    )
    return play(seat([x, y], [judge(score=0.5)]), settings(*ROUNDS, *sets))


def test_support_is_each_admitted_span_once_at_its_best_score() -> None:
    end = result(talked_out())
    assert end.answer == "chikungunya"
    # e1 and e4 for dengue at 0.5 each, e2 for chikungunya at 0.5
    assert (end.harm.support, end.harm.opening_support) == pytest.approx((0.5, 1.0))


def test_rollback_gives_the_round_0_vote_and_keeps_the_debates_own_answer() -> None:
    events = talked_out("rollback=worse")
    end = result(events)
    assert end.answer == "dengue"
    assert end.raw["dengue"] == pytest.approx(0.65)  # (0.7 + 0.6) / 2
    assert (end.rolled_back.answer, end.rolled_back.support, end.rolled_back.opening_support) == (
        "chikungunya",
        0.5,
        1.0,
    )
    assert any(w.startswith("rolled back to the round-0 vote: the debate moved to chikungunya") for w in end.warnings)
    assert set(end.rationale) == {"1A1"}  # for the answer that is given
    assert replay(events).complete


def test_rollback_is_off_unless_asked_for_and_needs_worse_support() -> None:
    assert result(talked_out()).rolled_back is None
    x = script(
        "x",
        turn(0.7, 0.3, args=says("dengue", "e1")),
        turn(0.7, 0.3, args=says("dengue", "e1")),
        turn(0.1, 0.9, args=says("chikungunya", "e2")),
    )
    y = script("y", turn(0.6, 0.4, args=()), turn(0.6, 0.4, args=()), turn(0.1, 0.9, args=()))
    ends = {rule: result(play(seat([x, y]), settings(*ROUNDS, f"rollback={rule}"))) for rule in ("worse", "unearned")}
    assert ends["worse"].rolled_back is None and ends["worse"].answer == "chikungunya"  # one span each
    assert ends["unearned"].answer == "dengue"
    assert any("no more admitted evidence speaks for chikungunya" in w for w in ends["unearned"].warnings)


def test_an_answer_that_never_changed_is_never_rolled_back() -> None:
    x = script("x", turn(0.8, 0.2, args=()))
    y = script("y", turn(0.4, 0.6, args=says("chikungunya", "e2")))
    end = result(play(seat([x, y]), settings(*ROUNDS, "rollback=unearned")))
    assert (end.answer, end.rolled_back, end.harm.support < end.harm.opening_support) == ("dengue", None, False)


# --- the minority report --------------------------------------------------------------------------------------------------------


def test_the_minority_report_is_the_best_supported_dissent_even_where_nobody_holds_it_any_more() -> None:
    end = result(talked_out())
    found = end.dissent
    assert (found.outcome, found.holders, found.arguments) == ("dengue", (), ("1A1",))
    assert found.spans == ("e1", "e4") and found.unanswered == ("e1", "e4") and found.contested == ()
    assert (found.crit, found.support, found.answer_support) == pytest.approx((0.5, 1.0, 0.5))
    assert found.probability == end.distribution["dengue"]
    quoted = "“High fever with pain behind the eyes points to dengue fever.” (e1) and 1 more"
    assert found.decides[0] == f"Whether chikungunya also explains {quoted}: no admitted argument for it does."
    assert end.minority == ()  # no agent holds it


def test_a_span_that_both_sides_cite_is_contested() -> None:
    x = script("x", turn(0.8, 0.1, 0.1, args=says("dengue", "e1", "e4")))
    y = script("y", turn(0.3, 0.6, 0.1, args=says("chikungunya", "e4")))
    found = result(play(seat([x, y]), settings(*ROUNDS))).dissent
    assert (found.outcome, found.holders, found.contested, found.unanswered) == ("chikungunya", ("y",), ("e4",), ())


def test_a_text_about_one_outcome_supports_no_other() -> None:
    case = make_case(
        evidence=tuple(replace(d, label=of) for d, of in zip(DOCUMENTS, ("dengue", "zika", None, None), strict=True))
    )
    x = script("x", turn(0.8, 0.1, 0.1, args=says("dengue", "e1", "e2", "e3")))  # e2 to say that zika does not fit
    y = script("y", turn(0.7, 0.1, 0.2, args=says("zika", "e1")))
    end = result(play(seat([x, y], [judge(score=0.5)], case), settings(*ROUNDS), case))
    assert end.harm.support == pytest.approx(1.0)  # e1 and e3
    assert (end.dissent.outcome, end.dissent.support, end.dissent.spans) == ("zika", 0.0, ())


def test_support_comes_before_the_number_of_holders() -> None:
    agents = [
        script("x", turn(0.9, 0.05, 0.05, args=says("dengue", "e1"))),
        script("v", turn(0.9, 0.05, 0.05, args=())),
        script("y", turn(0.3, 0.6, 0.1, args=())),
        script("w", turn(0.3, 0.6, 0.1, args=())),
        script("z", turn(0.3, 0.1, 0.6, args=says("zika", "e3"))),
    ]
    found = result(play(seat(agents), settings(*ROUNDS))).dissent
    assert (found.outcome, found.holders) == ("zika", ("z",))


def test_after_an_impasse_there_is_a_minority_report_in_any_case() -> None:
    # Both lead with dengue and stay apart in nothing but evidence: O is 0, so it is no agreement.
    x = script("x", turn(0.7, 0.2, 0.1, args=says("dengue", "e1")))
    y = script("y", turn(0.7, 0.2, 0.1, args=says("dengue", "e4")))
    end = result(play(seat([x, y]), settings("tau_q=0", "crit_stable=false", "cl_max=0.5", "cl_min=0.1")))
    assert end.stop_reason == "impasse"
    assert (end.dissent.outcome, end.dissent.holders, end.dissent.arguments) == ("chikungunya", (), ())
    assert end.dissent.decides[0] == "Any evidence for chikungunya: no admitted argument cites some."


def test_where_nothing_speaks_for_another_outcome_there_is_no_dissent() -> None:
    x = script("x", turn(0.7, 0.2, 0.1, args=says("dengue", "e1")))
    end = result(play(seat([x, script("y", turn(0.7, 0.2, 0.1, args=says("dengue", "e1")))]), settings("tau_q=0")))
    assert end.stop_reason == "consensus" and end.dissent is None


# --- abstention -------------------------------------------------------------------------------------------------------------------


def calm(*sets: str, cite: bool = True):
    args = says("dengue", "e1") if cite else ()
    return result(
        play(
            seat([script("x", turn(0.8, 0.1, 0.1, args=args)), script("y", turn(0.8, 0.1, 0.1, args=()))]),
            settings(*ROUNDS, *sets),
        )
    )


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        ((), None),
        (("risk=0.25",), None),
        (("risk=0.2",), None),  # exactly at the level
        (("risk=0.1",), "p of dengue is 0.80, not calibrated, below 0.90"),
        (("min_confidence=0.85",), "p of dengue is 0.80, not calibrated, below 0.85"),
        (("risk=0.5", "min_confidence=0.85"), "p of dengue is 0.80, not calibrated, below 0.85"),
        (("risk=0.1", f"made_for={OWN}"), "p of dengue is 0.80, below 0.90"),
        (("risk=0.1999",), "p of dengue is 0.8000, not calibrated, below 0.8001"),  # digits enough to tell them apart
        (("answer.min_q=0.99",), "evidence quality Q is"),
    ],
)
def test_no_answer_is_given_below_the_level_asked_for(sets, why) -> None:
    end = calm(*sets)
    assert end.answer == "dengue"  # the best guess stays
    assert end.abstained is None if why is None else end.abstained.startswith(why)


def test_readers_give_no_answer_where_none_of_their_arguments_was_admitted() -> None:
    def end(*sets: str, readers: bool = True, cite: bool = False):
        args = says("dengue", "e1") if cite else ()
        table = seat([script("x", turn(0.8, 0.1, 0.1, args=args)), script("y", turn(0.8, 0.1, 0.1, args=()))])
        return result(play(table, opened=open_debate(table, settings(*ROUNDS, *sets), readers=readers)))

    held = end()
    assert held.abstained == "Word statistics cannot decide this case (none of the readers' arguments was admitted)"
    assert (held.unfit, held.given, held.answered) == (True, None, None)
    for given in (end("answer.force=true"), end(readers=False), end(cite=True)):
        assert (given.unfit, given.abstained, given.answered) == (False, None, "dengue")


def test_no_answer_is_given_without_admitted_evidence_once_a_level_is_asked_for() -> None:
    assert calm(cite=False).abstained is None
    assert calm("risk=0.5", cite=False).abstained == "no admitted evidence speaks for dengue"
    assert calm("risk=0.5", "need_evidence=false", cite=False).abstained is None


def test_a_better_wording_of_an_abstention_does_not_make_a_record_wrong() -> None:
    assert difference({"abstained": "so"}, {"abstained": "otherwise"}) is None
    assert difference({"abstained": "so"}, {"abstained": None}) is not None


# --- prediction sets --------------------------------------------------------------------------------------------------------------

LEVELS = "calibration.conformal=0.8=0.3,0.9=0.9,0.95=0.95"


def test_a_prediction_set_has_the_outcomes_within_the_threshold() -> None:
    # p = (.8, .1, .1): 1 − p = (.2, .9, .9)
    sets = {c: calm(LEVELS, "conformal_n=40", f"coverage={c}").prediction_set for c in (0.8, 0.85, 0.95)}
    assert sets[0.8].outcomes == ("dengue",) and sets[0.8].coverage == 0.8
    assert sets[0.85].outcomes == ("dengue", "chikungunya", "zika") and sets[0.85].coverage == 0.9  # the safer one
    assert (sets[0.95].score, sets[0.95].n) == ("lac", 40)
    assert calm().prediction_set is None


def test_too_high_a_coverage_for_so_few_cases_is_said_and_gives_every_outcome() -> None:
    end = calm(LEVELS, "conformal_n=40", "coverage=0.99")
    assert (end.prediction_set.outcomes, end.prediction_set.coverage) == (("dengue", "chikungunya", "zika"), 1.0)
    assert any(
        "40 calibration cases are too few for a coverage of 0.99" in w and "at most 0.95" in w for w in end.warnings
    )


def test_what_a_calibration_of_debates_promises_is_not_promised_of_an_answer_without_one() -> None:
    back = result(
        talked_out("rollback=worse", LEVELS, "conformal_n=40", "calibration.temperature=0.2", f"made_for={OWN}")
    )
    assert back.prediction_set is None and any(w.startswith("no prediction set") for w in back.warnings)
    assert back.distribution == back.raw and back.calibrated is False
    assert back.rolled_back.distribution["chikungunya"] > 0.99  # the debate's own, tempered
    taught = ("triage.learned_from=30", "triage.vote_shift=-1", "triage.vote_slope=0.5")
    known = result(talked_out("rollback=worse", *taught))
    assert known.distribution["dengue"] == pytest.approx(chance_right(0.65, -1, 0.5)) and known.calibrated


@pytest.mark.parametrize(("worth", "stage"), [("0", "single"), ("1e9", "vote")])
def test_an_answer_before_a_debate_is_as_sure_as_triage_has_learnt_it_to_be(worth, stage) -> None:
    first, second = (script(name, turn(0.9, 0.06, 0.04)) for name in "xy")
    taught = [f"triage.{name}={value}" for name, value in {
        "enabled": "true", "learned_from": 30, "worth": worth, "single_shift": -0.5, "single_slope": 0.6, "vote_shift": -1,
        "vote_slope": 0.6, "vote_rescue": 0.9, "vote_harm": 0.0, "debate_rescue": 0.0, "debate_harm": 0.9, "united_rescue": 0.0,
        "united_harm": 0.9,
    }.items()]  # fmt: skip
    events = play(seat([first, second]), settings(*taught, "calibration.temperature=0.1", f"made_for={OWN}"))
    end, said = result(events), of(Triaged, events)[-1]
    assert (end.stop_reason, said.stage) == ("triage", stage)
    assert end.distribution[end.answer] == pytest.approx(said.confidence) and end.calibrated
    assert replay(events).complete


def test_the_gate_still_decides_what_counts() -> None:
    events = talked_out("tau_crit=0.6")
    assert not any(a.admitted for g in of(Gated, events) for a in g.admissions)
    end = result(events)
    assert end.harm.support == end.harm.opening_support == 0.0
