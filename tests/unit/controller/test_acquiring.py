"""The closed loop: a debate pauses, something is found out, it goes on where it stood."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from helpers import arg, make_case, open_debate, play, seat, settings, turn
from maci.acquisition.answers import AnswerSource, SourceReply
from maci.acquisition.gain import Stakes
from maci.acquisition.plan import Proposal, Residual, Survey
from maci.acquisition.sources import Called, Person
from maci.agents.agent import FunctionAgent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Inquiry
from maci.agents.judges.interpreter import Interpreter
from maci.cases.outcomes import OutcomeSpace
from maci.controller.acquiring import plan_for
from maci.controller.caution import Watched
from maci.controller.decisions import Finished, Gained, Planned, Weighed
from maci.controller.dials import Measured
from maci.controller.inputs import Acquired, Intervened, Lost, Requested, Sent, Surveyed, TurnTaken
from maci.debating.loop import debate
from maci.errors import ConfigError
from maci.evidence.span import Span
from maci.llm.fake import FakeModel
from maci.llm.usage import Usage
from maci.record.replay import replay, replay_with
from maci.story import Story


class Menu:
    """Proposes what is on a list and was not asked."""

    def __init__(self, *subjects: str, kind: str = "question") -> None:
        self.subjects, self.kind, self.seen = subjects, kind, list[Residual]()

    def survey(self, residual: Residual) -> Survey:
        self.seen.append(residual)
        left = [subject for subject in self.subjects if subject not in residual.asked]
        return Survey(candidates=tuple(_ask(s, i, self.kind) for i, s in enumerate(left)), considered=len(left))


def _ask(subject: str, n: int, kind: str) -> Proposal:
    share = 0.9 - 0.05 * n
    return Proposal(
        id=f"q-{subject}", kind=kind, text=f"Any {subject}?", subject=subject,  # type: ignore[arg-type]
        table={"dengue": (share, 1 - share)}, otherwise=(0.1, 0.9), query=subject,
    )  # fmt: skip


def agent(name: str) -> FunctionAgent:
    """Unsure, until something is found out."""

    def reply(request: TurnRequest) -> Any:
        known = len(request.question.findings)
        p = min(0.9, 0.5 + 0.2 * known)
        return turn(p, 0.9 - p, 0.1, args=[arg("It fits.", "e4", outcome="dengue")])

    return FunctionAgent(name, reply, family=f"family-{name}")


def table(answer: Any, *subjects: str, **more: Any) -> Any:
    source = Called(answer, "test") if callable(answer) else answer
    own = {
        "proposer": Menu(*(subjects or ("rash", "cough", "chills")), kind=more.pop("kind", "question")),
        "source": source,
    }
    return replace(seat([agent("a"), agent("b")]), **own, **more)


def of(events: list, kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


def test_without_acquisitions_a_debate_ends_with_a_plan():
    events = play(table(lambda item: True))
    assert [type(e).__name__ for e in events[-3:]] == ["Surveyed", "Planned", "Finished"]
    (planned,) = of(events, Planned)
    assert planned.stop == events[-1].stop_reason
    assert planned.acquire == ()
    assert planned.items[0].text == "Any rash?"
    assert replay(events).complete


def test_what_is_found_out_reaches_the_agents_and_its_gain_is_measured():
    set_ = table(lambda item: item.subject == "rash")
    events = play(set_, settings("plan.acquire=2"))
    answers = of(events, Acquired)
    assert [(a.item, a.verdict) for a in answers] == [("q-rash", "present"), ("q-cough", "absent")]
    last = set_.agents[0].history[-1]
    assert [f.subject for f in last.question.findings] == ["rash", "cough"]
    assert "rash" in last.question.told
    assert "cough" not in last.question.told
    assert [span.text for span in last.evidence if span.source == "acquired"] == [
        "Any rash? present.",
        "Any cough? absent.",
    ]
    pauses, gains = of(events, Planned), of(events, Gained)
    assert len(gains) == 2
    assert gains[0].predicted == pauses[0].items[0].added_gain
    after = next(e for e in of(events, Measured) if e.round == gains[0].round)
    assert gains[0].realised == pytest.approx(pauses[0].entropy - after.entropy)
    assert gains[0].realised > 0
    assert of(events, Finished)[0].rounds == max(e.round for e in of(events, Measured))
    assert replay(events).complete


def test_rounds_go_on_counting_and_each_stretch_has_its_own_limit():
    events = play(table(lambda item: True), settings("plan.acquire=1", "max_rounds=2", "consensus=false"))
    assert [e.stop for e in of(events, Planned)] == ["max_rounds", "max_rounds"]
    assert [e.round for e in of(events, Measured)] == [1, 2, 3, 4]


def test_the_record_of_a_debate_that_broke_off_at_a_pause_is_taken_up_again():
    whole = play(table(lambda item: True), settings("plan.acquire=2"))
    for kind in (Surveyed, Planned, Acquired):
        cut = whole.index(of(whole, kind)[0]) + 1
        again = play(table(lambda item: True), settings("plan.acquire=2"), recorded=whole[:cut])
        assert again[-1] == whole[-1]


def test_a_source_that_fails_is_on_record_and_given_up_after_three_times():
    def broken(item: Any) -> None:
        raise OSError("no line")

    events = play(table(broken, "rash", "cough", "chills", "pain"), settings("plan.acquire=3"))
    answers = of(events, Acquired)
    assert [a.verdict for a in answers] == ["failed"] * 3
    assert "no line" in answers[0].remarks[0]
    assert of(events, Gained) == []
    (said,) = [w for w in events[-1].warnings if "no line" in w]  # once, with how often
    assert said == "test on “rash”, “cough” and “chills”: failed: OSError: no line (3 times)"
    assert replay(events).complete


def test_unknown_leads_to_the_next_question_without_another_round():
    events = play(table(lambda item: None if item.subject == "rash" else True), settings("plan.acquire=1"))
    assert [a.verdict for a in of(events, Acquired)] == ["unknown", "present"]
    assert len({a.round for a in of(events, Acquired)}) == 1
    assert [g.items for g in of(events, Gained)] == [("q-cough",)]


def test_a_source_that_never_knows_is_asked_three_times_as_often_as_wanted():
    subjects = [f"sign {n}" for n in range(9)]
    events = play(table(lambda item: None, *subjects), settings("plan.acquire=2"))
    assert len(of(events, Acquired)) == 6


def test_a_person_may_stop_the_questions():
    events = play(table(lambda item: SourceReply(verdict="stopped")), settings("plan.acquire=5"))
    assert len(of(events, Acquired)) == 1
    assert events[-1].stop_reason == of(events, Planned)[0].stop


def test_a_debate_stopped_by_a_person_asks_nothing_more_but_has_a_plan():
    def watch(event: Any, queue: asyncio.Queue[Intervened]) -> None:
        if isinstance(event, TurnTaken) and event.round == 1:
            queue.put_nowait(Intervened(stop=True, by="me"))

    events = play(table(lambda item: True), settings("plan.acquire=3"), watch=watch)
    assert events[-1].stop_reason == "stopped_by_user"
    assert of(events, Acquired) == []
    assert len(of(events, Planned)) == 1
    assert replay(events).complete


def test_nothing_is_asked_that_is_not_worth_its_cost():
    events = play(table(lambda item: True), settings("plan.acquire=3", "plan.worth=0.9"))
    assert of(events, Acquired) == []
    assert of(events, Planned)[0].items


def test_several_at_once_are_one_pause():
    events = play(table(lambda item: True), settings("plan.acquire=2", "plan.batch=2"))
    (gained,) = of(events, Gained)
    assert gained.items == ("q-rash", "q-cough")
    first = of(events, Planned)[0]
    assert gained.predicted == pytest.approx(sum(item.added_gain for item in first.items[:2]))


def test_only_what_the_source_can_answer_is_asked():
    set_ = table(lambda item: True)
    set_.source.kinds = ("test",)
    opened = play(set_, settings("plan.acquire=2"))
    assert of(opened, Acquired)  # helpers open without the source's kinds: all

    async def go() -> list:
        first = open_debate(set_, settings("plan.acquire=2"), answers=("test",))
        return [event async for event in debate(first, set_)]

    assert of(asyncio.run(go()), Acquired) == []


def test_the_time_a_person_takes_to_answer_is_not_the_budgets(monkeypatch: pytest.MonkeyPatch):
    """The clock says 0 until a question is asked; then the answer takes an hour, and the budget is a minute."""
    clock = [0.0]
    monkeypatch.setattr("maci.debating.calls.monotonic", lambda: clock[0])

    async def ask(item: Any) -> str:
        clock[0] += 3600
        return "yes"

    slow = table(Person(ask))
    events = play(slow, settings("plan.acquire=2", "budget.seconds=60"))
    assert [a.verdict for a in of(events, Acquired)] == ["present", "present"]
    assert events[-1].stop_reason != "budget"

    async def machine(item: Any) -> bool:
        clock[0] += 3600
        return True

    events = play(table(machine), settings("plan.acquire=2", "budget.seconds=60"))
    assert (events[-1].stop_reason, events[-1].detail) == ("budget", "out of seconds: 60 s are over")


def test_a_hand_on_the_dials_while_a_person_thinks_does_not_start_the_clock(monkeypatch: pytest.MonkeyPatch):
    clock, queues = [0.0], list[asyncio.Queue[Intervened]]()
    monkeypatch.setattr("maci.debating.calls.monotonic", lambda: clock[0])

    async def ask(item: Any) -> str:
        clock[0] += 3600
        queues[0].put_nowait(Intervened(cl=0.5, by="me"))
        for _ in range(50):
            await asyncio.sleep(0)
        return "yes"

    def watch(event: Any, queue: asyncio.Queue[Intervened]) -> None:
        queues.append(queue)

    events = play(table(Person(ask)), settings("plan.acquire=1", "budget.seconds=60"), watch=watch)
    kinds = [type(e).__name__ for e in events]
    assert kinds.index("Intervened") < kinds.index("Acquired")
    assert events[-1].stop_reason != "budget"


def test_machines_that_take_too_long_after_a_person_has_answered_are_still_late(monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    monkeypatch.setattr("maci.debating.calls.monotonic", lambda: clock[0])

    async def ask(item: Any) -> str:
        clock[0] += 3600
        return "yes"

    def slow(request: TurnRequest) -> Any:
        clock[0] += 61 if request.question.findings else 0
        return turn(0.5, 0.4, 0.1, args=[arg("It fits.", "e4", outcome="dengue")])

    agents = [FunctionAgent(name, slow, family=f"family-{name}") for name in "ab"]
    events = play(replace(table(Person(ask)), agents=agents), settings("plan.acquire=1", "budget.seconds=60"))
    assert len(of(events, Acquired)) == 1
    assert events[-1].stop_reason == "budget"


def test_passages_must_fit_the_case_unless_the_gate_is_off():
    fits = Span.of("Which diagnosis fits fever and rash in a traveller, again?", "web")
    strange = Span.of("Error 403", "web")

    def look_up(item: Any) -> SourceReply:
        return SourceReply(verdict="told", text="found", spans=(fits, strange))

    def shown(*sets: str) -> set[str]:
        set_ = table(look_up, "fever", kind="retrieval")
        events = play(set_, settings("plan.acquire=1", "gate.tau_q=0.5", *sets))
        assert replay(events).complete
        return {span.text for span in set_.agents[0].history[-1].evidence if span.source == "web"}

    assert shown() == {fits.text}
    assert shown("plan.gate=false") == {fits.text, strange.text}


def test_of_many_passages_the_better_half_passes_where_nothing_was_calibrated():
    near = [Span.of(f"Fever number {n} in a traveller", "web") for n in range(2)]
    far = [Span.of(f"Error {n}", "web") for n in range(2)]

    def shown(*sets: str) -> set[str]:
        set_ = table(
            lambda item: SourceReply(verdict="told", text="found", spans=(*near, *far)), "fever", kind="retrieval"
        )
        events = play(set_, settings("plan.acquire=1", *sets))
        assert replay(events).complete
        return {span.text for span in set_.agents[0].history[-1].evidence if span.source == "web"}

    assert shown("gate.tau_q=0.99", "gate.fit_tau_q=true") == {span.text for span in near}
    assert shown("gate.tau_q=0.99") == set()  # who names a τ_Q means it


def test_acquiring_without_a_source_is_refused():
    with pytest.raises(ConfigError, match="nobody to ask"):
        play(replace(table(None), source=None), settings("plan.acquire=1"))


def test_other_rules_over_the_record_end_at_their_first_stop():
    events = play(table(lambda item: True), settings("plan.acquire=2"))
    other = replay_with(events, events[0].config)
    assert other.finished is not None and other.finished.rounds == of(events, Planned)[0].round


def test_requests_of_agents_come_to_the_plan_with_the_arguments_that_asked():
    wish = Inquiry(text="Was NS1 positive?", expected={"dengue": True, "zika": False})
    said = replace(turn(0.5, 0.3, 0.2, args=[arg("It fits.", "e4", outcome="dengue")]), requests=(wish,))
    events = play(seat([FunctionAgent(n, lambda r: said, family=f"f-{n}") for n in "ab"]))
    (planned,) = of(events, Planned)
    item = next(i for i in planned.items if i.text == wish.text)
    assert item.origin == ("agents",)
    assert "1A1" in item.asked_for_by
    assert item.assumed


def test_a_proposer_that_fails_does_not_take_the_answer_with_it():
    class Broken:
        def survey(self, residual: Residual) -> Survey:
            raise RuntimeError("no idea")

    events = play(replace(seat([agent("a"), agent("b")]), proposer=Broken()))
    assert events[-1].answer == "dengue"
    assert "no idea" in of(events, Surveyed)[0].note
    assert any("no idea" in note for note in of(events, Planned)[0].notes)


def test_a_decided_case_has_nothing_to_ask():
    sure = turn(1.0, 0.0, 0.0, args=[arg("It fits.", "e4", outcome="dengue")])
    events = play(
        replace(seat([FunctionAgent(n, lambda r: sure, family=f"f-{n}") for n in "ab"]), proposer=Menu("rash"))
    )
    (planned,) = of(events, Planned)
    assert planned.items == ()
    assert "all but certain" in planned.notes[0]


def test_the_dispersion_gate_does_not_take_back_what_a_finding_moved():
    """D rises in the round after the finding: two agents read it differently. Without new evidence they would be reverted."""

    def reader(name: str, moved: float) -> FunctionAgent:
        def reply(request: TurnRequest) -> Any:
            p = moved if request.question.findings else 0.5
            return turn(p, 0.9 - p, 0.1, args=[arg("It fits.", "e4", outcome="dengue")])

        return FunctionAgent(name, reply, family=f"family-{name}")

    set_ = replace(table(lambda item: True, "rash"), agents=[reader("a", 0.9), reader("b", 0.6)])
    events = play(set_, settings("plan.acquire=1", "dispersion.gate=all"))
    (gained,) = of(events, Gained)
    weighed = next(e for e in of(events, Weighed) if e.round == gained.round)
    assert weighed.reverted == {}
    assert weighed.beliefs["a"]["dengue"] == pytest.approx(0.9)


def test_what_was_found_out_is_new_evidence_to_the_watch():
    events = play(table(lambda item: True, "rash"), settings("plan.acquire=1", "harm.collapse=0.01"))
    (gained,) = of(events, Gained)
    watched = next(e for e in of(events, Watched) if e.round == gained.round)
    assert watched.new_spans >= 1
    assert not watched.collapsed
    assert watched.conformed == ()


def test_a_source_that_only_looks_up_is_asked_to_though_six_questions_tell_more():
    class Mixed(Menu):
        def survey(self, residual: Residual) -> Survey:
            questions = super().survey(residual).candidates
            weak = replace(_ask("fever", 0, "retrieval"), table={"dengue": (0.6, 0.4)}, otherwise=(0.4, 0.6))
            left = () if "fever" in residual.asked else (weak,)
            return Survey(candidates=(*questions, *left), considered=len(questions))

    own = replace(
        table(lambda item: SourceReply(verdict="told", text=f"Of {item.subject}: no fever at all")),
        proposer=Mixed("rash", "cough", "chills", "pain", "cold", "sweat"),
    )
    rules = settings("plan.acquire=1", "plan.worth=0", "plan.gate=false", "plan.size=3")

    async def go() -> list:
        return [event async for event in debate(open_debate(own, rules, answers=("retrieval",)), own)]

    events = asyncio.run(go())
    first = of(events, Planned)[0]
    assert [item.kind for item in first.items] == ["question", "question", "question", "retrieval"]
    assert first.acquire == ("q-fever",)
    assert [answer.item for answer in of(events, Acquired)] == ["q-fever"]
    assert replay(events).complete


def test_what_a_source_says_it_has_reaches_the_survey():
    class Chart(AnswerSource):
        name = "chart"

        def menu(self) -> tuple[str, ...]:
            return ("Vital Signs", "Imaging")

        async def answer(self, item: Any) -> SourceReply:
            return SourceReply(verdict="told", text=f"{item.subject}: normal")

    own = replace(seat([agent("a"), agent("b")]), source=Chart())
    events = play(own, config=settings("plan.acquire=3", "plan.worth=0", "plan.least=0", "plan.price=0"))
    assert {answer.text for answer in of(events, Acquired)} >= {"Vital Signs: normal", "Imaging: normal"}
    assert [c.subject for c in of(events, Surveyed)[0].candidates if c.origin == ("menu",)] == [
        "Imaging",
        "Vital Signs",
    ]
    assert replay(events).complete


# --- utilities, and the chance of an answer -------------------------------------------------------------------------------


def opened_with(set_: Any, *sets: str, **changes: Any) -> list:
    """A debate whose first event is not the helpers' own."""

    async def go() -> list:
        return [event async for event in debate(open_debate(set_, settings(*sets), **changes), set_)]

    return asyncio.run(go())


