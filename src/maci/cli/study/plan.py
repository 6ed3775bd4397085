"""``maci study run --dry-run``: what a study would do and cost. Methods are rehearsed on a few cases; nothing is sent or written."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from maci.cli.rehearsal import StandIns
from maci.lab.methods.single import Average
from maci.lab.study.rows import Key
from maci.lab.study.store import FILE, Meta, Store, admit, open_store
from maci.lab.study.study import Study
from maci.lab.study.worker import Worker, limited
from maci.llm.usage import dollars
from maci.seating.spec import PanelSpec
from maci.story.words import plural

if TYPE_CHECKING:
    from maci.llm.models import House

REHEARSED = 2
"""Cases on which each method is rehearsed, for each data set."""


@dataclass(slots=True)
class Part:
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
class Plan:
    """What a study would do."""

    name: str
    seeds: tuple[int, ...]
    items: Mapping[str, Mapping[str, int]]
    """Data → part → items over all seeds."""
    parts: list[Part]
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


def show(study: Study, out: Path, url: str | None, *, json: bool) -> None:
    """Rehearse, and print it."""
    plan = asyncio.run(planned(study, out, url))
    if json:
        parts = [{**asdict(part), "left": part.left} for part in plan.parts]
        total = {"tokens": round(plan.tokens), "usd": plan.usd}
        typer.echo(jsonlib.dumps({**asdict(plan), "parts": parts, "expected": total}, ensure_ascii=False))
        return
    for line in _page(plan):
        typer.echo(line)


async def planned(study: Study, out: Path, url: str | None = None) -> Plan:
    """The plan of a study: what there is to do, what is there, and what the rest would cost. Refused where the run would be."""
    house, models = _stand_ins(study.panel)
    worker = Worker(study, models=models)
    try:
        meta = worker.plan()
        await worker.check()
        there, known, spent = _store(out, url, meta)
        plan = Plan(
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
                part = Part(data, method.name, asked[data, method.name], done[data, method.name])
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
    finally:
        await worker.aclose()
        if house is not None:
            await house.aclose()


def _stand_ins(panel: PanelSpec | None) -> tuple[House | None, StandIns | None]:
    """The models' stand-ins, and the house they stand before; nothing needs a key."""
    if panel is None:
        return None, None
    from maci.llm.models import House

    keyless = {name: spec.model_copy(update={"key_env": None}) for name, spec in panel.models.items()}
    house = House(cache=None, options=keyless)
    return house, StandIns(house, ())


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


async def _rehearse(worker: Worker, part: Part, keys: list[Key]) -> None:
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


async def _learning(worker: Worker, plan: Plan, data: str, seeds: list[int]) -> None:
    """The openings on dev that come first, where they are not on record."""
    for seed in seeds:
        items = [i for i in limited(worker.dev(data, seed), worker.study.spec.limit, seed) if i.case.gold is not None]
        if not items:
            continue
        found = await Average().answer(replace(items[0].case, gold=None, hidden={}), worker.bench(data, seed), seed)
        plan.openings += len(items) * found.calls
        plan.opening_tokens += len(items) * found.usage.tokens


def _page(plan: Plan) -> Iterator[str]:
    total, there = sum(p.answers for p in plan.parts), sum(p.there for p in plan.parts)
    methods = len({p.method for p in plan.parts})
    sizes = (len(plan.items), "data set"), (methods, "method"), (len(plan.seeds), "seed")
    yield f"{plan.name}: {' × '.join(plural(*size) for size in sizes)}; nothing was sent or written."
    for data, parts in plan.items.items():
        yield f"  {data}: " + ", ".join(f"{n:,} {part}" for part, n in parts.items()) + " items over all seeds"
    yield f"In {plan.store}: {there:,} of {total:,} answers."
    width = max(len(p.method) for p in plan.parts)
    yield "To do, and what one answer takes:"
    for data in plan.items:
        yield f"  {data}"
        for p in (part for part in plan.parts if part.data == data):
            cost = "" if not p.usd else f", {dollars(p.usd)}"
            judges = f" + {p.judge_calls:.0f} of judges" if p.judge_calls else ""
            each = f"{plural(round(p.calls), 'call')}{judges}, {p.tokens:,.0f} tokens{cost}" if p.left else "there"
            yield f"    {p.method:<{width}}  {p.left:>7,}  {p.note or each}"
    if plan.openings:
        yield f"Before that, {plan.openings:,} openings on dev to learn from, about {plan.opening_tokens:,.0f} tokens."
    left = sum(p.left for p in plan.parts)
    calls = sum(p.left * (p.calls + p.judge_calls) for p in plan.parts) + plan.openings
    price = "" if plan.usd is None else f", {dollars(plan.usd)}" if plan.usd else ", free"
    yield f"In all about {calls:,.0f} calls and {plan.tokens:,.0f} tokens{price}."
    yield from _ceilings(plan)
    if plan.unpriced:
        yield f"No price is known for {', '.join(plan.unpriced)}: give one in [panel.models]."
    yield f"No answer takes more than {plan.ceiling:,} tokens ([set] budget.tokens): at most {left * plan.ceiling:,} in all."
    how = (
        " with stand-ins that write filler: real debates end sooner or later, and openings come from the response cache"
    )
    yield f"Each method was rehearsed on {REHEARSED} cases of each data set{how if plan.models else ''}."


def _ceilings(plan: Plan) -> Iterator[str]:
    for kind, ceiling, expected in (
        ("tokens", plan.budget_tokens, plan.tokens + plan.spent_tokens),
        ("usd", plan.budget_usd, plan.usd),
    ):
        if ceiling is not None and expected is not None:
            enough = "reaches for it" if expected <= ceiling else "may end it early; the same command with more goes on"
            yield f"The run's budget, {ceiling:,} {kind}, {enough}."
