"""Runs a study: plans all keys, skips what the store has, computes the rest, keeps each row as it comes.

:func:`planned` says what a run would do and cost. Methods are rehearsed on a few cases; nothing is sent or written.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from maci.debating.estimate import stand_ins
from maci.errors import EnvironmentError_
from maci.lab.methods.baselines import Average
from maci.lab.study.engine import Local, Processes, Ray, StudyEngine
from maci.lab.study.store import FILE, Store, open_store
from maci.lab.study.study import Meta, Row, RowKey, Study, admit
from maci.lab.study.worker import Worker, limited
from maci.llm.budget import RunLedger
from maci.llm.usage import Bound, Usage

PATIENCE = 100
"""Failures in a row, of whatever methods, after which a run gives up: nothing is likely to answer any more."""


@dataclass(slots=True)
class Tally:
    """How one method does so far, on test."""

    n: int = 0
    right: int = 0
    failed: int = 0
    """On any part."""

    @property
    def accuracy(self) -> float | None:
        """Of the answers so far; ``None`` before the first."""
        return self.right / self.n if self.n else None


@dataclass(slots=True)
class RunProgress:
    """How far a run is; changes while it continues."""

    planned: int
    there: int
    """Rows that an earlier run made."""
    new: int = 0
    methods: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    by_data: dict[str, dict[str, Tally]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Tally)))
    """The same for each data set."""
    spent: Usage = field(default_factory=Usage)
    """By the answers of this run."""
    failures: list[tuple[RowKey, str]] = field(default_factory=list)
    unanswered: int = 0
    """Rows without an answer for want of budget."""

    @property
    def left(self) -> int:
        """Still to do."""
        return self.planned - self.there - self.new

    def count(self, row: Row, *, new: bool) -> None:
        """Take a row into account."""
        tallies = (self.methods[row.method], self.by_data[row.data][row.method])
        if new:
            self.new += 1
            self.spent += row.usage + row.judge_usage
        if row.status == "failed":
            for tally in tallies:
                tally.failed += 1
            self.failures.append((row.key, row.reason))
        elif row.status == "budget":
            self.unanswered += 1
        elif row.part == "test" and row.gold is not None and row.belief:
            belief = row.belief
            for tally in tallies:
                tally.n += 1
                tally.right += max(belief, key=lambda y: belief[y]) == row.gold


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended."""

    meta: Meta
    progress: RunProgress
    stopped: Literal["", "budget"] = ""
    spent: Bound
    """By all runs of the study, with what was set aside when one broke off."""

    @property
    def answered(self) -> int:
        """Rows with an answer."""
        rows = self.progress
        return rows.there + rows.new - len(rows.failures) - rows.unanswered


async def run_study(
    study: Study,
    store: Store,
    *,
    engine: Literal["local", "ray"] = "local",
    jobs: int = 1,
    address: str | None = None,
    retry_failed: bool = False,
    shared: bool = False,
    learning: Callable[[str, int, int], object] = lambda data, seed, openings: None,
    begun: Callable[[Meta, RunProgress], object] = lambda meta, progress: None,
    watch: Callable[[Row], object] = lambda row: None,
) -> RunOutcome:
    """Compute what is missing. ``shared``: others work on it too, so begin at a different place.

    ``learning`` hears of each data set and seed whose dev openings are about to be asked for, ``begun`` of the plan after that, and
    ``watch`` of each new row. Raises what would end every answer (a wrong key, a full disk); all rows until then are in the store.
    """
    life = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{secrets.token_hex(3)}"
    ceiling = study.spec.budget
    ledger = RunLedger(
        ceiling.tokens, ceiling.usd, before=store.spent(), note=lambda spent, aside: store.journal(life, spent, aside)
    )
    worker = Worker(study, ledger)
    try:
        plan = worker.plan()
        await worker.check()
        meta = store.begin(plan)
        if study.spec.learn.agents:
            meta = store.begin(plan.model_copy(update={"learnt": await worker.learn(meta.learnt, learning)}))
            worker.teach(meta.learnt)
        keys = list(meta.keys())
        if retry_failed:
            there = store.keys()
            store.drop([key for key in keys if there.get(key) == "failed"])
        progress = _so_far(meta, store)
        begun(meta, progress)
        todo = _missing(keys, store, ledger, shared=shared)
        in_a_row = 0
        async with aclosing(_engine(engine, worker, jobs, ledger, address).results(todo)) as results:  # type: ignore[type-var]
            async for row in results:
                if row is None:
                    continue
                store.put(row)
                progress.count(row, new=True)
                watch(row)
                in_a_row = in_a_row + 1 if row.status == "failed" else 0
                if in_a_row >= PATIENCE:
                    raise EnvironmentError_(
                        f"the last {in_a_row} answers all failed (the last one: {row.reason}): stopped. What is done is kept; "
                        "when that is mended, the same command with --retry-failed continues"
                    )
        return RunOutcome(
            meta=meta, progress=progress, stopped="budget" if ledger.reached is not None else "", spent=store.spent()
        )
    finally:
        await worker.aclose()


