"""Is a calibration from few cases safe? The embedded readers on symptom2disease: ECE on test before and after, by number of cases.

    python benchmarks/bench_calibration.py [--data DIR] [--rows FILE] [--dev | --whole] [--plot FILE.svg]

Every case is debated once for each deal of the evidence (seeds 0, 1, 2), and what was believed is kept as a row. A run that is
interrupted goes on where it was; rows of other code are never used, as their file is named after the code that debates. Then, for
every number of cases, draws of development rows are fitted and applied to the others. Nothing is debated again.

Without an option: 20 draws of the development rows of each number, and the test rows are scored, with the prior in force and without.
``--dev``: development texts only, for choosing the strength of the prior. A draw is of half of the texts, and the other half is scored;
besides the panel as it is, made too sure (p², normalised) and not sure enough (√p). ``--whole``: development texts of seed 0 only; the
cases that were not drawn are debated again under everything a calibration sets, its gates and thresholds included.
Intervals: 95 % percentile bootstrap of 2,000 resamples, seed 0, over texts (with all their rows) and over draws at once.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import maci
from maci.calibration.profile import calibrate, observe
from maci.calibration.temperature import SPREAD, binned_gaps, equal_width, fit_temperature
from maci.cases.case import Case
from maci.config import Config, build, unplanned
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import Task, load
from maci.moderator.belief import temper
from maci.paths import cache_dir, data_dir
from maci.render.report import Chart, Series
from maci.render.svg import standalone
from maci.seating.models import ReaderPanel
from maci.seating.table import opening

SEEDS = (0, 1, 2)
SIZES = (25, 50, 100, 400)
DRAWS = 20
SPREADS = (0.1, 0.15, 0.2, 0.3, 0.5, 1.0, math.inf)
BINS = 15
DEBATING = ("agents", "cases", "config", "controller", "debating", "evidence", "moderator", "seating")
"""Rooms whose code decides what a debate of readers ends with."""


@dataclass(frozen=True)
class Row:
    """What one debate ended with."""

    part: str
    seed: int
    text: str
    gold: int
    p: list[float]


def code() -> str:
    """The code that debates, as twelve hexadecimal digits."""
    root, digest = Path(maci.__file__).parent, hashlib.sha256()
    for room in DEBATING:
        for file in sorted((root / room).rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def seated(task: Task) -> ReaderPanel:
    encoder = CachedEncoder(load_encoder("wordllama"), cache_dir() / "bench-embeddings.sqlite")
    return ReaderPanel([Span.of(d.text, d.source, 0, d.label) for d in task.evidence], encoder)


def played(panel: ReaderPanel, case: Case, seed: int, config: Config) -> list[Event]:
    async def play() -> list[Event]:
        table = panel.table(case, seed=seed)
        return [event async for event in debate(opening(case, table, unplanned(config), seed=seed), table)]

    return asyncio.run(play())


def debated(file: Path, data: Path | None, parts: Sequence[str]) -> list[Row]:
    """The rows of the file, with those that it lacks debated and added."""
    known = [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    have = {(row.part, row.seed, row.text) for row in known}
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        for seed in SEEDS:
            task = load("symptom2disease", data_dir(data), seed=seed)
            panel = seated(task)
            for part in parts:
                for item in task.dev if part == "dev" else task.test:
                    if (part, seed, item.case.id) in have:
                        continue
                    found = observe(played(panel, item.case, seed, Config()))
                    if found is None:  # no answer: nothing to calibrate
                        continue
                    row = Row(part, seed, item.case.id, found.gold, found.p.tolist())
                    out.write(json.dumps(asdict(row)) + "\n")
                    out.flush()
                    known.append(row)
    return [row for row in known if row.part in parts]


@dataclass(frozen=True)
class Scored:
    """Rows at one temperature: what ECE and likelihood are summed from."""

    gap: np.ndarray
    place: np.ndarray
    nll: np.ndarray

    @classmethod
    def at(cls, rows: Sequence[Row], t: float) -> Scored:
        beliefs = [temper(np.array(row.p), t) for row in rows]
        confidence = np.array([p.max() for p in beliefs])
        right = np.array([int(p.argmax()) == row.gold for p, row in zip(beliefs, rows, strict=True)], dtype=float)
        nll = np.array([-math.log(max(p[row.gold], 1e-12)) for p, row in zip(beliefs, rows, strict=True)])
        return cls(confidence - right, equal_width(confidence, BINS), nll)

    def ece(self, i: np.ndarray | None = None) -> float:
        i = np.arange(len(self.gap)) if i is None else i
        return float(binned_gaps(self.gap[i][None], self.place[i][None], BINS)[0] / len(i))


def fitted(rows: Sequence[Row], size: int, spread: float, draw: int) -> float:
    """The temperature of one draw of so many rows."""
    picked = np.random.default_rng([size, draw]).permutation(len(rows))[:size]
    return fit_temperature([np.array(rows[i].p) for i in picked], [rows[i].gold for i in picked], spread)


def choose(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """On development texts: how the other half does after each strength of the prior, less how it does as it is."""
    texts = sorted({row.text for row in rows})
    for name, sure in (("as it is", 1.0), ("too sure", 0.5), ("not sure enough", 2.0)):
        panel = [replace(row, p=temper(np.array(row.p), sure).tolist()) for row in rows]
        for size in (25, 50, 100, 300):
            for spread in SPREADS:
                nll, ece, ts = [], [], []
                for draw in range(5 * DRAWS):
                    half = set(np.random.default_rng(draw).permutation(texts)[: len(texts) // 2].tolist())
                    t = fitted([row for row in panel if row.text in half], size, spread, draw)
                    others = [row for row in panel if row.text not in half]
                    before, after = Scored.at(others, 1.0), Scored.at(others, t)
                    nll.append(float((after.nll - before.nll).mean()))
                    ece.append(after.ece() - before.ece())
                    ts.append(t)
                yield {
                    "panel": name, "n": size, "sigma": spread, "T": [min(ts), float(np.median(ts)), max(ts)],
                    "nll": float(np.mean(nll)), "ece": float(np.mean(ece)), "ece_p95": float(np.quantile(ece, 0.95)),
                }  # fmt: skip


def measure(dev: Sequence[Row], test: Sequence[Row], spread: float) -> Iterator[dict[str, Any]]:
    """On test: ECE before and after, and their difference, by number of cases."""
    before = Scored.at(test, 1.0)
    by_text: dict[str, list[int]] = {}
    for number, row in enumerate(test):
        by_text.setdefault(row.text, []).append(number)
    groups = [np.array(rows) for rows in by_text.values()]
    for size in SIZES:
        ts = [fitted(dev, size, spread, draw) for draw in range(DRAWS)]
        after = [Scored.at(test, t) for t in ts]
        each, rng, resampled = [one.ece() - before.ece() for one in after], np.random.default_rng(0), []
        for _ in range(2000):
            rows = np.concatenate([groups[k] for k in rng.integers(0, len(groups), len(groups))])
            own = before.ece(rows)
            resampled.append(np.mean([after[k].ece(rows) - own for k in rng.integers(0, DRAWS, DRAWS)]))
        low, high = np.quantile(resampled, [0.025, 0.975]).tolist()
        yield {
            "n": size, "sigma": spread, "T": [min(ts), float(np.median(ts)), max(ts)], "before": before.ece(),
            "after": float(np.mean([one.ece() for one in after])), "difference": [float(np.mean(each)), low, high],
            "worst_draw": max(each), "nll": float(np.mean([(one.nll - before.nll).mean() for one in after])),
        }  # fmt: skip


def whole(data: Path | None) -> Iterator[dict[str, Any]]:
    """On development texts of seed 0: the cases not drawn, debated again under all that was learnt."""
    task = load("symptom2disease", data_dir(data), seed=0)
    panel, cases = seated(task), [item.case for item in task.dev]
    known = [observe(played(panel, case, 0, Config())) for case in cases]
    numbers = [i for i, found in enumerate(known) if found is not None]
    for size in (25, 100):
        for draw in range(6):
            picked = np.random.default_rng([size, draw]).permutation(numbers)
            own, others = picked[:size], picked[size : size + 150]
            learnt = calibrate([found for i in own if (found := known[i]) is not None])
            config = build("default", {k: v for k, v in learnt.settings.items() if not k.endswith(".made_for")})
            rows, again = [], []
            for i in others:
                raw, new = known[i], observe(played(panel, cases[i], 0, config))
                if raw is not None and new is not None:
                    rows.append(Row("dev", 0, str(i), raw.gold, raw.p.tolist()))
                    again.append(Row("dev", 0, str(i), new.gold, new.p.tolist()))
            t = learnt.worth.temperature
            parts = {"raw": (rows, 1.0), "temperature": (rows, t), "whole": (again, t)}
            scored = {name: Scored.at(*part) for name, part in parts.items()}
            right = {
                name: float(np.mean([np.argmax(r.p) == r.gold for r in part])) for name, (part, _) in parts.items()
            }
            yield {
                "n": size, "draw": draw, "T": t, "accuracy": right, "ece": {name: s.ece() for name, s in scored.items()},
                "nll": {name: float(s.nll.mean()) for name, s in scored.items()},
            }  # fmt: skip


def chart(found: Mapping[str, Sequence[Mapping[str, Any]]], tests: int) -> str:
    series = []
    for name, rows in found.items():
        low, mid, high = ([row["difference"][k] for row in rows] for k in (1, 0, 2))
        series.append(Series.of(name, [row["n"] for row in rows], mid, low=low, high=high))
    series.append(Series.of("no worse than .01", SIZES, [0.01] * len(SIZES), bound=True))
    title = f"Change of ECE on {tests:,} test debates"
    return standalone(
        Chart(title=title, x="cases it was learnt from", y="ECE after − before", series=tuple(series), log_x=True)
    )


def shown(row: Mapping[str, Any]) -> str:
    """A row on one line."""

    def short(value: Any) -> str:
        if isinstance(value, dict):
            return " ".join(f"{k} {short(v)}" for k, v in value.items())
        if isinstance(value, list):
            return "[" + ", ".join(map(short, value)) + "]"
        return f"{value:.4f}" if isinstance(value, float) else str(value)

    return "  ".join(f"{key} {short(value)}" for key, value in row.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument(
        "--rows", type=Path, help="where rows are kept (default: in the cache, by the code that debates)"
    )
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.whole:
        for row in whole(options.data):
            print(shown(row), flush=True)
        return
    file = options.rows or cache_dir() / f"bench-calibration-{code()}.jsonl"
    rows = debated(file, options.data, ("dev",) if options.dev else ("dev", "test"))
    dev, test = ([row for row in rows if row.part == part] for part in ("dev", "test"))
    print(f"{len(dev)} development and {len(test)} test debates, of {len({r.text for r in dev})} and "
          f"{len({r.text for r in test})} texts; rows in {file}")  # fmt: skip
    if options.dev:
        for row in choose(dev):
            print(shown(row), flush=True)
        return
    found = {f"prior, σ = {SPREAD:g}": list(measure(dev, test, SPREAD)), "no prior": list(measure(dev, test, math.inf))}
    for part in found.values():
        for row in part:
            print(shown(row))
    if options.plot:
        options.plot.write_text(chart(found, len(test)), encoding="utf-8")


if __name__ == "__main__":
    main()
