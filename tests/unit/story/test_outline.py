"""One look: what was asked, answered, who agrees, what happened, why, against, what would change it, and what to beware of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import play, script, seat, settings, turn
from maci.controller.inputs import Acquired
from maci.story import Story
from maci.story.outline import agreement, outline
from maci.story.words import rejection_words
from stories import story_of


def test_an_agreed_debate():
    look = outline(story_of("outage"))
    assert (look.answer, look.agreement, look.tone) == ("expired certificate", "3 of 3 agree", "good")
    assert look.question == "What caused the checkout outage of 14 March?"
    assert look.course == (
        "Three agents began split 1–1–1 between bad deployment, expired certificate and gateway outage. After 3 rounds all lead with "
        "expired certificate; 7 of 9 arguments were admitted; changed sides: Ana (releases) and Chi (payments) in round 2."
    )
    assert look.why[0].endswith("(Ben (platform), 2B1)")
    assert look.grave == ()


def test_a_split_is_neither_green_nor_without_its_warnings():
    look = outline(story_of("bridge"))
    assert (look.answer, look.agreement, look.tone) == ("weight limit of 7.5 t", "split 2–1", "warn")
    assert "two agents lead with weight limit of 7.5 t, Engineer with close it to lorries" in look.course
    assert look.grave[0] == "The agents did not agree."
    assert look.grave[1].startswith("More admitted evidence speaks for close it to lorries than for the answer (S ")


def test_the_agent_that_dissents_comes_before_an_outcome_that_nobody_holds():
    story = story_of("bridge")
    dissent = replace(story.result.dissent, outcome="leave it open", holders=(), arguments=("1C1",), probability=0.14)
    lines = outline(replace(story, result=replace(story.result, dissent=dissent))).against
    assert lines[0].startswith("Engineer holds close it to lorries (66")
    assert lines[1].endswith("(Engineer, 1A1)")
    assert lines[2].startswith("No agent leads with leave it open")


def test_a_withheld_answer_is_no_answer_and_says_why():
    look = outline(story_of("painting"))
    assert (look.answer, look.guess, look.tone) == (None, "his workshop", "warn")
    assert " ".join(look.withheld.split()) == "his workshop is 51 % likely, and a risk of 10 % asks for at least 90 %."
    assert look.grave[0].startswith("All agents lead with the same outcome, but the debate ended before it had settled")


def test_who_changed_sides_without_new_evidence_is_named():
    look = outline(story_of("recall"))
    assert "changed sides: Purchasing in round 1 without new evidence" in look.course
    assert look.grave[0].startswith("Went over to the majority without new admitted evidence: Purchasing")


def test_grave_warnings_come_gravest_first_and_the_rest_are_notes():
    story = story_of("outage")
    said = (
        "p is raw",
        "harm: one went over",
        "round 1: y abstained: no key",
        "caution: evidence is missing",
        "undecided: a, b are equal",
    )
    look = outline(replace(story, result=replace(story.result, warnings=said)), "line 9 differs")
    assert look.grave == (
        "This record contradicts itself: line 9 differs.",
        "Evidence is missing.",
        "Undecided: a, b are equal.",
        "One went over.",
    )
    assert look.notes == ("p is raw", "round 1: y abstained: no key")


def test_agents_that_lead_with_nothing_do_not_agree():
    assert agreement({"x": {"a": 0.5, "b": 0.5}, "y": {"a": 1.0}}, "a") == "split 1–1"
    assert agreement({"x": {"a": 1.0}}, "a") == "one agent alone"
    assert agreement({"x": {"b": 1.0}, "y": {"b": 1.0}}, "a") == "0 of 2 agree"


def test_why_an_argument_was_not_admitted_is_said_in_plain_words():
    story = story_of("outage")
    said = {id: rejection_words(item, story.rounds[item.round].dials) for id, item in story.said.items()}
    assert said["1A1"] == "Not admitted: the judges graded it too low (0.24, needs 0.30)."
    assert said["1C2"] == "Not admitted: the cited text has little to do with this case (fit 0.40, needs 0.42)."
    assert said["1B1"] == "" and said["0A1"] == ""


@pytest.mark.parametrize("upto", range(1, 12, 2))
def test_an_unfinished_debate_has_an_outline_too(upto):
    happened = play(seat([script("x", turn(0.9, 0.1)), script("y", turn(0.1, 0.9))]), settings("max_rounds=2"))
    look = outline(Story.of(happened[:upto]))
    assert look.tone == "soft" and look.why == () and look.withheld == ""


def test_a_debate_that_came_to_nothing_has_no_answer():
    agents = [script(name, RuntimeError("no key")) for name in "xy"]
    look = outline(Story.of(play(seat(agents), settings())))
    assert (look.answer, look.guess, look.tone, look.agreement) == (None, None, "bad", "")


def test_a_yes_and_a_no_are_facts_as_an_answer_in_words_is():
    story = story_of("bridge")
    verdicts = ("present", "absent", "told", "unknown", "off_question", "failed", "stopped")
    found = tuple(Acquired(round=1, item=verdict, verdict=verdict) for verdict in verdicts)
    assert "3 facts were found out on the way." in outline(replace(story, acquired=found)).course
    assert "1 fact was found out on the way." in outline(replace(story, acquired=found[:1])).course


def test_agents_without_a_leader_are_undecided_and_a_tie_stands_with_the_answer():
    even = play(seat([script("x", turn(0.5, 0.5)), script("y", turn(0.5, 0.5))]), settings("max_rounds=2"))
    look = outline(Story.of(even))
    assert "x and y are undecided" in look.course
    assert look.agreement == "0 of 2 agree, tied with chikungunya"
    half = play(seat([script("x", turn(0.5, 0.5)), script("y", turn(0.1, 0.9))]), settings("max_rounds=2"))
    assert outline(Story.of(half)).course.startswith("Two agents began with 1 for chikungunya and 1 undecided.")


def test_what_would_change_the_answer_is_a_question_and_an_answer_without_quotes_around_both():
    story = Story.of(play(seat([script("x", turn(0.7, 0.3)), script("y", turn(0.6, 0.4))]), settings("max_rounds=2")))
    [change] = [line for line in outline(story).changes if "leads." in line]
    assert change.startswith("What tells dengue from chikungunya in a case like this? If “fits chikungunya better” (")
    assert change.endswith("% likely), chikungunya leads.")
