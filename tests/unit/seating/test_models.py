"""Tables of models: who is seated, over which evidence, under which settings."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fake_house import FakeHouse
from maci.cases.case import Case, Document, load_case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, load
from maci.controller.decisions import Finished, Initialized
from maci.controller.inputs import Retrieved, TurnTaken
from maci.debating.loop import debate
from maci.errors import ConfigError, EvidenceError
from maci.evidence.encode import load_encoder
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request, Token
from maci.seating import choose
from maci.seating.models import NOBODY_JUDGES, READERS_JUDGE, open_judge
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec
from maci.seating.table import Table, opening
from maci.seating.tables import Tables

ENCODER = load_encoder()
BRIDGE = Case(
    question="Is the bridge safe?",
    outcomes=OutcomeSpace(labels=("safe", "unsafe")),
    context="The deck sags. It was inspected in May.",
    evidence=(Document("Two bolts are cracked.", id="e1"), Document("Paint flakes off the rail.", id="e2")),
)


def settle(
    case: Case, agents: str = "fake/a,fake/b", judges: str | None = None, *sets: str, house: FakeHouse | None = None
):
    panel = choose(None, agents, judges)
    assert isinstance(panel, PanelSpec)
    config = load(sets=[*sets, *(["crit.enabled=false"] if panel.judges == () else [])], environ={})
    table = Tables(panel, ENCODER, config, house or FakeHouse()).table(case)
    return PanelSpec.model_validate(table.spec), table, config


def events(case: Case, *args: str, **more):
    _, table, config = settle(case, *args, **more)
    return play(case, table, config)


def play(case: Case, table: Table, config: Config):
    async def go():
        return [event async for event in debate(opening(case, table, config), table)]

    return asyncio.run(go())


def test_models_read_what_the_readers_read_so_that_q_means_the_same() -> None:
    case = load_case("dengue")
    theirs = play(case, Tables("readers", ENCODER).table(case), load(sets=["max_rounds=2"], environ={}))
    ours = events(case, "fake/a,fake/b", "reader", "max_rounds=2")
    one, two = (next(e for e in found if isinstance(e, Retrieved)) for found in (theirs, ours))
    assert one.spans == two.spans
    assert one.theta == two.theta and one.vectors == two.vectors
    q = [next(e for e in found if isinstance(e, Initialized)).q for found in (theirs, ours)]
    assert q[0] == q[1] is not None


def test_a_debate_of_models_runs_to_its_end_and_the_arguments_cite_what_was_shown() -> None:
    found = events(load_case("dengue"), "fake/a,fake/b", "reader", "max_rounds=2")
    last = found[-1]
    assert isinstance(last, Finished)
    assert last.answer is not None
    assert last.rounds == 2


def test_without_evidence_about_the_outcomes_models_still_debate_on_what_there_is() -> None:
    found = events(BRIDGE, "fake/a,fake/b", "other/j", "max_rounds=2")
    spans = next(e for e in found if isinstance(e, Retrieved)).spans
    assert {"e1", "e2"} <= {span.id for span in spans}
    assert not [span for span in spans if span.source.startswith("built-in")]
    bare = replace(BRIDGE, evidence=())
    last = events(bare, "fake/a,fake/b", "other/j", "max_rounds=2")[-1]
    assert isinstance(last, Finished) and last.answer


def test_reader_judges_where_there_is_nothing_for_them_to_read_are_refused() -> None:
    _, table, _ = settle(BRIDGE, "fake/a,fake/b", "reader")
    assert len(table.judges) == 3  # statements will do, they need no label
    with pytest.raises(EvidenceError, match=r"no text about one of safe, unsafe .*, or use a language model$"):
        settle(replace(BRIDGE, evidence=()), "fake/a,fake/b", "reader")


def test_judges_that_are_not_named_or_found_are_the_readers_or_nobody_and_the_result_says_so() -> None:
    spec, table, _ = settle(load_case("dengue"))
    assert [judge.name for judge in table.judges] == ["letters", "words", "phrases"]
    assert spec.judges is not None and spec.judges[0].model == "reader/letters"
    assert table.notes == settle(BRIDGE)[1].notes == (READERS_JUDGE,)
    bare = replace(BRIDGE, evidence=())
    _, alone, config = settle(bare)
    last = play(bare, alone, config)[-1]
    assert isinstance(last, Finished) and last.answer is not None and NOBODY_JUDGES in last.warnings
    assert not opening(bare, alone, config).config.crit.enabled
    _, free, _ = settle(BRIDGE, "fake/a,fake/b", "none")
    assert free.judges == []
    _, disabled, _ = settle(BRIDGE, "fake/a,fake/b", None, "crit.enabled=false")
    assert disabled.judges == []


def test_an_open_case_does_not_bring_medicine_to_models() -> None:
    case = Case(question="Why does the bridge sway?", outcomes=OutcomeSpace(kind="open"))
    found = events(case, "fake/a,fake/b", "none", "max_rounds=2")
    assert {span.source for span in next(e for e in found if isinstance(e, Retrieved)).spans} == {"case"}


def test_readers_and_models_can_sit_at_one_table() -> None:
    case = load_case("dengue")
    _, table, _ = settle(case, "reader/lexical,fake/a", "reader")
    assert [agent.name for agent in table.agents] == ["lexical", "fake/a"]
    found = events(case, "reader/lexical,fake/a", "reader", "max_rounds=2")
    assert isinstance(found[-1], Finished) and found[-1].rounds == 2


def test_a_reader_named_again_holds_other_evidence() -> None:
    case = load_case("dengue")
    _, table, _ = settle(case, "reader/lexical,reader,reader/semantic", "reader")
    assert [a.name for a in table.agents] == ["lexical", "lexical#2", "semantic", "bayesian", "semantic#2"]
    first, again = table.agents[:2]
    assert set(first._hand.tolist()) != set(again._hand.tolist())
    _, other, _ = settle(case, "reader,reader/lexical,reader/semantic", "reader")  # hands do not depend on the seats
    assert {a.name: a._hand.tolist() for a in other.agents} == {a.name: a._hand.tolist() for a in table.agents}
    found = events(case, "reader,reader/lexical,reader/semantic", "reader", "max_rounds=2")
    assert isinstance(found[-1], Finished) and len(found[0].agents) == 5


def test_the_same_model_twice_is_two_agents_over_one_model() -> None:
    house = FakeHouse()
    _, table, _ = settle(load_case("dengue"), "fake/a,fake/a", "reader", house=house)
    assert [agent.name for agent in table.agents] == ["fake/a", "fake/a#2"]
    assert list(house.opened) == ["fake/a"]


def test_settings_and_seats_decide_temperature_and_length() -> None:
    house = FakeHouse()
    case = load_case("dengue")
    events(
        case,
        "fake/a,fake/b",
        "other/j",
        "max_rounds=2",
        "agents.temperature=0.11",
        "agents.max_tokens=777",
        "crit.judge_temperature=0.22",
        "crit.max_tokens=333",
        house=house,
    )
    turn, score = house.opened["fake/a"].history[0], house.opened["other/j"].history[0]
    assert (turn.temperature, turn.max_tokens) == (0.11, 777)
    assert (score.temperature, score.max_tokens) == (0.22, 333)


def test_a_judge_of_a_debaters_family_is_refused_with_the_way_to_allow_it() -> None:
    case = load_case("dengue")
    _, table, config = settle(case, "openai/gpt-4o,mistral/mistral-small", "openai/gpt-4o-mini")
    with pytest.raises(ConfigError, match=r"--set crit.same_family=true"):
        play(case, table, config)


def test_a_seat_that_only_reads_is_asked_about_every_piece_alone() -> None:
    def reads(name: str, request: Request) -> Reply:
        safe = -0.1 if "Paint" in request.messages[0].content else -1.5
        top = (("safe", safe), ("unsafe", -0.7))
        return Reply(text="safe", logprobs=(Token("safe", safe, top),))

    house = FakeHouse(reads)
    panel = PanelSpec(
        agents=(AgentSpec(model="fake/a", belief="pieces"), AgentSpec(model="fake/b", belief="pieces")), judges=()
    )
    config = load(sets=["crit.enabled=false", "max_rounds=2", "gate.tau_q=0"], environ={})
    table = Tables(panel, ENCODER, config, house).table(BRIDGE)
    found = play(BRIDGE, table, config)
    assert isinstance(found[-1], Finished) and found[-1].answer == "safe"
    assert [len(house.opened[name].history) for name in ("fake/a", "fake/b")] == [3, 3]  # two pieces, and none
    cited = {c.span for e in found if isinstance(e, TurnTaken) for a in e.turn.arguments for c in a.citations}
    assert cited == {"e2"}


@pytest.mark.parametrize(
    ("agents", "judges", "asked"),
    [
        ("fake/a,fake/b", "other/j", "names:other/j"),
        ("fake/a,fake/b", "none", "names:fake/a"),
        ("reader/lexical,reader/semantic", "reader", ""),
    ],
)
def test_names_of_open_outcomes_are_compared_by_a_judges_model_or_a_debaters(
    agents: str, judges: str, asked: str
) -> None:
    case = replace(load_case("dengue"), outcomes=OutcomeSpace(kind="open"), gold=None)
    _, table, config = settle(case, agents, judges)
    assert opening(case, table, config).comparer == asked
    closed = load_case("dengue")
    assert not opening(closed, table, config).comparer
    assert not opening(case, table, load(sets=["beliefs.ask_names=0"], environ={})).comparer


@pytest.mark.parametrize(
    ("seat", "entry", "level"),
    [(None, None, "none"), ("low", None, "low"), (None, "high", "high"), ("low", "high", "low")],
)
def test_a_judge_is_asked_not_to_think_unless_its_seat_or_its_model_says_otherwise(seat, entry, level) -> None:
    model = FakeModel("fake/j", "fake", reasoning=entry)
    judge = open_judge(
        JudgeSpec(model="fake/j", reasoning=seat), SimpleNamespace(model=lambda name: model), load(environ={})
    )
    assert judge._model.reasoning == level  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("agents", "judges", "writes"),
    [
        ("fake/a,fake/b", "other/j", "recommendation:fake/a"),
        ("reader/lexical,reader/semantic", "other/j", "recommendation:other/j"),
        ("reader/lexical,reader/semantic", "reader", ""),
    ],
)
def test_the_recommendation_is_written_by_the_first_model_that_argues_or_a_judges(agents, judges, writes) -> None:
    case = load_case("dengue")
    _, table, config = settle(case, agents, judges)
    opened = opening(case, table, config)
    assert opened.writer == writes and (opened.set_aside.tokens > 0) is bool(writes)
    off = opening(case, table, load(sets=["answer.recommendation=off"], environ={}))
    assert off.writer == "" and not any(off.set_aside)


@pytest.mark.parametrize(
    ("agent", "sets", "brief"),
    [
        ("local/qwen2.5-coder-1.5b", (), True),
        ("local/qwen2.5-coder-1.5b", ("agents.replies=full",), False),
        ("fake/a", (), False),
        ("fake/a", ("agents.replies=brief",), True),
    ],
)
def test_models_on_this_machine_are_asked_for_brief_replies_unless_told_otherwise(
    agent: str, sets: tuple[str, ...], brief: bool
) -> None:
    house = FakeHouse()
    events(BRIDGE, f"{agent},fake/b", "none", "max_rounds=2", *sets, house=house)
    first = house.opened[agent].history[0]
    assert ("at most 40 words" in first.messages[-1].content) == brief
