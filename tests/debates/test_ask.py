"""`maci ask` from end to end with scripted agents: where it stops, what it asks for, and that nothing is bought twice."""

import pytest

from helpers import arg, judge, make_case, play, script, seat, settings, turn, write
from maci.controller.decisions import Finished, Initialized
from maci.controller.inputs import Sent, TurnTaken
from maci.controller.triage import Triaged
from maci.errors import BadReply
from maci.record.replay import replay, replay_with
from maci.record.transcript import Transcript, read
from maci.story import Story
from maci.story.outline import outline
from maci.story.result import AskResult, result_of
from maci.story.words import stopped

ASK = settings("triage.enabled=true", "triage.worth=1000")
SURE = turn(0.97, 0.02, 0.01, tokens=100)
UNSURE = turn(0.4, 0.35, 0.25, tokens=100)
OTHER = turn(0.1, 0.8, 0.1, tokens=100)


def table(*first, judges=None, **more):
    """Agents by their turns, each repeated for as long as the debate goes on."""
    names = ("ada", "ben", "cyd")
    agents = [script(name, *turns, *[turns[-1]] * 9, **more) for name, turns in zip(names, first, strict=False)]
    return seat(agents, judges)


def many():
    """A case with so many outcomes that debate is likely to pay."""
    return make_case([*(f"y{i}" for i in range(25)), "dengue", "chikungunya", "zika"])


def asked(events):
    return [(e.round, e.agent) for e in events if isinstance(e, TurnTaken)]


def verdicts(events):
    return [(e.stage, e.escalate) for e in events if isinstance(e, Triaged)]


def test_a_confident_agent_is_enough():
    seated = table([SURE], [OTHER], [OTHER])
    events = play(seated, ASK)
    assert asked(events) == [(0, "ada")]
    assert verdicts(events) == [("single", False)]
    result = events[-1]
    assert isinstance(result, Finished)
    assert (result.answer, result.stop_reason, result.rounds, result.tokens) == ("dengue", "triage", 0, 100)
    assert Story.of(events).stage == "single"


def test_nobody_who_was_not_asked_is_said_to_have_failed():
    events = play(table([SURE], [OTHER]), ASK)
    assert not [w for w in events[-1].warnings if "abstained" in w or "ever spoke" in w]
    start = next(e for e in events if isinstance(e, Initialized))
    assert start.abstained == {"ben": "not asked: one answer was enough"}
    assert start.o is None


def test_doubt_asks_the_others_and_a_clear_vote_ends_it():
    events = play(table([UNSURE], [SURE], [SURE]), ASK)
    assert asked(events) == [(0, "ada"), (0, "ben"), (0, "cyd")]
    assert verdicts(events) == [("single", True), ("vote", False)]
    assert (events[-1].stop_reason, events[-1].rounds, Story.of(events).stage) == ("triage", 0, "vote")
    # the mean of 0.4, 0.97, 0.97
    assert events[-1].raw["dengue"] == pytest.approx(0.78)


def test_disagreement_escalates_to_a_debate():
    config = settings("triage.enabled=true", "triage.worth=100000")
    events = play(
        table([UNSURE, SURE], [turn(0.3, 0.36, 0.34, tokens=100), SURE]),
        config,
        many(),
    )
    assert verdicts(events) == [("single", True), ("vote", True)]
    assert events[-1].stop_reason != "triage"
    assert events[-1].rounds >= 1
    assert Story.of(events).stage == "debate"


def test_the_openings_of_an_ask_are_those_of_the_debate():
    config = settings("triage.enabled=true", "triage.worth=100000")
    big = many()
    turns = [UNSURE, SURE], [turn(0.3, 0.36, 0.34, tokens=100), SURE]
    plain, asking = table(*turns), table(*turns)
    whole, events = play(plain, settings(), big), play(asking, config, big)
    for one, other in zip(plain.agents, asking.agents, strict=True):
        assert one.history == other.history  # the same calls, opening included, each once
    assert whole[-1].raw == events[-1].raw
    assert whole[-1].tokens == events[-1].tokens


def test_who_weighs_most_is_asked_first():
    config = settings("triage.enabled=true", "reliability.prior=cyd=3,ada=2")
    assert asked(play(table([OTHER], [OTHER], [SURE]), config)) == [(0, "cyd")]


def test_sequential_turns_begin_with_the_first_seat():
    config = settings("triage.enabled=true", "reliability.prior=cyd=3", "agents.order=sequential")
    assert asked(play(table([SURE], [OTHER], [SURE]), config)) == [(0, "ada")]


def test_a_first_agent_that_fails_is_replaced_by_the_others():
    events = play(table([BadReply("no JSON")], [SURE], [SURE]), ASK)
    assert verdicts(events) == [("single", True), ("vote", False)]
    assert events[-1].answer == "dengue"
    assert any("ada abstained" in w for w in events[-1].warnings)


