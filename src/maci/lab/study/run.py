"""Runs a study: plans all keys, skips what the store has, computes the rest, keeps each row as it comes."""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from maci.errors import EnvironmentError_
from maci.lab.study.engine import Local, Processes, Ray, StudyEngine
from maci.lab.study.ledger import RunLedger
from maci.lab.study.rows import Key, Row
from maci.lab.study.store import Store
from maci.lab.study.study import Meta, Study
from maci.lab.study.worker import Worker
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
class Progress:
    """How far a run is; changes while it goes on."""

    planned: int
    there: int
    """Rows that an earlier run made."""
    new: int = 0
    methods: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    by_data: dict[str, dict[str, Tally]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Tally)))
    """The same for each data set."""
    spent: Usage = field(default_factory=Usage)
    """By the answers of this run."""
    failures: list[tuple[Key, str]] = field(default_factory=list)
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
class Outcome:
    """How a run ended."""

    meta: Meta
    progress: Progress
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
    begun: Callable[[Meta, Progress], object] = lambda meta, progress: None,
    watch: Callable[[Row], object] = lambda row: None,
) -> Outcome:
    """Compute what is missing. ``shared``: others work on it too, so begin somewhere of one's own.

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
                        "when that is mended, the same command with --retry-failed goes on"
                    )
        return Outcome(
            meta=meta, progress=progress, stopped="budget" if ledger.reached is not None else "", spent=store.spent()
        )
    finally:
        await worker.aclose()


def _so_far(meta: Meta, store: Store) -> Progress:
    """What of the plan is there; methods in the order of the spec."""
    keys, there = list(meta.keys()), store.keys()
    planned = set(keys)
    progress = Progress(planned=len(keys), there=sum(key in there for key in keys))
    for data, methods in meta.methods.items():
        for method in methods:
            progress.methods[method.name], progress.by_data[data][method.name]
    for row in store.rows() if there else ():
        if row.key in planned:
            progress.count(row, new=False)
    return progress


def _missing(keys: Sequence[Key], store: Store, ledger: RunLedger, *, shared: bool) -> Iterator[Key]:
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