class Two:
    """Two questions: one splits dengue from chikungunya, one finds zika."""

    def survey(self, residual: Residual) -> Survey:
        split = replace(_ask("rash", 0, "question"), table={"dengue": (0.95, 0.05)}, otherwise=(0.05, 0.95))
        find = replace(_ask("red eyes", 0, "question"), table={"zika": (0.9, 0.1)}, otherwise=(0.02, 0.98))
        found = tuple(c for c in (split, find) if c.subject not in residual.asked)
        return Survey(candidates=found, considered=len(found))


ONLY_ZIKA = Stakes(actions={"rest": {"zika": -10.0, "otherwise": 0.0}, "drug": {"zika": 5.0, "otherwise": -1.0}})


def test_under_utilities_the_loop_asks_what_would_change_what_is_done():
    """The mixture is .5/.4/.1: bits favour the rash, but only zika is treated otherwise."""
    set_ = replace(table(lambda item: False), proposer=Two())
    bits = opened_with(set_, "plan.acquire=1")
    assert [a.item for a in of(bits, Acquired)] == ["q-rash"]
    assert bits[-1].favoured is None
    valued = opened_with(set_, "plan.acquire=1", stakes=ONLY_ZIKA)
    assert [a.item for a in of(valued, Acquired)] == ["q-red eyes"]
    first = of(valued, Planned)[0]
    # rest: −10·.1 = −1; drug: 5·.1 − .9 = −.4. "Red eyes" present: drug, .1·.9·5 − .9·.02 = .432; absent: rest, −10·.01 = −.1
    assert first.favoured.action == "drug"
    assert first.favoured.actions == {"rest": pytest.approx(-1), "drug": pytest.approx(-0.4)}
    assert first.items[0].value == pytest.approx(0.332 + 0.4)
    assert [item.id for item in first.items] == ["q-red eyes", "q-rash"]
    assert first.items[0].expected_information_gain < first.items[1].expected_information_gain
    assert replay(valued).complete