def test_a_budget_for_one_opening_gives_that_answer():
    config = settings("triage.enabled=true", "budget.tokens=150")
    events = play(table([UNSURE], [SURE], ceiling=100), config)
    assert asked(events) == [(0, "ada")]
    assert (events[-1].stop_reason, events[-1].answer, events[-1].tokens) == ("budget", "dengue", 100)
    assert Story.of(events).stage == "single"


def test_a_budget_for_nothing_is_no_answer():
    events = play(table([UNSURE], [SURE], ceiling=100), settings("triage.enabled=true", "budget.tokens=50"))
    assert (events[-1].stop_reason, events[-1].answer, Story.of(events).stage) == ("budget", None, None)


@pytest.mark.parametrize("turns", [([SURE], [OTHER]), ([UNSURE], [SURE]), ([UNSURE, SURE], [OTHER, SURE])])
def test_its_record_is_recomputed(tmp_path, turns):
    events = write(tmp_path / "transcript.jsonl", table(*turns), settings("triage.enabled=true", "triage.worth=1e6"))
    recording = read(tmp_path / "transcript.jsonl")
    assert recording.events == tuple(events)
    done = replay(recording.events)
    assert done.complete and done.compared >= 3


def test_killed_after_every_event_it_resumes_and_asks_nothing_again(tmp_path):
    config = settings("triage.enabled=true", "triage.worth=1e6")
    turns = [UNSURE, SURE], [OTHER, SURE]
    whole = play(table(*turns, ceiling=100), config)
    said = [e for e in whole if not isinstance(e, Sent)]
    for cut in range(2, len(whole)):
        path = tmp_path / f"{cut}.jsonl"
        with Transcript.create(path) as transcript:
            for event in whole[:cut]:
                transcript.append(event)
        transcript, recording = Transcript.resume(path)
        with transcript:
            again = table(*turns, ceiling=100)
            events = play(again, config, record=transcript, recorded=recording.events)
        assert events[-1].answer == said[-1].answer
        assert sorted(asked(events)) == sorted(asked(whole))
        new = {(r.round, agent.name) for agent in again.agents for r in agent.history}
        assert not new & set(asked(whole[:cut]))
        assert replay(events).complete


def test_a_debate_on_record_can_be_asked_whether_it_was_needed():
    events = play(table([SURE], [SURE]), settings())
    other = replay_with(events, ASK)
    assert other.finished is not None and other.finished.stop_reason == "triage"


def test_others_that_spoke_before_the_first_are_heard_when_it_goes_on():
    events = play(table([UNSURE], [SURE]), settings())
    opening = [e for e in events if e.type in {"opened", "retrieved"}]
    turns = [e for e in events if isinstance(e, TurnTaken) and e.round == 0]
    state = replay_with([*opening, *reversed(turns)], ASK)
    assert state.finished is not None and state.finished.stop_reason == "triage"
    assert state.stage == "vote"


def test_the_result_says_stage_tests_and_steps(tmp_path):
    events = play(table([UNSURE], [SURE], [SURE]), ASK)
    found = result_of(Story.of(events), tmp_path)
    assert isinstance(found, AskResult)
    assert (found.stage, [v.stage for v in found.explain]) == ("vote", ["single", "vote"])
    assert [step.to for step in found.explain[0].steps] == ["vote", "debate"]
    assert all(check.threshold is not None for v in found.explain for check in v.checks)
    again = AskResult.model_validate_json(found.model_dump_json())
    assert again == found


def test_without_a_profile_it_says_that_the_gains_were_assumed():
    assert any("not learnt for this task" in w for w in play(table([SURE], [OTHER]), ASK)[-1].warnings)
    taught = settings("triage.enabled=true", "triage.learned_from=50", "triage.vote_harm=0.1")
    assert not any("not learnt for" in w for w in play(table([SURE], [OTHER]), taught)[-1].warnings)


def test_open_outcomes_named_by_the_first_agent_are_an_answer():
    from maci.cases.outcomes import OutcomeSpace

    case = make_case(OutcomeSpace(kind="open"))
    one = turn(0.97, 0.03, args=(arg("It fits.", "e4"),), tokens=10)
    events = play(seat([script("ada", one), script("ben", one)], [judge()]), ASK, case)
    assert (events[-1].answer, events[-1].stop_reason) == ("dengue", "triage")


def test_an_answer_that_shares_the_lead_is_told_as_a_tie():
    cheap = settings("triage.enabled=true", "triage.worth=0")
    story = Story.of(play(table([turn(0.45, 0.45, 0.1, tokens=100)], [OTHER]), cheap))
    assert outline(story).agreement == "one agent alone, tied with chikungunya"
    assert outline(story).grave == ("Undecided: dengue, chikungunya are equally probable.",)
    assert stopped(story).replace("\N{NO-BREAK SPACE}", " ") == (
        "No debate was held: it was not expected to be worth its tokens. One agent answers dengue, tied with another outcome; by "
        "the agents' own estimate it is right with a chance of about 45 %. A vote is expected to raise it by 13.0 percentage "
        "points for about 100 tokens; such a gain is worth 0 tokens, so MACI stops here."
    )
