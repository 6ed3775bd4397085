"""agentclinic by openings alone: what single sections are worth, and the lines for models (`bench_acquisition.py agentclinic`).

``--why``: each section revealed alone to the readers; what the plan's first choice, the average and the best section do for the
probability of the truth, and how the plan's ranking goes with what sections bring. ``--panel``/``--agents``: models answer once each
for nothing, the plan's and random sections (`--at`), and everything; an opening, no rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from acquisition_sections import Bench, by_section, whole_of
from bench_acquisition import interval, readied
from maci.acquisition.answers import offered
from maci.acquisition.plan import Residual
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import Config, build
from maci.evidence.knowledge import builtin_spans
from maci.lab.methods.method import Bench as Shared
from maci.lab.methods.method import Hearing, Setting
from maci.seating import choose
from maci.seating.models import ModelPanel
from maci.seating.shelf import Sources
from maci.seating.spec import PanelSpec

if TYPE_CHECKING:
    from maci.llm.models import House


async def opened(setting: Setting, case: Case, config: Config) -> dict[str, float]:
    """The mean of the panel's openings; nothing where all failed."""
    session = Hearing(case, Shared(panel=setting, config=config), 0)
    said = [voice.belief for voice in (await session.openings()).values()]
    return {y: float(np.mean([p.get(y, 0.0) for p in said])) for y in case.outcomes.labels} if said else {}


def shown(case: Case, names: Sequence[str]) -> Case:
    """The case with some sections revealed."""
    told = (f"{name}: {case.hidden[name]}" for name in names)
    return replace(case, context="\n".join((case.context, *told)), hidden={})


def among(case: Case, n: int | None) -> Case:
    """The case with so few outcomes to choose from: the truth, and others drawn by the case's id."""
    if n is None:
        return case
    space = case.outcomes
    others = [label for label in space.labels if label != case.gold]
    drawn = np.random.default_rng(int(case.id.encode().hex()[:12], 16)).permutation(len(others))[: n - 1]
    few = tuple(sorted((case.gold, *(others[i] for i in drawn))))
    aliases = {name: label for name, label in space.aliases.items() if label in few}
    return replace(case, outcomes=OutcomeSpace(labels=few, aliases=aliases))


def ranked(case: Case, p: dict[str, float], setting: Setting) -> list[str]:
    """The menu as the plan would have it for a belief, all at once."""
    left = Residual(question=case.question, text=case.context, labels=tuple(p), p=tuple(p.values()))
    library = setting._books.about(case).library  # type: ignore[attr-defined]
    return [c.subject for c in offered(case.hidden, left, library)]


def why(options: argparse.Namespace) -> dict[str, object]:
    encoder, more = readied(options)
    bench = Bench(options, encoder)
    config = build("default", {"budget.tokens": str(10**8), **more})
    rows, ranks, kinds = [], [], dict[str, list[float]]()

    async def everything() -> None:
        for item in bench.items:
            case = by_section(item.case)
            panel = bench.panel(item)
            start = await opened(panel, shown(case, ()), config)
            order = ranked(case, start, panel)
            after = [(await opened(panel, shown(case, [name]), config))[case.gold] for name in order]
            gains = np.array(after) - start[case.gold]
            rows.append((gains[0], gains.mean(), gains.max()))
            if len(order) > 2 and gains.std() > 0:
                places = np.argsort(np.argsort(-gains))
                ranks.append(float(np.corrcoef(np.arange(len(order)), places)[0, 1]))
            for name, gained in zip(order, gains.tolist(), strict=True):
                kind = "vital signs" if "Vital" in name else "examination" if name.startswith("Phys") else "tests"
                kinds.setdefault(f"{kind}, first choice" if name == order[0] else kind, []).append(gained)

    asyncio.run(everything())
    first, mean, best = np.array(rows).T
    return {
        "cases": len(rows),
        "p of the truth gained by the plan's first": interval(first),
        "by the average section": interval(mean),
        "by the best section": interval(best),
        "plan's first less average": interval(first - mean),
        "rank correlation": interval(np.array(ranks)),
        "share of gain by kind": {f"{k} ({len(v)})": float(np.mean(v)) for k, v in sorted(kinds.items())},
    }


def asked(options: argparse.Namespace) -> tuple[PanelSpec, House]:
    """The panel of models that was named, and where they are had from."""
    from maci.llm.cache import ResponseCache
    from maci.llm.models import House

    spec = choose(options.panel, options.agents, least=1)
    if isinstance(spec, str):
        raise SystemExit(f"--panel {spec}: name a panel of models")
    spec = spec.model_copy(update={"agents": spec.agents[: options.seats]})
    return spec, House(cache=ResponseCache(options.cache) if options.cache else None, options=spec.models)


def models(options: argparse.Namespace) -> dict[str, object]:
    encoder, more = readied(options)
    bench = Bench(options, encoder)
    spec, house = asked(options)
    config = build("default", {"evidence.k_ret": "4", "budget.tokens": str(10**7), **more})
    lines: dict[str, list[float]] = {}
    failed = 0

    async def everything() -> None:
        nonlocal failed
        async with house:
            setting = ModelPanel(spec, Sources(corpus=bench.facts, background=builtin_spans()), encoder, house, config)
            for item in bench.items:
                print(item.id, file=sys.stderr, flush=True)
                case, readers = among(by_section(item.case), options.choices), bench.panel(item)
                order = ranked(case, await opened(readers, shown(case, ()), config), readers)
                rng = np.random.default_rng(int(case.id.encode().hex()[:12], 16))
                drawn = [order[i] for i in rng.permutation(len(order))]
                cases = {"none": shown(case, ())} | ({"all": whole_of(case)} if options.ends else {})
                for n in map(int, options.at.split(",")):
                    cases |= {f"plan {n}": shown(case, order[:n]), f"random {n}": shown(case, drawn[:n])}
                said = {name: await opened(setting, told, config) for name, told in cases.items()}
                if not all(said.values()):
                    failed += 1
                    continue
                for name, p in said.items():
                    lines.setdefault(name, []).append(float(max(p, key=lambda y: p[y]) == case.gold))

    asyncio.run(everything())
    told: dict[str, object] = {"cases": len(next(iter(lines.values()), [])), "cases without an answer": failed}
    told["accuracy"] = {name: interval(np.array(right)) for name, right in lines.items()}
    for n in options.at.split(","):
        if lines:
            told[f"plan {n} - random {n}"] = interval(np.array(lines[f"plan {n}"]) - np.array(lines[f"random {n}"]))
    return told
