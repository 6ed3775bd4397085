"""How beliefs moved, and the dials as instruments."""

from __future__ import annotations

import re
from dataclasses import replace

from helpers import make_case, play, script, seat, settings, turn
from maci.agents.contentiousness import tone
from maci.cases.outcomes import OutcomeSpace
from maci.controller.inputs import Acquired
from maci.story import Story
from maci.story.report.gate import instrument, scatter
from maci.story.report.parts import colours
from maci.story.report.trajectory import evolution, trajectory
from stories import story_of


def test_the_chart_has_a_thick_line_an_outcome_a_thin_one_an_agent_and_a_link_a_round():
    story = story_of("bridge")
    drawn = trajectory(story)
    assert (
        drawn.count('class="line thick') == 3 * 4 and drawn.count('class="line thin') == 9 * 4
    )  # pieces between five rounds
    assert [f'href="#round-{n}"' in drawn for n in range(5)] == [True] * 5
    said = "".join(re.findall(r">([^<]*)</text>", drawn)).replace("\N{NO-BREAK SPACE}", " ")
    assert "55 % weight limit" in said and "of 7.5 t" in said and "…" not in said  # labelled in full
    assert drawn.count('class="ring') == 1 and "Treasurer changed sides to weight limit of 7.5 t in round 1" in drawn


def test_what_was_found_out_and_dials_by_hand_are_marked():
    story = story_of("bridge")
    rounds = (*story.rounds[:2], replace(story.rounds[2], by_hand=True), *story.rounds[3:])
    told = Acquired(round=1, item="q", verdict="told", text="Yes.", source="ask")
    drawn = trajectory(replace(story, rounds=rounds, acquired=(told,)))
    assert "found out before round 2" in drawn and "dials set by hand in round 2" in drawn


def test_a_scale_shows_means_with_their_spread_and_colours_that_diverge():
    labels = ("-1", "0", "+1")
    case = make_case(OutcomeSpace(kind="ordered", labels=labels, positions=(-1, 0, 1)))
    agents = [script(name, turn(*p, labels=labels)) for name, p in {"a": (0.8, 0.1, 0.1), "b": (0.2, 0.2, 0.6)}.items()]
    story = Story.of(play(seat(agents, [], case), settings("crit.enabled=false", "max_rounds=2"), case))
    drawn = trajectory(story)
    assert "Mean position" in drawn and drawn.count('class="spread"') == len(story.closed)
    assert colours(story) == {"-1": "s0", "0": "s3", "+1": "s6"}


def scaled(labels: tuple[str, ...], *turns: tuple[tuple[float, ...], ...]) -> Story:
    case = make_case(OutcomeSpace(kind="ordered", labels=labels, positions=tuple(range(len(labels)))))
    agents = [script(name, *(turn(*p, labels=labels) for p in said)) for name, said in zip("abc", turns, strict=False)]
    return Story.of(play(seat(agents, [], case), settings("crit.enabled=false", "max_rounds=2"), case))


def test_the_steps_of_a_scale_are_written_out_and_a_change_of_sides_is_marked_on_it_too():
    labels = ("not enough evidence", "some evidence of a defect", "proven")
    turned = ((0.8, 0.1, 0.1), (0.1, 0.1, 0.8))
    drawn = trajectory(scaled(labels, turned, ((0.1, 0.1, 0.8),)))
    said = re.findall(r'class="tick[^"]*">([^<]*)</text>', drawn)
    assert "…" not in "".join(said)
    for label in labels:
        assert label in " ".join(said)
    assert "a changed sides to proven in round 1" in drawn and "○ an agent changed sides" in drawn


def test_a_long_label_is_written_out_where_there_is_room():
    label = "replace the bearings of the northern span before the winter and close it until then"
    drawn = trajectory(Story.of(play(seat([script(n, turn(0.9, 0.1, labels=(label, "wait"))) for n in "xy"]),
                                     settings("max_rounds=2"), make_case((label, "wait")))))  # fmt: skip
    ends = " ".join(re.findall(r"</title>([^<]*)</text>", drawn)).replace("\N{NO-BREAK SPACE}", " ")
    assert f"90 % {label}" in ends and "…" not in ends


def test_the_papers_signals_stand_in_one_table():
    table = evolution(story_of("outage"))
    assert all(f">{name}<" in table for name in ("W̃₁", "shared inf.", "entropy", "Q", "O", "CRIT", "D", "CL"))
    assert table.count('<th scope="row">') == 4


def test_the_gate_has_a_dot_for_each_graded_argument_at_its_values():
    story = story_of("bridge")
    drawn = scatter([story.rounds[1]], (0.2, 0.3))
    dots = dict(re.findall(r'data-id="(\w+)" data-q="[\d.]+" data-crit="([\d.]+)"', drawn))
    assert dots == {item.id: f"{item.admission.crit:.6f}" for item in story.rounds[1].said}
    assert drawn.count("dot-arg admitted") == 3 and drawn.count("dot-arg rejected") == 1
    assert 'aria-valuenow="0.20"' in drawn and 'aria-valuenow="0.30"' in drawn
    assert scatter([story.rounds[0]], (0.2, 0.3)) is None  # openings pass no gate


def test_the_instrument_shows_the_newest_round_and_the_words_agents_are_given():
    drawn = instrument(story_of("bridge"))
    assert re.findall(r'class="at-round" data-round="(\d)"( hidden)?', drawn) == [
        ("1", " hidden"),
        ("2", " hidden"),
        ("3", " hidden"),
        ("4", ""),
    ]


def test_only_language_models_are_said_to_be_told_how_contentious_to_be_in_the_words_they_get():
    story = story_of("bridge")  # scripted: CL 0.2 in round 4
    assert "told" not in instrument(story)
    models = replace(story, opened=replace(story.opened, prompts={"turn": "0123456789abcdef"}))
    assert "Language models are told:" in instrument(models) and "Be agreeable and supportive." in instrument(models)
    config = settings("agents.tone=placebo")
    placebo = replace(story, opened=replace(models.opened, config=config))
    assert "Be agreeable" not in instrument(placebo) and tone(0.2, "placebo") in instrument(placebo)


def test_rounds_without_an_instrument_are_pointed_to():
    story = story_of("bridge")
    many = tuple(replace(story.rounds[2], number=n) for n in range(1, 11))
    drawn = instrument(replace(story, rounds=(story.rounds[0], *many)))
    assert drawn.count('class="at-round"') == 8 and "For rounds 1 to 2, see the history below." in drawn
    assert "see the history" not in instrument(story)
