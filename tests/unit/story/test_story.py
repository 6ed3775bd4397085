"""The story: every part of a record is told, in whatever order it came, and told the same live and afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers import arg, decisions, judge, play, result, script, seat, settings, turn
from maci.agents.judges.crit import JudgeAbstained
from maci.controller.decisions import Gated, Initialized, Weighed
from maci.controller.dials import Measured
from maci.controller.inputs import Intervened, Lost, Pending, Sent, TurnFailed
from maci.errors import InputError
from maci.evidence.span import Citation
from maci.lab.methods.maci import NoModel, summary
from maci.llm.usage import Usage
from maci.record.replay import replay
from maci.record.transcript import read
from maci.story import Story
from maci.story.log import happened
from maci.story.outline import would_change
from maci.story.words import STOPS, how_sure, rival_of

FROZEN = Path(__file__).parents[2] / "transcripts" / "format-6.jsonl"


def events(**more):
    quoted = arg("Dengue.", Citation("e1", "fever with pain behind the eyes"), "nowhere", outcome="dengue")
    first = script(
        "first", turn(0.8, 0.1, 0.1, args=[quoted], tokens=50), turn(0.7, 0.2, 0.1, args=[quoted], tokens=60)
    )
    second = script("second", turn(0.2, 0.7, 0.1), turn(0.6, 0.3, 0.1), turn(0.7, 0.2, 0.1))
    return play(seat([first, second], [judge(score=0.8)]), settings("max_rounds=2", *more.pop("sets", ())), **more)


def test_a_story_told_live_is_the_story_told_afterwards():
    happened = events()
    live = Story(opened=happened[0])
    for event in happened[1:]:
        live = live.follow(event)
    assert live == Story.of(happened)
    assert live.events == len(happened)


def test_a_recorded_debate_is_told():
    recorded = read(FROZEN).events
    story = Story.of(recorded)
    assert story.result is result(recorded)
    assert len(story.closed) == story.result.rounds + 1
    assert story.spent.tokens == story.result.tokens
    assert story.closed[-1].answer == story.result.answer
    assert set(story.result.rationale) <= set(story.said)
    assert would_change(story)


def test_every_decision_is_in_the_story():
    happened = events()
    story = Story.of(happened)
    for decision in decisions(happened):
        now = story.rounds[getattr(decision, "round", 0)]
        match decision:
            case Initialized():
                assert now.signals is decision
                assert now.mixture == decision.mixture
                assert story.rounds[1].dials == decision.dials
            case Gated():
                assert [s.admission for s in now.said] == list(decision.admissions)
                assert now.dials == decision.dials
            case Weighed():
                assert (now.beliefs, now.weights) == (decision.beliefs, decision.weights)
            case Measured():
                assert now.signals is decision


def test_a_quote_is_found_in_its_span_and_a_span_that_does_not_exist_is_named():
    story = Story.of(events())
    quoted, invented = story.said["1A1"].citations
    text = story.spans["e1"].text
    assert [text[start:end] for start, end in quoted.places] == ["fever with pain behind the eyes"]
    assert quoted.verified is True
    assert (invented.verified, invented.why, invented.places) == (False, "no such span", ())
    assert "nowhere" in story.missing
    assert [s.id for s in story.citing()["e1"]] == ["0A1", "1A1", "2A1"]


def test_what_was_said_before_is_marked_and_openings_pass_no_gate():
    story = Story.of(events())
    assert story.said["0A1"].fate == "opening" and story.said["0A1"].repeats == ""
    assert story.said["1A1"].repeats == "0A1" and story.said["2A1"].repeats == "0A1"
    assert {s.fate for s in story.rounds[1].said} <= {"admitted", "rejected"}


def test_spending_is_counted_by_round_and_call():
    story = Story.of(events())
    assert [r.usage.tokens for r in story.rounds] == [50, 60, 60]
    assert story.spent == Usage(generated=170)
    assert [(c.round, c.who, c.usage.tokens) for c in story.calls if c.usage] == [
        (0, "first", 50),
        (1, "first", 60),
        (2, "first", 60),
    ]
    assert sum(c.kind == "score" for c in story.calls) == 3 * 4  # three slots, four arguments in rounds 1 and 2


def test_a_judge_that_abstains_and_an_agent_that_fails_are_told_with_their_reasons():
    def silent(request):
        raise JudgeAbstained("cannot say")

    agents = [script("first", turn(0.8, 0.1, 0.1)), script("second", turn(0.2, 0.7, 0.1), RuntimeError("broken"))]
    story = Story.of(play(seat(agents, [judge(score=silent)]), settings("min_rounds=1", "max_rounds=1")))
    assert {(j.score, j.reason) for j in story.said["1A1"].scores} == {(None, "cannot say")}
    assert "broken" in story.rounds[1].abstained["second"]
    assert any(c.failed and c.who == "second" for c in story.calls)


def test_a_persons_hand_is_told():
    story = Story.of(events(hand=[Intervened(cl=0.4, by="Ada")]))
    assert [(h.what, h.by) for h in story.hands] == [("sets CL to 0.40 for the next round", "Ada")] and not story.held
    both = [Intervened(cl=0.4, hold=True, by="Ada"), Intervened(release=True, by="Bob")]
    assert Story.of(events(hand=both[:1])).held and not Story.of(events(hand=both)).held
    assert Story.of(events(hand=both)).hands[1].what == "gives the dials back to the schedule"
    stopped = Story.of(events(hand=[Intervened(stop=True)]))
    assert stopped.hands[0].what == "stops the debate"
    assert stopped.result.stop_reason == "stopped_by_user"


def test_an_unfinished_story_has_no_result_and_knows_where_it_is():
    happened = events()
    cut = next(i for i, e in enumerate(happened) if e.type == "turn" and e.round == 2)
    story = Story.of(happened[: cut + 1])
    assert story.result is None
    assert story.current.number == 2 and not story.current.closed
    assert [r.number for r in story.closed] == [0, 1]
    assert {s.fate for s in story.current.said} == {"open"}
    assert would_change(story) == []


def test_a_story_begins_with_its_opening():
    with pytest.raises(InputError, match="begins with `opened`"):
        Story.of(events()[1:])


def test_it_says_without_whom_the_answer_would_be_another():
    beliefs = {"sure": (1.0, 0.0, 0.0), "other": (0.3, 0.7, 0.0), "third": (0.4, 0.6, 0.0)}
    agents = [script(name, turn(*p)) for name, p in beliefs.items()]
    story = Story.of(play(seat(agents), settings("min_rounds=1", "max_rounds=1", "dispersion.gate=off")))
    # equal weights: dengue has 1.7/3 with all, 0.35 without the first, 0.7 and 0.65 without one of the others
    assert story.result.answer == "dengue"
    assert [line for line in would_change(story) if line.startswith("Without")] == [
        "Without sure the answer would be chikungunya."
    ]


def test_every_stop_has_words():
    from typing import get_args

    from maci.controller.stop import StopReason

    assert set(STOPS) == set(get_args(StopReason))


def test_a_lead_that_cannot_be_seen_is_none():
    close = {"gout": 0.502, "lupus": 0.498}
    assert how_sure(0.502, rival_of("gout", close)) == "about even with lupus"
    assert how_sure(0.52, ("lupus", 0.48)) == "more likely than not"
    assert how_sure(1.0, rival_of("gout", {"gout": 1.0})) == "almost certain"


def test_a_rounds_signals_have_one_shape_from_the_fold_to_the_row():
    happened = events()
    story, state = Story.of(happened), replay(happened).state
    measured = [event for event in happened if isinstance(event, Measured)]
    assert [r.signals for r in story.closed[1:]] == measured == [r.signals for r in state.history]
    opening, *course = summary(story).course
    assert (opening.q, opening.d, opening.o, opening.crit, opening.i) == (
        story.rounds[0].signals.q, story.rounds[0].signals.d, story.rounds[0].signals.o, None, None,
    )  # fmt: skip
    assert [(s.q, s.d, s.o, s.crit, s.i) for s in course] == [(m.q, m.d, m.o, m.crit, m.gain) for m in measured]


def test_what_went_out_is_told_by_round_with_its_bound_and_what_was_found_first():
    story = Story.of(events())
    assert story.retrieved and set(story.retrieved) <= set(story.spans)
    calls = (Pending(kind="turn", who="first", tokens=10), Pending(kind="turn", who="second", tokens=20))
    told = Story(opened=story.opened).follow(Sent(round=0, calls=calls)).follow(Sent(round=0, calls=calls[:1]))
    assert told.rounds[0].sent == (*calls, calls[0]) and len(told.waiting) == 2


@pytest.mark.parametrize("end", [Lost(round=0), None], ids=["lost", "finished"])
def test_calls_that_never_came_back_are_paid_for(end):
    happened = events()
    calls = (Pending(kind="turn", who="first", tokens=10), Pending(kind="turn", who="second", tokens=20, usd=0.5))
    told = Story(opened=happened[0]).follow(Sent(round=0, calls=calls)).follow(Sent(round=0, calls=calls[:1]))
    assert told.spent == Usage()
    told = told.follow(end or happened[-1])
    assert (told.spent.tokens, told.spent.usd) == (10 + 20 + 10, 0.5) and not told.waiting


def test_a_call_that_can_never_succeed_is_nobodys_answer():
    happened = events()
    story = Story.of([*happened[:-1], TurnFailed(round=2, agent="first", error="wrong key", fatal=True), happened[-1]])
    assert [call.who for call in story.calls if call.fatal] == ["first"]
    with pytest.raises(NoModel):
        summary(story)


def test_of_arguments_with_one_claim_reasoning_or_body_of_evidence_the_first_is_chosen():
    story = Story.of(events())
    assert [item.id for item in story.distinct(("1A1", "2A1", "1A1"))] == ["1A1"]
    assert story.distinct(("9Z9",)) == []


def test_one_of_a_thing_is_singular_in_the_log():
    lines = [happened(event) for event in events()]
    assert not [
        line
        for line in lines
        if re.search(r"(?<![\d,.])1 (arguments|calls|pieces|agents|judges|requests|things)\b", line)
    ]
    assert any("1 argument" in line for line in lines) and any("1 judge;" in line for line in lines)
