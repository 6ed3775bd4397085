"""How much faster intervals are from sums than from resampled answers: ratios of processor time, the same resamples.

python benchmarks/bench_statistics.py [--cases 678] [--seeds 3] [--figures 10]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from maci.calibration.stats import Draws, bootstrap, bootstrap_sums, mean_of
from maci.calibration.stats.sums import bootstrap_all, ratio_sums
from maci.lab.study.metrics import ece_of, ece_sums


def clock(of: Callable[[], object], times: int) -> float:
    """Mean processor seconds."""
    began = time.process_time()
    for _ in range(times):
        of()
    return (time.process_time() - began) / times


def main() -> None:
    """Print one line for each kind of figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=678)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--figures", type=int, default=10)
    own = parser.parse_args()
    rng = np.random.default_rng(0)
    n = own.cases * own.seeds
    case = np.tile(np.arange(own.cases), own.seeds)
    confidence = rng.uniform(0.3, 1, n)
    right = (rng.random(n) < confidence).astype(float)
    groups = case.tolist()
    sums = [np.bincount(case, weights=right * (i + 1), minlength=own.cases) for i in range(own.figures)]
    answers = np.bincount(case)
    draws = Draws()
    draws.sums(np.ones((own.cases, 1)))  # made once for a whole report

    def fresh() -> np.random.Generator:
        return np.random.default_rng(0)

    before = clock(lambda: bootstrap(mean_of(right), n, fresh(), groups=groups), 2)
    after = clock(lambda: bootstrap_sums(ratio_sums(sums[0], answers), draws, rows=n), 5)
    many = clock(lambda: bootstrap_all([ratio_sums(x, answers) for x in sums], draws, rows=n), 3) / own.figures
    print(f"mean: {before * 1e3:.0f} ms before, {after * 1e3:.1f} ms from sums, {before / after:.0f} times faster;")
    print(f"  {own.figures} means at once: {many * 1e3:.1f} ms each, {before / many:.0f} times faster")
    before = clock(lambda: bootstrap(ece_of(confidence, right), n, fresh(), groups=groups), 1)
    after = clock(lambda: bootstrap_sums(ece_sums(confidence, right, case, own.cases), draws, rows=n), 3)
    print(f"ECE: {before * 1e3:.0f} ms before, {after * 1e3:.1f} ms from sums, {before / after:.0f} times faster")


if __name__ == "__main__":
    main()
