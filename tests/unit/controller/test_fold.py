"""The fold, one debate at a time: what is admitted, weighed, reverted, refused, and what agents and judges are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import (
    arg,
    decisions,
    judge,
    make_case,
    of,
    open_debate,
    play,
    result,
    script,
    seat,
    settings,
    turn,
)
from maci.agents.agent import FunctionJudge
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.cases.outcomes import OutcomeSpace
from maci.controller.decisions import Dialled, Gated, Initialized, Weighed
from maci.controller.dials import Measured
from maci.controller.fold import expected, start, step
from maci.controller.inputs import Exhausted, Intervened, JudgeAbstention, Resolved, Retrieved, Scored, TurnTaken
from maci.controller.reading import made_for
from maci.errors import ConfigError, InputError
from maci.evidence.span import CaseEvidence, Citation
from maci.record.replay import replay, replay_with

SPLIT = (script("x", turn(0.8, 0.1, 0.1)), script("y", turn(0.1, 0.8, 0.1)))


def pair(*x: Turn, y: tuple[Turn, ...] | None = None) -> list:
    return [script("x", *x), script("y", *(y or (turn(0.1, 0.8, 0.1),)))]


# --- who may debate ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "sets", "says"),
    [
        (seat(SPLIT[:1]), (), "a debate needs at least two agents, got 1"),
        (seat([SPLIT[0], SPLIT[0]]), (), "need distinct names, got x, x, judge"),
        (seat(SPLIT, [judge("x")]), (), "need distinct names"),
        (seat(SPLIT, []), (), "there are no judges: name some, or run CRIT-free with --set crit.enabled=false"),
        (seat(SPLIT, [judge(family="family-x")]), (), "judge 'judge' is of the family 'family-x'"),
    ],
)
def test_a_table_that_cannot_debate_is_refused(table, sets, says) -> None:
    with pytest.raises(ConfigError) as error:
        start(open_debate(table, settings(*sets)))
    assert says in str(error.value)


OWN = "agents: family-x, family-y; judges fake-judge | fake-hash/64 | format 6"


def test_what_a_calibration_is_made_for_is_said_of_every_kind_of_table() -> None:
    table = seat(SPLIT)
    assert made_for(open_debate(table)) == OWN
    assert made_for(open_debate(table, settings("crit.enabled=false"))).endswith(
        "; no judges | fake-hash/64 | format 6"
    )
    models = {"agents": [{"model": "local/a"}, {"model": "local/b"}], "judges": [{"model": "local/j"}]}
    named = replace(open_debate(table), panel="mine", table=models)
    assert made_for(named) == "mine: local/a, local/b; judges local/j | fake-hash/64 | format 6"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (OWN.replace("agents:", "readers:"), "made for 'readers: family-x"),
        (OWN.replace("family-y", "family-z"), "made for 'agents: family-x, family-z"),
        (OWN.replace("fake-judge", "boss (judges)"), "judges boss (judges)"),
        (OWN.replace("fake-hash/64", "minilm"), "| minilm | format 6'"),
        (OWN.removesuffix(" | format 6"), "made by an earlier version"),
        (OWN.replace("format 6", "format 5"), "| format 5', and this debate"),
        ("fake-hash/64", "names only the encoder it was made with ('fake-hash/64'), not its panel"),
    ],
)
def test_a_calibration_for_another_table_is_refused_and_a_replay_is_not(given: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        play(seat(SPLIT), settings(f"made_for={given}", "max_rounds=2"))
    assert says in str(error.value) and "`maci calibrate` again" in str(error.value)
    assert repr(OWN) in str(error.value) or "an earlier version" in says
    opened, *others = play(seat(SPLIT), settings(f"made_for={OWN}", "max_rounds=2"))
    before = replace(opened, config=settings(f"made_for={given}", "max_rounds=2"))
    assert replay([before, *others]).complete
    with pytest.raises(ConfigError, match="maci calibrate"):
        replay_with([opened, *others], before.config)
    assert replay_with([before, *others], before.config).finished is not None


def test_a_judge_of_the_same_family_is_allowed_on_request_and_recorded() -> None:
    table = seat(SPLIT, [judge(family="family-x")])
    end = result(play(table, settings("same_family=true", "max_rounds=2")))
    assert "judge judge shares the family 'family-x' with debater x" in end.warnings


def test_judges_of_a_crit_free_debate_are_not_asked_about_their_family() -> None:
    boss = judge(family="family-x")
    events = play(seat(SPLIT, [boss]), settings("crit.enabled=false", "max_rounds=2"))
    assert boss.history == []
    assert of(Weighed, events)[0].weights == {"x": 0.5, "y": 0.5}
    assert all(a.crit is None and a.admitted for g in of(Gated, events) for a in g.admissions)


# --- what is expected -------------------------------------------------------------------------------------------------------


def test_inputs_nobody_waits_for_are_refused_by_name() -> None:
    table = seat(SPLIT)
    opened = open_debate(table)
    state = start(opened)
    with pytest.raises(InputError, match="not waiting for turn of x in round 0"):
        step(state, TurnTaken(round=0, agent="x", turn=turn(1.0)))
    with pytest.raises(InputError, match="not waiting for opened"):
        step(state, opened)
    events = play(table)
    state = start(events[0])
    for event in events[1:3]:
        state, _ = step(state, event)
    taken = events[2]
    assert isinstance(taken, TurnTaken)
    for wrong in (
        taken,  # twice
        replace(taken, agent="nobody"),
        replace(taken, round=1),
        Scored(round=0, argument="0A1", slot="judge#0", score=CritScore(evidence=1, logic=1, relevance=1)),
        JudgeAbstention(round=0, argument="0A1", slot="judge#0", reason="x"),
        of(Retrieved, events)[0],
    ):
        assert not expected(state, wrong)
        with pytest.raises(InputError, match="not waiting"):
            step(state, wrong)


def test_nothing_is_expected_after_the_end() -> None:
    state = replay(play(seat(SPLIT), settings("max_rounds=2"))).state
    for item in (Intervened(stop=True), Exhausted(resource="tokens"), Resolved()):
        with pytest.raises(InputError, match="not waiting"):
            step(state, item)


# --- beliefs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("belief", "why"),
    [
        ({"dengue": -0.5, "zika": 1.5}, "below 0"),
        ({"dengue": float("nan"), "zika": 1.0}, "not a number"),
        ({"dengue": float("inf")}, "not a number"),
        ({}, "the belief is empty"),
        ({"measles": 1.0}, "'measles' is not an outcome of this case: dengue, chikungunya, zika"),
        ({"dengue": 0.5}, "probabilities sum to 0.5"),
        ({"dengue": 0.7, "DENGUE": 0.7}, "probabilities sum to 1.4"),
        ({"dengue": "likely"}, "could not convert string to float"),
        ({"dengue": None}, "TypeError"),
        ({"dengue": 10**400}, "OverflowError"),
    ],
)
@pytest.mark.parametrize("when", [0, 1])
def test_a_belief_that_cannot_be_used_is_an_abstention_with_its_reason_and_nothing_is_lost(belief, why, when) -> None:
    script_x = [turn(0.8, 0.1, 0.1), turn(0.8, 0.1, 0.1), turn(0.8, 0.1, 0.1)]
    script_x[when] = Turn(belief=belief, arguments=(arg("Still said.", "e4"),))
    events = play(seat(pair(*script_x)), settings("max_rounds=2"))
    closed = of(Initialized, events)[0] if when == 0 else of(Weighed, events)[0]
    assert why in closed.abstained["x"]
    assert set(closed.beliefs) == {"y"}
    assert any(f"round {when}: x abstained" in w and why in w for w in result(events).warnings)
    assert set(of(Weighed, events)[1].beliefs) == {"x", "y"}  # it is back in the next round
    if when == 1 and "Error" not in why and "convert" not in why:  # its arguments still count
        assert [a.argument for a in of(Gated, events)[0].admissions] == ["1A1", "1B1"]


@pytest.mark.parametrize("total", [0.95, 1.05])
def test_a_belief_that_nearly_sums_to_1_is_rescaled_and_noted(total: float) -> None:
    events = play(seat(pair(turn(0.8 * total, 0.2 * total, 0.0))), settings("max_rounds=2"))
    assert of(Initialized, events)[0].beliefs["x"] == pytest.approx({"dengue": 0.8, "chikungunya": 0.2, "zika": 0.0})
    assert f"x: probabilities sum to {total}; rescaled to 1" in of(Initialized, events)[0].notes
    assert f"round 1: x: probabilities sum to {total}; rescaled to 1" in result(events).warnings


def test_the_shortfall_of_an_open_belief_goes_to_its_own_rest_however_spelled() -> None:
    case = make_case(OutcomeSpace(kind="open", labels=("Dengue", "Other")))
    agents = [script("x", Turn(belief={"Dengue": 0.95})), script("y", Turn(belief={"other": 1.0}))]
    events = play(seat(agents, case=case), settings("max_rounds=2"), case)
    first = of(Initialized, events)[0]
    assert first.labels == ("Dengue", "Other")
    assert first.beliefs["x"] == pytest.approx({"Dengue": 0.95, "Other": 0.05})
    assert first.beliefs["y"] == {"Dengue": 0.0, "Other": 1.0}


def test_open_outcomes_appear_as_they_are_named_and_widen_earlier_beliefs() -> None:
    case = make_case(OutcomeSpace(kind="open"), gold="Zika")
    agents = [
        script("x", Turn(belief={"Dengue fever": 1.0}), Turn(belief={"dengue  FEVER": 0.5, "Zika": 0.5})),
        script("y", Turn(belief={"Dengeu fever": 0.5, "Malaria": 0.5})),
    ]
    events = play(seat(agents, case=case), settings("max_rounds=2", "dispersion.gate=off"), case)
    assert of(Initialized, events)[0].labels == ("other", "Dengue fever", "Malaria")
    assert of(Initialized, events)[0].correct is False
    weighed = of(Weighed, events)[0]
    assert weighed.labels == ("other", "Dengue fever", "Malaria", "Zika")
    assert weighed.beliefs["y"] == {"other": 0.0, "Dengue fever": 0.5, "Malaria": 0.5, "Zika": 0.0}


# --- agents and judges that fail --------------------------------------------------------------------------------------------


def test_an_agent_that_raises_sits_the_round_out_and_keeps_its_seat() -> None:
    events = play(
        seat(pair(turn(0.8, 0.2), RuntimeError("no  connection\n"), turn(0.7, 0.3))), settings("max_rounds=2")
    )
    first, second = of(Weighed, events)
    assert first.abstained == {"x": "RuntimeError: no connection"}
    assert set(first.weights) == {"y"}
    assert of(Measured, events)[0].d is None  # one belief disagrees with nobody
    assert second.abstained == {}


def test_all_agents_failing_at_the_opening_is_an_error_without_an_answer() -> None:
    end = result(play(seat([script("x", ValueError("a")), script("y", ValueError("b"))])))
    assert (end.stop_reason, end.answer, end.distribution, end.rounds) == ("error", None, {}, 0)
    assert end.detail == "no agent gave an opening: x: ValueError: a"


def test_all_agents_failing_later_keeps_the_last_answer() -> None:
    agents = [script("x", turn(0.8, 0.2), ValueError("a")), script("y", turn(0.6, 0.4), ValueError("b"))]
    events = play(seat(agents))
    end = result(events)
    assert (end.stop_reason, end.answer, end.rounds) == ("error", "dengue", 0)
    assert end.detail == "no agent has a belief in round 1: x: ValueError: a"
    assert of(Gated, events)[0].admissions == ()


def test_a_judge_that_abstains_or_fails_is_counted_and_never_a_number() -> None:
    def moody(request):
        if request.sample == 0:
            raise JudgeAbstained("outside my field")
        if request.sample == 1:
            return 7.0
        return 0.9

    events = play(seat(SPLIT, [judge(score=moody)]), settings("max_rounds=2"))
    reasons = {event.reason for event in of(JudgeAbstention, events)}
    assert reasons == {"outside my field", "CRIT evidence is 7.0, must be between 0 and 1"}
    admission = of(Gated, events)[0].admissions[0]
    assert (admission.crit, admission.abstentions, admission.crit_variance) == (pytest.approx(0.9), 2, None)


def test_an_argument_every_judge_abstained_on_is_rejected_and_moves_no_weight() -> None:
    def fail(request):
        raise JudgeAbstained("no")

    events = play(seat(SPLIT, [judge(score=fail)]))
    assert result(events).stop_reason == "stalemate"
    assert {a.reason for g in of(Gated, events) for a in g.admissions} == {"every judge abstained"}
    assert of(Weighed, events)[0].reliability == {"x": 0.5, "y": 0.5}
    assert of(Measured, events)[0].crit is None


# --- arguments, citations, admission ----------------------------------------------------------------------------------------


def test_a_debate_without_arguments_ends_and_signals_stay_undefined() -> None:
    events = play(seat([script("x", turn(0.9, 0.1, args=())), script("y", turn(0.2, 0.8, args=()))]))
    assert result(events).stop_reason == "stalemate"
    for m in of(Measured, events):
        assert (m.q, m.o, m.crit, m.crit_variance) == (None, None, None, None)


def test_an_argument_without_citations_is_scored_and_rejected() -> None:
    events = play(seat(pair(turn(0.9, 0.1, args=[arg("Trust me.")]))), settings("max_rounds=2"))
    a = of(Gated, events)[0].admissions[0]
    assert (a.q, a.admitted, a.reason) == (None, False, "no verified citation")
    assert a.crit == pytest.approx(0.8)


def test_citations_are_checked_one_by_one_and_none_is_dropped() -> None:
    cited = [
        Citation("e1", "high fever with pain behind the eyes"),
        Citation("e1", "the patient owns a dog"),
        Citation("nowhere", "x"),
        Citation("e4"),
    ]
    events = play(seat(pair(turn(0.9, 0.1, args=[arg("Look.", *cited)]))), settings("max_rounds=2"))
    checked = of(Gated, events)[0].admissions[0].citations
    assert [(c.span, c.verified, c.why) for c in checked] == [
        ("e1", True, ""),
        ("e1", False, "the quote is not in the span"),
        ("nowhere", False, "no such span"),
        ("e4", True, ""),
    ]
    assert of(Resolved, events)[0].missing == ("nowhere",)


def test_overlap_counts_verified_citations_admitted_or_not() -> None:
    agents = [
        script("x", turn(0.9, 0.1, args=[arg("One.", "e1", "nowhere"), arg("Two.", "e4")])),
        script("y", turn(0.1, 0.9, args=[arg("Three.", "e4", "nowhere")])),
    ]
    events = play(seat(agents, [judge(score=0.0)]), settings("max_rounds=2"))
    assert not any(a.admitted for a in of(Gated, events)[0].admissions)
    assert of(Measured, events)[0].o == 0.5  # {e1, e4} and {e4}
    assert of(Measured, events)[0].q is None


def test_a_span_retrieved_twice_counts_once() -> None:
    class Twice(CaseEvidence):
        def retrieve(self, query, k, max_tokens):
            found = super().retrieve(query, k, max_tokens)
            return replace(found, spans=(*found.spans, *found.spans))

    plain = play(seat(SPLIT), settings("max_rounds=2"))
    double = play(seat(SPLIT, evidence=Twice(make_case())), settings("max_rounds=2"))
    assert decisions(plain) == decisions(double)
    assert replay(double).state.retrieved == replay(plain).state.retrieved


# --- the dispersion gate ----------------------------------------------------------------------------------------------------

APART = (turn(0.6, 0.4), turn(0.6, 0.4), turn(0.9, 0.1))
STAY = (turn(0.3, 0.7), turn(0.3, 0.7), turn(0.3, 0.7))
EVEN = (turn(0.4, 0.6), turn(0.4, 0.6), turn(0.4, 0.6))
"""Beside :data:`APART` the mixture is tied."""


def test_a_move_apart_without_new_evidence_is_reverted_and_kept_on_record() -> None:
    events = play(seat(pair(*APART, y=STAY)), settings("max_rounds=3"))
    second = of(Weighed, events)[1]
    assert second.reverted["x"]["dengue"] == 0.9
    assert second.beliefs["x"]["dengue"] == 0.6
    assert of(TurnTaken, events)[-1].turn.belief  # the turn itself is kept as stated


def test_a_move_apart_backed_by_newly_admitted_evidence_is_kept() -> None:
    fresh = turn(0.9, 0.1, args=[arg("New.", "e4"), arg("See.", "e1")])
    old = turn(0.6, 0.4, args=[arg("Old.", "e1")])
    stay, drift = turn(0.4, 0.6, args=[arg("Stay.", "e1")]), turn(0.3, 0.7, args=[arg("Stay.", "e1")])
    events = play(seat(pair(old, old, fresh, y=(stay, stay, drift))), settings("max_rounds=3", "tau_q=0"))
    second = of(Weighed, events)[1]
    assert second.beliefs["x"]["dengue"] == 0.9
    assert set(second.reverted) == {"y"}  # the rest reverts
    assert second.beliefs["y"]["dengue"] == 0.4


def test_course_holds_its_level_where_new_evidence_drove_the_agents_apart() -> None:
    def levels(cited: str) -> list[float]:
        old, fresh = turn(0.6, 0.4, args=[arg("Old.", "e1")]), turn(0.9, 0.1, args=[arg("New.", cited)])
        stay = turn(0.3, 0.7, args=[arg("Stay.", "e1")])
        table = seat(pair(old, old, fresh, y=(stay,)))
        sets = ("max_rounds=3", "min_rounds=3", "tau_q=0", "schedule=course", "cl_first=0.9", "dispersion.gate=off")
        return [gated.dials.cl for gated in of(Gated, play(table, settings(*sets)))]

    assert levels("e4") == [0.9, 0.7, 0.7]
    assert levels("e1") == [0.9, 0.7, 0.5]  # D rose as much, on nothing new


def test_the_paper_profile_reverts_every_belief() -> None:
    events = play(seat(pair(*APART, y=STAY)), settings("max_rounds=3", profile="paper"))
    second = of(Weighed, events)[1]
    assert set(second.reverted) == {"x"}  # y did not move: there is nothing to take back
    assert second.beliefs == of(Weighed, events)[0].beliefs


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(APART, EVEN, id="of the mixture"),
        pytest.param((turn(0.5, 0.5), turn(0.5, 0.5), turn(0.9, 0.1)), STAY, id="of the agent"),
    ],
)
def test_a_move_away_from_a_tie_is_kept_though_it_raises_d_except_in_the_paper_profile(x, y) -> None:
    kept, taken_back = (
        of(Weighed, play(seat(pair(*x, y=y)), settings("max_rounds=3", *sets)))[1]
        for sets in ((), ("leave_ties=false",))
    )
    assert (kept.beliefs["x"]["dengue"], dict(kept.reverted)) == (0.9, {})
    assert taken_back.reverted["x"]["dengue"] == 0.9
    assert not settings(profile="paper").dispersion.leave_ties


def test_a_lead_within_one_standard_error_of_the_scores_is_a_tie_too() -> None:
    # Γ of x is ahead by the scores of round 1 alone; in round 2 they turn, so neither lead is known to be one.
    def swings(request: ScoreRequest) -> float:
        return {"x first": 0.9, "y first": 0.6, "x then": 0.5, "y then": 0.7}[request.argument.claim]

    x = [turn(0.9, 0.1, args=[arg(claim, "e4")]) for claim in ("x first", "x first", "x then")]
    y = [turn(0.1, 0.9, args=[arg(claim, "e4")]) for claim in ("y first", "y first", "y then")]
    shaky = play(seat([script("x", *x), script("y", *y)], [judge(score=swings)]), settings("max_rounds=2"))
    assert set(result(shaky).tied) == {"dengue", "chikungunya"}
    assert any("share the lead" in note for note in result(shaky).warnings)
    sure = play(seat([script("x", x[0]), script("y", y[0])], [judge(score=swings)]), settings("max_rounds=2"))
    assert result(sure).tied == () and not any("undecided" in note for note in result(sure).warnings)


# --- what agents and judges are told ----------------------------------------------------------------------------------------


def test_agents_learn_nothing_they_should_not() -> None:
    secret = Turn(
        belief={"dengue": 0.7, "zika": 0.3}, arguments=(arg("REJECTED CLAIM"), arg("Kept.", "e4", outcome="dengue"))
    )
    opening = turn(0.7, 0.3, args=[arg("Opened.", "e4", outcome="dengue")])
    x, y = script("secret-name", opening, secret), script("other-name", turn(0.2, 0.8))
    case = make_case(gold="zika", hidden={"test": "HIDDEN FINDING"})
    play(seat([x, y], case=case), settings("max_rounds=3"), case)
    assert [r.round for r in y.history] == [0, 1, 2, 3]
    for request in y.history:
        told = repr(request)
        for word in ("secret-name", "family-", "REJECTED CLAIM", "HIDDEN FINDING", "gold"):
            assert word not in told
        assert request.heard == ()
        assert request.seat == "B"
    third = y.history[3]
    assert third.leading == {"A": "dengue"}
    assert third.belief is not None and third.belief["chikungunya"] == pytest.approx(0.8)
    claims = [entry.argument.claim for entry in third.anchor.record if entry.seat == "A"]
    assert claims == ["Opened.", "Kept.", "Kept."]
    assert y.history[0].anchor.record == () and not y.history[0].others


def test_an_agent_is_shown_the_others_leading_outcomes_and_their_strongest_arguments() -> None:
    said = [arg("Weak.", "e4"), arg("Strong.", "e4"), arg("Fair.", "e4"), arg("Poor.", "e4")]
    scores = {"Weak.": 0.4, "Strong.": 0.9, "Fair.": 0.6, "Poor.": 0.35}
    x, y = pair(turn(0.5, 0.3, 0.2, args=[arg("Opened.", "e4")]), turn(0.6, 0.3, 0.1, args=said))
    play(seat([x, y], [judge(score=lambda r: scores.get(r.argument.claim, 0.8))]), settings("max_rounds=2"))
    assert x.history[0].others == {}
    first, second = (request.others["A"] for request in y.history[1:])
    assert first.leading == (("dengue", 0.5), ("chikungunya", 0.3), ("zika", pytest.approx(0.2)))
    assert first.strongest == ("0A1",)  # nothing is admitted yet
    assert second.leading[0] == ("dengue", 0.6)
    assert second.strongest == ("1A2", "1A3", "1A1")


@pytest.mark.parametrize(
    ("order", "first", "second"),
    [("simultaneous", ("0A1",), ("1A1",)), ("sequential", ("0A1", "1A1"), ("1A1", "2A1"))],
)
def test_what_an_argument_answers_is_checked_against_what_its_author_could_know(order, first, second) -> None:
    said = [arg("Now.", "e4", answers=("0A1", "1A1", "7Z9")), arg("Then.", "e4", answers=("1A1", "2A1", "2B1"))]
    y = script("y", turn(0.9, 0.1), *(turn(0.9, 0.1, args=[argument]) for argument in said))
    events = play(
        seat([script("x", turn(0.1, 0.9, args=[arg("So.", "e4", answers=("1B1",))])), y]),
        settings("min_rounds=3", "max_rounds=3", "tau_q=0", f"order={order}"),
    )
    gated = [next(a for a in each.admissions if a.agent == "y") for each in of(Gated, events)]
    assert [a.answers for a in gated[:2]] == [first, second]
    foreseen = next(a for a in of(Gated, events)[0].admissions if a.agent == "x")
    assert foreseen.answers == ()  # the first to speak has heard nobody
    shown = {entry.id: entry.argument.answers for entry in y.history[3].anchor.record}
    assert (shown["1B1"], shown["2B1"]) == (first, second)
    notes = of(Weighed, events)[0].notes
    assert [note for note in notes if note.startswith("1B1 answers") and "7Z9" in note]
    assert not any("7Z9" in warning for warning in result(events).warnings)


@pytest.mark.parametrize(
    ("argument", "score", "why"),
    [
        (arg("Look."), 0.8, "it cites nothing"),
        (arg("Look.", "nowhere"), 0.8, "1 of its 1 citations name no piece or misquote it"),
        (arg("Look.", "e3"), 0.8, "the cited pieces have little to do with this case"),
        (
            arg("Look.", "e4"),
            CritScore(evidence=0.3, logic=0.1, relevance=0.2),
            "the judges graded it too low, mainly because the claim does not follow from the reasons",
        ),
        (
            arg("Look.", "e4"),
            CritScore(evidence=0.1, logic=0.3, relevance=0.2),
            "the judges graded it too low, mainly because the cited pieces do not support the claim well enough",
        ),
    ],
)
def test_an_author_is_told_why_its_argument_was_rejected_and_only_the_author(argument, score, why) -> None:
    x, y = pair(turn(0.9, 0.1), turn(0.9, 0.1, args=[argument]), turn(0.9, 0.1))
    scores = judge(score=lambda request: score if request.argument.claim == "Look." else 0.8)
    play(seat([x, y], [scores]), settings("min_rounds=3", "max_rounds=3", "tau_q=0.9"))
    (told,) = x.history[2].rejected
    assert (told.id, told.claim, told.why) == ("1A1", "Look.", why)
    assert [len(request.rejected) for request in x.history] == [0, 0, 1, 0]  # in the next round alone
    assert not any(request.rejected for request in y.history)
    assert "Look." not in repr(y.history)


@pytest.mark.parametrize(
    ("sets", "gates"),
    [((), (0.5, 0.3)), (("q_gate=false",), (None, 0.3)), (("crit_gate=false",), (0.5, None)), (("crit.enabled=false",), (0.5, None))],
)  # fmt: skip
def test_an_agent_is_told_the_gates_in_force_and_no_others(sets, gates) -> None:
    x, y = pair(turn(0.9, 0.1))
    play(seat([x, y]), settings("max_rounds=2", "fit_tau_q=false", *sets))
    anchor = x.history[1].anchor
    assert (anchor.tau_q, anchor.tau_crit) == gates


def test_agents_speak_at_once_by_default_and_hear_each_other_in_sequence_on_request() -> None:
    for order, heard in (("simultaneous", [(), ()]), ("sequential", [(), ("A",)])):
        agents = pair(turn(0.9, 0.1))
        play(seat(agents), settings("max_rounds=2", f"order={order}"))
        assert [tuple(who for who, _ in agent.history[1].heard) for agent in agents] == heard


def test_judges_see_the_argument_its_verified_spans_and_nothing_of_its_author() -> None:
    boss = judge()
    cited = [Citation("e1", "high fever"), Citation("nowhere"), Citation("e2", "entirely invented words here")]
    play(seat(pair(turn(0.9, 0.1, args=[arg("Look.", *cited)])), [boss]), settings("max_rounds=2"))
    seen = [request for request in boss.history if request.argument.claim == "Look."]
    assert len(seen) == 2 * 3
    assert [span.id for span in seen[0].spans] == ["e1"]
    assert seen[0].unverified == 2
    assert sorted(r.sample for r in seen[:6]) == [0, 0, 1, 1, 2, 2]
    assert "family-x" not in repr(seen[0]) and "belief" not in repr(seen[0])
    assert len({r.seed for r in seen}) == 6


def test_the_opening_is_not_judged() -> None:
    boss = judge()
    events = play(seat(SPLIT, [boss]), settings("max_rounds=2"))
    assert {event.round for event in of(Scored, events)} == {1, 2}


# --- a person's hand --------------------------------------------------------------------------------------------------------


def test_dials_set_for_one_round_are_the_schedules_again_after_it_and_replay_equal() -> None:
    def at_round_1(event, queue) -> None:
        if isinstance(event, Gated) and event.round == 1:
            queue.put_nowait(Intervened(cl=0.2, by="me"))
            queue.put_nowait(Intervened(tau_q=0.9))

    sets = ("max_rounds=4", "schedule=fixed", "impasse=false")
    events = play(seat(pair(turn(0.9, 0.1), turn(0.8, 0.2))), settings(*sets), watch=at_round_1)
    rounds = {event.round: event.dials for event in of(Gated, events)}
    hand = {event.round: event.by_hand for event in of(Dialled, events)}
    touched = min(r for r, by in hand.items() if by)
    assert rounds[1].cl == 0.9
    assert (rounds[touched].cl, rounds[touched].tau_q) == (0.2, 0.9)  # both hands count, not only the last
    if touched + 1 in rounds:
        assert rounds[touched + 1].cl == 0.2 and not hand[touched + 1]
    assert replay(events).complete


def test_dials_that_are_held_stay_until_they_are_given_back() -> None:
    def hands(event, queue) -> None:
        if isinstance(event, Gated) and event.round == 1:
            queue.put_nowait(Intervened(cl=0.55, hold=True))
        if isinstance(event, Gated) and event.round == 3:
            queue.put_nowait(Intervened(tau_q=0.05, hold=True))  # the other dial stays held
        if isinstance(event, Gated) and event.round == 5:
            queue.put_nowait(Intervened(release=True))

    sets = ("min_rounds=8", "max_rounds=8", "impasse=false")
    events = play(seat(pair(turn(0.9, 0.1), turn(0.8, 0.2))), settings(*sets), watch=hands)
    rounds = {event.round: event.dials for event in of(Gated, events)}
    hand = {event.round: event.by_hand for event in of(Dialled, events)}
    touched = [r for r, by in hand.items() if by]
    assert len(touched) >= 3 and touched == list(range(touched[0], touched[-1] + 1)) and not hand[8]
    assert all(rounds[r].cl == 0.55 for r in touched) and rounds[touched[-1]].tau_q == 0.05
    assert rounds[8].cl != 0.55
    assert replay(events).complete


def test_dials_set_before_the_opening_closes_are_those_of_round_1() -> None:
    events = play(seat(SPLIT), settings("max_rounds=2"), hand=[Intervened(cl=0.15, tau_crit=0.6)])
    dials = of(Initialized, events)[0].dials
    assert (dials.cl, dials.tau_crit) == (0.15, 0.6)
    assert of(Gated, events)[0].dials == dials
    assert replay(events).complete


def test_a_persons_stop_is_the_stop_reason_with_the_answer_so_far() -> None:
    def stop(event, queue) -> None:
        if isinstance(event, Measured) and event.round == 1:
            queue.put_nowait(Intervened(stop=True, by="Ada"))

    events = play(seat(SPLIT), watch=stop)
    end = result(events)
    assert (end.stop_reason, end.detail, end.rounds) == ("stopped_by_user", "stopped by Ada", 1)
    assert end.answer is not None
    assert replay(events).complete


def test_a_stop_before_the_opening_has_no_answer() -> None:
    end = result(play(seat(SPLIT), hand=[Intervened(stop=True)]))
    assert (end.stop_reason, end.answer) == ("stopped_by_user", None)


@pytest.mark.parametrize("wrong", [{"cl": 1.5}, {"tau_q": -0.1}, {"tau_crit": float("nan")}])
def test_dials_out_of_range_are_refused_where_they_are_set(wrong: dict) -> None:
    with pytest.raises(InputError, match=r"set by hand is .*, must be between 0 and 1"):
        Intervened(**wrong)


# --- the result -------------------------------------------------------------------------------------------------------------


def test_the_result_names_rationale_best_first_and_the_minority_with_its_arguments() -> None:
    scores = {"Weak.": 0.5, "Strong.": 0.9, "Against.": 0.9, "Theirs.": 0.7}
    x = turn(0.9, 0.1, args=[arg("Weak.", "e4", outcome="dengue"), arg("Strong.", "e4", outcome="Dengue")])
    y = turn(
        0.3,
        0.7,
        args=[arg("Theirs.", "e4", outcome="chikungunya"), arg("Against.", "e4", outcome="dengue", against=True)],
    )
    events = play(
        seat([script("x", x), script("y", y)], [judge(score=lambda r: scores[r.argument.claim])]),
        settings("max_rounds=2"),
    )
    end = result(events)
    assert end.answer == "dengue"
    assert end.rationale[:2] in {("1A2", "2A2"), ("2A2", "1A2")}
    assert set(end.rationale) == {"1A1", "1A2", "2A1", "2A2"}
    (minority,) = end.minority
    assert (minority.agent, minority.outcome) == ("y", "chikungunya")
    assert minority.arguments == ("1B1", "2B1")


def test_the_reported_distribution_is_tempered_and_the_raw_mixture_kept() -> None:
    plain = result(play(seat(SPLIT), settings("max_rounds=2")))
    sharp = result(play(seat(SPLIT), settings("max_rounds=2", "calibration.temperature=0.5")))
    assert plain.raw == sharp.raw == plain.distribution
    assert max(sharp.distribution.values()) > max(sharp.raw.values())


def test_smoothing_switched_off_leaves_every_figure_recordable() -> None:
    certain = [script("x", turn(1.0, 0.0, 0.0)), script("y", turn(0.0, 1.0, 0.0))]
    case = make_case(gold="zika")
    events = play(seat(certain, case=case), settings("delta=0", "max_rounds=2"), case)
    assert of(Measured, events)[0].analysis.cross_entropy == float("inf")
    assert replay(events).complete


# --- why not to rely on an answer --------------------------------------------------------------------------------------------


def test_judges_that_fail_are_named_in_the_warnings() -> None:
    def broken(request):
        raise RuntimeError("no quota")

    events = play(seat(SPLIT, [FunctionJudge("judge", broken, family="other")]), settings("max_rounds=2", "crit.k=1"))
    assert any("scores are missing" in w and "no quota" in w for w in result(events).warnings)


def test_an_answer_without_agreement_or_support_comes_with_a_caution() -> None:
    events = play(seat(SPLIT, [judge(score=0.0)]), settings("max_rounds=2"))
    assert any("ended without agreement" in w for w in result(events).warnings)
    assert any("no admitted argument speaks for" in w for w in result(events).warnings)


def test_equal_probabilities_are_called_undecided_and_make_no_minority() -> None:
    even = Turn(belief={"dengue": 0.5, "zika": 0.5}, arguments=(arg("Both.", "e4"),))
    end = result(play(seat(pair(even, y=(even,))), settings("max_rounds=2")))
    assert any("undecided: dengue, zika are equally probable" in w for w in end.warnings)
    assert end.minority == ()


def test_a_budget_that_was_broken_by_an_agent_that_lied_lets_nothing_more_through() -> None:
    liar = [script(name, turn(0.9, 0.1, tokens=600)) for name in ("x", "y")]
    end = result(play(seat(liar), settings("tokens=500", "max_rounds=8")))
    assert end.stop_reason == "budget"
    assert "caution: no round of debate was held (budget)" in end.warnings and end.agreed is None
    assert not any("without agreement" in w or "had settled" in w for w in end.warnings)
    assert end.tokens <= 1200  # both openings were under way; after that nothing