def test_the_loop_ends_where_the_best_question_is_not_worth_its_cost():
    set_ = replace(table(lambda item: False), proposer=Two())
    dear = opened_with(set_, "plan.acquire=1", stakes=replace(ONLY_ZIKA, cost=0.74))
    assert of(dear, Acquired) == []
    (planned,) = of(dear, Planned)
    assert "worth 0.732 and costs 0.74" in planned.notes[0]
    assert planned.items
    cheap = opened_with(set_, "plan.acquire=1", stakes=replace(ONLY_ZIKA, cost=0.73))
    assert len(of(cheap, Acquired)) == 1


def test_the_result_says_what_to_do_under_the_distribution_it_gives():
    set_ = replace(table(lambda item: False), proposer=Two())
    end = opened_with(set_, "calibration.temperature=2", stakes=ONLY_ZIKA)[-1]
    p = end.distribution
    assert p != end.raw
    drug = 5 * p["zika"] - p["dengue"] - p["chikungunya"]
    assert end.favoured.actions == {"rest": pytest.approx(-10 * p["zika"]), "drug": pytest.approx(drug)}
    assert end.favoured.expected == pytest.approx(max(end.favoured.actions.values()))


def test_utilities_with_a_certain_case_still_ask_nothing():
    sure = turn(1.0, 0.0, 0.0, args=[arg("It fits.", "e4", outcome="dengue")])
    agents = [FunctionAgent(n, lambda r: sure, family=f"f-{n}") for n in "ab"]
    end = opened_with(
        replace(table(lambda item: True), agents=agents, proposer=Two()), "plan.acquire=1", stakes=ONLY_ZIKA
    )
    assert of(end, Acquired) == []
    assert end[-1].favoured.action == "rest"


