"""``make bench``: every benchmark that needs no data, then the readers if the data is here; figures go to history.jsonl.

python benchmarks/run.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from maci.seating.table import commit

HERE = Path(__file__).parent


def figures(script: str, *options: str) -> object:
    print(f"{script} {' '.join(options)} …", file=sys.stderr, flush=True)
    environ = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, HERE / script, "--json", *options], capture_output=True, text=True, env=environ, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer cases for the readers, fewer debates at once")
    quick = parser.parse_args().quick
    found = {"controller": figures("bench_controller.py"), "retrieval": figures("bench_retrieval.py")}
    found["bandit"] = figures("bench_bandit.py")
    found["plan"] = figures("bench_plan.py")
    found["report"] = figures("bench_report.py")
    found["throughput"] = figures("bench_throughput.py", *(["--quick"] if quick else []))
    found["viewers"] = figures("bench_viewers.py", *(["--seconds", "8"] if quick else []))
    data = os.environ.get("MACI_DATA")
    if data and Path(data).is_dir():
        found["readers"] = figures("bench_readers.py", "--data", data, *(["--limit", "100"] if quick else []))
    else:
        print("no data sets (MACI_DATA): the readers are not measured", file=sys.stderr)
    row = {"commit": commit(), "when": datetime.now(UTC).isoformat(timespec="seconds"), "quick": quick, **found}
    with (HERE / "history.jsonl").open("a", encoding="utf-8") as history:
        history.write(json.dumps(row) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
