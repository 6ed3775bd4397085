"""When does a controlled debate pay? A map for agents whose habits are estimated from recorded debates.

:mod:`.habits`     what recorded debates tell of their agents (how often they are right, yield to others, follow new evidence), and what
                   that predicts of other recorded debates
:mod:`.simulated`  agents, judges and cases with given habits, for the methods of a study
:mod:`.pages`      the map as a report

Here is the sweep: every method on every cell of the map.

A cell is a world: one level of each axis (:data:`AXES`), all else as estimated. The same planted cases are put to every method, so that
differences are paired. One vote has as many samples as the tokens buy that MACI spent in the cell; every other method spends what it
spends, and the report shows how much.

Cells are kept one a line, as soon as they are done; a sweep that was interrupted continues with those that have no line.

:func:`causes` asks why a debate loses or gains: the same cases again, with one habit of the agents switched off or changed at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from maci.config import Config
from maci.errors import InputError
from maci.files.parse import append_row, whole_rows
from maci.lab.map.habits import Habits
from maci.lab.map.simulated import Planted, SimulatedPanel, World
from maci.lab.methods import build
from maci.lab.methods.method import Bench, Method, MethodAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One thing that the map varies."""

    name: str
    about: str
    levels: tuple[float, ...]
    settings: Callable[[float, Mapping[str, float]], Mapping[str, float]]
    """Level and estimated habits → fields of the world and habits that are set."""


def _susceptibility(level: float, _: Mapping[str, float]) -> Mapping[str, float]:
    """Whoever is right yields as readily as whoever is wrong, which is what the recorded debates show."""
    return dict.fromkeys(("yields_right", "yields_wrong"), level)


def _judges(level: float, habits: Mapping[str, float]) -> Mapping[str, float]:
    """Means of truth and error lie so many of one judge's standard deviations apart, about the same middle."""
    middle = (habits["crit_true"] + habits["crit_false"]) / 2
    gap = level * (habits["crit_spread"] ** 2 + habits["crit_noise"] ** 2) ** 0.5
    return {"crit_true": middle + gap / 2, "crit_false": middle - gap / 2}


AXES = (
    Axis(
        name="susceptibility", about="probability of yielding without new evidence", levels=(0.1, 0.4, 0.7),
        settings=_susceptibility,
    ),
    Axis(
        name="evidence", about="share of evidence that is about the truth", levels=(0.3, 0.6, 0.9),
        settings=lambda level, _: {"sound": level},
    ),
    Axis(
        name="judges", about="scores for truth less error, in standard deviations",
        levels=(0.0, 0.7, 2.0), settings=_judges,
    ),
    Axis(
        name="outcomes", about="possible outcomes", levels=(2, 5, 30),
        settings=lambda level, _: {"outcomes": int(level)},
    ),
    Axis(
        name="together", about="correlation of agents' errors", levels=(0.0, 0.4, 0.8),
        settings=lambda level, _: {"together": level},
    ),
    Axis(
        name="dial", about="how far contentiousness keeps agents from yielding", levels=(0.0, 1.0),
        settings=lambda level, _: {"dial": level},
    ),
)  # fmt: skip

VOTE = "majority_vote"
AVERAGE = "average"
METHODS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("maci", {}),
    ("single", {}),
    (AVERAGE, {}),
    ("self_consistency", {"n": 5}),
    ("mad", {}),
    ("du_debate", {}),
    ("unscheduled", {}),
    ("no_schedule_high", {}),
    ("no_schedule_low", {}),
    ("no_q_gate", {}),
    ("no_crit_gate", {}),
    ("crit_free", {}),
    ("uniform_weights", {}),
    ("no_stopping", {}),
    ("no_dispersion_gate", {}),
)
"""Beside the vote, which follows MACI's tokens. MACI comes first for that reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What the methods made of one cell."""

    levels: Mapping[str, float]
    cases: int
    seed: int
    right: Mapping[str, str]
    """Method → for each case 1 where its answer was right, 0 where not, - where it had none; of a tie the first outcome counts."""
    brier: Mapping[str, float]
    tokens: Mapping[str, float]
    rounds: Mapping[str, float]
    votes: int
    """Samples of the vote at equal tokens."""
    habits: str
    """Hash of the habits: a cell of other habits is another cell."""