def _so_far(meta: Meta, store: Store) -> RunProgress:
    """What of the plan is there; methods in the order of the spec."""
    keys, there = list(meta.keys()), store.keys()
    planned = set(keys)
    progress = RunProgress(planned=len(keys), there=sum(key in there for key in keys))
    for data, methods in meta.methods.items():
        for method in methods:
            progress.methods[method.name], progress.by_data[data][method.name]
    for row in store.rows() if there else ():
        if row.key in planned:
            progress.count(row, new=False)
    return progress


def _missing(keys: Sequence[RowKey], store: Store, ledger: RunLedger, *, shared: bool) -> Iterator[RowKey]:
    """What is still to be computed when its turn comes, until the ceiling is reached."""
    there = store.keys()
    first = secrets.randbelow(len(keys)) if shared and keys else 0
    for key in (*keys[first:], *keys[:first]):
        if ledger.reached is not None:
            return
        if key not in there and not store.has(key):  # another run may have been faster
            yield key


def _engine(name: str, worker: Worker, jobs: int, ledger: RunLedger, address: str | None) -> StudyEngine:
    study = worker.study  # with what was learnt
    if name == "ray":
        return Ray(study, jobs, ledger, address)
    return Local(worker) if jobs == 1 else Processes(study, jobs, ledger)


REHEARSED = 2
"""Cases on which each method is rehearsed, for each data set."""


@dataclass(slots=True)
class PlannedPart:
    """One method on one data set."""

    data: str
    method: str
    answers: int
    there: int
    """Already in the store, failed ones too."""
    calls: float = 0.0
    """Of agents, an answer."""
    judge_calls: float = 0.0
    tokens: float = 0.0
    usd: float | None = 0.0
    note: str = ""

    @property
    def left(self) -> int:
        """Still to do."""
        return self.answers - self.there


@dataclass(slots=True, kw_only=True)
class StudyPlan:
    """What a study would do."""

    name: str
    seeds: tuple[int, ...]
    items: Mapping[str, Mapping[str, int]]
    """Data → part → items over all seeds."""
    parts: list[PlannedPart]
    openings: int = 0
    """Asked of agents on dev before anything else, where the spec learns."""
    opening_tokens: float = 0.0
    models: tuple[str, ...] = ()
    unpriced: list[str] = field(default_factory=list)
    budget_tokens: int | None = None
    budget_usd: float | None = None
    ceiling: int
    """Most tokens of one answer."""
    spent_tokens: int = 0
    store: str = ""

    @property
    def tokens(self) -> float:
        """Expected of what is left."""
        return self.opening_tokens + sum(part.left * part.tokens for part in self.parts)

    @property
    def usd(self) -> float | None:
        """The same in dollars; ``None`` where a price is not known."""
        costs = [part.usd for part in self.parts]
        return None if None in costs else sum(part.left * (part.usd or 0.0) for part in self.parts)


