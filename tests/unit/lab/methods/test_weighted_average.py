"""The weighted linear pool; figures by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import log
from typing import Any

import pytest

from hash_encoder import HashEncoder
from helpers import arg
from maci.agents.agent import FunctionAgent, ScriptedAgent
from maci.agents.argument import Turn
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import build as config
from maci.errors import ModelError
from maci.evidence.span import CaseEvidence
from maci.lab.methods.baselines import Average, WeightedAverage
from maci.lab.methods.maci import Maci
from maci.lab.methods.method import Bench, Method, MethodAnswer
from maci.seating.table import Table

CASE = Case(question="Is it so?", outcomes=OutcomeSpace(labels=("yes", "no")), gold="yes")


class Seats:
    def __init__(self, *agents: FunctionAgent) -> None:
        self.agents = agents

    def table(self, case: Case, *, seed: int = 0) -> Table:
        return Table(agents=self.agents, judges=(), evidence=CaseEvidence(case), encoder=HashEncoder())


def says(name: str, yes: float) -> FunctionAgent:
    return FunctionAgent(name, lambda request: Turn(belief={"yes": yes, "no": 1 - yes}, arguments=(arg("So it is."),)))


def fails(name: str) -> FunctionAgent:
    def reply(request: object) -> Turn:
        raise ModelError("gone")

    return FunctionAgent(name, reply)


def play(method: Method, settings: Mapping[str, Any], *agents: FunctionAgent) -> MethodAnswer:
    bench = Bench(panel=Seats(*agents), config=config("default", settings))
    return asyncio.run(method.answer(CASE, bench, 0))


def test_an_agent_counts_by_its_prior() -> None:
    answer = play(WeightedAverage(), {"reliability.prior": {"a": 3.0, "b": 1.0}}, says("a", 0.9), says("b", 0.1))
    assert answer.belief == pytest.approx({"yes": 0.7, "no": 0.3})  # (3 × 0.9 + 0.1) / 4
    assert answer.course[0].belief == answer.belief and answer.course[0].beliefs["b"]["yes"] == pytest.approx(0.1)
    assert (answer.calls, answer.rounds, answer.reason) == (2, 0, "pooled by weight")


def test_who_is_not_named_has_a_prior_of_one() -> None:
    answer = play(WeightedAverage(), {"reliability.prior": {"a": 3.0}}, says("a", 0.9), says("b", 0.1))
    assert answer.belief == pytest.approx({"yes": 0.7, "no": 0.3})


def test_without_priors_it_is_the_average() -> None:
    agents = (says("a", 0.9), says("b", 0.2), says("c", 0.4))
    assert play(WeightedAverage(), {}, *agents).belief == pytest.approx(play(Average(), {}, *agents).belief)


def test_weights_are_shared_among_those_who_answered() -> None:
    settings = {"reliability.prior": {"a": 8.0, "b": 3.0, "c": 1.0}}
    answer = play(WeightedAverage(), settings, fails("a"), says("b", 1.0), says("c", 0.0))
    assert answer.belief == pytest.approx({"yes": 0.75, "no": 0.25})


def test_doubt_is_taken_before_the_weights() -> None:
    settings = {"reliability.prior": {"a": 1.0, "b": 1.0}, "calibration.doubt": {"a": 0.5}}
    answer = play(WeightedAverage(), settings, says("a", 1.0), ScriptedAgent("b", [_no()]))
    assert answer.belief == pytest.approx({"yes": 0.375, "no": 0.625})  # a's 0.75 and b's 0


def test_what_everybody_favours_anyway_is_taken_off() -> None:
    answer = play(WeightedAverage(), {"calibration.bias": {"yes": log(4)}}, says("a", 0.8), says("b", 0.8))
    assert answer.belief == pytest.approx({"yes": 0.5, "no": 0.5})


def _no() -> Turn:
    return Turn(belief={"yes": 0.0, "no": 1.0}, arguments=(arg("It is not."),))


def test_it_is_a_debates_mixture_before_the_first_round() -> None:
    settings = {
        "reliability.prior": {"a": 5.0, "b": 2.0},
        "calibration.doubt": {"a": 0.3},
        "calibration.agents": {"b": 2.0},
        "calibration.bias": {"yes": 0.4, "no": -0.4},
    }
    agents = (says("a", 0.8), says("b", 0.3))
    pooled = play(WeightedAverage(), settings, *agents)
    debated = play(Maci({"crit.enabled": False}), settings, *agents)
    assert pooled.belief == pytest.approx(debated.course[0].belief)


def test_nobody_answering_is_no_answer() -> None:
    answer = play(WeightedAverage(), {}, fails("a"), fails("b"))
    assert answer.belief is None and "gone" in answer.reason
