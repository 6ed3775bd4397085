"""Schedules of the behaviour dial beside each other: the embedded readers on the built-in cases and on development texts.

    python benchmarks/bench_schedules.py [--data DIR] [--sets builtin,symptom2disease,kaggle_symptom_disease] [--limit N]
        [--schedules course,plateau,ladder] [--seeds 100] [--set key=value] [--wrong]

Data sets give development texts only (``tune``), as evidence too; the built-in cases are all there are. For each schedule: answers
right and wrong, negative log likelihood of the truth, rounds, reasons to stop, and in how many debates CL never moved. The difference
is paired, the first schedule less each other, with a 95 % bootstrap interval over cases (10,000 resamples, seed 0).
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np

from maci.cases.case import Case, builtin_cases
from maci.config import Config, build, unplanned
from maci.controller.decisions import Finished, Gated
from maci.debating.loop import debate
from maci.evidence.cache import CachedEncoder
from maci.evidence.encode import Encoder, load_encoder
from maci.evidence.span import Span
from maci.lab.datasets import load
from maci.paths import cache_dir, data_dir
from maci.seating.models import ReaderPanel
from maci.seating.table import opening
from maci.seating.tables import Tables


@dataclass(frozen=True)
class Played:
    case: str
    right: bool
    nll: float
    rounds: int
    stop: str
    levels: tuple[float, ...]
    """CL of every round."""


def cases(
    name: str, folder: Path | None, seed: int, limit: int | None, encoder: Encoder
) -> Iterator[tuple[Case, object]]:
    """Every case of a set with the panel that debates it."""
    if name == "builtin":
        tables = Tables("readers", encoder)
        known = [case for case in builtin_cases().values() if case.gold]
        yield from ((case, tables) for case in known[:limit])
        return
    task = load(name, data_dir(folder), seed=seed, options={"tune": True})
    panel = ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in task.evidence], encoder)
    yield from ((item.case, panel) for item in task.dev[:limit])


async def play(case: Case, panel: object, config: Config, seed: int) -> Played:
    table = panel.table(case, seed=seed)  # type: ignore[attr-defined]
    events = [event async for event in debate(opening(case, table, config, seed=seed), table)]
    result = events[-1]
    assert isinstance(result, Finished)
    gold = case.gold_among(tuple(result.raw))
    return Played(
        case=case.id or case.question,
        right=result.answer == gold,
        nll=-log(max(result.raw.get(gold or "", 0.0), 1e-6)),
        rounds=result.rounds,
        stop=result.stop_reason,
        levels=tuple(e.dials.cl for e in events if isinstance(e, Gated)),
    )


def interval(x: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    means = x[rng.integers(0, len(x), (10_000, len(x)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{x.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def show(schedule: str, played: Sequence[Played], wrong: bool) -> None:
    right, n = sum(p.right for p in played), len(played)
    still = sum(len(set(p.levels)) < 2 for p in played)
    stops = "  ".join(f"{why} {times}" for why, times in Counter(p.stop for p in played).most_common())
    print(
        f"  {schedule:8} right {right}  wrong {n - right}  of {n} ({right / n:.3f})  NLL {np.mean([p.nll for p in played]):.3f}  "
        f"rounds {np.mean([p.rounds for p in played]):.2f}  CL never moved {still}  | {stops}"
    )
    if wrong:
        print("           wrong:", ", ".join(sorted(p.case for p in played if not p.right)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default="builtin,symptom2disease,kaggle_symptom_disease")
    parser.add_argument("--schedules", default="course,plateau,ladder")
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--wrong", action="store_true", help="name the cases that were answered wrongly")
    options = parser.parse_args()
    encoder = CachedEncoder(load_encoder("wordllama"), cache_dir() / "bench-embeddings.sqlite")
    own = dict(item.split("=", 1) for item in options.set)
    names, seeds = options.schedules.split(","), [int(seed) for seed in options.seeds.split(",")]
    for name in options.sets.split(","):
        table = {
            schedule: [
                asyncio.run(play(case, panel, config, seed))
                for seed in seeds
                for case, panel in cases(name, options.data, seed, options.limit, encoder)
            ]
            for schedule in names
            if (config := unplanned(build("default", {**own, "dials.schedule": schedule})))
        }
        print(f"{name}, seeds {options.seeds}")
        for schedule, played in table.items():
            show(schedule, played, options.wrong)
        for schedule in names[1:]:
            pairs = list(zip(table[names[0]], table[schedule], strict=True))
            hits = np.array([float(a.right) - float(b.right) for a, b in pairs])
            loss = np.array([a.nll - b.nll for a, b in pairs])
            print(f"  {names[0]} less {schedule}: accuracy {interval(hits)}, NLL {interval(loss)}")


if __name__ == "__main__":
    main()