async def planned(study: Study, out: Path, url: str | None = None) -> StudyPlan:
    """The plan of a study: what there is to do, what is there, and what the rest would cost. Refused where the run would be."""
    async with stand_ins(study.panel) as models, aclosing(Worker(study, models=models)) as worker:
        meta = worker.plan()
        await worker.check()
        there, known, spent = _store(out, url, meta)
        plan = StudyPlan(
            name=meta.spec.name,
            seeds=meta.spec.seeds,
            items={d: _items(seeds) for d, seeds in meta.items.items()},
            parts=[],
            models=() if study.panel is None else study.panel.seated,
            budget_tokens=study.spec.budget.tokens,
            budget_usd=study.spec.budget.usd,
            ceiling=study.config.budget.tokens,
            spent_tokens=spent,
            store=str(out / FILE) if url is None else f"{url.partition(':')[0]}: study {out.name}",
        )
        keys = list(meta.keys())
        asked, done = (Counter((k.data, k.method) for k in some) for some in (keys, [k for k in keys if k in there]))
        for data, methods in meta.methods.items():
            if models is not None:
                first = next(iter(worker.group(data, meta.spec.seeds[0]).items.values()))
                models.labels = first.case.outcomes.labels
            for method in methods:
                part = PlannedPart(data, method.name, asked[data, method.name], done[data, method.name])
                if part.left:
                    await _rehearse(worker, part, [k for k in keys if (k.data, k.method) == (data, method.name)])
                plan.parts.append(part)
            if study.spec.learn.agents:
                await _learning(worker, plan, data, [s for s in meta.spec.seeds if s not in known.get(data, {})])
        plan.unpriced = [] if models is None else models.unpriced
        if plan.unpriced:
            for part in plan.parts:
                part.usd = None
        return plan


def _items(seeds: Mapping[int, Mapping[str, tuple[str, ...]]]) -> dict[str, int]:
    found = Counter[str]()
    for parts in seeds.values():
        found.update({part: len(items) for part, items in parts.items()})
    return dict(found)


def _store(out: Path, url: str | None, meta: Meta) -> tuple[set[RowKey], Mapping[str, Mapping[int, object]], int]:
    """What is there, what was learnt, what was spent; refused like the run itself where another study is there."""
    if url is None and not (out / FILE).is_file():
        return set(), {}, 0
    with open_store(out, url, name=out.name, make=False) as store:
        old = store.meta()
        if old is None:
            return set(), {}, 0
        admit(old, meta, store.where)
        return set(store.keys()), old.learnt, store.spent().tokens


async def _rehearse(worker: Worker, part: PlannedPart, keys: list[RowKey]) -> None:
    """Mean cost of a few answers; a method that only fails in rehearsal has none, which is said."""
    chosen = keys[:: max(1, len(keys) // REHEARSED)][:REHEARSED]
    rows = [row for key in chosen if (row := await worker.answer(key)) is not None]
    good = [row for row in rows if row.status == "done"]
    if not good:
        part.note = f"not rehearsed: {rows[0].reason}" if rows else "not rehearsed"
        return
    n = len(good)
    part.calls, part.judge_calls = sum(r.calls for r in good) / n, sum(r.judge_calls for r in good) / n
    part.tokens = sum(r.usage.tokens + r.judge_usage.tokens for r in good) / n
    part.usd = sum(r.usage.usd + r.judge_usage.usd for r in good) / n


async def _learning(worker: Worker, plan: StudyPlan, data: str, seeds: list[int]) -> None:
    """The openings on dev that come first, where they are not on record."""
    for seed in seeds:
        group = worker.group(data, seed)
        items = [i for i in limited(group.task.dev, worker.study.spec.limit, seed) if i.case.gold is not None]
        if not items:
            continue
        found = await Average().answer(replace(items[0].case, gold=None, hidden={}), group.bench, seed)
        plan.openings += len(items) * found.calls
        plan.opening_tokens += len(items) * found.usage.tokens
