"""The embedded panel on public data: singles, average, debate, all evidence; calibration; Q₀ thirds; recall; CPU.

    python benchmarks/bench_readers.py [--data DIR] [--encoder wordllama|minilm] [--seeds 0,1,2] [--tune] [--limit N]
    python benchmarks/bench_readers.py --leaks [--data DIR]

symptom2disease: duplicates removed, 9 texts per disease are evidence (3 per reader), the rest are cases; a fixed 40 % of the
texts is development, the rest test. masked kaggle: distinct cases, 3 per disease are evidence, 2 symptoms are shown.
``--leaks`` debates nothing: how much of the test texts is in the evidence, and how far its nearest text by words alone gets.
``--tune`` uses development texts only (other seeds), for choosing constants; the test part is never looked at.
Intervals: 95 % percentile bootstrap over texts, 10,000 resamples, seed 0: the debates of a text, one for each seed, are drawn together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from maci.agents.reader import FAMILIES, Conduct
from maci.calibration.temperature import ece, fit_temperature
from maci.config import Config, build
from maci.controller.decisions import Finished, Gated, Initialized
from maci.controller.dials import Measured
from maci.controller.inputs import Retrieved
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.evidence.retrieve import CachedEncoder
from maci.evidence.span import Span
from maci.lab.datasets import Task, TaskItem, load
from maci.moderator.belief import temper
from maci.paths import cache_dir, data_dir
from maci.seating.models import ReaderPanel
from maci.seating.table import opening


@dataclass
class Row:
    text: str
    """Id of the case, the same under every seed."""
    gold: int
    singles: list[np.ndarray]
    average: np.ndarray
    debate: np.ndarray
    full: np.ndarray
    q0: float
    rounds: int
    stop: str
    recalled: bool
    cpu: float
    by_round: list[int]
    admitted: list[bool]


def vector(p: dict[str, float], labels: Sequence[str]) -> np.ndarray:
    return np.array([p[label] for label in labels])


async def play(panel: ReaderPanel, item: TaskItem, config: Config, seed: int) -> Row:
    case, labels = item.case, item.case.outcomes.labels
    assert case.gold is not None
    shelf = panel._books.about(case)
    library = shelf.library
    view = library.view(case.context)  # encoding the new text is not the debate's cost
    shelf.encoder.encode([case.query])
    began = process_time()
    table = panel.table(case, seed=seed)
    events = [event async for event in debate(opening(case, table, config, seed=seed), table)]
    cpu = process_time() - began
    start = next(e for e in events if isinstance(e, Initialized))
    result = events[-1]
    assert isinstance(result, Finished)
    found = next(e for e in events if isinstance(e, Retrieved))
    everything = np.arange(len(library.spans))
    full = np.mean([family.read(library, view, everything)[0] for family in FAMILIES], axis=0)
    return Row(
        text=item.id,
        gold=labels.index(case.gold),
        singles=[vector(start.beliefs[family.name], labels) for family in FAMILIES],
        average=vector(start.mixture, labels),
        debate=vector(result.raw, labels),
        full=full,
        q0=start.q if start.q is not None else float("nan"),
        rounds=result.rounds,
        stop=result.stop_reason,
        recalled=any(span.label == case.gold for span in found.spans),
        cpu=cpu,
        by_round=[int(e.analysis.correct) for e in events if isinstance(e, Measured)],
        admitted=[a.admitted for e in events if isinstance(e, Gated) for a in e.admissions],
    )


def interval(x: np.ndarray, texts: Sequence[str]) -> tuple[float, float, float]:
    _, group = np.unique(texts, return_inverse=True)
    sums, counts = np.bincount(group, x), np.bincount(group)
    drawn = np.random.default_rng(0).integers(0, len(sums), (10_000, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return float(x.mean()), *np.quantile(means, [0.025, 0.975]).tolist()


def spans_of(task: Task) -> list[Span]:
    return [Span.of(d.text, d.source, 0, d.label) for d in task.evidence]


def run(
    items: Sequence[TaskItem],
    task: Task,
    encoder: CachedEncoder,
    config: Config,
    seed: int,
    conduct: Conduct | None = None,
) -> list[Row]:
    panel = ReaderPanel(spans_of(task), encoder, conduct=conduct)

    async def all_() -> list[Row]:
        return [await play(panel, item, config, seed) for item in items]

    return asyncio.run(all_())


def table(rows: list[Row]) -> dict[str, object]:
    gold = np.array([r.gold for r in rows])

    def hits(p: list[np.ndarray]) -> np.ndarray:
        return (np.array(p).argmax(axis=1) == gold).astype(float)

    deb, avg, full = hits([r.debate for r in rows]), hits([r.average for r in rows]), hits([r.full for r in rows])
    texts = [r.text for r in rows]
    singles = [hits([r.singles[u] for r in rows]) for u in range(len(FAMILIES))]
    q0 = np.array([r.q0 for r in rows])
    low, high = np.quantile(q0, [1 / 3, 2 / 3])
    bottom, top = deb[q0 <= low], deb[q0 > high]
    rng = np.random.default_rng(0)
    rise = [rng.choice(top, len(top)).mean() - rng.choice(bottom, len(bottom)).mean() for _ in range(10_000)]
    gap = full.mean() - avg.mean()
    return {
        "n": len(rows),
        "texts": len(set(texts)),
        "singles": {f.name: s.mean() for f, s in zip(FAMILIES, singles, strict=True)},
        "average": avg.mean(),
        "debate": deb.mean(),
        "all_evidence": full.mean(),
        "gap_closed": (deb.mean() - avg.mean()) / gap if gap else None,
        "debate_minus_single": {f.name: interval(deb - s, texts) for f, s in zip(FAMILIES, singles, strict=True)},
        "debate_minus_average": interval(deb - avg, texts),
        "debate_minus_70pct_of_gap": interval(deb - avg - 0.7 * (full - avg), texts),
        "rounds": float(np.mean([r.rounds for r in rows])),
        "stops": {k: v / len(rows) for k, v in Counter(r.stop for r in rows).most_common()},
        "accuracy_by_q0_third": [bottom.mean(), deb[(q0 > low) & (q0 <= high)].mean(), top.mean()],
        "top_minus_bottom_third": [float(np.mean(rise)), *np.quantile(rise, [0.025, 0.975]).tolist()],
        "recall_at_32": float(np.mean([r.recalled for r in rows])),
        "accuracy_by_round": [
            float(np.mean([r.by_round[min(t, len(r.by_round)) - 1] for r in rows if r.by_round])) for t in (1, 2, 3, 4)
        ],
        "admitted": float(np.mean([a for r in rows for a in r.admitted])),
        "cpu_ms_per_debate": 1e3 * float(np.median([r.cpu for r in rows])),
    }


NEAR = 0.7
"""Jaccard similarity of words from which a text counts as nearly another."""


def leaks(task: Task) -> dict[str, object]:
    """What a test text and the evidence have in common that should not decide a study."""

    def words(text: str) -> frozenset[str]:
        return frozenset(re.findall(r"[a-z]+", text.lower()))

    shelf = [(words(document.text), document.label) for document in task.evidence]
    likest = [
        max((len(own & its) / len(own | its), label == item.case.gold) for its, label in shelf)
        for item in task.test
        for own in [words(item.case.context)]
    ]
    return {
        "test texts": len(task.test),
        "evidence texts": len(shelf),
        "items of dev among them": len({item.id for item in task.dev} & {item.id for item in task.test}),
        "texts that name their outcome": sum(str(i.case.gold).lower() in i.case.context.lower() for i in task.test),
        f"texts with one at {NEAR} or more in the evidence": sum(near >= NEAR for near, _ in likest),
        "nearest evidence text is of the true outcome": float(np.mean([right for _, right in likest])),
    }


def show(name: str, found: dict[str, object]) -> None:
    def short(value: object) -> str:
        if isinstance(value, dict):
            return "  ".join(f"{k} {short(v)}" for k, v in value.items())
        if isinstance(value, list | tuple):
            return "[" + ", ".join(short(v) for v in value) + "]"
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    print(f"\n{name}")
    for key, value in found.items():
        print(f"  {key:28} {short(value)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--conduct", action="append", default=[], help="key=number: another conduct of the readers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--leaks", action="store_true")
    options = parser.parse_args()
    folder = data_dir(options.data)
    if options.leaks:
        for name in ("symptom2disease", "kaggle_symptom_disease"):
            for seed in map(int, options.seeds.split(",")):
                show(f"{name}, seed {seed}", leaks(load(name, folder, seed=seed)))
        return
    encoder = CachedEncoder(load_encoder(options.encoder), cache_dir() / "bench-embeddings.sqlite")
    config = build("default", dict(item.split("=", 1) for item in options.set))
    numbers = dict(item.split("=", 1) for item in options.conduct)
    conduct = Conduct(**{key: type(getattr(Conduct(), key))(value) for key, value in numbers.items()})
    seeds = [int(s) + (100 if options.tune else 0) for s in options.seeds.split(",")]
    report: dict[str, object] = {}
    rows, calibrated, temperatures = [], [], []
    for seed in seeds:
        task = load("symptom2disease", folder, seed=seed, options={"tune": options.tune})
        dev = run(task.dev[: options.limit], task, encoder, config, seed, conduct)
        part = dev if options.tune else run(task.test[: options.limit], task, encoder, config, seed, conduct)
        t = fit_temperature([r.debate for r in dev], [r.gold for r in dev])
        temperatures.append(t)
        rows += part
        calibrated += [temper(r.debate, t) for r in part]
    gold = np.array([r.gold for r in rows])
    found = table(rows)
    found["ece_raw"] = ece([r.debate for r in rows], gold.tolist())
    found["ece_calibrated"] = ece(calibrated, gold.tolist())
    found["temperature"] = temperatures
    report["symptom2disease"] = found
    rows = []
    for seed in seeds:
        task = load("kaggle_symptom_disease", folder, seed=seed, options={"tune": options.tune})
        rows += run((task.dev if options.tune else task.test)[: options.limit], task, encoder, config, seed, conduct)
    report["masked kaggle, 2 symptoms shown"] = table(rows)
    if options.json:
        print(json.dumps(report, default=float))
    else:
        print(f"encoder {encoder.name}, seeds {seeds}, {'development texts only' if options.tune else 'test part'}")
        for name, part in report.items():
            show(name, part)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
