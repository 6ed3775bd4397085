"""What the learned schedules cost: one update, one index of all nine actions, one whole choice, one task's state from its file.

    python benchmarks/bench_bandit.py [--json]

Medians of process time over many repetitions in one process; the goal is 100 µs for an update (SPEC 9, issue 05).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np

from maci.calibration.schedules import DebateLessons, Schedules
from maci.config import build
from maci.controller.bandit import ACTIONS, Arms, Context, Learned, Lesson, linucb, ucb
from maci.controller.dials import ClosedRound, Measured, RoundDials
from maci.controller.policies import decide
from maci.llm.usage import Bound
from maci.moderator.divergence import Analysis
from maci.moderator.signals import Progress


def micros(call: Callable[[], object], batch: int = 50, batches: int = 200) -> float:
    """Median microseconds of one call."""
    took = []
    for _ in range(batches):
        began = process_time()
        for _ in range(batch):
            call()
        took.append((process_time() - began) / batch)
    return 1e6 * median(took)


def lesson(rng: np.random.Generator) -> Lesson:
    d, q, gain, budget = rng.uniform(size=4)
    seen = Context(d=d, d_change=-0.1, q=q, q_change=None, gain=gain, gain_change=0.05, budget=budget)
    return Lesson(
        action=int(rng.integers(len(ACTIONS))), context=seen, reward=float(rng.uniform()), cost=1000.0, growth=1.1
    )


def measure() -> dict[str, float]:
    """All figures."""
    rng = np.random.default_rng(0)
    arms = Arms.fresh()
    for _ in range(500):
        arms = arms.taught(lesson(rng))
    one = lesson(rng)
    x = one.context.vector()
    signals = Measured(
        round=1, q=0.6, d=0.4, o=0.4, crit=0.7, crit_variance=0.0, entropy=0.5, gain=0.1, shift=0.1, r_i=0.1, r_d=0.1,
        pi_i=True, pi_d=True, analysis=Analysis(None, None, None, None, 0.0, 0.0, None, None),
    )  # fmt: skip
    closed = ClosedRound(
        signals=signals, progress=Progress(0.1, 1.0, 0.5, 0.4, 0.1), dials=RoundDials(0.8, 0.5, 0.3), admitted=4, candidates=(),
        same_top=False, cost=Bound(1000), spent=Bound(2000),
    )  # fmt: skip
    learned = Learned(task="t", debate="d", debates=500, arms=arms.records())
    figures = {
        "update_ucb_us": micros(lambda: arms.learn(one.action, one.reward, cost=one.cost, growth=one.growth)),
        "update_linucb_us": micros(lambda: arms.learn(one.action, one.reward, x, cost=one.cost, growth=one.growth)),
        "update_lesson_us": micros(lambda: arms.taught(one)),
        "index_ucb_us": micros(lambda: ucb(arms.reward, arms.pulls, arms.t)),
        "index_linucb_us": micros(lambda: linucb(arms.design, arms.response, x)),
    }
    for kind in ("ucb", "linucb"):
        config = build("default", {"dials.schedule": kind})
        figures[f"choice_{kind}_us"] = micros(lambda config=config: decide([closed], config, learned))
    with tempfile.TemporaryDirectory() as folder, Schedules(Path(folder) / "s.sqlite") as known:
        for n in range(1000):
            told = tuple(lesson(rng) for _ in range(3))
            known.enter(DebateLessons(task="t", debate=f"{n:05}", schedule="linucb", terms="w", lessons=told))
        began = perf_counter()
        known.snapshot("t", "w")
        figures["state_of_1000_debates_ms"] = 1e3 * (perf_counter() - began)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:<28}{value:>10.1f}")


if __name__ == "__main__":
    main()
