from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import arg, judge, of, play, result, script, seat, settings, turn
from maci.controller.decisions import Dialled, Finished, Gated, Weighed
from maci.controller.dials import Measured
from maci.controller.inputs import Exhausted, Scored, TurnTaken
from maci.errors import ConfigError, ReplayMismatch
from maci.record.replay import difference, replay, replay_with

MOVING = [turn(0.9, 0.1), turn(0.9, 0.1), turn(0.85, 0.15), turn(0.8, 0.2), turn(0.8, 0.2)]
OTHER = [turn(0.2, 0.8), turn(0.3, 0.7), turn(0.5, 0.5), turn(0.75, 0.25), turn(0.8, 0.2)]


@pytest.fixture(scope="module")
def events() -> list:
    return play(
        seat([script("x", *MOVING), script("y", *OTHER)], [judge("j", 0.8), judge("k", 0.7)]), settings("max_rounds=5")
    )


def changed(events: list, kind: type, **change: object) -> list:
    place = next(i for i, e in enumerate(events) if isinstance(e, kind))
    return [*events[:place], replace(events[place], **change), *events[place + 1 :]]


def test_an_untouched_record_is_complete(events: list) -> None:
    done = replay(events)
    assert done.complete
    assert (
        done.compared == 2 + 5 * result(events).rounds
    )  # opening, 5 a round of which the last has no new dials, plan, result
    assert done.state.finished == events[-1]


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        (Measured, {"d": 0.123}, "(measured, round 1): d: recorded 0.123, recomputed"),
        (Weighed, {"weights": {"x": 0.4, "y": 0.6}}, "weights.x: recorded 0.4"),
        (Gated, {"admissions": ()}, "admissions"),
        (Finished, {"stop_reason": "plateau"}, "stop_reason: recorded 'plateau', recomputed"),
        (Finished, {"answer": "zika"}, "answer: recorded 'zika'"),
    ],
)
def test_a_changed_decision_is_named_with_line_and_both_values(events: list, kind, change, says) -> None:
    with pytest.raises(ReplayMismatch) as error:
        replay(changed(events, kind, **change))
    assert says in str(error.value)
    assert str(error.value).startswith("line ")


def test_a_warning_taken_out_of_the_result_added_or_exchanged_is_found(events: list) -> None:
    warnings = result(events).warnings
    assert warnings
    for left in (*warnings,):
        rest = tuple(warning for warning in warnings if warning != left)
        with pytest.raises(ReplayMismatch, match=r"\(finished, round -\): warnings: recomputed .*, not recorded"):
            replay(changed(events, Finished, warnings=rest))
        with pytest.raises(ReplayMismatch, match="warnings: recomputed"):
            replay(changed(events, Finished, warnings=(*rest, "caution: nothing to worry about")))
    with pytest.raises(ReplayMismatch, match="warnings: recorded 'caution: made up', not recomputed"):
        replay(changed(events, Finished, warnings=(*warnings, "caution: made up")))
    with pytest.raises(ReplayMismatch, match="warnings: recomputed"):  # 3 scores become 1
        replay(changed(events, Finished, warnings=tuple(warning.replace("3", "1") for warning in warnings)))


def test_a_warning_in_better_words_is_the_same_warning(events: list) -> None:
    reworded = tuple(warning.replace("come from", "were given by") for warning in result(events).warnings)
    assert reworded != result(events).warnings
    assert replay(changed(events, Finished, warnings=reworded)).complete


def test_a_changed_input_shows_in_the_first_decision_it_touches(events: list) -> None:
    with pytest.raises(ReplayMismatch, match="initialized"):
        replay(changed(events, TurnTaken, turn=turn(0.5, 0.5)))


def test_a_dropped_decision_or_input_is_noticed(events: list) -> None:
    gated = next(i for i, e in enumerate(events) if isinstance(e, Gated))
    with pytest.raises(ReplayMismatch, match="gated"):
        replay([*events[:gated], *events[gated + 1 :]])
    scored = next(i for i, e in enumerate(events) if isinstance(e, Scored))
    with pytest.raises(ReplayMismatch, match="nothing recorded before it leads to it"):
        replay([*events[:scored], *events[scored + 1 :]])
    dialled = next(i for i, e in enumerate(events) if isinstance(e, Dialled))
    with pytest.raises(ReplayMismatch, match="dialled should stand here, the record has turn"):
        replay([*events[:dialled], *events[dialled + 1 :]])
    with pytest.raises(ReplayMismatch, match="not waiting"):
        replay([*events, of(TurnTaken, events)[0]])