def cells() -> Iterator[dict[str, float]]:
    """Every combination of levels."""
    for levels in product(*(axis.levels for axis in AXES)):
        yield dict(zip((axis.name for axis in AXES), map(float, levels), strict=True))


def world(levels: Mapping[str, float], habits: Habits) -> World:
    """The world of a cell."""
    values = {name: found.value for name, found in habits.items()}
    changes: dict[str, float] = {}
    for axis in AXES:
        if axis.name not in levels:
            raise InputError(f"the cell has no level of {axis.name!r}: it has {', '.join(levels)}")
        changes |= axis.settings(levels[axis.name], values)
    return World.of(habits, **changes)


def run_cell(levels: Mapping[str, float], habits: Habits, cases: int, seed: int) -> CellResult:
    """All methods on the planted cases of one cell."""
    planted, bench = _planted(world(levels, habits), levels, cases, seed)
    found: dict[str, list[MethodAnswer]] = {}
    votes = 0
    for use, options in (*METHODS, (VOTE, {})):
        if use == VOTE:
            votes = max(1, round(_tokens(found["maci"]) / _tokens(found["single"])))
            options = {"n": votes}
        found[use] = asyncio.run(_answers(build(use, options), planted, bench, seed))
    return CellResult(
        levels=levels,
        cases=cases,
        seed=seed,
        right={use: "".join(map(_mark, answers, planted)) for use, answers in found.items()},
        brier={use: sum(map(_brier, answers, planted)) / cases for use, answers in found.items()},
        tokens={use: _tokens(answers) for use, answers in found.items()},
        rounds={use: sum(answer.rounds for answer in answers) / cases for use, answers in found.items()},
        votes=votes,
        habits=hash_of({name: found.value for name, found in habits.items()}),
    )


def _planted(place: World, levels: Mapping[str, float], cases: int, seed: int) -> tuple[list[Planted], Bench]:
    """The cases of a cell, and who answers them."""
    own = hash_of({**levels, "seed": seed})  # cells share no case, or their differences would not be independent
    planted = [Planted(world=place, number=number, seed=own) for number in range(cases)]
    return planted, Bench(panel=SimulatedPanel.of(planted), config=Config())


def hash_of(values: Mapping[str, float]) -> str:
    """A short name of these values."""
    said = json.dumps({name: round(value, 9) for name, value in values.items()}, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


async def _answers(method: Method, planted: Sequence[Planted], bench: Bench, seed: int) -> list[MethodAnswer]:
    """To the cases without their true outcome, as in a study."""
    return [await method.answer(replace(each.case, gold=None), bench, seed) for each in planted]


def _tokens(answers: Sequence[MethodAnswer]) -> float:
    return sum(a.usage.tokens + a.judge_usage.tokens for a in answers) / len(answers)


def _mark(answer: MethodAnswer, planted: Planted) -> str:
    if answer.belief is None:
        return "-"
    return "1" if max(answer.belief, key=lambda outcome: answer.belief[outcome]) == planted.truth else "0"  # type: ignore[index]


def _brier(answer: MethodAnswer, planted: Planted) -> float:
    belief = answer.belief or dict.fromkeys(planted.labels, 1 / len(planted.labels))
    return sum((p - (outcome == planted.truth)) ** 2 for outcome, p in belief.items())


# --- causes ---------------------------------------------------------------------------------------------------------------------

YIELDING, FOLLOWING = ("yields_right", "yields_wrong"), ("follows_right", "follows_wrong")
CHANGES: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("as on the map", {}),
    ("nobody yields without new evidence", dict.fromkeys(YIELDING, 0.0)),
    ("nobody follows new evidence", dict.fromkeys(FOLLOWING, 0.0)),
    ("neither: nobody moves", dict.fromkeys((*YIELDING, *FOLLOWING), 0.0)),
    ("an agent with company yields like one alone", {"backed": 1.0}),
    ("new evidence convinces right and wrong alike (.4)", dict.fromkeys(FOLLOWING, 0.4)),
    ("new evidence convinces as it did the readers", {"follows_right": 0.07, "follows_wrong": 0.62}),
)
"""What is changed → habits that are set. The readers' rates are those of docs/map.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The same cases under one change of habits."""

    what: str
    cells: Sequence[CellResult]
    """With the marks of two methods alone: maci and the average of the openings."""
    before: float
    """Share of agents that are right in their openings."""
    after: float
    """Share of agents that are right at the end of the debate."""

    def _share(self, average: str) -> float:
        pairs = [(a, m) for cell in self.cells for a, m in zip(cell.right[AVERAGE], cell.right["maci"], strict=True)]
        of = [m != average for a, m in pairs if a == average]
        return sum(of) / len(of) if of else float("nan")

    @property
    def lost(self) -> float:
        """Share of cases that the average had right and the debate did not."""
        return self._share("1")

    @property
    def mended(self) -> float:
        """Share of cases that the average had wrong and the debate had right."""
        return self._share("0")


