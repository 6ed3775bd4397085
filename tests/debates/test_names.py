"""Debates in free text: agents that name one outcome differently agree, and a narrower name is kept under the wider one (D14)."""

from __future__ import annotations

import asyncio
import json
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


def reply(relation: str) -> str:
    return json.dumps({"first": "one thing", "second": "another", "relation": relation})


def asked(*relations: str | BaseException, sets=(), ada=None, ben=None, rounds=2, tokens=100_000):
    """A debate on names that words cannot tell, and the model that was asked about them."""
    model = FakeModel(replies=[r if isinstance(r, BaseException) else reply(r) for r in relations])
    case = make_case(OPEN)
    one, two = ada or said("tennis elbow", "gout"), ben or said("climber's elbow", "gout")
    agents = [script("ada", *[one] * (rounds + 1)), script("ben", *[two] * (rounds + 1))]
    table = seat(agents, [judge()], case, comparer=Comparer("names:fake", model))
    config = settings(f"stop.max_rounds={rounds}", f"budget.tokens={tokens}", *sets)
    return play(table, config, case), model


def test_a_model_is_asked_once_about_names_that_words_cannot_tell() -> None:
    events, model = asked("same")
    (answer,) = of(Compared, events)
    assert (answer.round, set(answer.pair), answer.relation) == (0, {"tennis elbow", "climber's elbow"}, "same")
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
    events, _ = asked("different", rounds=3)
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
    events, _ = asked("first_is_narrower")
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
    ada = turn(0.6, 0.3, 0.1, labels=("tennis elbow", "golfer elbow", "miner elbow"))
    ben = turn(0.7, 0.3, labels=("climber elbow", "golfer elbow"))
    events, _ = asked(*["different"] * 9, ada=ada, ben=ben, sets=("beliefs.ask_names=2",), rounds=2)
    rounds = [answer.round for answer in of(Compared, events)]
    assert rounds == [0, 0, 1, 1, 2, 2][: len(rounds)] and len(rounds) >= 4
    assert set(of(Compared, events)[0].pair) == {"tennis elbow", "climber elbow"}
    off, silent = asked(sets=("beliefs.ask_names=0",))
    assert not silent.history and not of(Compared, off)


def test_two_labels_in_use_become_one_when_the_model_says_so_later() -> None:
    ada = turn(0.6, 0.4, labels=("tennis elbow", "golfer elbow"))
    ben = turn(0.6, 0.4, labels=("climber elbow", "golfer elbow"))
    events, _ = asked("different", "same", "different", ada=ada, ben=ben, sets=("beliefs.ask_names=1",), rounds=2)
    second = of(Compared, events)[1].pair
    start, after = of(Initialized, events)[0], of(Weighed, events)[0]
    assert len(after.labels) == len(start.labels) - 1
    assert set(second) <= set(start.labels) and not set(second) <= set(after.labels)
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
    apart = Story.of(_elbows(gold="climber's elbow", answer="different"))
    assert apart.gold_among(apart.result.raw) == "climber's elbow" != apart.result.answer


def test_a_truth_narrower_than_the_answer_is_right_and_not_exact() -> None:
    story = Story.of(_elbows(gold="tennis elbow", answer="second_is_narrower"))
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