def test_no_events_open_no_debate() -> None:
    for nothing in ([], [Exhausted(resource="tokens")]):
        with pytest.raises(ReplayMismatch, match="does not open a debate"):
            replay(nothing)
        with pytest.raises(ReplayMismatch, match="does not open a debate"):
            replay_with(nothing, settings())


def test_a_cut_record_says_where_it_ends(events: list) -> None:
    assert replay(events[:1]).where() == "it ends in round 0, waiting for retrieve"
    assert replay(events[:3]).where() == "it ends in round 0, waiting for turn y"
    first_score = next(i for i, e in enumerate(events) if isinstance(e, Scored))
    assert "in round 1, waiting for score 1" in replay(events[:first_score]).where()
    assert replay(events[:-1]).where() == "it ends before its result was written"
    assert not replay(events[:-1]).complete


def test_tolerance_forgives_arithmetic_not_changes() -> None:
    assert difference({"d": 0.5}, {"d": 0.5 + 1e-12}) is None
    assert difference({"d": 0.5}, {"d": 0.5 + 1e-6}) == "d: recorded 0.5, recomputed 0.500001"
    assert difference({"d": True}, {"d": 1}) is not None
    assert difference({"d": None}, {"d": 0.0}) is not None
    assert difference([1, 2], [1]) is not None
    assert difference({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}) == "a[0].b: recorded 'x', recomputed 'y'"
    assert difference({"a": 1}, {"b": 1}) is not None
    assert difference(1, 1.0) is None


# --- other rules over the same record ---------------------------------------------------------------------------------------


def test_the_same_rules_decide_the_same(events: list) -> None:
    asked = replay_with(events, events[0].config)
    assert asked.finished == events[-1]


def test_a_shorter_debate_stops_earlier_and_ignores_the_rest(events: list) -> None:
    asked = replay_with(events, settings("max_rounds=2"))
    assert asked.finished is not None and asked.finished.rounds == 2 < result(events).rounds
    assert asked.finished.stop_reason == "max_rounds"
    assert asked.mixture is not None
    assert asked.mixture.tolist() == list(of(Weighed, events)[1].mixture.values())


def test_a_longer_debate_is_undecided_where_the_record_ends(events: list) -> None:
    asked = replay_with(
        events, settings("max_rounds=20", "consensus=false", "crit_stable=false", "tau_stop=9", "impasse=false")
    )
    assert asked.finished is None
    assert len(asked.history) == result(events).rounds


def test_a_crit_free_controller_over_a_judged_record_needs_no_scores(events: list) -> None:
    asked = replay_with(events, settings("crit.enabled=false", "max_rounds=2"))
    assert asked.finished is not None
    assert all(c.crit is None for s in asked.history for c in s.candidates)


def test_another_gate_admits_otherwise(events: list) -> None:
    strict = replay_with(events, settings("tau_crit=0.99", "max_rounds=2"))
    assert [s.admitted for s in strict.history] == [0, 0]
    assert [s.admitted for s in replay_with(events, settings("max_rounds=2")).history] == [2, 2]


def test_fewer_scores_can_be_asked_of_the_record_but_not_more(events: list) -> None:
    assert replay_with(events, settings("k=2", "max_rounds=2")).finished is not None
    more = replay_with(events, settings("k=9", "max_rounds=2"))
    assert more.finished is None and len(more.history) == 0


def test_judging_a_crit_free_record_is_refused() -> None:
    free = play(seat([script("x", *MOVING), script("y", *OTHER)], []), settings("crit.enabled=false", "max_rounds=2"))
    with pytest.raises(ConfigError, match="there are no judges"):
        replay_with(free, settings())


def test_a_budget_stop_of_the_record_ends_other_rules_too() -> None:
    agents = [script("x", turn(0.9, 0.1, tokens=10), ceiling=10), script("y", turn(0.1, 0.9, args=[arg("No.", "e4")]))]
    record = play(seat(agents), settings("budget.tokens=25", "max_rounds=8"))
    assert result(record).stop_reason == "budget"
    asked = replay_with(record, settings("budget.tokens=25", "tau_q=0.1"))
    assert asked.finished is not None and asked.finished.stop_reason == "budget"
