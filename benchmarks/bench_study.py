"""The report of a long study: CPU seconds to read its rows, compute the report and write it, and how that grows with the rows.

    python benchmarks/bench_study.py [--json] [--study FOLDER] [--rows 74340] [--growth 10000,30000,100000] [--keep FILE]

The rows are those of a real study with every method of ``studies/g1-readers.toml``, copied until there are enough. FOLDER is its
results folder; without one, twelve made-up complaints are debated first (a minute). A copy is another case: its belief is raised to a
power of its own, so that confidences differ as they do between cases. Three seeds draw test cases that partly
overlap. The goal: 74,340 rows within 20 seconds, and a log-log slope of at most 1. ``--keep`` writes the JSON report, to compare
before and after a change.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from maci.lab.study.report import ReportSettings, build_report, gather, render
from maci.lab.study.report.gather import uncollected
from maci.lab.study.store import FILE, SqliteStore
from maci.lab.study.study import Meta

ROOT = Path(__file__).resolve().parents[1]
SEEDS, TEST, OVERLAP = 3, 0.606, 0.82
"""Share of cases that are test cases, and how many of them one seed shares with the next; as in ``g1-readers``."""


def small_study(folder: Path) -> Path:
    """Every method on twelve made-up complaints."""
    methods = (ROOT / "studies/g1-readers.toml").read_text(encoding="utf-8")
    spec = tomllib.loads((ROOT / "examples/complaints.toml").read_text(encoding="utf-8"))
    data = spec["data"][0]
    file, mapped = ROOT / "examples" / data["file"], json.dumps(data["map"]).replace(":", " =")
    text = methods[methods.index("[[methods]]") : methods.index("[quick]")]
    head = 'name = "bench"\nlimit = 12\nseeds = [0]\n'
    source = f'[[data]]\nfile = "{file}"\nmap = {mapped}\nquestion = "{data["question"]}"\n'
    (folder / "bench.toml").write_text(f'{head}{source}[panel]\nname = "readers"\n{text}', encoding="utf-8")
    out = folder / "small"
    run = [sys.executable, "-m", "maci", "study", "run", folder / "bench.toml", "--out", out, "--quiet"]
    subprocess.run(run, check=True, stdout=sys.stderr)
    return out


def grown(small: Path, rows: int, out: Path) -> int:
    """A study of about so many rows, into a folder; how many they are."""
    with SqliteStore(small / FILE, make=False) as store:
        meta, there = store.meta(), store.keys()
        assert meta is not None
        texts = {key: store._one(key)[0][0] for key in there}
    each = max(2, round(rows / (len(meta.methods) * SEEDS * max(map(len, meta.methods.values())))))
    sizes = {"test": round(TEST * each), "dev": each - round(TEST * each)}
    first = min(seed for by in meta.items.values() for seed in by)
    items: dict[str, dict[int, dict[str, tuple[str, ...]]]] = {}
    source: dict[tuple[str, str], list[str]] = {}
    for data, by in meta.items.items():
        source |= {(data, part): list(by[first][part]) for part in sizes}
        items[data] = {seed: {part: tuple(_names(part, n, seed)) for part, n in sizes.items()} for seed in range(SEEDS)}
    learnt = {data: dict.fromkeys(range(SEEDS), by[first]) for data, by in meta.learnt.items()}
    plan = meta.model_copy(update={"items": items, "learnt": learnt})
    parsed = {key: json.loads(text) for key, text in texts.items()}
    out.mkdir(parents=True)
    with SqliteStore(out / FILE) as store:
        store.begin(plan)
        store._file.do("BEGIN", {})
        n = 0
        for n, row in enumerate(_copies(plan, source, parsed, first), 1):  # noqa: B007 - they are counted
            statement = "INSERT INTO rows VALUES (:data, :seed, :part, :item, :method, :status, :row)"
            store._file.do(statement, row)
        store._file.do("COMMIT", {})
    return n


def _names(part: str, n: int, seed: int) -> Iterator[str]:
    start = seed * round((1 - OVERLAP) * n)
    return (f"{part}{i:07}" for i in range(start, start + n))


def _copies(plan: Meta, source: Any, parsed: Any, first: int) -> Iterator[dict[str, Any]]:
    """Rows to keep, each a copy of a real one."""
    powers = np.random.default_rng(0).uniform(0.7, 1.4, 99_991).tolist()
    for n, key in enumerate(plan.keys()):
        own = source[key.data, key.part]
        real = own[int(key.item.removeprefix(key.part)) % len(own)]
        row = parsed[key.data, first, key.part, real, key.method]
        belief = row["belief"] and _raised(row["belief"], powers[n % len(powers)])
        text = json.dumps({**row, "item": key.item, "seed": key.seed, "belief": belief})
        yield {**key._asdict(), "status": row["status"], "row": text}


def _raised(belief: dict[str, float], power: float) -> dict[str, float]:
    raised = {y: p**power for y, p in belief.items()}
    total = math.fsum(raised.values())
    return {y: p / total for y, p in raised.items()}


@uncollected()  # as `maci study report` does
def measured(folder: Path, keep: Path | None = None) -> dict[str, Any]:
    """CPU seconds of each step; the report is written as JSON and as a page."""
    at = [process_time()]
    studies = gather([folder])
    at.append(process_time())
    report = build_report(studies, ReportSettings())
    at.append(process_time())
    text, page = render(report, "json"), render(report, "html")
    at.append(process_time())
    if keep is not None:
        keep.write_text(text, encoding="utf-8")
    read, computed, written = (round(b - a, 2) for a, b in pairwise(at))
    return {
        "rows": sum(len(study.rows) for study in studies),
        "read": read,
        "compute": computed,
        "write": written,
        "cpu_seconds": round(at[-1] - at[0], 2),
        "page_bytes": len(page.encode()),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def apart(folder: Path, keep: Path | None) -> dict[str, Any]:
    """Measured in a process of its own, so that one size does not warm or swell another."""
    call = [sys.executable, __file__, "--measure", folder, *(("--keep", keep) if keep else ())]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def slope(found: Sequence[dict[str, Any]]) -> float | None:
    """Of log CPU seconds over log rows; none of one size."""
    if len(found) < 2:
        return None
    x, y = (np.log([one[key] for one in found]) for key in ("rows", "cpu_seconds"))
    return round(float(np.polyfit(x, y, 1)[0]), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--study", type=Path, help="results folder of a small study to copy")
    parser.add_argument("--rows", type=int, default=74_340)
    parser.add_argument("--growth", default="10000,30000,100000", help="sizes of which the slope is taken; empty: none")
    parser.add_argument("--keep", type=Path, help="write the JSON report here")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure, options.keep)))
        return
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = options.study or small_study(folder)
        for rows in dict.fromkeys([options.rows, *map(int, filter(None, options.growth.split(",")))]):
            grown(small, rows, folder / str(rows))
            found[rows] = apart(folder / str(rows), options.keep if rows == options.rows else None)
            (folder / str(rows) / FILE).unlink()
            if not options.json:
                print(", ".join(f"{key} {value:,}" for key, value in found[rows].items()), flush=True)
    main_, *rest = found.values()
    figures = {**main_, "growth": rest, "slope": slope(rest)}
    print(json.dumps(figures) if options.json else f"log-log slope of CPU seconds over rows: {figures['slope']}")


if __name__ == "__main__":
    main()
