"""``make bench``: the table of `bench_throughput.py`, then every other benchmark that needs no data; figures go to history.jsonl.

    python benchmarks/run.py [--quick] [--table] [-- OPTIONS OF bench_throughput.py]

Without an option the table takes hours: ten repeats of up to 1,000 debates by five contenders. ``--table`` leaves the others out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench_throughput import lines
from maci.seating.table import commit

HERE = Path(__file__).parent


def figures(script: str, *options: str) -> Any:
    print(f"{script} {' '.join(options)} …", file=sys.stderr, flush=True)
    environ = dict(os.environ)
    if script != "bench_throughput.py":  # which measures what users run
        environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, HERE / script, "--json", *options]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environ, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer debates, repeats and cases")
    parser.add_argument("--table", action="store_true", help="the table alone")
    parser.add_argument("rest", nargs="*", help="options of bench_throughput.py, after --")
    asked = parser.parse_args()
    quick = asked.quick
    found = {"throughput": figures("bench_throughput.py", *(["--quick"] if quick else []), *asked.rest)}
    print("\n".join(lines(**found["throughput"])))
    if not asked.table:
        for script in ("controller", "retrieval", "bandit", "plan", "report"):
            found[script] = figures(f"bench_{script}.py")
        sizes = ("rounds", "agents", "outcomes", "debates", "spans", "runs")
        found["growth"] = figures("bench_growth.py", *sizes, "--quick")
        found["install"] = figures("bench_install.py", "--extras", "core")
        found["viewers"] = figures("bench_viewers.py", *(["--seconds", "8"] if quick else []))
        data = os.environ.get("MACI_DATA")
        if data and Path(data).is_dir():
            found["readers"] = figures("bench_readers.py", "--data", data, *(["--limit", "100"] if quick else []))
        else:
            print("no data sets (MACI_DATA): the readers are not measured", file=sys.stderr)
    row = {"commit": commit(), "when": datetime.now(UTC).isoformat(timespec="seconds"), "quick": quick, **found}
    with (HERE / "history.jsonl").open("a", encoding="utf-8") as history:
        history.write(json.dumps(row) + "\n")
    if not asked.table:
        print(json.dumps({name: each for name, each in found.items() if name != "throughput"}, indent=2))


if __name__ == "__main__":
    main()
