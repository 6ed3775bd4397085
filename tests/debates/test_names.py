"""Debates in free text: agents that name one outcome differently agree, and a narrower name is kept under the wider one (D14)."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hash_encoder import HashEncoder
from helpers import arg, judge, make_case, of, play, result, script, seat, settings, turn
from maci.agents.judges.interpreter import Comparer
from maci.cases.outcomes import OutcomeSpace
from maci.controller.decisions import Initialized, Weighed
from maci.controller.inputs import Compared, Sent
from maci.errors import ConfigError
from maci.llm.fake import FakeModel
from maci.record.replay import replay
from maci.story import Story

OPEN = OutcomeSpace(kind="open")


def said(*names: str, p: tuple[float, ...] = (0.9, 0.1)):
    return turn(*p, labels=names, args=(arg("It fits.", "e4", outcome=names[0]),))


def debate(ada, ben, *, gold=None, rounds=2):
    case = make_case(OPEN, gold=gold)
    agents = [script("ada", *[ada] * (rounds + 1)) if not isinstance(ada, list) else script("ada", *ada)]
    agents.append(script("ben", *[ben] * (rounds + 1)) if not isinstance(ben, list) else script("ben", *ben))
    return play(seat(agents, [judge()], case), settings(f"stop.max_rounds={rounds}"), case)


@pytest.mark.parametrize(
    ("one", "two", "layer"),
    [
        ("Dengue fever", "Dengue", "alias"),
        ("GERD", "Gastroesophageal reflux disease", "abbreviation"),
        ("Heart attack", "Myocardial infarction", "alias"),
        ("Lyme disease", "Lyme", "qualifier"),
    ],
)
def test_two_names_of_one_outcome_are_an_agreement(one: str, two: str, layer: str) -> None:
    events = debate(said(one, "zebra bite"), said(two, "zebra bite"), gold=two)
    (start,) = of(Initialized, events)
    assert start.d == pytest.approx(0, abs=1e-6)
    assert [(j.name, j.label, j.kind, j.layer) for j in start.joined] == [(two, one, "same", layer)]
    assert start.correct
    end = result(events)
    assert end.answer == one and end.distribution[one] == pytest.approx(0.9)
    assert not end.narrower
    assert not of(Weighed, events)[-1].joined  # said once


def test_look_alikes_stay_a_disagreement() -> None:
    events = debate(said("Hepatitis A", "x-ray burn"), said("Hepatitis B", "x-ray burn"))
    assert of(Initialized, events)[0].d > 0.5


def test_a_narrower_name_counts_for_the_wider_and_its_share_is_reported() -> None:
    ada = turn(0.6, 0.3, 0.1, labels=("viral pneumonia", "pneumonia", "flu"))
    events = debate(ada, said("Pneumonia", "flu"), gold="viral pneumonia")
    end = result(events)
    assert end.answer == "pneumonia"
    assert set(end.distribution) == {"other", "pneumonia", "flu"}
    assert end.distribution["pneumonia"] == pytest.approx(0.9)
    (share,) = end.narrower.values()
    assert share == pytest.approx(0.6 / 0.9 / 2)  # two thirds of one of two agents
    case = make_case(OPEN, gold="viral pneumonia")
    assert case.gold_among(end.raw) == "pneumonia"
    assert case.gold_is(end.answer, end.narrower) is False  # less than half of it is that narrow
    assert case.gold_is(end.answer, {"viral pneumonia": 0.7}) is True


def test_a_wider_name_that_comes_later_takes_in_the_narrower_label() -> None:
    ada = [said("viral pneumonia", "flu")] * 4
    ben = [said("viral pneumonia", "flu"), *[said("pneumonia", "flu", p=(0.8, 0.2))] * 3]
    events = debate(ada, ben, rounds=3)
    start, first = of(Initialized, events)[0], of(Weighed, events)[0]
    assert "viral pneumonia" in start.labels and "pneumonia" not in start.labels
    assert "pneumonia" in first.labels and "viral pneumonia" not in first.labels
    assert [j.name for j in first.joined] == ["viral pneumonia"]
    assert first.beliefs["ada"]["pneumonia"] == pytest.approx(0.9)
    end = result(events)
    assert end.answer == "pneumonia" and end.narrower["viral pneumonia"] == pytest.approx(0.9 / 1.7)
    assert end.harm is not None and end.harm.moves == 0  # nobody changed its mind
    assert set(end.harm.openings.values()) == {"pneumonia"}
    assert replay(events).state.finished == end


def test_a_gold_that_is_wider_than_the_answer_is_met_by_it_but_not_exactly() -> None:
    case = make_case(OPEN, gold="pneumonia")
    assert case.gold_among({"flu": 0.1, "viral pneumonia": 0.3, "bacterial pneumonia": 0.6}) == "bacterial pneumonia"
    assert case.gold_is("bacterial pneumonia") is False
    assert case.gold_is("Pneumonias") is True
    assert make_case(OPEN).gold_is("flu") is None


def test_models_are_shown_the_names_in_use_without_the_bucket() -> None:
    case = make_case(OPEN)
    agents = [script("ada", *[said("gout", "flu")] * 3), script("ben", *[said("gout", "flu")] * 3)]
    play(seat(agents, [judge()], case), settings("stop.max_rounds=2"), case)
    assert [request.question.labels for request in agents[0].history][:2] == [(), ("gout", "flu")]


# --- the question to a model ------------------------------------------------------------------------------------------------------


def reply(relation: str, listed: str = "1") -> str:
    return json.dumps({"name": "one thing", "nearest": "a second", "listed": listed, "relation": relation})


def join(one: str, two: str, relation: str = "same"):
    """A model that says that two names are one thing, whichever of them it is asked about."""

    def answer(request):
        shown = request.messages[1].content
        name = re.search(r"^Name: (.*)$", shown, re.M)[1]
        listed = re.findall(r"^(\d+)  (.*)$", shown, re.M)
        at = next((n for n, other in listed if {name, other} == {one, two}), None)
        return reply("another", "none") if at is None else reply(relation, at)

    return answer


def asked(
    *relations: str | BaseException, sets=(), ada=None, ben=None, rounds=2, tokens=100_000, replies=None, gold=None
):
    """A debate on names that words cannot tell, and the model that was asked about them."""
    scripted = [r if isinstance(r, BaseException) else reply(r) for r in relations]
    model = FakeModel(replies=scripted if replies is None else replies)
    case = make_case(OPEN, gold=gold)
    one, two = ada or said("tennis elbow", "gout"), ben or said("climber's elbow", "gout")
    agents = [script("ada", *[one] * (rounds + 1)), script("ben", *[two] * (rounds + 1))]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    config = settings(f"stop.max_rounds={rounds}", f"budget.tokens={tokens}", *sets)
    return play(table, config, case), model


def test_a_model_is_asked_once_about_names_that_words_cannot_tell() -> None:
    events, model = asked("same")
    (answer,) = of(Compared, events)
    assert (answer.round, answer.first, answer.relation) == (0, "climber's elbow", "same")
    assert (answer.second, answer.among) == ("tennis elbow", ("tennis elbow", "gout"))
    assert answer.usage.tokens > 0 and answer.raw == reply("same") and answer.prompt
    (start,) = of(Initialized, events)
    assert start.d == pytest.approx(0, abs=1e-6)
    assert [(j.label, j.kind, j.layer) for j in start.joined] == [("tennis elbow", "same", "model")]
    assert len(model.history) == 1
    assert "gold" not in model.history[0].messages[1].content
    pending = [call for sent in of(Sent, events) for call in sent.calls if call.kind == "compare"]
    assert len(pending) == 1 and pending[0].tokens >= answer.usage.tokens  # on record before it was made
    assert result(events).tokens == answer.usage.tokens
    assert any("are one outcome, says fake" in note for note in Story.of(events).rounds[0].notes)


def test_the_answer_of_a_model_is_replayed_and_never_asked_again_after_a_kill() -> None:
    events, _ = asked("another", rounds=3)
    assert replay(events).state.finished == result(events)
    at = next(i for i, event in enumerate(events) if isinstance(event, Compared)) + 1
    case, model = make_case(OPEN), FakeModel()
    agents = [script("ada", said("tennis elbow", "gout")), script("ben", said("climber's elbow", "gout"))]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    again = play(table, settings("stop.max_rounds=3"), case, recorded=events[:at])
    assert result(again) == result(events) and not model.history
    with pytest.raises(ConfigError, match="names:fake compares names"):
        play(seat(agents, [judge()], case), settings("stop.max_rounds=3"), case, recorded=events[:at])


def test_a_narrower_name_is_kept_under_the_wider_as_the_model_says() -> None:
    events, _ = asked("narrower")
    (answer,) = of(Compared, events)
    end = result(events)
    assert end.answer == answer.second and end.narrower == {answer.first: pytest.approx(0.5)}


@pytest.mark.parametrize("why", ["no", "no room"])
def test_without_an_answer_the_names_stay_apart_and_it_is_said(why: str) -> None:
    tokens = 10 if why == "no room" else 100_000
    events, model = asked("rubbish", "rubbish", tokens=tokens)
    (answer,) = of(Compared, events)
    assert answer.relation is None and answer.error
    assert bool(model.history) is (why == "no")
    end = result(events)
    assert end.stop_reason != "budget" and of(Initialized, events)[0].d > 0.5
    assert any("nobody could say whether" in warning for warning in end.warnings)


def test_questions_are_bounded_and_the_likeliest_names_come_first() -> None:
    ada = turn(0.6, 0.3, 0.1, labels=("tennis elbow", "gout", "lumbago"))
    ben = turn(0.7, 0.2, 0.1, labels=("climber's elbow", "podagra", "shingles"))
    events, _ = asked(*["another"] * 9, ada=ada, ben=ben, sets=("beliefs.ask_names=2",), rounds=2)
    answers = of(Compared, events)
    # six names, each of which its author told apart from two: after five questions no pair of two authors is left
    assert [(answer.round, answer.first) for answer in answers] == [
        (0, "climber's elbow"),
        (0, "podagra"),
        (1, "shingles"),
    ]
    assert answers[0].among == ("tennis elbow", "gout", "podagra", "lumbago", "shingles")
    assert answers[1].among == ("tennis elbow", "gout", "lumbago", "shingles")
    assert answers[2].among == ("tennis elbow", "gout", "lumbago")
    off, silent = asked(sets=("beliefs.ask_names=0",))
    assert not silent.history and not of(Compared, off)


@pytest.mark.parametrize(
    ("one", "two"), [("Hypertension", "High blood pressure"), ("Consumption", "Pulmonary tuberculosis")]
)
def test_names_without_a_shared_word_are_joined_as_a_model_says(one: str, two: str) -> None:
    ada, ben = said(one, "Migraine"), said(two, "Migraine")
    assert of(Initialized, debate(ada, ben))[0].d > 0.5  # nobody there who could tell
    events, model = asked(ada=ada, ben=ben, replies=join(one, two))
    (start,) = of(Initialized, events)
    assert start.d == pytest.approx(0, abs=1e-6)
    assert [(j.name, j.label, j.kind, j.layer) for j in start.joined] == [(two, one, "same", "model")]
    assert (result(events).answer, len(model.history)) == (one, 1)
    assert replay(events).state.finished == result(events)


def test_names_that_a_model_calls_another_stay_two_and_are_not_asked_about_again() -> None:
    ada, ben = said("Hypertension", "Migraine"), said("Anxiety", "Migraine")
    events, model = asked(ada=ada, ben=ben, replies=lambda request: reply("another", "none"))
    (answer,) = of(Compared, events)
    assert (answer.first, answer.second, answer.relation) == ("Anxiety", "", "other")
    assert of(Initialized, events)[0].d > 0.5 and len(model.history) == 1
    (note,) = (note for note in Story.of(events).rounds[0].notes if "says fake" in note)
    assert note == "“Anxiety” is another outcome than “Hypertension” or “Migraine”, says fake"


def test_a_question_that_does_not_fit_the_budget_is_not_asked_and_the_names_stay_apart() -> None:
    ada, ben = said("Hypertension", "Migraine"), said("High blood pressure", "Migraine")
    events, model = asked(ada=ada, ben=ben, tokens=10, replies=join("Hypertension", "High blood pressure"))
    (answer,) = of(Compared, events)
    assert (answer.relation, answer.error) == (None, "asking does not fit what is left of the budget")
    assert not model.history and of(Initialized, events)[0].d > 0.5
    (warning,) = (w for w in result(events).warnings if "nobody could say" in w)
    assert "whether High blood pressure is the same outcome as Hypertension or Migraine" in warning


def test_a_new_name_of_a_later_round_is_put_against_all_names_in_use_at_once() -> None:
    ada = turn(0.6, 0.3, 0.1, labels=("Hypertension", "Migraine", "Gout"))
    ben = turn(0.9, 0.1, labels=("High blood pressure", "Migraine"))
    model = FakeModel(replies=join("Hypertension", "High blood pressure"))
    case = make_case(OPEN)
    agents = [script("ada", *[ada] * 3), script("ben", ada, *[ben] * 2)]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    events = play(table, settings("stop.max_rounds=2", "stop.consensus=false"), case)
    (answer,) = of(Compared, events)  # none after the openings, whose authors told all three apart
    assert (answer.round, answer.first) == (1, "High blood pressure")
    assert answer.among == ("Hypertension", "Migraine", "Gout")
    assert of(Weighed, events)[0].labels == ("other", "Hypertension", "Migraine", "Gout")


def test_look_alikes_are_no_part_of_a_question_and_no_answer_joins_them() -> None:
    ada = turn(0.6, 0.4, labels=("Hepatitis A", "Flu"))
    ben = turn(0.6, 0.4, labels=("Hepatitis B", "Flu"))
    events, model = asked(ada=ada, ben=ben, replies=join("Hepatitis A", "Hepatitis B"))
    assert not model.history and not of(Compared, events)  # words keep them apart, and each told its own from the flu
    ben = turn(0.6, 0.4, labels=("Hepatitis B", "Gallstones"))
    events, model = asked(ada=ada, ben=ben, replies=join("Hepatitis A", "Hepatitis B"))
    pairs = {frozenset(pair) for answer in of(Compared, events) for pair in answer.answers}
    assert pairs and frozenset({"Hepatitis A", "Hepatitis B"}) not in pairs
    assert {"Hepatitis A", "Hepatitis B"} <= set(of(Weighed, events)[-1].labels)


def test_a_look_alike_of_a_name_that_was_joined_with_a_label_is_kept_apart_from_that_label() -> None:
    ada, ben = said("serum jaundice", "flu"), said("hepatitis B", "flu")
    eve = said("hepatitis A", "flu")
    case, model = make_case(OPEN), FakeModel(replies=join("serum jaundice", "hepatitis B"))
    agents = [script(name, *[own] * 3) for name, own in (("ada", ada), ("ben", ben), ("eve", eve))]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    answers = of(Compared, play(table, settings("stop.max_rounds=2"), case))
    joined = next(at for at, answer in enumerate(answers) if answer.relation == "same")
    later = [{answer.first, *answer.among} for answer in answers[joined + 1 :]]
    assert not any({"serum jaundice", "hepatitis A"} <= names for names in later)


def test_a_wider_name_is_asked_about_again_since_it_may_hold_more() -> None:
    ada = turn(0.5, 0.5, labels=("melanoma", "basalioma"))
    ben = turn(0.9, 0.1, labels=("skin cancer", "flu"))

    def answer(request):
        shown = request.messages[1].content
        assert "Name: skin cancer" in shown
        return reply("wider")

    events, model = asked(ada=ada, ben=ben, replies=answer, sets=("beliefs.ask_names=2",))
    assert len(model.history) == 2
    (start,) = of(Initialized, events)
    assert "melanoma" not in start.labels and "basalioma" not in start.labels


def test_with_a_similarity_to_ask_from_it_is_asked_pair_by_pair_as_in_earlier_records() -> None:
    ada = turn(0.6, 0.4, labels=("tennis elbow", "golfer elbow"))
    ben = turn(0.6, 0.4, labels=("climber elbow", "golfer elbow"))
    sets = ("beliefs.ask_names=1", "beliefs.ask_from=0.5")
    events, _ = asked("another", "same", "another", ada=ada, ben=ben, sets=sets)
    assert [(a.round, a.among, a.relation) for a in of(Compared, events)] == [
        (0, ("golfer elbow",), "other"),
        (1, ("golfer elbow",), "same"),
    ]
    assert replay(events).state.finished == result(events)


def test_two_labels_in_use_become_one_when_the_model_says_so_later() -> None:
    ada = turn(0.6, 0.4, labels=("tennis elbow", "gout"))
    ben = turn(0.6, 0.4, labels=("climber elbow", "podagra"))
    events, _ = asked(ada=ada, ben=ben, replies=join("gout", "podagra"), sets=("beliefs.ask_names=1",), rounds=2)
    assert [(a.round, a.relation) for a in of(Compared, events)] == [(0, "other"), (1, "same")]
    start, after = of(Initialized, events)[0], of(Weighed, events)[0]
    assert set(start.labels) - set(after.labels) == {"podagra"}
    assert sum(after.mixture.values()) == pytest.approx(1)
    assert replay(events).state.finished == result(events)


def test_a_baseline_joins_names_and_asks_as_a_debate_does() -> None:
    from maci.lab.methods.method import Hearing

    model = FakeModel(replies=[reply("same")])
    case = make_case(OPEN)
    agents = [script("ada", said("tennis elbow", "gout")), script("ben", said("climber's elbow", "Gout disease"))]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    bench = SimpleNamespace(config=settings(), ledger=None, panel=SimpleNamespace(table=lambda case, seed: table))
    session = Hearing(case, bench, 0)  # type: ignore[arg-type]
    voices = asyncio.run(session.openings())
    assert session.pool(voices.values()) == pytest.approx({"other": 0.0, "tennis elbow": 0.9, "gout": 0.1})
    assert session.votes(voices.values())["tennis elbow"] == 1
    assert len(model.history) == 1 and session.usage.tokens > 0


# ---- the truth, by the same layers ----------------------------------------------------------------------------------------------


def _elbows(*, gold: str | None, answer: str = "same") -> list:
    """Ada and Ben each have a name of their own, about which a model is asked."""
    case = make_case(OPEN, gold=gold)
    agents = [script("ada", *[said("tennis elbow", "gout")] * 3), script("ben", *[said("climber's elbow", "gout")] * 3)]
    model = FakeModel(replies=lambda request: reply(answer))
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    events = play(table, settings("stop.max_rounds=2"), case)
    assert all("gold" not in m.content for request in model.history for m in request.messages)
    return events


def test_a_truth_that_a_model_joined_with_the_answer_is_found_by_what_it_said() -> None:
    events = _elbows(gold="climber's elbow")
    story = Story.of(events)
    assert result(events).answer == "tennis elbow"  # words alone do not join the two
    assert story.opened.case.gold_among(result(events).raw) == "climber's elbow"
    assert story.gold_among(result(events).raw) == "tennis elbow" and story.exact is True
    assert all(event.correct for event in events if event.type in {"initialized", "measured"})
    apart = Story.of(_elbows(gold="climber's elbow", answer="another"))
    assert apart.gold_among(apart.result.raw) == "climber's elbow" != apart.result.answer


def test_a_truth_without_a_word_of_the_answer_is_found_by_what_a_model_said_and_is_in_no_prompt() -> None:
    ada, ben = said("Hypertension", "Migraine"), said("High blood pressure", "Migraine")
    answer = join("Hypertension", "High blood pressure")
    events, model = asked(ada=ada, ben=ben, replies=answer, gold="high-blood pressure")
    story = Story.of(events)
    assert story.opened.case.gold_among(result(events).raw) == "high-blood pressure"  # by words alone it is another
    assert (result(events).answer, story.gold_among(result(events).raw)) == ("Hypertension", "Hypertension")
    assert story.exact is True and len(model.history) == 1
    assert not any("high-blood" in m.content for request in model.history for m in request.messages)
    # nobody is asked about the truth itself: in words that no agent used, it stays another outcome
    events, model = asked(ada=ada, ben=ada, replies=answer, gold="high-blood pressure")
    assert not model.history
    assert Story.of(events).gold_among(result(events).raw) == "high-blood pressure"


def test_a_truth_wider_than_a_name_that_was_joined_with_the_answer_is_met_by_it() -> None:
    ada, ben = said("myalgic strain", "flu"), said("viral pneumonia", "flu")
    events, _ = asked(ada=ada, ben=ben, replies=join("myalgic strain", "viral pneumonia"), gold="pneumonia")
    story = Story.of(events)
    assert (result(events).answer, story.gold_among(result(events).raw)) == ("myalgic strain", "myalgic strain")
    assert story.exact is False


def test_a_truth_narrower_than_the_answer_is_right_and_not_exact() -> None:
    story = Story.of(_elbows(gold="tennis elbow", answer="wider"))
    assert story.result.answer == "climber's elbow" == story.gold_among(story.result.raw)
    assert story.result.narrower == {"tennis elbow": 0.5} and story.exact is False


def test_the_truth_is_embedded_with_the_names_and_compared_by_embedding() -> None:
    class Near(HashEncoder):
        """Two spellings that share no word lie together."""

        def encode(self, texts):
            return super().encode([text.replace("podagra", "gout") for text in texts])

    case = make_case(OPEN, gold="podagra")
    agents = [script("ada", *[said("gout", "zika")] * 3), script("ben", *[said("gout", "zika")] * 3)]
    events = play(seat(agents, [judge()], case, encoder=Near()), settings("stop.max_rounds=2"), case)
    story = Story.of(events)
    assert story.opened.case.gold_among(result(events).raw) == "podagra"
    assert story.gold_among(result(events).raw) == "gout" and replay(events).complete
    assert all(event.correct for event in events if event.type in {"initialized", "measured"})


def test_a_studys_row_looks_for_the_truth_as_the_method_compared_names() -> None:
    from maci.cases.labels import Comparing, Join
    from maci.lab.datasets.dataset import TaskItem
    from maci.lab.methods.method import MethodAnswer
    from maci.lab.study.study import RowKey
    from maci.lab.study.worker import row_of

    item = TaskItem(case=make_case(OPEN, gold="climber's elbow", id="one"))
    joined = Comparing(joins={"climber's elbow": Join("tennis elbow", "same", "model")})
    answer = MethodAnswer(belief={"tennis elbow": 0.9, "gout": 0.1}, reason="", naming=joined)
    row = row_of(RowKey("data", 0, "test", "one", "single"), item, answer, 0.1)
    assert (row.gold, row.exact) == ("tennis elbow", True)
    plain = row_of(RowKey("data", 0, "test", "one", "single"), item, replace(answer, naming=Comparing()), 0.1)
    assert (plain.gold, plain.exact) == ("climber's elbow", False)
