"""What a study would do and cost. Methods are rehearsed on a few cases; nothing is sent or written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from maci.debating.estimate import stand_ins
from maci.lab.methods.pools import Average
from maci.lab.study.rows import Key
from maci.lab.study.store import FILE, Store, open_store
from maci.lab.study.study import Meta, Study, admit
from maci.lab.study.worker import Worker, limited

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
                models.labels = worker.labels(data)
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


def _store(out: Path, url: str | None, meta: Meta) -> tuple[set[Key], Mapping[str, Mapping[int, object]], int]:
    """What is there, what was learnt, what was spent; refused like the run itself where another study is there."""
    if url is None and not (out / FILE).is_file():
        return set(), {}, 0
    store: Store = open_store(out, url, name=out.name, make=False)
    try:
        old = store.meta()
        if old is None:
            return set(), {}, 0
        admit(old, meta, store.where)
        return set(store.keys()), old.learnt, store.spent().tokens
    finally:
        store.close()


async def _rehearse(worker: Worker, part: PlannedPart, keys: list[Key]) -> None:
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
        items = [i for i in limited(worker.dev(data, seed), worker.study.spec.limit, seed) if i.case.gold is not None]
        if not items:
            continue
        found = await Average().answer(replace(items[0].case, gold=None, hidden={}), worker.bench(data, seed), seed)
        plan.openings += len(items) * found.calls
        plan.opening_tokens += len(items) * found.usage.tokens
