"""Who is compared on what: scored test answers of every method, calibrated on dev, in the order of the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from maci.calibration.temperature import Softening, fit_softening
from maci.lab.methods import entries
from maci.lab.study.metrics import ScoredAnswer, score
from maci.lab.study.report.gather import Gathered, leading
from maci.lab.study.study import PlannedMethod, Row
from maci.moderator.harm import majority

BEST = "(best on dev)"
WITHOUT_DEBATE = frozenset(
    {"single", "average", "weighted_average", "majority_vote", "self_consistency", "mixture_of_agents"}
)
"""Methods in which no agent hears another and answers again in turn; what debate has to be better than."""
CLINICAL = frozenset({"symptom2disease", "kaggle_symptom_disease"})
"""Data like those of the paper's G1."""
NEWS = frozenset({"budak2016", "budak_allsides_text"})
"""Data like those of its G2."""
USUAL = ("single", "average", "majority_vote")
"""What debate is usually compared with; a report names those that were not run."""
_ABLATIONS = frozenset(entry.name for entry in entries() if entry.ablation)


class Learner(NamedTuple):
    """Whose calibration."""

    data: str
    seed: int
    method: str


class CaseId(NamedTuple):
    """What was answered, whatever the seed: rows of one case are one cluster."""

    data: str
    item: str


class Place(NamedTuple):
    """Where two methods can be compared."""

    data: str
    seed: int
    item: str

    @property
    def case(self) -> CaseId:
        """Without the seed."""
        return CaseId(self.data, self.item)


def lead(p: Mapping[str, float]) -> str | None:
    """The leading outcome; none of equals.

    >>> lead({"a": 0.2, "b": 0.8}), lead({"a": 0.5, "b": 0.5})
    ('b', None)
    """
    if len(p) > 1:  # a condensed row mostly has the leading one alone
        p = leading(p)
    return next(iter(p)) if len(p) == 1 else None


@dataclass(frozen=True)
class Answered:
    """One scored answer; several tables look at its course, which is gone through once."""

    row: Row
    scored: ScoredAnswer

    @cached_property
    def leads(self) -> list[dict[str, str | None]]:
        """What each agent leads with after every round."""
        return [{agent: lead(p) for agent, p in step.beliefs.items()} for step in self.row.course]

    @cached_property
    def turns(self) -> list[tuple[str | None, str | None]]:
        """(lead before, lead now) of every agent and round."""
        return [
            (before[agent], now)
            for before, after in pairwise(self.leads)
            for agent, now in after.items()
            if agent in before
        ]

    @cached_property
    def moves(self) -> list[bool]:
        """Of every change of an agent's lead: whether it went to what most others led with before."""
        return [
            now == majority(before, agent)
            for before, after in pairwise(self.leads)
            for agent, now in after.items()
            if now is not None and before.get(agent) not in (None, now)
        ]

    @cached_property
    def tokens(self) -> int:
        """Of agents and judges."""
        return self.row.usage.tokens + self.row.judge_usage.tokens


@dataclass(frozen=True)
class Picked:
    """Some answers of a method, in the order of their cases."""

    places: tuple[Place, ...]
    answers: tuple[Answered, ...]

    @cached_property
    def cases(self) -> list[CaseId]:
        """The case of each."""
        return [place.case for place in self.places]

    @cached_property
    def scored(self) -> list[ScoredAnswer]:
        """What each scored."""
        return [answer.scored for answer in self.answers]


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """A method with its answers."""

    name: str
    use: str
    answers: Mapping[Place, Answered]
    member: bool = False
    """One of several that differ in their agent; their best on dev is an entrant too."""
    unscored: int = 0
    """Test answers that failed or ran out of budget."""
    chosen: tuple[str, ...] = ()
    """Best on dev: who was chosen, for each data set and seed."""

    @cached_property
    def all(self) -> Picked:
        """Its answers."""
        places = tuple(sorted(self.answers))
        return Picked(places, tuple(self.answers[place] for place in places))

    def picked(self, keep: Callable[[Answered], bool] | None = None) -> Picked:
        """Its answers, or some of them."""
        if keep is None:
            return self.all
        kept = [i for i, answer in enumerate(self.all.answers) if keep(answer)]
        if len(kept) == len(self.all.answers):
            return self.all
        return Picked(tuple(self.all.places[i] for i in kept), tuple(self.all.answers[i] for i in kept))

    @property
    def best(self) -> bool:
        """Whether it is the best of several, chosen on dev."""
        return bool(self.chosen)

    @property
    def ablation(self) -> bool:
        """Whether it is the controller without one of its parts."""
        return self.use in _ABLATIONS

    @property
    def debates(self) -> bool:
        """Whether agents hear each other and answer again."""
        return self.use not in WITHOUT_DEBATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """One data set of a study, or several together."""

    key: str
    title: str
    data: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    reference: str
    paper: Literal["G1", "G2", ""] = ""
    """The experiment of the paper that had such data: whose figures may stand beside."""

    @property
    def home(self) -> Entrant:
        """The method that others are compared with."""
        return next(e for e in self.entrants if e.name == self.reference)

    @property
    def places(self) -> tuple[Place, ...]:
        """All that any method answered."""
        return tuple(sorted({place for e in self.entrants for place in e.answers}))

    @property
    def cases(self) -> int:
        """How many different cases."""
        return len({place.case for place in self.places})


