"""A simulated case with agents and judges of given habits, for the methods of a study.

Everything is planted, nothing of the methods is: they are those of :mod:`maci.lab.methods`, the controller among them.

*Openings.* With probability ``together`` all agents share one draw, else each draws for itself; a draw is right with probability
``skill``. So the correlation of being right is ``together``. A wrong opening names the case's lure with the probability that makes two
wrong openings agree as often as ``lure`` says, else any other wrong outcome.

*Evidence.* Every agent holds a piece about what it opens with and three more, each about the truth with probability ``sound`` (the
map's evidence quality), else about a wrong outcome. Pieces about the truth fit the case better, by as much as was estimated.

*Later turns.* An agent that stands against others gives up with the probability that was estimated for its kind: right or wrong
before, new evidence shown or not. New evidence for an outcome is a piece about it that exists and that the agent had not met.
Probabilities without new evidence are those of an agent that stands alone; they are multiplied by ``backed`` if another agent holds
the same answer, and by 1 + ``dial`` (1 − 2 CL): contentious agents yield less. The latter factor is assumed, for no record has debates
at several levels, and the map is drawn with and without it.

*Judges.* A score is the mean of its side (truth or error), noise of the argument that all judges share, and noise of the judge's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from maci.agents.agent import Agent, Judge
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore, ScoreRequest
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.evidence.span import Citation, Retrieval, Span
from maci.lab.map.habits import Habits
from maci.llm.usage import Usage
from maci.seating.table import Table

PIECES = 4
"""Pieces of evidence an agent holds."""
JUDGES = 3
READ, ENTRY, WRITTEN, JUDGED = 2500, 110, 260, 720
"""Tokens: of a prompt without a record, of an argument in it, of a turn, of a judge's call. As `bench_tokens.py` counts them with the
fake server (case dengue), rounded."""
ADDED = 0.2
"""How far agreement of all others moves an agent's certainty towards 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the map varies, beside the habits."""

    habits: Mapping[str, float]
    outcomes: int = 5
    agents: int = 3
    sound: float = 0.6
    """Probability that a piece of evidence is about the truth."""
    dial: float = 0.0
    """How far contentiousness keeps agents from yielding without new evidence: 0 not at all, 1 wholly at CL 1."""

    @classmethod
    def of(cls, habits: Habits, **more: float) -> Self:
        """The world of estimated habits; ``more`` are fields or habits that are set instead."""
        values = {name: found.value for name, found in habits.items()}
        own = {name: more.pop(name) for name in list(more) if name in values}
        return cls(habits={**values, **own}, **more)  # type: ignore[arg-type]


