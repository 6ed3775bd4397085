"""``make bench``: the table of `bench_throughput.py`, then every other benchmark that needs no data.

    python benchmarks/run.py [--quick] [--table] [-- OPTIONS OF bench_throughput.py]
    python benchmarks/run.py --show [RUN]              # the table again, of the last run or of the one that began then

Whatever is measured is appended to history.jsonl as soon as it is: the table turn by turn, the others one by one. So nothing is lost
when a later part fails or the machine is needed. What fails is on record as failed, the rest goes on, and the program ends with 1.

Without an option the table takes hours: ten repeats of up to 1,000 debates by five contenders. ``--table`` leaves the others out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench_start import lines as start_lines
from bench_throughput import lines
from maci.files.parse import append_row, whole_rows
from maci.seating.table import commit

HERE = Path(__file__).parent
HISTORY = HERE / "history.jsonl"

Row = Mapping[str, Any]
Keep = Callable[[str, Any], None]


def figures(script: str, *options: str) -> Iterator[Any]:
    """What a benchmark prints with ``--json``, line by line; it is an error if it does not end well."""
    print(f"{script} {' '.join(options)} …", file=sys.stderr, flush=True)
    environ = dict(os.environ)
    if script not in ("bench_throughput.py", "bench_start.py"):  # which measure what users run
        environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / script), "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as running:
        assert running.stdout is not None
        yield from map(json.loads, running.stdout)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, script)


def measure(parts: Mapping[str, tuple[str, ...]], keep: Keep) -> list[str]:
    """Each part in turn, kept line by line as it comes; the names of those that failed."""
    failed = []
    for name, (script, *options) in parts.items():
        try:
            for found in figures(script, *options):
                keep(name, found)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            keep(name, {"failed": str(error)})
            failed.append(name)
    return failed


def keeping(history: Path, common: Row) -> Keep:
    """What appends a row to the history, on disk before anything else is measured, and shows it."""

    def keep(name: str, found: Any) -> None:
        append_row(history, {**common, "part": name, "found": found})
        if name not in ("throughput", "start") or "failed" in found:  # those two are shown as tables
            print(f"{name}: {json.dumps(found, indent=2)}", flush=True)

    return keep


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The tables of one run, as far as it has come, in Markdown."""
    of = [row["found"] for row in rows if row["part"] == "throughput" and "failed" not in row["found"]]
    imports = next((found["imports"] for found in of if "imports" in found), {})
    yield from lines([found for found in of if "ran" in found], imports)
    for row in rows:
        if row["part"] == "start" and "failed" not in row["found"]:
            yield from ("", *start_lines(row["found"]))


def run_of(history: Path, began: str | None = None) -> list[dict[str, Any]]:
    """The rows of the run that began then, or of the last one."""
    rows = list(whole_rows(history))
    runs = [row["run"] for row in rows if "run" in row]  # the first rows of the file were written another way
    if not runs or (began and began not in runs):
        raise SystemExit(f"{history.name} has no such run; it has {', '.join(dict.fromkeys(runs)) or 'none'}")
    return [row for row in rows if row.get("run") == (began or runs[-1])]


def parts(asked: argparse.Namespace) -> dict[str, tuple[str, ...]]:
    """Which benchmarks are run, with what; the table last, since it takes longest."""
    quick, found = asked.quick, dict[str, tuple[str, ...]]()
    if not asked.table:
        found |= {each: (f"bench_{each}.py",) for each in ("controller", "retrieval", "bandit", "plan", "report")}
        sizes = ("rounds", "agents", "outcomes", "debates", "spans", "runs")
        found["growth"] = ("bench_growth.py", *sizes, "--quick")
        found["install"] = ("bench_install.py", "--extras", "core")
        found["viewers"] = ("bench_viewers.py", *(("--seconds", "8") if quick else ()))
        data = os.environ.get("MACI_DATA")
        if data and Path(data).is_dir():
            found["readers"] = ("bench_readers.py", "--data", data, *(("--limit", "100") if quick else ()))
        else:
            print("no data sets (MACI_DATA): the readers are not measured", file=sys.stderr)
    found["start"] = ("bench_start.py", "--times", "3" if quick else "9")
    found["throughput"] = ("bench_throughput.py", *(("--quick",) if quick else ()), *asked.rest)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer debates, repeats and cases")
    parser.add_argument("--table", action="store_true", help="the table alone")
    parser.add_argument("--show", nargs="?", const="", metavar="RUN", help="measure nothing: the table of a run again")
    parser.add_argument("rest", nargs="*", help="options of bench_throughput.py, after --")
    asked = parser.parse_args()
    if asked.show is not None:
        print("\n".join(table(run_of(HISTORY, asked.show or None))))
        return
    began = datetime.now(UTC).isoformat(timespec="seconds")
    common = {"run": began, "commit": commit(), "quick": asked.quick}
    failed = measure(parts(asked), keeping(HISTORY, common))
    print("\n".join(table(run_of(HISTORY, began))))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; everything else is in {HISTORY.name}")


if __name__ == "__main__":
    main()