def scored(rows: Sequence[Row], calibration: Softening) -> list[ScoredAnswer]:
    """Answers beside the truth: accuracy and ranks of the belief as given, probabilities of the calibrated one.

    ε of the calibration would give a gold outcome of probability 0 a rank that the method never gave it. The same goes for
    positions on a scale: softening pulls every answer to the middle, which is no merit.
    """
    soft = calibration.apply_all([row.belief or {} for row in rows])
    return [_softened(row, calibration.plain, p) for row, p in zip(rows, soft, strict=True)]


def _softened(row: Row, unchanged: bool, soft: Mapping[str, float]) -> ScoredAnswer:
    assert row.belief is not None
    calibrated = None if row.gold is None or unchanged else soft
    return score(row.belief, row.gold, row.positions, row.raters, calibrated=calibrated)


def _answered(row: Row) -> bool:
    return row.status == "done" and row.belief is not None


def calibrations(rows: Iterable[Row]) -> dict[Learner, Softening]:
    """The one calibration that every method gets on each data set and under each seed, from its own answered ``dev`` rows.

    The ``test`` part is never looked at.
    """
    taught: dict[Learner, list[tuple[Mapping[str, float], str]]] = {}
    for row in rows:
        lessons = taught.setdefault(Learner(row.data, row.seed, row.method), [])
        if row.part == "dev" and row.status == "done" and row.belief is not None and row.gold is not None:
            lessons.append((row.belief, row.gold))
    return {who: fit_softening([p for p, _ in some], [y for _, y in some]) for who, some in taught.items()}


def arenas(study: Gathered, reference: str) -> tuple[tuple[Arena, ...], dict[Learner, Softening]]:
    """An arena for each data set, one for all of them where there are several, and what was learnt on dev."""
    learnt = calibrations(study.rows.values())
    single = [_one(study, data, reference, learnt) for data in study.meta.methods]
    there = [arena for arena in single if arena is not None]
    if len(there) > 1 and (whole := _together(there, study.label, reference)) is not None:
        there.append(whole)
    return tuple(there), learnt


def _one(study: Gathered, data: str, reference: str, learnt: Mapping[Learner, Softening]) -> Arena | None:
    rows: dict[str, list[Row]] = {}
    for row in study.rows.values():
        if row.data == data:
            rows.setdefault(row.method, []).append(row)
    planned = list(study.meta.methods[data])
    entrants: list[Entrant] = []
    for i, method in enumerate(planned):
        entrants.append(_entrant(method, rows.get(method.name, ()), learnt))
        family = [m for m in planned if m.each and m.of == method.of]
        last = i + 1 == len(planned) or planned[i + 1].of != method.of
        if method.each and last and len(family) > 1 and (best := _best(family, rows, entrants, learnt)) is not None:
            entrants.append(best)
    if not any(e.answers for e in entrants):
        return None
    if not any(e.name == reference for e in entrants):
        reference = entrants[0].name
    return Arena(
        key=f"{study.label}/{data}",
        title=data if data == study.label else f"{study.label}: {data}",
        data=(data,),
        entrants=tuple(entrants),
        reference=reference,
        paper=_experiment(study, data),
    )


