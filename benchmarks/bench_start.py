"""What a command costs that has little to do: CPU seconds and time, for one tree or several side by side.

    python benchmarks/bench_start.py [SRC …] [--times 9] [--json]

``SRC`` is the ``src`` folder of a checkout; without one it is this checkout's. Trees take turns, command by command, so that whatever
else the machine does falls on all of them. CPU time is that of the process (user and system); ratios of it are those of medians, to the
first tree. Time is as a clock has it, the best beside the median.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

HERE = Path(__file__).resolve().parents[1] / "src"
COMMANDS = (
    "--help", "debate --help", "cases", "debate dengue --panel readers -q", "batch --help", "study run --help", "calibrate --help",
    "verify --help", "plan --help",
)  # fmt: skip


def cost(source: Path, command: str, folder: str) -> tuple[float, float]:
    """CPU seconds of one run, and its seconds; a run that fails ends the benchmark."""
    environ = os.environ | {"PYTHONPATH": str(source), "MACI_CACHE": folder, "PYTHONPYCACHEPREFIX": f"{folder}/bytes"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = os.times(), perf_counter()
    call = [sys.executable, "-m", "maci", *command.split()]
    subprocess.run(call, env=environ, cwd=folder, check=True, capture_output=True)
    after, seconds = os.times(), perf_counter() - began
    return after.children_user - before.children_user + after.children_system - before.children_system, seconds


def lines(rows: Mapping[str, list[dict[str, list[float]]]]) -> Iterator[str]:
    """The table, in Markdown: a line for each command and tree."""
    yield from ("| `maci …` | CPU, s | × the first | time, s: best | median | n |", "|---|---|---|---|---|---|")
    for command, trees in rows.items():
        for tree in trees:
            ratio = median(tree["cpu"]) / median(trees[0]["cpu"])
            times = f"{min(tree['seconds']):.2f} | {median(tree['seconds']):.2f} | {len(tree['seconds'])}"
            yield f"| `{command}` | {median(tree['cpu']):.2f} | {ratio:.2f} | {times} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", type=Path, metavar="SRC", default=[HERE])
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources = [source.resolve() for source in options.sources]
    rows: dict[str, list[dict[str, list[float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            rows[command] = [{"cpu": [], "seconds": []} for _ in sources]
            for turn in range(options.times + 1):  # the first turn writes byte code and caches, and does not count
                for row, source in zip(rows[command], sources, strict=True):
                    cpu, seconds = cost(source, command, folder)
                    if turn:
                        row["cpu"].append(cpu)
                        row["seconds"].append(seconds)
            print(f"{command} …", file=sys.stderr, flush=True)
    print(json.dumps(rows) if options.json else "\n".join(lines(rows)))


if __name__ == "__main__":
    main()