def causes(
    habits: Habits, *, cases: int, every: int, seed: int, told: Callable[[int, int], None] = lambda done, total: None
) -> list[Cause]:
    """What the debate makes of the openings, under each of :data:`CHANGES`, on every so-many-th cell of the map."""
    wanted, found = list(cells())[::every], []
    for number, (what, change) in enumerate(CHANGES):
        results, right = [], []
        for at, levels in enumerate(wanted):
            told(number * len(wanted) + at, len(CHANGES) * len(wanted))
            place = world(levels, habits)
            result, shares = _before_and_after(replace(place, habits={**place.habits, **change}), levels, cases, seed)
            results.append(result)
            right += shares
        before, after = (sum(side) / len(side) for side in zip(*right, strict=True))
        found.append(Cause(what=what, cells=results, before=before, after=after))
    return found


def _before_and_after(
    place: World, levels: Mapping[str, float], cases: int, seed: int
) -> tuple[CellResult, list[tuple[float, float]]]:
    """Marks of the average and of the debate, and of each case the share of agents right in their openings and at the end."""
    planted, bench = _planted(place, levels, cases, seed)
    found = {use: asyncio.run(_answers(build(use, {}), planted, bench, seed)) for use in (AVERAGE, "maci")}
    right = []
    for answer, each in zip(found["maci"], planted, strict=True):
        ends = (answer.course[0].beliefs, answer.course[-1].beliefs)
        leads = [[max(p, key=lambda y: p[y]) for p in beliefs.values()] for beliefs in ends]
        opened, ended = (sum(lead == each.truth for lead in some) / len(some) for some in leads)
        right.append((opened, ended))
    marks = {use: "".join(map(_mark, answers, planted)) for use, answers in found.items()}
    result = CellResult(
        levels=levels, cases=cases, seed=seed, right=marks, brier={}, tokens={}, rounds={}, votes=0, habits=""
    )
    return result, right


# --- keeping --------------------------------------------------------------------------------------------------------------------


def kept(path: Path) -> dict[tuple[float, ...], CellResult]:
    """Cells that are on disk, by their levels; a line that was cut off, or is of another form, is left out."""
    found = {}
    for row in whole_rows(path):
        with suppress(TypeError):
            result = CellResult(**row)
            found[key(result.levels)] = result
    return found


def key(levels: Mapping[str, float]) -> tuple[float, ...]:
    """The levels of a cell in the order of the axes."""
    return tuple(levels[axis.name] for axis in AXES)


def sweep(
    path: Path,
    habits: Habits,
    *,
    cases: int,
    seed: int,
    told: Callable[[int, int], None],
    every: int = 1,
    jobs: int = 1,
) -> list[CellResult]:
    """All cells, those on disk as they are; ``every``: only each so-many-th cell."""
    wanted = list(cells())[::every]
    asked = (cases, seed, hash_of({name: found.value for name, found in habits.items()}))
    there = {k: each for k, each in kept(path).items() if (each.cases, each.seed, each.habits) == asked}
    missing = [levels for levels in wanted if key(levels) not in there]
    told(len(wanted) - len(missing), len(wanted))
    for result in _computed(missing, partial(run_cell, habits=habits, cases=cases, seed=seed), jobs):
        append_row(path, asdict(result))
        there[key(result.levels)] = result
        told(sum(key(levels) in there for levels in wanted), len(wanted))
    return [there[key(levels)] for levels in wanted]


def _computed(
    missing: Sequence[Mapping[str, float]], run: Callable[[Mapping[str, float]], CellResult], jobs: int
) -> Iterator[CellResult]:
    """The cells as they are done, here or in processes of their own."""
    if jobs == 1:
        yield from map(run, missing)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            for done in as_completed([pool.submit(run, levels) for levels in missing]):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