def _experiment(study: Gathered, data: str) -> Literal["G1", "G2", ""]:
    """By the set, whatever the study calls it; a file of the user's own is none of the paper's."""
    name = next((entry.set for entry in study.meta.spec.data if entry.name == data), None)
    return "G1" if name in CLINICAL else "G2" if name in NEWS else ""


def _entrant(method: PlannedMethod, rows: Iterable[Row], learnt: Mapping[Learner, Softening]) -> Entrant:
    test = [row for row in rows if row.part == "test"]
    by: dict[Learner, list[Row]] = {}
    for row in filter(_answered, test):
        by.setdefault(Learner(row.data, row.seed, row.method), []).append(row)
    answers = {
        Place(row.data, row.seed, row.item): Answered(row, one)
        for who, some in by.items()
        for row, one in zip(some, scored(some, learnt.get(who, Softening())), strict=True)
    }
    unscored = len(test) - len(answers)
    return Entrant(name=method.name, use=method.use, answers=answers, member=method.each, unscored=unscored)


def _best(
    family: Sequence[PlannedMethod],
    rows: Mapping[str, Sequence[Row]],
    entrants: Sequence[Entrant],
    learnt: Mapping[Learner, Softening],
) -> Entrant | None:
    """For each seed the agent with the highest accuracy on the dev items that all of them answered; of equals the least NLL."""
    by_name = {e.name: e for e in entrants}
    seeds = sorted({row.seed for method in family for row in rows.get(method.name, ())})
    answers: dict[Place, Answered] = {}
    chosen: list[str] = []
    unscored = 0
    for seed in seeds:
        dev: dict[str, dict[str, ScoredAnswer]] = {}
        for method in family:
            own = [row for row in rows.get(method.name, ()) if row.seed == seed and row.part == "dev"]
            own = [row for row in own if _answered(row) and row.gold is not None]
            learner = Learner(own[0].data, seed, method.name) if own else None
            found = scored(own, learnt.get(learner, Softening()) if learner else Softening())
            dev[method.name] = {row.item: one for row, one in zip(own, found, strict=True)}
        shared = sorted(set.intersection(*(set(some) for some in dev.values())))
        if not shared:
            continue

        def merit(
            name: str, dev: Mapping[str, Mapping[str, ScoredAnswer]] = dev, on: Sequence[str] = shared
        ) -> tuple[float, float]:
            own = [dev[name][item] for item in on]
            return -float(np.mean([s.correct is True for s in own])), float(
                np.mean([s.nll for s in own if s.nll is not None])
            )

        name = min((method.name for method in family), key=merit)
        chosen.append(f"{name.removeprefix(family[0].of + '/')} (seed {seed})")
        answers |= {place: a for place, a in by_name[name].answers.items() if place.seed == seed}
        unscored += sum(row.seed == seed and row.part == "test" and not _answered(row) for row in rows.get(name, ()))
    if not chosen:
        return None
    first = family[0]
    return Entrant(name=f"{first.of} {BEST}", use=first.use, answers=answers, unscored=unscored, chosen=tuple(chosen))


def _together(there: Sequence[Arena], label: str, reference: str) -> Arena | None:
    """All data sets as one, for the methods that all of them have."""
    names = [e.name for e in there[0].entrants if all(any(o.name == e.name for o in a.entrants) for a in there[1:])]
    if reference not in names:
        return None
    joined = []
    for name in names:
        parts = [next(e for e in arena.entrants if e.name == name) for arena in there]
        answers = {place: a for part in parts for place, a in part.answers.items()}
        chosen = tuple(f"{arena.data[0]}: {who}" for arena, p in zip(there, parts, strict=True) for who in p.chosen)
        unscored = sum(part.unscored for part in parts)
        one = parts[0]
        joined.append(
            Entrant(name=name, use=one.use, answers=answers, member=one.member, unscored=unscored, chosen=chosen)
        )
    data = tuple(arena.data[0] for arena in there)
    title = f"{label}: all {len(data)} data sets together"
    experiments = {arena.paper for arena in there}
    paper = experiments.pop() if len(experiments) == 1 else ""
    return Arena(key=f"{label}/*", title=title, data=data, entrants=tuple(joined), reference=reference, paper=paper)
