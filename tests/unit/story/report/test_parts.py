"""Pieces of pages: the bar of all outcomes, and the thread."""

from __future__ import annotations

from helpers import arg, make_case, play, script, seat, settings, turn
from maci.acquisition.plan import Shift
from maci.cases.case import Document
from maci.evidence.span import document_spans
from maci.render.strips import whole
from maci.story import Story
from maci.story.report.parts import colours, prose
from maci.story.report.sources import _shift, evidence
from maci.story.report.thread import argument, lanes, tools
from page_helpers import Reader
from stories import story_of


def text_of(markup: str) -> str:
    page = Reader()
    page.feed(markup)
    return page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_outcomes_without_a_colour_are_one_grey_part():
    rows = [("a", 0.7, False), ("b", 0.2, False), ("c", 0.06, False), ("d", 0.04, False)]
    drawn = whole(rows, {"a": "c0", "b": "c1"}, "Probability")
    assert text_of(drawn).endswith("a 70 % b 20 % all others 10 %")
    assert drawn.count('class="part rest"') == 1


def test_a_scale_marks_what_leads():
    assert "+1 70 % leads" in text_of(whole([("-1", 0.3, False), ("+1", 0.7, True)], {"-1": "c0", "+1": "c1"}, "p"))


def test_a_card_has_its_fate_its_replies_and_the_cited_words_marked():
    story = story_of("outage")
    card = argument(story.said["2A1"], story)
    assert 'class="argument admitted"' in card and 'data-answers="1B1"' in card and 'href="#a-1B1"' in card
    assert "<mark>rolled back at 09:20, and payments went on failing</mark>" in card
    assert "<summary>deploy-841</summary>" in card  # the id that its author gave it
    rejected = argument(story.said["1A1"], story)
    assert 'class="argument rejected"' in rejected and "graded it too low (0.24, needs 0.30)" in rejected
    again = argument(story.said["3B1"], story)
    assert "says again what it said in" in again and 'class="argument admitted again"' in again


def test_evidence_has_one_name_in_cards_sentences_and_the_list() -> None:
    texts = (
        Document("High fever and a rash.", source="Ward book"),
        Document("Pain behind the eyes.", source="Ward book"),
        Document("Low platelets.", source="Laboratory", id="lab-7"),
        Document("No cough."),
    )
    case = make_case(evidence=texts)
    spans = [span.id for span in document_spans(case)]
    said = turn(0.9, 0.1, args=[arg("It fits.", *spans)])
    story = Story.of(play(seat([script(n, said) for n in "xy"], None, case), settings("max_rounds=2"), case))
    card, listed = text_of(argument(story.said["0A1"], story)), text_of(evidence(story))
    sentence = text_of(prose(story)(f"Nothing deals with {', '.join(spans)}."))
    known = ("Ward book 1", "Ward book 2", "lab-7", "evidence 4")
    assert sentence.replace(" ,", ",").replace(" .", ".") == f"Nothing deals with {', '.join(known)}."
    for name in known:
        assert name in card and name in listed
    assert spans[0] not in card + listed


def test_a_round_has_a_lane_for_each_agent_in_seat_order():
    story = story_of("bridge")
    drawn = lanes(story, story.rounds[1])
    places = [drawn.index(f'aria-label="{agent}"') for agent in story.agents]
    assert places == sorted(places) and drawn.count('class="lane"') == 3
    assert all(f'class="badge a{i}"' in drawn for i in range(3))


def test_the_filters_offer_every_outcome_and_agent():
    story = story_of("bridge")
    drawn = tools(story)
    for label in (*story.opened.case.outcomes.labels, *story.agents):
        assert f'<option value="{label}">' in drawn
    assert set(colours(story)) <= set(story.opened.case.outcomes.labels)


def test_an_outcome_written_from_right_to_left_does_not_turn_the_numbers_round() -> None:
    shift = Shift(answer="yes", probability=0.4, leader="حمى الضنك", before=0.26, after=0.51, changes=True)
    assert "<bdi>حمى الضنك</bdi> takes the lead (26\u00a0% → 51\u00a0%)" in _shift(shift)


def test_debates_side_by_side_have_a_colour_for_what_each_came_to() -> None:
    def held(labels: str, *course: tuple[float, ...]) -> Story:
        turns = [turn(*p, labels=tuple(labels)) for p in course]
        agents = [script(name, *turns) for name in "xy"]
        return Story.of(play(seat(agents), settings("max_rounds=2"), make_case(tuple(labels))))

    even = (0.2, 0.2, 0.2, 0.2, 0.1, 0.1)
    one, other = held("abcdef", even, even), held("uvwz", (0.4, 0.3, 0.2, 0.1), (0.05, 0.05, 0.1, 0.8))
    assert other.result is not None and other.result.answer == "z" and "z" in colours(one, other)
