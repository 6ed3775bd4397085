"""What a command costs before it does anything: CPU seconds to start, for one tree or several side by side.

    python benchmarks/bench_start.py [SRC …] [--times 9] [--json]

``SRC`` is the ``src`` folder of a checkout; without one it is this checkout's. Trees take turns, command by command, so that whatever
else the machine does falls on all of them. The figure is the median CPU time (user and system) of the process, the ratio is to the
first tree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[1] / "src"
COMMANDS = (
    "--help", "debate --help", "cases", "debate dengue --panel readers -q", "batch --help", "study run --help", "calibrate --help",
    "verify --help", "plan --help",
)  # fmt: skip


def cpu(source: Path, command: str, folder: str) -> float:
    """CPU seconds of one run; a run that fails ends the benchmark."""
    environ = os.environ | {"PYTHONPATH": str(source), "MACI_CACHE": folder, "PYTHONPYCACHEPREFIX": f"{folder}/bytes"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    call = [sys.executable, "-m", "maci", *command.split()]
    subprocess.run(call, env=environ, cwd=folder, check=True, capture_output=True)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", type=Path, metavar="SRC", default=[HERE])
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sources = [source.resolve() for source in options.sources]
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            took: list[list[float]] = [[] for _ in sources]
            for turn in range(options.times + 1):  # the first turn writes byte code and caches, and does not count
                for seconds, source in zip(took, sources, strict=True):
                    one = cpu(source, command, folder)
                    if turn:
                        seconds.append(one)
            rows[command] = [median(seconds) for seconds in took]
            if not options.json:
                first = rows[command][0]
                print(f"{command:34}", *(f"{one:6.2f} s ×{one / first:.2f}" for one in rows[command]), flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
