"""Every debate ends with a joint recommendation (D20): a model's, as far as the record supports it, or the template's."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import arg, judge, make_case, of, open_debate, play, result, script, seat, settings, turn, write
from maci.agents.argument import Sentence
from maci.agents.debater import Debater
from maci.agents.writer import Writer
from maci.controller import recommending
from maci.controller.decisions import Finished, Planned, Recommendation
from maci.controller.events import Event
from maci.controller.inputs import Intervened, Lost, Recommended, Sent, usage_of
from maci.debating.loop import debate
from maci.errors import Interrupted
from maci.llm.budget import Ledger
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request
from maci.llm.usage import Bound, Usage
from maci.record.replay import replay, replay_with
from maci.record.transcript import read
from maci.seating.table import Table, opening
from maci.story import Story
from maci.story.recommendation import TEMPLATE, JointText, recommendation
from maci.story.result import result_of
from scripted_debaters import Habit, Read, model, obliging, summing_up

CASE = make_case(context="A traveller has had fever and a rash for five days.")
SHORT = ("min_rounds=2", "max_rounds=3", "tau_q=0")


def holds(outcome: str) -> Habit:
    """Says the same whatever it hears, from a book."""
    return lambda read: read.turn(outcome, source="atlas" if outcome == "zika" else "handbook")


def table(writer: Habit | FakeModel | None = None, *, other: str = "dengue") -> Table:
    """A debater that holds to dengue and one that may not, a fixed judge, and a model that sums up."""
    voices = [Debater("x", model("x", holds("dengue"))), Debater("y", model("y", holds(other)))]
    who = None if writer is None else writer if isinstance(writer, FakeModel) else model("w", writer)
    return seat(voices, [judge()], case=CASE, writer=None if who is None else Writer("recommendation:w", who))


def debated(at: Table, *sets: str, **more: Any) -> list[Event]:
    return play(at, settings(*SHORT, *sets), CASE, **more)


def told(events: list[Event]) -> JointText:
    found = recommendation(Story.of(events))
    assert found is not None
    return found


def wrote(events: list[Event]) -> Recommendation:
    found = result(events).recommendation
    assert found is not None
    return found


GOOD = ("evidence", "High fever with pain behind the eyes speaks for it.", ("1A1",))


def test_a_model_of_the_panel_writes_it_from_the_record_and_what_is_supported_stays() -> None:
    events = debated(table(summing_up(GOOD, ("against", "Nothing else explains such a fever.", ("1A1", "2B1")))))
    text = told(events)
    assert (text.by, text.dropped, text.note) == ("w", 0, "")
    assert [(s.part, s.cites) for s in text.sentences] == [("evidence", ("1A1",)), ("against", ("1A1", "2B1"))]
    assert text.verdict.startswith("dengue: likely (80\N{NO-BREAK SPACE}%, not calibrated). All agents agree.")
    assert text.text.splitlines()[1] == "What decides it: High fever with pain behind the eyes speaks for it. [1A1]"
    assert len(of(Recommended, events)) == 1 and isinstance(events[-1], Finished)
    assert replay(events).complete


@pytest.mark.parametrize(
    ("text", "cites", "why"),
    [
        ("It is so.", (), "it cites nothing"),
        ("It is so.", ("9Z9",), "9Z9 is no admitted argument"),
        ("It is so.", ("0A1",), "0A1 is no admitted argument"),  # an opening: nobody has judged it
        ("It is so.", ("1A1", "P7"), "P7 is no admitted argument"),
        ("The fever reached 41 degrees.", ("1A1",), "the number 41 is not in what it cites"),
        ("Seven of ten such travellers have it.", ("1A1",), "the number 7 is not in what it cites"),
        ("The tests were all negative.", ("1A1",), "it has no word of what it cites"),
        ("The answer is zika.", ("1A1",), "it names zika as the answer"),
        ("Zika is the most likely diagnosis, and not dengue.", ("1A1",), "it names zika as the answer"),
    ],
)
def test_a_sentence_that_the_record_does_not_support_is_dropped_and_counted(text: str, cites: Any, why: str) -> None:
    events = debated(table(summing_up(GOOD, ("evidence", text, cites))))
    made = wrote(events)
    assert [s.text for s in made.sentences] == [GOOD[1]]
    assert [d.text for d in made.dropped] == [text] and why in made.dropped[0].why
    assert told(events).dropped == 1 and told(events).note == "1 unsupported sentence dropped"


@pytest.mark.parametrize(
    "text",
    [
        "The answer is dengue.",
        "The most likely diagnosis is not zika.",
        "Zika stays possible, since a rash fits it too.",
        "Fever and rash in 5 documents.",
    ],
)
def test_what_the_record_supports_is_kept(text: str) -> None:
    said = text.replace("5 documents", "the record")
    assert [s.text for s in wrote(debated(table(summing_up(("evidence", said, ("1A1",)))))).sentences] == [said]


@pytest.mark.parametrize(
    ("text", "part", "why"),
    [
        ("A rash was seen.", "against", "what it cites denies it"),
        ("No rash was seen.", "against", None),
        ("Fever came without a rash.", "evidence", None),
        ("Ask for the travel history.", "next", None),  # a step is worded as somebody likes
        ("Ask for the travel history.", "evidence", "it has no word of what it cites"),
    ],
)
def test_a_sentence_is_held_against_the_words_that_it_cites(text: str, part: Any, why: str | None) -> None:
    said, citable = Sentence(part=part, text=text, cites=("1A1",)), {"1A1": "Fever for 3 days without a rash."}
    assert recommending.unsupported(said, citable, {"dengue": "dengue"}, "dengue") == why


def test_an_argument_that_was_not_admitted_supports_nothing() -> None:
    def score(request: Any) -> float:
        return 0.1 if request.argument.outcome == "zika" else 0.9

    voices = [Debater("x", model("x", holds("dengue"))), Debater("y", model("y", holds("zika")))]
    writer = Writer("recommendation:w", model("w", summing_up(GOOD, ("against", "A rash fits zika.", ("1B1",)))))
    events = debated(seat(voices, [judge(score=score)], case=CASE, writer=writer))
    assert [d.why for d in wrote(events).dropped] == ["1B1 is no admitted argument and no item of the plan"]


def test_items_of_the_plan_are_cited_by_short_names_and_recorded_by_their_ids() -> None:
    events = debated(table(summing_up(("next", "Look that up.", ("P1",))), other="zika"))
    plan = of(Planned, events)[-1]
    assert plan.items and [s.cites for s in wrote(events).sentences] == [(plan.items[0].id,)]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (json.dumps({"evidence": [{"text": "It is so.", "cites": []}]}), "nothing it wrote is supported by the record"),
        (json.dumps({"evidence": [], "against": [], "next": []}), "nothing it wrote is supported by the record"),
        ("I would rather not.", "no usable answer"),
        (Interrupted("the line went dead"), "the line went dead"),
    ],
)
def test_where_nothing_remains_or_the_call_fails_the_template_stands_in_and_says_so(reply: Any, why: str) -> None:
    events = debated(table(FakeModel("w", "w", replies=lambda request: reply)))
    text = told(events)
    assert text.by == TEMPLATE and why in text.note and text.note.startswith("written from the template")
    assert text.part("evidence")[0].cites[0] in result(events).rationale
    assert replay(events).complete


def test_scripted_agents_get_the_template_and_no_call() -> None:
    agents = [script("a", *[turn(0.9, 0.1, args=[arg("The eyes hurt.", "e1", outcome="dengue")])] * 4)]
    agents.append(script("b", *[turn(0.2, 0.8, args=[arg("The joints hurt.", "e2", outcome="chikungunya")])] * 4))
    events = debated(seat(agents, case=CASE))
    text = told(events)
    assert text.by == TEMPLATE and not text.note and result(events).recommendation is None
    assert text.part("evidence")[0].text == "The eyes hurt. Because." and "did not agree" in text.verdict
    assert text.part("against")[0].text == "For chikungunya: The joints hurt." and text.part("next")


@pytest.mark.parametrize("sets", [("profile",), ("crit.enabled=false",)])
def test_the_paper_profile_and_a_debate_without_judges_have_one_too(sets: tuple[str, ...]) -> None:
    config = settings(*SHORT, profile="paper") if sets == ("profile",) else settings(*SHORT, *sets)
    at = table(summing_up(GOOD))
    at = at if sets == ("profile",) else seat(at.agents, [], case=CASE, writer=at.writer)
    assert told(play(at, config, CASE)).by == "w"


def test_a_withheld_answer_gets_what_is_missing_and_no_answer() -> None:
    said = (GOOD, ("evidence", "The answer is dengue.", ("1A1",)), ("next", "Look that up.", ("P1",)))
    events = debated(table(summing_up(*said), other="zika"), "answer.risk=0.05")
    text = told(events)
    assert result(events).abstained and text.verdict.startswith("No answer is given: ") and not text.given
    assert [d.why for d in wrote(events).dropped] == ["it names dengue as the answer, and none is given"]
    assert [title for title, _ in text.parts] == ["What is known", "What is missing"]
    asked = [m.content for m in _requests(events, summing_up(*said)) if "Result" in m.content]
    assert "No answer is given" in asked[0] and "Answer: dengue" not in asked[0]


def _requests(events: list[Event], habit: Habit) -> list[Any]:
    """The prompt of the recommendation, written again from the record."""
    writer = model("again", habit)
    at = table(writer, other="zika")
    again = play(at, settings(*SHORT, "answer.risk=0.05"), CASE)
    assert result(again).abstained == result(events).abstained
    return list(writer.history[0].messages)


def test_off_writes_nothing_and_pays_nothing() -> None:
    writer = model("w", summing_up(GOOD))
    at = table(writer)
    for value, by in (("off", None), ("template", TEMPLATE)):
        opened = opening(CASE, at, settings(*SHORT, f"answer.recommendation={value}"), seed=7)
        assert (opened.writer, opened.set_aside) == ("", Bound())
        events = asyncio.run(_all(debate(opened, at)))
        found = recommendation(Story.of(events))
        assert (found and found.by) == by and not of(Recommended, events)
    assert not writer.history


async def _all(events: Any) -> list[Event]:
    return [event async for event in events]


def test_a_what_if_replay_asks_for_none() -> None:
    events = debated(table(summing_up(GOOD)))
    state = replay_with(events, settings(*SHORT, "max_rounds=2", "min_rounds=2"))
    assert state.finished is not None and state.finished.recommendation is None


# ---- what it may cost -----------------------------------------------------------------------------------------------------------


def _priced(name: str, habit: Habit, tokens: int, bound: int) -> FakeModel:
    """A model whose calls cost ``tokens`` and may cost ``bound``."""

    def reply(request: Request) -> Reply:
        text = habit(Read("\n\n".join(message.content for message in request.messages)))
        return Reply(text=text, usage=Usage(prompt=tokens - 50, generated=50))

    return FakeModel(name, f"family-{name}", replies=reply, bound=Bound(bound))


def _budgeted(ceiling: int, *, reserve: int = 900, turn: int = 500) -> list[Event]:
    """Turns that may cost 500 and do, judged for nothing; a recommendation that may cost ``reserve`` and costs 100."""
    voices = [Debater(n, _priced(n, holds(o), turn, 500)) for n, o in (("x", "dengue"), ("y", "zika"))]
    writer = Writer("recommendation:w", _priced("w", summing_up(GOOD), 100, reserve))
    at = seat(voices, [judge()], case=CASE, writer=writer)
    return play(at, settings("min_rounds=8", "tau_q=0", f"budget.tokens={ceiling}"), CASE)


@pytest.mark.parametrize("ceiling", range(1000, 6001, 250))
def test_the_ceiling_holds_and_a_debate_that_held_a_round_can_pay_for_its_recommendation(ceiling: int) -> None:
    events = _budgeted(ceiling)
    end = result(events)
    assert end.tokens == sum(usage_of(e).tokens for e in events if not isinstance(e, Finished) and _costs(e)) <= ceiling
    if end.rounds:
        assert end.recommendation is not None and end.recommendation.sentences, end.recommendation
        assert end.rounds == (ceiling - 900) // 1000 - 1  # what is kept is not spent on rounds


def _costs(event: Event) -> bool:
    return event.type in {"turn", "recommended", "scored", "exhausted"}


def test_what_is_kept_counts_in_the_ledger_of_a_run_and_is_given_back() -> None:
    run = Ledger(tokens=10_000)
    voices = [Debater(n, _priced(n, holds("dengue"), 500, 500)) for n in ("x", "y")]
    writer = Writer("recommendation:w", _priced("w", summing_up(GOOD), 100, 900))
    at = seat(voices, [judge()], case=CASE, writer=writer)
    reserved = []

    async def go() -> None:
        async for event in debate(open_debate(at, settings(*SHORT), CASE), at, ledger=run):
            reserved.append((event.type, run.reserved.tokens))

    asyncio.run(go())
    assert min(tokens for kind, tokens in reserved if kind in {"dialled", "planned"}) == 900
    assert run.reserved == Bound() and run.spent.tokens == 6 * 500 + 100


def test_one_that_does_not_fit_is_the_templates_and_the_debate_has_its_rounds() -> None:
    events = _budgeted(2000, reserve=5000)
    assert result(events).rounds == 1 and "does not fit what is left of the budget" in told(events).note


def test_where_models_cost_more_than_they_said_the_template_ends_the_debate() -> None:
    events = _budgeted(2900, turn=1500)
    assert result(events).tokens > 2900 and result(events).rounds == 0 and told(events).by == TEMPLATE
    voices = [Debater(n, _priced(n, holds("dengue"), 1500, 500)) for n in ("x", "y")]
    writer = Writer("recommendation:w", _priced("w", summing_up(GOOD), 100, 900))
    over = ("max_rounds=1", "min_rounds=1", "tau_q=0", "crit.enabled=false", "budget.tokens=5000")
    events = play(seat(voices, [], case=CASE, writer=writer), settings(*over), CASE)
    assert result(events).rounds == 1 and result(events).tokens == 6000 and told(events).by == TEMPLATE
    assert told(events).note == "written from the template: nothing is left of the budget"


def test_when_time_is_up_nothing_more_is_sent() -> None:
    writer = model("w", summing_up(GOOD))
    end = debated(table(writer), "budget.seconds=0.000001")
    assert result(end).stop_reason == "budget" and not writer.history


def test_nothing_is_bought_for_somebody_who_stops_the_debate() -> None:
    writer = model("w", summing_up(GOOD))

    def stop(event: Event, hand: asyncio.Queue[Intervened]) -> None:
        if event.type == "measured" and event.round == 1:
            hand.put_nowait(Intervened(stop=True, by="Ada"))

    events = debated(table(writer), watch=stop)
    assert result(events).stop_reason == "stopped_by_user" and not writer.history and told(events).by == TEMPLATE


# ---- a debate that breaks off ---------------------------------------------------------------------------------------------------


def test_wherever_it_breaks_off_it_is_bought_once_and_never_twice(tmp_path: Path) -> None:
    whole = write(tmp_path / "t.jsonl", table(summing_up(GOOD)), settings(*SHORT), CASE)
    plan, sent = whole.index(of(Planned, whole)[-1]), [e for e in of(Sent, whole) if e.calls[0].kind == "recommend"]
    assert len(sent) == 1
    for cut in range(plan, len(whole)):
        writer = model("w", summing_up(GOOD))
        events = play(table(writer), settings(*SHORT), CASE, recorded=whole[: cut + 1])
        under_way = whole.index(sent[0]) <= cut < whole.index(of(Recommended, whole)[0])
        assert len(writer.history) == (1 if cut < whole.index(sent[0]) else 0), whole[cut].type
        assert bool(of(Lost, events)) == under_way
        if under_way:
            assert "lost when the debate broke off" in told(events).note
            assert (
                result(events).tokens
                == result(whole).tokens - of(Recommended, whole)[0].usage.tokens + sent[0].calls[0].tokens
            )
        else:
            assert result(events).recommendation == result(whole).recommendation
            assert result(events).tokens == result(whole).tokens
        assert replay(events).complete
    assert replay(read(tmp_path / "t.jsonl").events).complete


# ---- where people read it -------------------------------------------------------------------------------------------------------


def test_every_reader_shows_it() -> None:
    from maci.story.report.page import to_html, to_markdown

    events = debated(table(summing_up(GOOD, ("evidence", "It is so.", ()))))
    story = Story.of(events)
    page = result_of(story, Path("t.jsonl"))
    assert page.recommendation is not None and page.recommendation.by == "w" and page.recommendation.dropped == 1
    assert page.recommendation.sentences[0].cites == ["1A1"] and GOOD[1] in page.recommendation.text
    html, text = to_html(story), to_markdown(story)
    assert 'id="recommendation"' in html and GOOD[1] in html and "1 unsupported sentence dropped" in html
    assert "## Recommendation" in text and GOOD[1] in text


def test_an_obliging_writer_cannot_turn_the_answer() -> None:
    """One that argues for another outcome to the end leaves the template's sentences, and the answer as it was."""
    said = [("evidence", f"The {word} is zika.", ("1A1",)) for word in ("answer", "diagnosis")]
    events = debated(table(summing_up(*said, otherwise=obliging("zika"))))
    assert result(events).answer == "dengue" and told(events).by == TEMPLATE and told(events).dropped == 2


@pytest.mark.parametrize("spelled", ["İnfluenza", "ınfluenza", "INFLUENZA"])
def test_an_outcome_in_odd_letters_is_read_and_breaks_nothing(spelled: str) -> None:
    assert recommending._answers(f"{spelled} is the most likely diagnosis.", {"influenza": "Influenza"}) in (
        "Influenza",
        None,
    )


def test_a_question_of_the_plan_decides_nothing_and_missing_support_is_named() -> None:
    story = Story.of(debated(table(summing_up(GOOD))))
    assert story.result is not None and story.plan is not None and story.plan.items
    asking = Sentence(part="evidence", text="Ask for the travel history.", cites=(story.plan.items[0].id,))
    made = replace(wrote_in(story), sentences=(asking,))
    other = Sentence(part="next", text="Ask.", cites=asking.cites)
    for sentences in ((asking,), (asking, other)):
        end = replace(story.result, rationale=(), recommendation=replace(made, sentences=sentences))
        found = recommendation(replace(story, result=end))
        assert found is not None and asking not in found.sentences
        assert found.part("evidence")[0].text == "No admitted argument speaks for dengue."


def wrote_in(story: Story) -> Recommendation:
    assert story.result is not None and story.result.recommendation is not None
    return story.result.recommendation
