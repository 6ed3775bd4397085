"""One look: what was asked, answered, who agrees, what happened, why, against, what would change it, and what to beware of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers import make_case, play, script, seat, settings, turn
from maci.cases.case import Document
from maci.controller.inputs import Acquired
from maci.render.markup import percent
from maci.story import Story
from maci.story.outline import agreement, outline
from maci.story.recommendation import recommendation
from maci.story.report.page import to_markdown
from maci.story.report.rounds import round_box
from maci.story.report.verdict import answered
from maci.story.words import rejection_words, stopped
from stories import story_of


def test_an_agreed_debate():
    look = outline(story_of("outage"))
    assert (look.answer, look.agreement, look.tone) == ("expired certificate", "3 of 3 agree", "good")
    assert look.question == "What caused the checkout outage of 14 March?"
    assert look.course == (
        "Three agents began split 1–1–1 between bad deployment, expired certificate and gateway outage. After 3 rounds all lead with "
        "expired certificate; 7 of 9 arguments were admitted (strong enough to count), 1 more repeats an earlier one; Ana (releases) "
        "and Chi (payments) changed sides in round 2."
    )
    assert look.why[0].endswith("(Ben (platform), 2B1)")
    assert look.grave == ()


def test_a_split_is_neither_green_nor_without_its_warnings():
    look = outline(story_of("bridge"))
    assert (look.answer, look.agreement, look.tone) == ("weight limit of 7.5 t", "split 2–1", "warn")
    assert "two agents lead with weight limit of 7.5 t, Engineer with close it to lorries" in look.course
    assert look.grave[0] == "The agents did not agree."
    assert look.grave[1].startswith(
        "More admitted evidence speaks for close it to lorries than for the answer (grades add up to 2.43 against 1.79)"
    )


def test_the_agent_that_dissents_comes_before_an_outcome_that_nobody_holds():
    story = story_of("bridge")
    dissent = replace(story.result.dissent, outcome="leave it open", holders=(), arguments=("1C1",), probability=0.14)
    lines = outline(replace(story, result=replace(story.result, dissent=dissent))).against
    assert lines[0].startswith("close it to lorries (") and "overall): Engineer leads with it. " in lines[0]
    assert lines[0].endswith("(Engineer, 1A1)")
    assert (
        lines[1].startswith("leave it open (")
        and "no agent leads with it; an admitted argument for it: The mill " in lines[1]
    )


def test_a_withheld_answer_is_no_answer_and_says_why():
    look = outline(story_of("painting"))
    assert (look.answer, look.guess, look.tone) == (None, "his workshop", "warn")
    assert " ".join(look.withheld.split()) == (
        "At an accepted risk of 10 % an answer must be at least 90 % likely; the best guess is 51 %."
    )
    assert look.grave[0] == (
        "All agents lead with the same outcome, but the debate ended before it had settled: the last allowed round was played."
    )


def test_who_changed_sides_without_new_evidence_is_named():
    look = outline(story_of("recall"))
    assert (look.answer, look.agreement, look.tone) == (
        "electrolyte filling",
        "3 of 3 agree",
        "bad",
    )  # known to be wrong
    assert "Purchasing changed sides in round 1 without new evidence" in look.course
    assert look.grave[0] == "Changed sides without new evidence: Purchasing to electrolyte filling in round 1."


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
    assert answered(Story.of(play(seat(agents), settings()))).count("first answer") == 1  # said once


def test_an_answer_does_not_repeat_its_question_and_a_long_column_ends_early():
    found = outline(story_of("engine")).found
    assert (
        found[1]
        == "What is the fuel pressure when warm? Answer: Fuel pressure stays at 3.8 bar while the engine stalls."
    )
    story = story_of("outage")
    rounds = tuple(
        replace(r, said=tuple(replace(i, argument=replace(i.argument, reasons=(f"{i.id} " * 80,))) for i in r.said))
        for r in story.rounds
    )
    assert len(outline(story).why) == 3 and len(outline(replace(story, rounds=rounds)).why) == 1


def test_a_yes_and_a_no_are_facts_as_an_answer_in_words_is():
    story = story_of("bridge")
    verdicts = ("present", "absent", "told", "unknown", "off_question", "failed", "stopped")
    found = tuple(Acquired(round=1, item=verdict, verdict=verdict) for verdict in verdicts)
    look = outline(replace(story, acquired=found, asked={"present": "Is the crack monitored?"}))
    assert look.found == ("Is the crack monitored? Answer: yes.", "Absent. Answer: no.", "Told. Answer: in words.")
    many = outline(replace(story, acquired=found[:1] * 5)).found
    assert len(many) == 4 and many[-1] == "2 more answers came in."


def test_agents_without_a_leader_are_undecided_and_a_tie_stands_with_the_answer():
    even = play(seat([script("x", turn(0.5, 0.5)), script("y", turn(0.5, 0.5))]), settings("max_rounds=2"))
    look = outline(Story.of(even))
    assert "x and y are undecided" in look.course
    assert look.agreement == "0 of 2 agree, tied with chikungunya"
    half = play(seat([script("x", turn(0.5, 0.5)), script("y", turn(0.1, 0.9))]), settings("max_rounds=2"))
    assert outline(Story.of(half)).course.startswith("Two agents began apart: one with chikungunya, one undecided.")


def test_evidence_that_would_turn_the_answer_is_named_by_what_it_would_have_to_show():
    story = Story.of(play(seat([script("x", turn(0.7, 0.3)), script("y", turn(0.6, 0.4))]), settings("max_rounds=2")))
    [change] = [line for line in outline(story).changes if "ahead" in line]
    assert change.startswith(
        "Look for evidence that fits “chikungunya” better than “dengue”. The chance to find it is "
    )


def test_where_no_question_was_looked_for_it_is_said():
    story = Story.of(
        play(seat([script(n, turn(0.95, 0.05)) for n in "xy"]), settings("max_rounds=2", "plan.enabled=false"))
    )
    assert [" ".join(line.split()) for line in outline(story).changes] == [
        "No question was looked for: the runner-up, chikungunya (5 %), is 90 percentage points behind."
    ]


def test_what_would_change_it_names_an_action_or_says_that_no_question_would():
    assert (
        outline(story_of("engine")).changes[-1].startswith("No single question is expected to change it: the runner-up")
    )
    assert any(
        line.startswith("Find better evidence for “bad deployment”: 1 ") for line in outline(story_of("outage")).changes
    )


def test_a_debate_under_way_carries_the_warnings_that_its_end_would():
    story = story_of("recall")
    look = outline(replace(story, result=None))
    assert "Changed sides without new evidence: Purchasing to electrolyte filling in round 1." in look.grave
    assert "not calibrated" in answered(replace(story, result=None))
    out = replace(next(i for i in story.said.values() if i.admission and not i.admission.admitted).admission)
    rounds = tuple(replace(r, said=tuple(replace(i, admission=out) for i in r.said if r.number)) for r in story.rounds)
    nothing = outline(replace(story, result=None, rounds=rounds))
    assert nothing.grave[0] == "Nothing has been admitted so far: no argument was strong enough to count."
    assert outline(replace(story, result=None, rounds=rounds[:1])).grave == ()  # nobody has argued yet


def test_a_count_of_arguments_says_how_many_only_repeat_one():
    story = story_of("outage")
    last = story.rounds[1]
    again = tuple(replace(item, id=f"{item.id}x", repeats=item.id) for item in last.said[:1])
    rounds = (story.rounds[0], replace(last, said=(*last.said, *again)), *story.rounds[2:])
    more = replace(story, rounds=rounds)
    assert (
        "7 of 9 arguments were admitted (strong enough to count), 2 more repeat earlier ones;" in outline(more).course
    )
    assert f"of {len(last.said) + 1} arguments admitted, 1 repeats an earlier one" in round_box(more, rounds[1], None)


def test_an_answer_that_nothing_proves_does_not_look_like_one_proven_right():
    assert (outline(story_of("outage")).tone, outline(story_of("engine")).tone) == ("good", "agreed")
    assert 'class="tag agreed"' in answered(story_of("outage"))


def test_against_names_every_outcome_that_is_likely_and_the_runner_up():
    also = [line.replace("\N{NO-BREAK SPACE}", " ") for line in outline(story_of("bridge")).against]
    assert also[-1] == "Also possible: leave it open (14 %)."
    assert any("bad deployment" in line for line in outline(story_of("outage")).against)


def test_a_ceiling_that_was_too_low_is_told_with_the_default():
    story = story_of("bridge")
    budget = story.opened.config.budget.model_copy(update={"tokens": 1000})
    config = story.opened.config.model_copy(update={"budget": budget})
    result = replace(story.result, stop_reason="budget", rounds=0, detail="out of tokens")
    poor = replace(story, opened=replace(story.opened, config=config), result=result)
    assert stopped(poor).endswith("Start it again with a higher ceiling; the default is 100,000 tokens.")


def even() -> Story:
    """Three agents, three outcomes, about a third each."""
    turns = ({"dengue": 0.36, "chikungunya": 0.32, "zika": 0.32}, {"dengue": 0.32, "chikungunya": 0.35, "zika": 0.33})
    said = [*turns, {"dengue": 0.32, "chikungunya": 0.3, "zika": 0.38}]
    agents = [script(name, replace(turn(0.5, 0.5), belief=belief)) for name, belief in zip("xyz", said, strict=True)]
    return Story.of(play(seat(agents), settings("max_rounds=2")))


def test_where_nobody_leads_no_view_reads_as_a_verdict():
    story = even()
    look, result = outline(story), story.result
    assert result.given is not None and look.answer == result.given  # what programs read stays
    assert look.unclear.count("%") == 2 and look.tone == "warn"
    assert "No clear answer" in answered(story) and "No clear answer" in to_markdown(story)
    assert recommendation(story).verdict.startswith("No clear answer: ")
    assert not outline(story_of("bridge")).unclear and not outline(story_of("painting")).unclear


def test_against_names_every_dissenter_with_the_percentages_of_the_bar():
    story = even()
    result = story.result
    others = sorted((p, label) for label, p in result.distribution.items() if label != result.given)[::-1]
    for (p, label), line in zip(others, outline(story).against, strict=True):
        assert line.startswith(f"{label} ({percent(p)} overall): ") and "leads with it" in line


def test_the_runner_up_stands_against_the_answer_where_nobody_leads_with_it():
    story = Story.of(play(seat([script("x", turn(0.7, 0.3)), script("y", turn(0.6, 0.4))]), settings("max_rounds=2")))
    assert any(line.startswith("chikungunya (35") and "the runner-up" in line for line in outline(story).against)


def test_an_agent_that_changes_sides_twice_is_named_once():
    turns = [turn(0.9, 0.1), turn(0.1, 0.9), turn(0.9, 0.1), turn(0.9, 0.1)]
    look = outline(Story.of(play(seat([script("x", *turns), script("y", turn(0.9, 0.1))]), settings("max_rounds=2"))))
    assert "x changed sides in round 1" in look.course and ", again in round 2" in look.course


@pytest.mark.parametrize(
    "said", ["no round of debate was held (budget)", "the debate ended without agreement (budget)"]
)
def test_where_no_round_was_held_nobody_is_said_to_disagree(said: str):
    story = story_of("bridge")
    result = replace(
        story.result, stop_reason="budget", rounds=0, agreed=None, dissent=None, warnings=(f"caution: {said}",)
    )
    look = outline(replace(story, result=result, rounds=story.rounds[:1]))
    assert look.grave == ("No round of debate was held. The budget did not reach further.",)


@pytest.mark.parametrize("judges", [None, []])
def test_where_most_arguments_fail_for_fit_the_warning_says_what_to_do_and_it_helps(judges):
    case = make_case(evidence=(Document("The rent of the flat in the north was paid in May.", id="e4"),))

    def look(*sets: str):
        table = seat([script("x", turn(0.9, 0.1)), script("y", turn(0.8, 0.2))], judges, case)
        return Story.of(play(table, settings("max_rounds=2", "answer.recommendation=off", *alone, *sets), case))

    alone = () if judges is None else ("crit.enabled=false",)
    strict = ("tau_q=0.99", "gate.fit_tau_q=false")
    story = look(*strict)
    assert any("little to do with this case" in rejection_words(i, story.rounds[1].dials) for i in story.said.values())
    (advice,) = (said for said in outline(story).grave if "gate.q_gate" in said)
    assert "were not admitted because the cited text has little to do with this case. Log lines and figures" in advice
    assert advice.endswith(f"leaves admission to {'the check of citations' if judges == [] else 'the judges'}.")
    helped = look(*strict, "gate.q_gate=false")
    assert helped.said["1A1"].admission.admitted
    assert not any("gate.q_gate" in said for said in outline(helped).grave)
    assert not any("gate.q_gate" in said for said in outline(look()).grave)
