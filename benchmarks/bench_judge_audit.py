"""How often does the audit find a planted fault, and how often does it cry wolf? 150 arguments of 50 debates, three judges.

python benchmarks/bench_judge_audit.py [--seeds 100] [--resamples 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

from maci.calibration.stats import wilson
from maci.lab.audit.judges.audit import ProbePlan, audit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from planted_judges import FAULTS, PlantedJudge, arguments

CHECKS = {
    "position": "position",
    "length": "length",
    "own family": "own family",
    "identity": "identity",
    "random": "with the others",
}


def played(fault: str | None, seed: int, resamples: int):
    """The audit of a faulty judge beside two sound ones; the faulty one is of a debater's family, so that it can favour it."""
    judges = [
        PlantedJudge(f"first-{seed}", "alpha", FAULTS.get(fault or "")),
        PlantedJudge(f"second-{seed}", "delta"),
        PlantedJudge(f"third-{seed}", "epsilon"),
    ]
    done = asyncio.run(audit(arguments(seed=seed), lambda batch: judges, ProbePlan(seed=seed, resamples=resamples)))
    return done.audit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=1000)
    args = parser.parse_args()
    for fault in (None, *FAULTS):
        levels, found, others, wrong, watched = Counter(), 0, 0, Counter(), Counter()
        for seed in range(args.seeds):
            result = played(fault, seed, args.resamples)
            bad = [(f.check, f.judge) for f in result.findings if f.level == "bad"]
            levels[result.verdict] += 1
            watched.update(f.check for f in result.findings if f.level == "watch")
            found += any(check == CHECKS.get(fault or "") and judge.startswith("first") for check, judge in bad)
            sound = [check for check, judge in bad if judge and not judge.startswith("first")]
            others += bool(sound)
            wrong.update(sound if fault else [check for check, _ in bad])
        rate = wilson(found, args.seeds) if fault else wilson(levels["bad"], args.seeds)
        what = f"{fault}: found" if fault else "no fault: called bad"
        print(f"{what} {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}] of {args.seeds}; verdicts {dict(levels)}; "
              f"a sound judge called bad {others} {dict(wrong)}; to watch {dict(watched)}")  # fmt: skip


if __name__ == "__main__":
    main()
