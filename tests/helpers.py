"""Builders shared by the tests: cases, tables, debates, and agents and judges that do anything at all."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hash_encoder import HashEncoder
from maci import __version__
from maci.agents.agent import Agent, FunctionJudge, Judge, ScriptedAgent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.cases.case import Case, Document
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, load
from maci.controller.decisions import Finished
from maci.controller.dials import ClosedRound, Measured, RoundDials
from maci.controller.events import FORMAT, Event, is_decision
from maci.controller.inputs import Intervened, Opened, Seat
from maci.debating.loop import Nowhere, Recorder, debate
from maci.evidence.span import CaseEvidence, Citation
from maci.llm.usage import Bound, Usage
from maci.moderator.divergence import Analysis
from maci.moderator.signals import Progress
from maci.record.transcript import Transcript
from maci.seating.table import Table

DOCUMENTS = (
    Document("High fever with pain behind the eyes points to dengue fever.", "handbook", "e1"),
    Document("Joint pain that lasts for months points to chikungunya.", "handbook", "e2"),
    Document("Red eyes and a mild rash point to zika virus infection.", "atlas", "e3"),
    Document("Which diagnosis fits fever and rash in a traveller?", "atlas", "e4"),
)
QUESTION = "Which diagnosis fits fever and rash in a traveller?"
LABELS = ("dengue", "chikungunya", "zika")


def make_case(outcomes: OutcomeSpace | Sequence[str] = LABELS, **changes: Any) -> Case:
    """A small case with four documents, e1 to e4; e4 repeats the question, so its cosine with θ is 1."""
    space = outcomes if isinstance(outcomes, OutcomeSpace) else OutcomeSpace(labels=tuple(outcomes))
    return Case(**{"question": QUESTION, "outcomes": space, "evidence": DOCUMENTS, "id": "test", **changes})


@cache
def settings(*sets: str, profile: str | None = None) -> Config:
    """A config without the environment: ``settings("max_rounds=3")``."""
    return load(profile, sets=sets, environ={})


def arg(claim: str = "It fits.", *cited: str | Citation, outcome: str | None = None, **more: Any) -> Argument:
    """An argument citing span ids."""
    citations = tuple(c if isinstance(c, Citation) else Citation(c) for c in cited)
    return Argument(claim=claim, reasons=("Because.",), citations=citations, outcome=outcome, **more)


def turn(
    *p: float, args: Sequence[Argument] = (arg("It fits.", "e4"),), labels: Sequence[str] = LABELS, tokens: int = 0
) -> Turn:
    """A turn with the probabilities ``p`` of the first labels."""
    belief = dict(zip(labels, p, strict=False))
    return Turn(belief=belief, arguments=tuple(args), usage=Usage(generated=tokens))


def script(name: str, *turns: Turn | Exception, **more: Any) -> ScriptedAgent:
    """A scripted agent of a family of its own."""
    return ScriptedAgent(name, list(turns), family=f"family-{name}", **more)


def judge(
    name: str = "judge", score: Callable[[ScoreRequest], CritScore | float] | float = 0.8, **more: Any
) -> FunctionJudge:
    """A judge that gives a fixed score, or what a function says."""
    return FunctionJudge(name, score if callable(score) else lambda request: score, **more)


def seat(agents: Sequence[Any], judges: Sequence[Any] | None = None, case: Case | None = None, **more: Any) -> Table:
    """A table; one judge unless told otherwise."""
    return Table(
        agents=agents,
        judges=[judge()] if judges is None else judges,
        evidence=more.pop("evidence", None) or CaseEvidence(case or make_case()),
        encoder=more.pop("encoder", HashEncoder()),
        comparer=more.pop("comparer", None),
        writer=more.pop("writer", None),
    )


def open_debate(table: Table, config: Config | None = None, case: Case | None = None, **changes: Any) -> Opened:
    """The first event, without the clock and the commit."""
    return replace(
        Opened(
            format=FORMAT,
            case=case or make_case(),
            config=config or settings(),
            agents=tuple(Seat(agent.name, agent.family) for agent in table.agents),
            judges=tuple(Seat(j.name, j.family) for j in table.judges),
            encoder=table.encoder.name,
            seed=7,
            version=__version__,
            comparer="" if table.comparer is None else table.comparer.name,
            writer="" if table.writer is None else table.writer.name,
            set_aside=Bound() if table.writer is None else table.writer.ceiling,
        ),
        **changes,
    )


def play(
    table: Table,
    config: Config | None = None,
    case: Case | None = None,
    *,
    record: Recorder | None = None,
    recorded: Sequence[Event] = (),
    hand: Sequence[Intervened] | None = None,
    watch: Callable[[Event, asyncio.Queue[Intervened]], object] | None = None,
    opened: Opened | None = None,
) -> list[Event]:
    """Run a debate to its end and return its events (with ``recorded`` ones in front)."""

    async def go() -> list[Event]:
        queue: asyncio.Queue[Intervened] = asyncio.Queue()
        for item in hand or ():
            queue.put_nowait(item)
        events = list(recorded)
        async for event in debate(
            opened or open_debate(table, config, case),
            table,
            record=record or Nowhere(),
            recorded=recorded,
            hand=None if hand is None and watch is None else queue,
        ):
            events.append(event)
            if watch is not None:
                watch(event, queue)
        return events

    return asyncio.run(go())


def write(path: Path, table: Table, config: Config | None = None, case: Case | None = None, **more: Any) -> list[Event]:
    """Run a debate into a transcript."""
    with Transcript.create(path) as transcript:
        return play(table, config, case, record=transcript, **more)


def result(events: Sequence[Event]) -> Finished:
    """The last event, which must be the only result."""
    assert [isinstance(event, Finished) for event in events].count(True) == 1
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def decisions(events: Sequence[Event]) -> list[Event]:
    """What the fold concluded."""
    return [event for event in events if is_decision(event)]


def of(kind: type, events: Sequence[Event]) -> list[Any]:
    """The events of one type."""
    return [event for event in events if isinstance(event, kind)]


# --- agents and judges that do anything at all -----------------------------------------------------------------------------

OPEN_NAMES = (
    "Dengue fever",
    "dengue  FEVER",
    "Denge fever",
    "Hepatitis B",
    "Hepatitis C",
    "Zika",
    "other",
    "Grippe",
    "!?",
    "流感",
)


@dataclass(frozen=True)
class Wild:
    """How a wild debate is set up; everything agents and judges do follows from ``seed`` alone."""

    seed: int
    agents: int = 2
    judges: int = 2
    kind: str = "closed"
    outcomes: int = 3
    trouble: float = 0.3
    """How often a turn or score is something a careful author would not send."""
    sets: tuple[str, ...] = ()
    profile: str = "default"
    paid: bool = False

    def case(self) -> Case:
        labels = tuple(f"outcome {i}" for i in range(self.outcomes))
        if self.kind == "ordered":
            return make_case(
                OutcomeSpace(kind="ordered", labels=labels, positions=tuple(float(i * i) for i in range(self.outcomes)))
            )
        if self.kind == "open":
            return make_case(OutcomeSpace(kind="open", labels=("Dengue fever",)), gold="Zika")
        return make_case(labels, gold="outcome 1")

    def config(self) -> Config:
        return settings(*self.sets, profile=self.profile)

    def table(self, order: int | None = None) -> Table:
        """A fresh table; replies come in an order of their own for each ``order``."""
        case, config = self.case(), self.config()
        judges = [WildJudge(f"j{i}", self, order) for i in range(self.judges)] if config.crit.enabled else []
        return seat([WildAgent(f"a{i}", self, order) for i in range(self.agents)], judges, case)


async def _dawdle(order: int | None, *key: object) -> None:
    if order is not None:
        for _ in range(Random(f"{order}/{key}").randrange(5)):
            await asyncio.sleep(0)


class WildAgent(Agent):
    """An agent that states anything: sound turns, refused beliefs, errors, things that are not turns."""

    def __init__(self, name: str, wild: Wild, order: int | None) -> None:
        self.name, self.family, self.asked = name, f"family-{name}", list[int]()
        self._wild, self._order = wild, order

    def ceiling(self, request: TurnRequest) -> int:
        if Random(f"{self._wild.seed}/{self.name}/{request.round}/ceiling").random() < self._wild.trouble / 20:
            raise RuntimeError("no ceiling today")
        return 0

    async def turn(self, request: TurnRequest) -> Any:
        self.asked.append(request.round)
        await _dawdle(self._order, self.name, request.round)
        rng = Random(f"{self._wild.seed}/{self.name}/{request.round}")
        if rng.random() < self._wild.trouble / 3:
            match rng.randrange(4):
                case 0:
                    raise RuntimeError("boom \ud800")
                case 1:
                    raise asyncio.CancelledError
                case 2:
                    return None
                case _:
                    return Turn(belief={"outcome 0": "much", "outcome 1": None})  # type: ignore[dict-item]
        arguments = tuple(self._argument(rng, request) for _ in range(rng.randrange(4)))
        usage = Usage(generated=rng.randrange(100), usd=rng.randrange(64) / 64) if self._wild.paid else Usage()
        return Turn(belief=self._belief(rng, request), arguments=arguments, usage=usage)

    def _belief(self, rng: Random, request: TurnRequest) -> dict[str, float]:
        names = list(OPEN_NAMES) if self._wild.kind == "open" else list(request.question.labels)
        chosen = rng.sample(names, rng.randrange(1, len(names) + 1))
        raw = [rng.random() ** 3 + 1e-9 for _ in chosen]
        if rng.random() < 0.2:  # certain of one
            raw = [1.0] + [0.0] * (len(raw) - 1)
        belief = {name: value / sum(raw) for name, value in zip(chosen, raw, strict=True)}
        if rng.random() < self._wild.trouble:
            match rng.randrange(7):
                case 0:
                    return {}
                case 1:
                    belief[chosen[0]] = math.nan
                case 2:
                    belief[chosen[0]] = math.inf
                case 3:
                    belief[chosen[0]] = -0.5
                case 4:
                    return {name: value * rng.choice([0.5, 0.95, 1.05, 2.0]) for name, value in belief.items()}
                case 5:
                    belief["no such outcome"] = 0.0
                case _:
                    belief[chosen[0]] = 10**400
        return belief

    def _argument(self, rng: Random, request: TurnRequest) -> Argument:
        pool = ["e1", "e2", "e3", "e4", "nowhere", *(span.id for span in request.evidence)]
        cited = [
            Citation(i, rng.choice([None, None, "high fever", "nothing of the sort", ""]))
            for i in rng.sample(pool, rng.randrange(4))
        ]
        outcome = rng.choice([None, "outcome 0", "Dengue fever", "no such outcome", "!?"])
        return arg(f"{self.name} {request.round} {rng.random()}", *cited, outcome=outcome, against=rng.random() < 0.2)


class WildJudge(Judge):
    """A judge that scores, abstains, raises, or answers outside the schema."""

    def __init__(self, name: str, wild: Wild, order: int | None) -> None:
        self.name, self.family, self.asked = name, "family-judge", list[tuple[str, int]]()
        self._wild, self._order = wild, order

    def ceiling(self, request: ScoreRequest) -> int:
        return 0

    async def score(self, request: ScoreRequest) -> Any:
        key = (self.name, request.argument.claim, request.sample)
        self.asked.append(key[1:])
        await _dawdle(self._order, *key)
        rng = Random(f"{self._wild.seed}/{key}")
        if rng.random() < self._wild.trouble:
            match rng.randrange(5):
                case 0:
                    raise JudgeAbstained("cannot say")
                case 1:
                    raise RuntimeError("judge down")
                case 2:
                    return CritScore(evidence=1.5, logic=0.5, relevance=0.5), Usage()
                case 3:
                    return 0.7, Usage()
                case _:
                    return None
        base = rng.choice([0.1, 0.5, 0.9])
        marks = [min(1.0, max(0.0, base + rng.uniform(-0.1, 0.1))) for _ in range(3)]
        usage = Usage(prompt=rng.randrange(50)) if self._wild.paid else Usage()
        return CritScore(evidence=marks[0], logic=marks[1], relevance=marks[2]), usage


def closed_round(
    round: int, dials: RoundDials, *, q, d, o, crit, crit_variance, admitted, candidates, pi_i, pi_d, same_top, gain=0.0,
    d_before=None, **more,
) -> ClosedRound:  # fmt: skip
    """A closed round as stop rules and schedules see it, written by hand."""
    signals = Measured(
        round=round, q=q, d=d, o=o, crit=crit, crit_variance=crit_variance, entropy=0.5, gain=gain, shift=0.0, r_i=0.0,
        r_d=None, pi_i=pi_i, pi_d=pi_d, analysis=Analysis(None, None, None, None, 0.0, 0.0, None, None),
    )  # fmt: skip
    progress = Progress(fall=gain, capacity=1.0, d_before=d_before, d=d, shift=0.0)
    return ClosedRound(
        signals=signals,
        progress=progress,
        dials=dials,
        admitted=admitted,
        candidates=candidates,
        same_top=same_top,
        **more,
    )
