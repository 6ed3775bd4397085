"""MACI as methods of a study: the debate, its ablations, and `maci ask`.

:class:`Maci` runs a debate under the study's settings with some of them changed. :data:`ABLATIONS` names the changes that each
remove or replace one part of the controller (SPEC 12); :data:`UNSCHEDULED` is a debate without a controller. :class:`Ask` adds
triage before the debate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from maci.cases.case import Case
from maci.config import Config, build, parameters, unplanned
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.errors import ModelError
from maci.lab.methods.method import Bench, Method, MethodAnswer, Step
from maci.llm.usage import Usage
from maci.record.transcript import Transcript
from maci.seating.table import opening
from maci.story import Round, Story


class NoModel(ModelError):
    """A debate that ended because no call to one of its models can succeed."""

    fatal = True


@dataclass(frozen=True, slots=True)
class Maci(Method):
    """A debate under the bench's settings, with some of them changed."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "maci"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """Debate to the end."""
        return summary(Story.of(await played(case, bench, seed, self.settings)))


async def played(
    case: Case, bench: Bench, seed: int, settings: Mapping[str, Any] = MappingProxyType({})
) -> list[Event]:
    """The events of a whole debate under the bench's settings, with some of them changed."""
    config = unplanned(changed(bench.config, settings))
    table = bench.panel.table(case, seed=seed)
    if not config.crit.enabled:
        table = replace(table, judges=())
    first = opening(case, table, config, seed=seed)
    if bench.record is None:
        return [event async for event in debate(first, table, ledger=bench.ledger)]
    with Transcript.create(bench.record / "transcript.jsonl") as kept:
        return [event async for event in debate(first, table, record=kept, ledger=bench.ledger)]


def changed(config: Config, settings: Mapping[str, Any]) -> Config:
    """A config with some settings replaced, checked like any other."""
    if not settings:
        return config
    own = {row.key: row.value for row in parameters(config) if row.value != row.default}
    return build(config.profile, own, settings)


def summary(story: Story) -> MethodAnswer:
    """A whole debate as an answer."""
    result, calls = story.result, story.calls
    assert result is not None
    if any(call.fatal for call in calls):  # a wrong key or the like: nobody's answer
        raise NoModel(result.detail)
    turns = [call.usage for call in calls if call.kind == "turn"]
    scores = [call.usage for call in calls if call.kind != "turn"]
    return MethodAnswer(
        belief=result.raw if result.answer is not None else None,
        reason=result.stop_reason if result.answer is not None else result.detail or result.stop_reason,
        out_of_budget=result.stop_reason == "budget",
        rounds=result.rounds,
        calls=len(turns),
        judge_calls=len(scores),
        usage=sum(turns, _in_vain(story)),
        judge_usage=sum(scores, Usage()),
        course=tuple(map(_step, story.closed)),
        harm=result.harm,
        narrower={} if result.answer is None else {result.answer: result.narrower},
        naming=story.naming,
    )


def _in_vain(story: Story) -> Usage:
    """What was spent on replies that never came, which baselines count as well."""
    result = story.result
    if result is None or result.spent is None or not result.spent.lost:
        return Usage()
    used = sum((call.usage for call in story.calls), Usage()) + sum((found.usage for found in story.acquired), Usage())
    return Usage(prompt=result.spent.lost, usd=max(0.0, result.usd - used.usd))


def _step(closed: Round) -> Step:
    return Step(
        belief=closed.mixture,
        q=closed.signal("q"),
        d=closed.signal("d"),
        i=closed.signal("gain"),
        o=closed.signal("o"),
        crit=closed.signal("crit"),
        cl=closed.dials.cl if closed.dials is not None else None,
        beliefs=closed.beliefs,
        scores=_scores(closed),
    )


def _scores(closed: Round) -> dict[str, tuple[Mapping[str, float], ...]]:
    """Agent → for each of its arguments what each judge gave it; nothing in a round without any score."""
    found: dict[str, tuple[Mapping[str, float], ...]] = {}
    for said in closed.said:
        given = {word.slot: round(word.score.composite, 6) for word in said.scores if word.score is not None}
        found[said.agent] = (*found.get(said.agent, ()), given)
    return found if any(given for some in found.values() for given in some) else {}


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
        "the vote of the openings is given where the debate left it for an answer with less admitted evidence",
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
class Ask(Method):
    """What `maci ask` does, under the bench's settings with some of them changed: triage, then the debate if it is worth it (SPEC 6).

    One agent, then the vote of all, then the debate, each only while it is expected to be worth its tokens. The rule is
    :mod:`maci.controller.triage`. An answer's reason begins with the stage it came from.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "ask"

    async def answer(self, case: Case, bench: Bench, seed: int) -> MethodAnswer:
        """As many calls as it takes."""
        story = Story.of(await played(case, bench, seed, {**self.settings, "triage.enabled": True}))
        found = summary(story)
        return found if story.stage is None else replace(found, reason=f"{story.stage}: {found.reason}")
