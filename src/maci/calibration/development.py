"""Debates cases with known answers, or takes past debates of them, and learns: what :mod:`maci.calibration.profile` reads off is
applied to the cases held out.

Every debate is recorded. A run that was interrupted continues where it stopped, and a case that was debated before, by the same panel
under the same settings, is not debated again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from maci.calibration import profile
from maci.calibration.profile import ENOUGH, Outcome, TaskCalibration, conformalise
from maci.cases.case import Case, read_cases
from maci.config import Config, build, parameters
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.controller.reading import made_for
from maci.debating.batch import Batch, Done, entries
from maci.errors import BudgetError, EnvironmentError_, EvidenceError, InputError
from maci.paths import slug
from maci.record.outcome import KnownRun, known_runs
from maci.seating.seating import Seated, Seating
from maci.story import Story

Told = Callable[[str, int, int, int], object]
"""Hears what is done, how many of it, of how many, and how many of these by an earlier run."""
_WRITER = TypeAdapter(Case)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum:
    """What a calibration is learnt from."""

    teaching: tuple[Case, ...] = ()
    """Cases to debate."""
    held: tuple[Case, ...] = ()
    """Cases to debate under what was learnt, for prediction sets."""
    past: tuple[KnownRun, ...] = ()
    """Debates that are used as they are."""
    folder: Path
    """Where new debates are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What was learnt, and from what."""

    found: TaskCalibration
    failed: tuple[tuple[str, str], ...]
    """Cases and debates that taught nothing, each with the reason."""
    past: int
    """Debates that were not held for this."""
    tokens: int
    usd: float


@dataclass
class Teacher:
    """Holds the debates of a curriculum and learns from them."""

    seating: Seating
    tokens: int | None = None
    usd: float | None = None
    jobs: int = 4
    told: Told = lambda what, done, total, kept: None
    _failed: list[tuple[str, str]] = field(init=False, default_factory=list)
    _spent: tuple[int, float] = field(init=False, default=(0, 0.0))

    async def learn(self, of: Curriculum) -> Lessons:
        """What the cases and the past debates teach; those held out are debated under it."""
        async with self.seating.house or nullcontext():
            past = self._observed((run.name, run.events()) for run in of.past)
            found, held = [*past, *await self._debated(of.teaching, of.folder)], of.held
            if held and len(found) < ENOUGH:  # too many failed: those held out are needed
                found, held = [*found, *await self._debated(held, of.folder)], ()
            found = self._of_one_version(found)
            if len(found) < ENOUGH:
                first = f". The first that did not: {': '.join(self._failed[0])}" if self._failed else ""
                known = len(of.teaching) + len(of.held) + len(of.past)
                raise InputError(
                    f"calibration needs at least {ENOUGH} debates that come to an answer, and {len(found)} of {known} did: mend or "
                    f"add cases{first}"
                )
            learnt = profile.calibrate(found)
            if held:
                own = {row.key: row.value for row in parameters(self.seating.config) if row.value != row.default}
                applied = build(self.seating.config.profile, {**learnt.settings, **own})
                digest = hashlib.sha256(applied.model_dump_json().encode()).hexdigest()[:8]
                folder = of.folder.with_name(f"{of.folder.name}-held-out-{digest}")
                done = await self._held(held, folder, "held-out cases debated", applied)
                learnt = conformalise(learnt, found, [Story.of(each.events) for each in done if each.result])
        tokens, usd = self._spent
        return Lessons(found=learnt, failed=tuple(self._failed), past=len(past), tokens=tokens, usd=usd)

    async def _debated(self, cases: Sequence[Case], folder: Path) -> list[Outcome]:
        done = await self._held(cases, folder, "development cases debated")
        self._failed += [(each.entry.name, each.error) for each in done if each.status == "failed"]
        return self._observed((each.entry.name, each.events) for each in done if each.status == "done")

    def _observed(self, debates: Iterable[tuple[str, Sequence[Event]]]) -> list[Outcome]:
        found = []
        for name, events in debates:
            if (outcome := profile.observe(events)) is None:
                self._failed.append((name, "no answer of a debate, or nobody named the `gold`"))
            else:
                found.append(outcome)
        return found

    async def _held(self, cases: Sequence[Case], folder: Path, what: str, config: Config | None = None) -> list[Done]:
        """The debates of the cases, in their order; recorded ones are kept, open ones go on."""

        def seat(case: Case) -> Seated:
            seated = self.seating.seat(case)
            return seated if config is None else replace(seated, opened=replace(seated.opened, config=config))

        tokens, usd = self._spent
        batch = Batch(
            entries(cases, folder), seat, jobs=self.jobs, retry_failed=True,
            tokens=None if self.tokens is None else max(0, self.tokens - tokens),
            usd=None if self.usd is None else max(0.0, self.usd - usd),
        )  # fmt: skip
        done: list[Done] = []
        try:
            async for each in batch.run():
                done.append(each)
                self.told(what, len(done), len(cases), sum(one.kept for one in done))
        finally:
            self._spent = (tokens + batch.spent.tokens, usd + batch.spent.usd)
        if broken := next((each for each in done if each.fatal), None):
            raise EnvironmentError_(f"{broken.entry.name}: {broken.error}; what was debated is kept in {folder}")
        if left := sum(each.status in ("budget", "waiting") for each in done):
            raise BudgetError(
                f"the budget ended before {left} of {len(cases)} cases had an answer: raise --budget-tokens or --budget-usd; what is "
                f"debated is kept in {folder}"
            )
        return sorted(done, key=lambda each: each.entry.number)

    def _of_one_version(self, found: list[Outcome]) -> list[Outcome]:
        """Those of the newest version of every model; the others are left out, with the reason."""
        newest = dict[str, str]()
        for outcome in sorted(found, key=lambda each: each.story.opened.created):
            newest |= outcome.served
        kept = []
        for outcome in found:
            other = [f"{m} was {v}, is {newest[m]}" for m, v in outcome.served.items() if v != newest[m]]
            if other:
                case = outcome.story.opened.case
                self._failed.append((case.id or case.question, f"held with another version: {', '.join(other)}"))
            else:
                kept.append(outcome)
        return kept


def known_cases(cases: Path) -> list[Case]:
    """The cases with a known answer; too few are refused before anything is debated."""
    read = list(read_cases(cases))
    if not read:
        raise InputError(f"{cases} has no cases: write one JSON object a line, with `question`, `outcomes` and `gold`")
    known = [case for case in read if case.gold is not None]
    if len(known) < ENOUGH:
        raise InputError(
            f"{cases}: calibration needs at least {ENOUGH} cases with a `gold` answer, and {len(known)} of its {len(read)} have one: "
            "add cases; nothing was debated"
        )
    return known


def split(known: list[Case], share: float, seed: int) -> tuple[list[Case], list[Case]]:
    """Cases to learn from, and cases held out, drawn by the seed; too few are all learnt from."""
    aside = round(share * len(known))
    if aside < 1 or len(known) - aside < ENOUGH:
        return known, []
    order = np.random.default_rng(seed).permutation(len(known)).tolist()
    return [known[i] for i in sorted(order[aside:])], [known[i] for i in sorted(order[:aside])]


def plan(
    teaching: Sequence[Case], held: Sequence[Case], runs: Path, seating: Seating, name: str, *, past: bool
) -> Curriculum:
    """What is to be debated, after what was debated before is taken from the records in ``runs``.

    A case is taken from a record of the same panel, under the same settings. ``past``: other debates of the panel whose answers are
    known teach as well, under whatever settings they were held.
    """
    recorded = list(known_runs(runs))
    opened = _seated(seating, [*teaching, *held, *(run.opened.case for run in recorded)])
    if opened is None:
        if not teaching:
            raise InputError(_nothing(runs, 0))
        return Curriculum(teaching=tuple(teaching), held=tuple(held), folder=runs / f"calibrate-{slug(name)}")
    digest = hashlib.sha256(f"{_rules(opened)} {opened.seed} {opened.corpus} {made_for(opened)}".encode()).hexdigest()
    folder = runs / f"calibrate-{slug(name)}-{digest[:8]}"
    of_panel = [run for run in recorded if made_for(run.opened) == made_for(opened)]
    elsewhere = (run for run in of_panel if folder not in run.path.parents and _alike(run.opened, opened))
    same = {_key(run.opened.case): run for run in elsewhere}
    taken = [replace(same[key], gold=case.gold) for case in teaching if (key := _key(case)) in same]
    if past:
        own = {_key(case) for case in (*teaching, *held)}
        taken += {key: run for run in of_panel if (key := _key(run.opened.case)) not in own}.values()
    if not teaching and len(taken) < ENOUGH:
        raise InputError(_nothing(runs, len(taken)))
    lacking = tuple(case for case in teaching if _key(case) not in same)
    return Curriculum(teaching=lacking, held=tuple(held), past=tuple(taken), folder=folder)


def _nothing(runs: Path, known: int) -> str:
    return (
        f"calibration needs at least {ENOUGH} debates with a known answer, and {known} of this panel in {runs} have one: record how "
        "decisions turned out (`maci outcome RUN --was LABEL`), or give cases with `gold` to debate (--cases FILE)"
    )


def _seated(seating: Seating, cases: Iterable[Case]) -> Opened | None:
    """The table at the first case it can be set for."""
    for case in cases:
        with suppress(EvidenceError):
            return seating.seat(case).opened
    return None


def _key(case: Case) -> str:
    """What is asked, whoever knows the answer and whatever it is called."""
    return _WRITER.dump_json(replace(case, gold=None, id="", title="")).decode()


def _rules(opened: Opened) -> str:
    """The settings that decide the beliefs of a debate."""
    return opened.config.model_dump_json(exclude={"plan", "budget", "answer"})


def _alike(one: Opened, other: Opened) -> bool:
    return (_rules(one), one.seed, one.corpus) == (_rules(other), other.seed, other.corpus)


def suggestion(opened: Opened, runs: Path, beside: Iterable[Path]) -> str | None:
    """Where a calibration could be learnt from, in one line; ``None`` where from nothing.

    ``beside``: folders in which a file of cases with the same outcomes and with known answers may be.
    """
    for folder in dict.fromkeys(beside):
        for file in sorted(folder.glob("*.jsonl"))[:20]:
            if (known := _known_in(file, opened)) >= ENOUGH:
                how = "learns from them how far to trust a probability"
                return f"{known} cases with known answers are in {file}: `maci calibrate {file}` {how}."
    own = made_for(opened)
    past = (run for run in known_runs(runs) if made_for(run.opened) == own)
    asked = set[str]()  # a case that was debated again teaches nothing new
    for run in islice(past, 10 * ENOUGH):
        asked.add(_key(run.opened.case))
        if len(asked) == ENOUGH:  # reading on would be work for a larger number alone
            return (
                f"The answers to {ENOUGH} or more different cases that this panel debated are known: `maci calibrate` learns "
                "from them how far to trust a probability."
            )
    return None


def _known_in(file: Path, opened: Opened) -> int:
    """How many cases of a file have the outcomes of this case and a known answer; 0 for anything else."""
    labels = set(opened.case.outcomes.labels)
    with suppress(OSError, ValueError):
        if file.stat().st_size < 4 << 20:
            return sum(_fits(line, labels) for line in file.read_text(encoding="utf-8").splitlines())
    return 0


def _fits(line: str, labels: set[str]) -> bool:
    if '"gold"' not in line:
        return False
    case = json.loads(line)
    given = case.get("outcomes", ()) if isinstance(case, dict) else ()
    return isinstance(given, list) and set(map(str, given)) == labels and case.get("gold") is not None


def sets_promised(learnt: TaskCalibration, known: int, share: float) -> str:
    """What is promised of prediction sets, in words."""
    if not known:
        return "No prediction sets: they need cases to debate under what was learnt (--cases)"
    if not share:
        return "No prediction sets: nothing was held out"
    if not learnt.held:
        least = math.ceil(ENOUGH / (1 - share))
        possible = 100 * (known - ENOUGH) // known / 100
        fewer = f", or a smaller share: --held-out {possible:g}" if 0 < possible < share else ""
        return f"No prediction sets: of {known} cases none can be held out; give at least {least}{fewer}"
    limits = str(learnt.settings["calibration.conformal"])
    if not limits:
        return f"No prediction sets: the {learnt.held} cases held out are too few, or their truth was not named"
    most = limits.split(",")[-1].split("=")[0]
    return f"Prediction sets from {learnt.held} cases held out, of a coverage up to {most} (`--set answer.coverage=…`)"