def test_outcomes_that_appear_later_fall_under_otherwise():
    case = make_case(OutcomeSpace(kind="open", labels=("dengue",)))
    agents = [FunctionAgent(n, lambda r: turn(0.5, 0.4, 0.1), family=f"f-{n}") for n in "ab"]
    set_ = seat(agents, case=case)
    events = opened_with(set_, stakes=ONLY_ZIKA, case=case)
    p = events[-1].distribution
    assert p["zika"] == pytest.approx(0.1)
    assert events[-1].favoured.actions["rest"] == pytest.approx(-1.0)
    assert replay(events).complete


def test_the_chance_of_an_answer_is_learnt_from_the_loop_and_counts():
    """Unknown, unknown, yes: π goes ½, ⅓, ¼; gains count it, what came true is set against the gain of an answer."""
    said = {"rash": None, "cough": None, "chills": True}
    events = opened_with(table(lambda item: said[item.subject]), "plan.acquire=1", source="test")
    plans = of(events, Planned)
    assert [plan.items[0].answered for plan in plans if plan.acquire] == [1 / 2, 1 / 3, 1 / 4]
    first = plans[0].items[0]
    free = of(opened_with(table(lambda item: said[item.subject]), "plan.acquire=1"), Planned)[0].items[0]
    assert free.answered is None
    assert first.expected_information_gain == pytest.approx(free.expected_information_gain / 2)
    assert of(events, Gained)[0].predicted == pytest.approx(4 * plans[2].items[0].added_gain)
    assert replay(events).complete


