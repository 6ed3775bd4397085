"""The controller itself, and its ablations: the same debate under other settings.

What the controller is without one of its parts (SPEC 12), as settings on top of a study's own.

Triage (SPEC 6): one agent, then the vote of all, then the debate, each only while it is expected to be worth its tokens.

The rule is :mod:`maci.controller.triage`; here it is a method beside the others. An answer's reason begins with the stage it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

from maci.cases.case import Case
from maci.config import Config, build, parameters, unplanned
from maci.controller.caution import Watched
from maci.controller.decisions import Dialled, Finished, Gained, Gated, Initialized, Planned, Weighed
from maci.controller.events import Event
from maci.controller.history import Measured
from maci.controller.inputs import (
    Acquired,
    Exhausted,
    Intervened,
    JudgeAbstention,
    Lost,
    Opened,
    Resolved,
    Retrieved,
    Scored,
    Sent,
    Surveyed,
    TurnFailed,
    TurnTaken,
)
from maci.controller.triage import Triaged
from maci.debating.loop import debate
from maci.errors import ModelError
from maci.lab.methods.method import Answer, Bench, Step
from maci.llm.usage import Usage
from maci.seating.opening import opening

Scores: TypeAlias = Mapping[str, tuple[Mapping[str, float], ...]]


class NoModel(ModelError):
    """A debate that ended because no call to one of its models can succeed."""

    fatal = True


@dataclass(frozen=True, slots=True)
class Maci:
    """A debate under the bench's settings, with some of them changed."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "maci"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """Debate to the end."""
        return summary(await played(case, bench, seed, self.settings))


async def played(
    case: Case, bench: Bench, seed: int, settings: Mapping[str, Any] = MappingProxyType({})
) -> list[Event]:
    """The events of a whole debate under the bench's settings, with some of them changed."""
    config = unplanned(changed(bench.config, settings))
    table = bench.panel.table(case, seed=seed)
    if not config.crit.enabled:
        table = replace(table, judges=())
    first = opening(case, table, config, seed=seed)
    return [event async for event in debate(first, table, ledger=bench.ledger)]


def changed(config: Config, settings: Mapping[str, Any]) -> Config:
    """A config with some settings replaced, checked like any other."""
    if not settings:
        return config
    own = {row.key: row.value for row in parameters(config) if row.value != row.default}
    return build(config.profile, {**own, **settings})


def summary(events: list[Event]) -> Answer:
    """A debate's events as an answer."""
    result = events[-1]
    assert isinstance(result, Finished)
    usage, judge_usage, calls, judge_calls = Usage(), Usage(), 0, 0
    course: list[Step] = []
    start: Initialized | None = None
    weighed: Weighed | None = None
    cl: float | None = None
    given: dict[str, dict[str, float]] = {}
    scores: dict[str, tuple[dict[str, float], ...]] = {}
    for event in events:
        match event:
            case TurnFailed() | JudgeAbstention() if event.fatal:  # a wrong key or the like: nobody's answer
                raise NoModel(result.detail)
            case TurnTaken():
                usage, calls = usage + event.turn.usage, calls + 1
            case TurnFailed():
                usage, calls = usage + event.usage, calls + 1
            case Scored() | JudgeAbstention():
                judge_usage, judge_calls = judge_usage + event.usage, judge_calls + 1
                if isinstance(event, Scored):
                    given.setdefault(event.argument, {})[event.slot] = event.score.composite
            case Initialized():
                start = event
                course.append(Step(belief=event.mixture, beliefs=event.beliefs, q=event.q, d=event.d, o=event.o))
            case Gated():
                cl, scores = event.dials.cl, {}
                for one in event.admissions:
                    scores[one.agent] = (*scores.get(one.agent, ()), given.get(one.argument, {}))
            case Weighed():
                weighed = event
            case Measured():
                if weighed is not None:
                    course.append(_step(event, weighed, cl, scores if given else {}))
            case (
                Opened() | Retrieved() | Sent() | Lost() | Resolved() | Intervened() | Exhausted() | Surveyed()
                | Acquired() | Triaged() | Watched() | Dialled() | Planned() | Gained() | Finished()
            ):  # fmt: skip
                pass
            case _:
                assert_never(event)
    return Answer(
        belief=result.raw if result.answer is not None else None,
        reason=result.stop_reason if result.answer is not None else result.detail or result.stop_reason,
        out_of_budget=result.stop_reason == "budget",
        rounds=result.rounds,
        calls=calls,
        judge_calls=judge_calls,
        usage=usage,
        judge_usage=judge_usage,
        course=tuple(course),
        q0=None if start is None else start.q,
        d0=None if start is None else start.d,
        harm=result.harm,
    )


def _step(measured: Measured, weighed: Weighed, cl: float | None, scores: Scores) -> Step:
    return Step(
        belief=weighed.mixture,
        beliefs=weighed.beliefs,
        q=measured.q,
        d=measured.d,
        i=measured.gain,
        o=measured.o,
        crit=measured.crit,
        cl=cl,
        scores=scores,
    )


ROUNDS = 4
"""Rounds of a debate that does not stop by itself."""

_NO_STOPPING = {"stop.min_rounds": ROUNDS, "stop.max_rounds": ROUNDS}

ABLATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "no_schedule_high": ("contentiousness fixed at 0.9", {"dials.schedule": "fixed", "dials.cl_fixed": 0.9}),
    "no_schedule_low": ("contentiousness fixed at 0.3", {"dials.schedule": "fixed", "dials.cl_fixed": 0.3}),
    "no_q_gate": ("evidence quality is not asked for", {"gate.q_gate": False}),
    "no_crit_gate": ("argument quality is not asked for", {"gate.crit_gate": False}),
    "uniform_weights": ("every agent weighs the same", {"reliability.weights": "uniform"}),
    "crit_free": ("no judges: no scores, no CRIT gate, equal weights", {"crit.enabled": False}),
    "no_stopping": (f"always {ROUNDS} rounds", _NO_STOPPING),
    "no_dispersion_gate": ("every move of a belief is taken", {"dispersion.gate": "off"}),
    "moving_theta": ("the target of Q follows what was admitted", {"evidence.theta": "moving"}),
    "maci_rollback": (
        "the round-0 vote is given where the debate left it for an answer with less admitted evidence",
        {"harm.rollback": "worse"},
    ),
    "sequential": ("agents speak one after another", {"agents.order": "sequential"}),
}
"""Name → what is missing, and the settings that take it away."""

UNSCHEDULED: Mapping[str, Any] = {
    "dials.schedule": "fixed",
    "dials.cl_fixed": 0.5,
    "gate.q_gate": False,
    "gate.crit_gate": False,
    "crit.enabled": False,
    "dispersion.gate": "off",
    **_NO_STOPPING,
}
"""Debate without a controller: the same turns, everything admitted, nobody judged, a fixed number of rounds."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What `maci ask` does, under the bench's settings with some of them changed."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "ask"

    async def answer(self, case: Case, bench: Bench, seed: int) -> Answer:
        """As many calls as it takes."""
        found = await Maci({**self.settings, "triage.enabled": True}, self.name).answer(case, bench, seed)
        if found.belief is None:
            return found
        stage = "debate" if found.rounds else "vote" if len(found.course[0].beliefs) > 1 else "single"
        return replace(found, reason=f"{stage}: {found.reason}")
