"""What each method does that the others do not; figures by hand."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from hash_encoder import HashEncoder
from helpers import arg
from maci.agents.agent import FunctionAgent, ScriptedAgent
from maci.agents.argument import Turn
from maci.agents.debater import Debater
from maci.agents.library import Library
from maci.agents.reader import BayesianFamily, LexicalFamily, Reader
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config
from maci.errors import ConfigError
from maci.evidence.span import CaseEvidence, Span
from maci.lab.methods import build, entries
from maci.lab.methods.baselines import (
    Average,
    Mad,
    MajorityVote,
    MixtureOfAgents,
    MultiLlmDebate,
    SelfConsistency,
    Single,
    copies_of,
    redrawn,
)
from maci.lab.methods.maci import ABLATIONS, changed, summary
from maci.lab.methods.method import Bench, Method, MethodAnswer
from maci.llm.fake import FakeModel
from maci.llm.model import Request
from maci.llm.usage import Usage
from maci.record.transcript import read
from maci.seating.table import Table
from maci.story import Story

CASE = Case(question="Is it so?", outcomes=OutcomeSpace(labels=("yes", "no")), gold="yes")


class Seats:
    def __init__(self, *agents: FunctionAgent) -> None:
        self.agents = agents

    def table(self, case: Case, *, seed: int = 0) -> Table:
        return Table(agents=self.agents, judges=(), evidence=CaseEvidence(case), encoder=HashEncoder())


class Coin(FunctionAgent):
    """Says yes in its draws 0, 2, 4 …, and no in the others, counted over all of its draws."""

    def redrawn(self, seed: int) -> Coin:
        return self


def belief(yes: float, claim: str = "So it is.", tokens: int = 10) -> Turn:
    said = arg(claim)
    return Turn(belief={"yes": yes, "no": 1 - yes}, arguments=(said,), usage=Usage(generated=tokens))


def coin(name: str) -> Coin:
    agent: Coin

    def reply(request: object) -> Turn:
        return belief(0.9 if len(agent.history) % 2 else 0.2)

    agent = Coin(name, reply)
    return agent


def play(method: Method, *agents: FunctionAgent) -> MethodAnswer:
    return asyncio.run(method.answer(CASE, Bench(panel=Seats(*agents)), 0))


def test_single_is_one_agents_opening() -> None:
    answer = play(Single(agent="b"), ScriptedAgent("a", [belief(0.1)]), ScriptedAgent("b", [belief(0.7)]))
    assert answer.belief == pytest.approx({"yes": 0.7, "no": 0.3})
    assert (answer.calls, answer.rounds, answer.usage.tokens) == (1, 0, 10)


def test_average_is_the_mean_of_the_openings() -> None:
    answer = play(Average(), ScriptedAgent("a", [belief(0.1)]), ScriptedAgent("b", [belief(0.7)]))
    assert answer.belief == pytest.approx({"yes": 0.4, "no": 0.6})
    assert answer.calls == 2


def test_a_vote_counts_leads_and_takes_the_agents_in_turn() -> None:
    a, b = coin("a"), coin("b")
    answer = play(MajorityVote(n=5), a, b)
    # a answers draws 0, 1, 2 (yes, no, yes), b draws 0, 1 (yes, no): 3 of 5
    assert (len(a.history), len(b.history)) == (3, 2)
    assert answer.belief == pytest.approx({"yes": 0.6, "no": 0.4})
    assert answer.agreement == pytest.approx(0.6)
    assert len({request.seed for request in (*a.history, *b.history)}) == 5


def test_self_consistency_asks_one_agent_again_and_again() -> None:
    a, b = coin("a"), coin("b")
    answer = play(SelfConsistency(n=4, agent="b"), a, b)
    assert (len(a.history), len(b.history)) == (0, 4)
    assert answer.belief == pytest.approx({"yes": 0.5, "no": 0.5})


def test_self_consistency_samples_the_reasoning_of_a_language_model() -> None:
    votes = iter([80, 20, 70])

    def reply(request: Request) -> str:
        yes = next(votes)
        said = {"claim": "So it is.", "outcome": "yes", "citations": []}
        return json.dumps({"reasoning": f"{yes} of 100.", "arguments": [said], "belief": {"yes": yes, "no": 100 - yes}})

    model = FakeModel(replies=reply)
    answer = play(SelfConsistency(n=3), Debater("a", model, temperature=0.0))
    assert answer.belief == pytest.approx({"yes": 2 / 3, "no": 1 / 3})
    assert [next(iter(request.schema.json["properties"])) for request in model.history] == ["reasoning"] * 3
    assert len({request.seed for request in model.history}) == 3
    assert sorted(request.temperature for request in model.history) == [
        0.0,
        0.7,
        0.7,
    ]  # the first is the agent's opening


def test_every_proposer_of_a_layer_is_shown_the_layer_before_and_the_aggregator_answers() -> None:
    a = ScriptedAgent("a", [belief(0.1), belief(0.1), belief(0.2), belief(0.8)])
    b = ScriptedAgent("b", [belief(0.3)])
    answer = play(MixtureOfAgents(layers=2, agent="a"), a, b)
    # openings, one more layer, then the aggregator's turn, which is its third
    assert (len(a.history), len(b.history), answer.calls) == (3, 2, 5)
    assert answer.belief == pytest.approx({"yes": 0.8, "no": 0.2})
    shown = [len(request.anchor.record) for request in a.history]
    assert shown == [0, 2, 2]
    assert a.history[2].others["B"].leading == (("no", 0.7), ("yes", 0.3))
    assert a.history[2].others["B"].strongest == ("2B1",)
    # no gate of MACI's is shown to a method that has none
    assert {(r.anchor.tau_q, r.anchor.tau_crit) for r in (*a.history, *b.history)} == {(None, None)}


def test_a_moderator_ends_the_debate_when_both_sides_agree() -> None:
    sides = [ScriptedAgent("a", [belief(0.6)]), ScriptedAgent("b", [belief(0.3), belief(0.3), belief(0.7)])]
    moderator = ScriptedAgent("m", [belief(0.5), belief(0.5), belief(0.55), belief(0.62)])
    answer = play(Mad(rounds=5), *sides, moderator)
    assert (answer.rounds, answer.reason) == (2, "both sides agree")
    assert answer.belief == pytest.approx({"yes": 0.62, "no": 0.38})
    assert [request.anchor.cl for request in sides[1].history][1:] == [1.0]
    # the second side has heard the first one's turn of the same round
    assert {entry.seat for entry in sides[1].history[1].anchor.record} == {"A", "B"}


def test_a_sure_moderator_ends_the_debate_against_the_sides() -> None:
    sides = [ScriptedAgent("a", [belief(0.6)]), ScriptedAgent("b", [belief(0.3)])]
    answer = play(Mad(rounds=5), *sides, ScriptedAgent("m", [belief(0.5), belief(0.5), belief(0.95)]))
    assert (answer.rounds, answer.reason) == (1, "the moderator is sure")


def test_a_debate_without_agreement_ends_with_the_last_round() -> None:
    sides = [ScriptedAgent("a", [belief(0.6)]), ScriptedAgent("b", [belief(0.3)])]
    answer = play(Mad(rounds=3), *sides, ScriptedAgent("m", [belief(0.5)]))
    assert (answer.rounds, answer.calls, answer.reason) == (3, 10, "the last round")


def test_pruning_keeps_what_is_near_the_question_and_unlike_the_rest() -> None:
    heard = ScriptedAgent("a", [belief(0.6, "is it so")])
    echo = ScriptedAgent("b", [belief(0.6, "is it so so")])
    other = ScriptedAgent("c", [belief(0.4, "is it otherwise perhaps")])
    away = ScriptedAgent("d", [belief(0.4, "quite elsewhere altogether")])
    play(MultiLlmDebate(rounds=1, quality=3, diversity=2), heard, echo, other, away)
    shown = {entry.seat for entry in heard.history[1].anchor.record}
    assert len(shown) == 2 and "C" in shown and "D" not in shown
    assert heard.history[1].anchor.cl == 0.7


def library() -> Library:
    texts = {"yes": ["it was so", "so it is", "yes indeed", "so be it"], "no": ["it was not", "never so", "no", "nay"]}
    return Library(
        [Span.of(t, "b", n, y) for y, ts in texts.items() for n, t in enumerate(ts)], tuple(texts), HashEncoder()
    )


def test_a_readers_draws_are_bootstrap_resamples_of_its_own_hand() -> None:
    reader = Reader(LexicalFamily(), library(), np.array([0, 1, 4, 5]))
    hands = [redrawn(reader, 0, draw)._hand.tolist() for draw in range(1, 30)]  # type: ignore[attr-defined]
    assert all(len(hand) == 4 and set(hand) <= {0, 1, 4, 5} for hand in hands)
    assert any(len(set(hand)) < 4 for hand in hands) and len({tuple(hand) for hand in hands}) > 5
    assert redrawn(reader, 0, 0) is reader


def test_copies_keep_their_name_and_hand_and_weigh_alike() -> None:
    one = Reader(LexicalFamily(), library(), np.array([0, 4]))
    two = Reader(BayesianFamily(), library(), np.array([1, 5]))
    copies = copies_of((one, two), "bayesian")
    assert [copy.name for copy in copies] == ["lexical", "bayesian"]
    assert [copy._rule.name for copy in copies] == ["bayesian", "bayesian"]  # type: ignore[attr-defined]
    assert [copy._hand.tolist() for copy in copies] == [[0, 4], [1, 5]]  # type: ignore[attr-defined]


def test_every_ablation_differs_from_the_controller_in_what_it_says() -> None:
    ablations = [entry for entry in entries() if entry.ablation]
    assert {entry.name for entry in ablations} == set(ABLATIONS) and len(ablations) >= 11
    for entry in ablations:
        method = build(entry.name)
        assert changed(Config(), method.settings) != Config()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("use", "options", "said"),
    [
        ("majority_votes", {}, "did you mean majority_vote"),
        ("average", {"n": 3}, "^method 'average' has no option 'n': it has no options beside name$"),
        ("single", {"agnt": "x"}, r"no option 'agnt': did you mean agent\?"),
        ("single", {"zz": "x"}, "no option 'zz': it has agent.* beside name and each"),
        ("average", {"set": {}}, "'average' has no option 'set'"),
        ("maci", {"set": {}, "settings": {}}, "set and settings, which are the same: leave one out"),
        ("majority_vote", {"n": 0}, "between 1 and 1000"),
        ("maci", {"settings": {"stop.max_round": 3}}, "max_rounds"),
    ],
)
def test_a_wrong_method_or_option_is_refused_with_the_next_step(use: str, options: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(use, options)


def test_the_settings_of_a_debate_may_be_called_set_as_in_a_spec() -> None:
    own = {"stop.max_rounds": 3}
    assert build("maci", {"set": own}).settings == build("maci", {"settings": own}).settings == own  # type: ignore[attr-defined]


def test_a_debate_counts_what_it_spent_in_vain_as_baselines_do():
    story = Story.of(read(Path(__file__).parents[3] / "transcripts" / "format-6.jsonl").events)
    assert story.result is not None and story.result.spent is not None
    before = summary(story).usage
    spent = dataclasses.replace(story.result.spent, lost=story.result.spent.lost + 70)
    dearer = dataclasses.replace(story.result, spent=spent, usd=story.result.usd + 0.5)
    after = summary(dataclasses.replace(story, result=dearer)).usage
    assert (after.tokens - before.tokens, round(after.usd - before.usd, 9)) == (70, 0.5)