def test_a_person_who_wants_no_more_questions_is_not_taken_for_one_who_does_not_know():
    events = opened_with(table(lambda item: SourceReply(verdict="stopped")), "plan.acquire=1", source="ask")
    state = replay(events).state
    assert [answer.verdict for _, answer in state.acquired] == ["stopped"]
    assert {item.answered for item in plan_for(state, of(events, Surveyed)[0].candidates).items} == {0.5}


def test_a_source_that_is_sure_counts_as_one_until_it_is_silent():
    events = opened_with(table(lambda item: None), "plan.acquire=1", source="test", sure=True)
    assert [plan.items[0].answered for plan in of(events, Planned) if plan.acquire] == [1.0, 1 / 2, 1 / 3]


def test_a_dear_chance_ends_the_questions():
    """The best item brings .37 bits if it is answered; at π = ½ that is below plan.worth = 0.3."""
    asked = opened_with(table(lambda item: True), "plan.acquire=1", "plan.worth=0.3")
    assert len(of(asked, Acquired)) == 1
    unsure = opened_with(table(lambda item: True), "plan.acquire=1", "plan.worth=0.3", source="test")
    assert of(unsure, Acquired) == []
    assert "bits per unit of cost" in of(unsure, Planned)[0].notes[0]


def test_kinds_that_the_source_cannot_answer_have_no_chance_beside_them():
    events = opened_with(table(lambda item: True), "plan.acquire=1", source="test", answers=("test",))
    assert {item.answered for item in of(events, Planned)[0].items} == {None}