def draw(*key: object) -> np.random.Generator:
    """The random stream of a thing, the same whenever it is asked for."""
    digest = hashlib.blake2b("/".join(map(str, key)).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


@dataclass(frozen=True, kw_only=True)
class Planted:
    """One case of a world."""

    world: World
    number: int
    seed: str = "0"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """In an order that says nothing."""
        return tuple(f"outcome {n + 1}" for n in range(self.world.outcomes))

    @cached_property
    def _places(self) -> tuple[int, int]:
        truth, lure = draw("places", self.seed, self.number).choice(self.world.outcomes, 2, replace=False)
        return int(truth), int(lure)

    @property
    def truth(self) -> str:
        """The right outcome."""
        return self.labels[self._places[0]]

    @property
    def lure(self) -> str:
        """The wrong outcome that errors run to."""
        return self.labels[self._places[1]]

    @cached_property
    def case(self) -> Case:
        """As methods see it."""
        return Case(
            question=f"Which outcome is that of case {self.number}?",
            outcomes=OutcomeSpace(labels=self.labels),
            gold=self.truth,
            id=f"case-{self.number}",
        )

    def opening(self, agent: int, sample: int = 0) -> str:
        """What an agent opens with; ``sample`` numbers repeated draws."""
        habits = self.world.habits
        if draw("shared", self.seed, self.number).random() < habits["together"]:
            agent = -1
        again = draw("again", self.seed, self.number, agent, sample)
        if sample and again.random() < habits["again"]:
            sample = 0
        own = draw("opening", self.seed, self.number, agent, sample)
        if own.random() < habits["skill"]:
            return self.truth
        return self.wrong(own)

    def wrong(self, rng: np.random.Generator) -> str:
        """A wrong outcome; two of them agree with the probability ``lure`` at least."""
        others = [label for label in self.labels if label not in (self.truth, self.lure)]
        if not others or rng.random() < _share(self.world.habits["lure"], len(others)):
            return self.lure
        return others[int(rng.integers(len(others)))]

    def pieces(self, agent: int) -> tuple[Span, ...]:
        """The evidence an agent holds."""
        rng = draw("pieces", self.seed, self.number, agent)
        about = [self.opening(agent)]
        about += [self.truth if rng.random() < self.world.sound else self.wrong(rng) for _ in range(PIECES - 1)]
        return tuple(self._piece(f"{agent}.{n}", outcome, rng) for n, outcome in enumerate(about))

    def _piece(self, name: str, about: str, rng: np.random.Generator) -> Span:
        habits = self.world.habits
        mean = habits["fit_true"] if about == self.truth else habits["fit_false"]
        fit = float(np.clip(rng.normal(mean, habits["fit_spread"]), -0.99, 0.99))
        return Span(f"e{name}", f"Piece {name} of {self.case.id} fit={fit:.4f}", "planted", 0, about)


def _share(agree: float, others: int) -> float:
    """Probability λ of the lure so that two wrong answers agree with probability ``agree``: λ² + (1 − λ)²/k.

    >>> round(_share(0.5, 1), 3), round(_share(1.0, 3), 3)
    (0.5, 1.0)
    """
    a, b, c = 1 + 1 / others, -2 / others, 1 / others - agree
    return float(np.clip((-b + np.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a), 0.0, 1.0))


# --- who takes part -------------------------------------------------------------------------------------------------------------


class PlantedEncoder:
    """An encoder of the planted pieces: the cosine with the case is the fit that stands in the text."""

    name = "planted"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """In the plane of the case and one other direction."""
        fits = np.array([float(text.rpartition("fit=")[2]) if "fit=" in text else 1.0 for text in texts], np.float32)
        return np.stack([fits, np.sqrt(1 - fits**2)], axis=1)


@dataclass(frozen=True)
class PlantedEvidence:
    """The pieces of all agents, as the source of a table."""

    spans: Mapping[str, Span]

    def retrieve(self, query: str, k: int, max_tokens: int) -> Retrieval:
        """All of them: the moderator measures Q₀ on them; agents read their own."""
        return Retrieval(tuple(self.spans.values())[:k])

    def get(self, span_id: str) -> Span | None:
        """By id."""
        return self.spans.get(span_id)


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedAgent(Agent):
    """Answers as its habits say."""

    planted: Planted
    seat: int
    sample: int = 0
    name: str = ""
    family: str = "simulated"
    _own: tuple[Span, ...] = field(default=())

    @classmethod
    def at(cls, planted: Planted, seat: int) -> Self:
        """The agent of a seat, with its evidence."""
        return cls(planted=planted, seat=seat, name=f"agent {seat + 1}", _own=planted.pieces(seat))

    def redrawn(self, seed: int) -> Self:
        """Another sample of the same agent."""
        return replace(self, sample=seed)

    def as_copy_of(self, other: Self) -> Self:
        """The other's habits are this one's: only the evidence differs."""
        return self

    async def turn(self, request: TurnRequest) -> Turn:
        """The opening, or an answer to the others."""
        lead = self._lead(request)
        argument = self._argued(request, lead)
        return Turn(belief=self._belief(request, lead), arguments=(argument,), usage=_usage(len(request.anchor.record)))

    def _rng(self, request: TurnRequest, what: str) -> np.random.Generator:
        planted = self.planted
        return draw(what, planted.seed, planted.number, self.seat, self.sample, request.round, request.seed)

    def _lead(self, request: TurnRequest) -> str:
        if request.belief is None:
            return self.planted.opening(self.seat, self.sample)
        own = max(request.belief, key=lambda outcome: request.belief[outcome])  # type: ignore[index]
        theirs = [lead for lead in request.leading.values() if lead != own]
        if not theirs:
            return own
        other = max(sorted(set(theirs)), key=theirs.count)
        habits, side = self.planted.world.habits, "right" if own == self.planted.truth else "wrong"
        if other in self._new_evidence(request):
            p = habits[f"follows_{side}"]
        else:
            backed = habits["backed"] if len(theirs) < len(request.leading) else 1.0
            p = habits[f"yields_{side}"] * backed * (1 + self.planted.world.dial * (1 - 2 * request.anchor.cl))
        return other if self._rng(request, "lead").random() < p else own

    def _new_evidence(self, request: TurnRequest) -> set[str]:
        """Outcomes for which the others showed a piece about them in the last round that this agent had not met."""
        record, about = request.anchor.record, {span.id: span.label for span in request.evidence}
        known = {span.id for span in self._own}
        known |= {c.span for entry in record if entry.round < request.round - 1 for c in entry.argument.citations}
        fresh = (entry for entry in record if entry.round == request.round - 1 and entry.seat != request.seat)
        return {
            entry.argument.outcome
            for entry in fresh
            if entry.argument.outcome
            and any(
                c.span not in known and about.get(c.span) == entry.argument.outcome for c in entry.argument.citations
            )
        }

    def _argued(self, request: TurnRequest, lead: str) -> Argument:
        """The best unused piece for the lead that the agent holds or was shown, or a citation that does not exist."""
        rng = self._rng(request, "argued")
        shown = {entry.argument.outcome: entry for entry in request.anchor.record if entry.argument.citations}
        used = {c.span for entry in request.anchor.record for c in entry.argument.citations}
        mine = sorted((s for s in self._own if s.label == lead), key=lambda s: (s.id in used, s.id))
        if mine:
            piece = mine[0].id
        elif lead in shown:
            piece = shown[lead].argument.citations[0].span
        else:
            piece = self._own[int(rng.integers(len(self._own)))].id
        if rng.random() >= self.planted.world.habits["cites"]:
            piece = f"none-{self.seat}-{request.round}"
        answers = request.argued_for(lead)
        return Argument(claim=f"It is {lead}.", citations=(Citation(piece),), outcome=lead, answers=answers)

    def _belief(self, request: TurnRequest, lead: str) -> dict[str, float]:
        habits = self.planted.world.habits
        sure = habits["sure_right"] if lead == self.planted.truth else habits["sure_wrong"]
        others = list(request.leading.values())
        if others:
            sure += (1 - sure) * ADDED * others.count(lead) / len(others)
        floor = 1 / len(self.planted.labels)
        sure = min(0.98, max(sure, floor + 0.02))
        rivals = [y for y in dict.fromkeys(others) if y != lead]
        rest = [y for y in self.planted.labels if y != lead]
        share = dict.fromkeys(rest, (1 - sure) * (0.5 if rivals else 1.0) / len(rest))
        for rival in rivals:
            share[rival] += (1 - sure) * 0.5 / len(rivals)
        return {lead: sure, **share}


def _usage(entries: int) -> Usage:
    return Usage(prompt=READ + ENTRY * entries, generated=WRITTEN, free=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedJudge(Judge):
    """Scores an argument by whether it is for the truth, with noise."""

    planted: Planted
    name: str
    family: str = "simulated-judge"
    stateless: bool = True

    async def score(self, request: ScoreRequest) -> tuple[CritScore, Usage]:
        """The same for all three criteria."""
        habits, planted = self.planted.world.habits, self.planted
        argument = request.argument
        key = (planted.seed, planted.number, argument.outcome, *(c.span for c in argument.citations))
        side = "true" if argument.outcome == planted.truth else "false"
        value = draw("argument", *key).normal(habits[f"crit_{side}"], habits["crit_spread"])
        value += draw("judge", self.name, *key).normal(0, habits["crit_noise"])
        if request.unverified:
            value -= habits["crit_spread"]
        value = float(np.clip(value, 0, 1))
        return CritScore(evidence=value, logic=value, relevance=value), Usage(prompt=JUDGED, generated=0, free=True)


@dataclass(frozen=True, kw_only=True)
class SimulatedPanel:
    """Sets the table for planted cases."""

    cases: Mapping[str, Planted]

    @classmethod
    def of(cls, cases: Iterable[Planted]) -> Self:
        """For these cases."""
        return cls(cases={planted.case.id: planted for planted in cases})

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """As many agents as the world has, and three judges."""
        planted = self.cases[case.id]
        agents = [SimulatedAgent.at(planted, seat) for seat in range(planted.world.agents)]
        spans = {span.id: span for agent in agents for span in agent._own}
        judges = [SimulatedJudge(planted=planted, name=f"judge {n + 1}") for n in range(JUDGES)]
        return Table(agents=agents, judges=judges, evidence=PlantedEvidence(spans), encoder=PlantedEncoder())