class Model(AnswerSource):
    """Asks a model, and says what that cost."""

    name = "model"

    def __init__(self, most: int, cost: int = 300) -> None:
        self.most, self.cost, self.asked = most, cost, list[str]()

    def ceiling(self, item: Any) -> int:
        return self.most

    async def answer(self, item: Any) -> SourceReply:
        self.asked.append(item.id)
        return SourceReply(verdict="present", usage=Usage(generated=self.cost))


def test_what_a_source_may_spend_is_set_aside_and_on_record_before_it_is_asked():
    events = play(table(Model(1000)), settings("plan.acquire=2"))
    acquired = [n for n, event in enumerate(events) if isinstance(event, Acquired)]
    sent = {call.who: n for n, event in enumerate(events) if isinstance(event, Sent) for call in event.calls}
    assert len(acquired) == 2 and all(sent[events[n].item] < n for n in acquired)
    assert {call.tokens for event in of(events, Sent) for call in event.calls if call.kind == "acquire"} == {1000}
    assert not any("set aside" in note for note in events[-1].warnings)
    assert replay(events).complete and not Story.of(events).waiting
    free = play(table(lambda item: True), settings("plan.acquire=2"))
    assert events[-1].tokens == free[-1].tokens + 600


def test_a_source_is_not_asked_what_does_not_fit_the_budget():
    free = play(table(lambda item: True), settings("plan.acquire=2"))[-1].tokens
    source = Model(1000)
    events = play(table(source), settings("plan.acquire=2", f"budget.tokens={free + 999}"))
    end = events[-1]
    assert source.asked == [] and end.stop_reason == "budget" and end.answer == "dengue"
    assert "may need 1,000 tokens" in end.detail and end.tokens <= free
    assert replay(events).complete


@pytest.mark.parametrize(("most", "over"), [(0, 600), (250, 100)])
def test_a_source_that_spends_more_than_it_said_is_a_warning_in_the_result(most: int, over: int):
    end = play(table(Model(most)), settings("plan.acquire=2"))[-1]
    (note,) = (note for note in end.warnings if "set aside" in note)
    assert note.startswith(f"the source cost {over} tokens more than was set aside, in 2 calls: its `ceiling` has to")


def test_a_source_broken_off_while_it_was_asked_counts_in_full_and_is_asked_again():
    events = play(table(Model(1000)), settings("plan.acquire=1"))
    cut = next(n for n, event in enumerate(events) if isinstance(event, Sent) and event.calls[0].kind == "acquire") + 1
    whole = play(table(source := Model(1000)), settings("plan.acquire=1"), recorded=events[:cut])
    assert [type(event) for event in whole[cut : cut + 2]] == [Lost, Sent] and source.asked == ["q-rash"]
    assert whole[-1].tokens == events[-1].tokens + 1000 and replay(whole).complete


def test_a_source_whose_ceiling_fails_is_a_failed_answer():
    class Broken(Model):
        def ceiling(self, item: Any) -> int:
            raise ValueError("no idea")

    events = play(table(Broken(0)), settings("plan.acquire=1"))
    assert {answer.verdict for answer in of(events, Acquired)} == {"failed"}
    assert any("failed: ValueError: no idea" in note for note in events[-1].warnings)


def read_by(*replies: str | BaseException, said: str, tokens: int = 100_000, **more: Any) -> tuple[list, FakeModel]:
    model = FakeModel(
        replies=[r if isinstance(r, BaseException) else json.dumps({"says": "so", "choice": r}) for r in replies]
    )
    set_ = table(lambda item: said, interpreter=Interpreter("answers:fake", model), **more)
    return play(set_, settings("plan.acquire=1", f"budget.tokens={tokens}")), model


def test_an_answer_in_words_is_read_by_a_model_where_one_sits_at_the_table():
    events, model = read_by("yes", said="39.5 °C")
    (answer,) = of(events, Acquired)
    assert (answer.verdict, answer.by, answer.text) == ("present", "answers:fake", "39.5 °C")
    assert answer.raw and answer.prompt and answer.usage.tokens > 0
    assert len(model.history) == 1
    pending = [call for sent in of(events, Sent) for call in sent.calls if call.kind == "acquire"]
    assert len(pending) == 1 and pending[0].tokens >= answer.usage.tokens  # on record before it was made
    assert [e.kind for e in of(events, Requested)] == ["acquire"]
    assert of(events, Finished)[0].tokens == answer.usage.tokens
    assert answer.spans[0].text == "Any rash? 39.5 °C"
    assert replay(events).complete


def test_a_bare_answer_needs_no_model():
    events, model = read_by(said="yes")
    assert of(events, Acquired)[0].verdict == "present" and not model.history


def test_where_the_model_fails_or_the_budget_does_not_allow_it_the_rules_read():
    failed, model = read_by("maybe", "perhaps", said="no rash at all")
    (answer,) = of(failed, Acquired)
    assert (answer.verdict, answer.by) == ("absent", "") and len(model.history) == 2
    assert "The answer was read by rules: answers:fake could not read it" in answer.remarks[0]
    assert answer.usage.tokens > 0
    poor, model = read_by("yes", said="no rash at all", tokens=50)
    (answer,) = of(poor, Acquired)
    assert answer.verdict == "absent" and not model.history
    assert of(poor, Finished)[0].tokens <= 50
