"""What the controller costs per round: CPU beside the bare NumPy arithmetic it needs, and memory.

    python benchmarks/bench_controller.py [--json]

A round is M turns, 10 arguments in all, 3 scores each, folded one input at a time. The bare arithmetic is the same numbers
from arrays that are already there: mixture, JSD, entropies, total variation, 10 cosines, one overlap. Both are measured in
turn, many times in one process, and the medians compared; `best` is the 2nd percentile of thousands of rounds, what an
undisturbed core takes. I/O and the agents themselves are not part of it.
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from statistics import median
from time import monotonic, process_time

import numpy as np

from maci.agents.argument import Argument, Turn
from maci.agents.judges.crit import CritScore
from maci.cases.case import Case
from maci.cases.outcomes import OutcomeSpace
from maci.config import build, unplanned
from maci.controller.events import FORMAT
from maci.controller.fold import start, step
from maci.controller.inputs import Input, Opened, Retrieved, Scored, Seat, TurnTaken, pack
from maci.controller.state import State, argument_id
from maci.evidence.span import Citation, Span

ARGUMENTS, SPANS, DIM, ROUNDS = 10, 32, 256, 40


def opened(agents: int, outcomes: int) -> State:
    labels = tuple(f"outcome {i}" for i in range(outcomes))
    names = [Seat(f"agent{i}", "x") for i in range(agents)]
    rules = {
        "stop.max_rounds": ROUNDS,
        "stop.consensus": False,
        "stop.impasse": False,
        "stop.d_max": 0.0,
        "stop.crit_stable": False,
    }
    state = start(
        Opened(
            format=FORMAT, case=Case(question="?", outcomes=OutcomeSpace(labels=labels)), config=unplanned(build("default", rules)),
            agents=tuple(names), judges=tuple(Seat(f"judge{i}", "y") for i in range(3)), encoder="bench", seed=0, version="",
        )
    )  # fmt: skip
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(SPANS + 1, DIM)).astype(np.float32) + 0.3
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    spans = tuple(Span(f"s{i}", f"span {i}", "bench") for i in range(SPANS))
    vectors = {span.id: pack(row) for span, row in zip(spans, rows[1:], strict=True)}
    return step(state, Retrieved(spans=spans, vectors=vectors, theta=pack(rows[0])))[0]


def inputs(state: State, t: int, rng: np.random.Generator) -> list[Input]:
    """One round's recorded inputs."""
    agents, labels = state.agents, state.labels
    counts = [ARGUMENTS // len(agents) + (i < ARGUMENTS % len(agents)) for i in range(len(agents))]
    items: list[Input] = []
    for agent, count in zip(agents, counts, strict=True):
        p = rng.dirichlet(np.ones(len(labels)))
        arguments = tuple(
            Argument(
                claim="c",
                outcome=labels[0],
                citations=tuple(Citation(f"s{j}") for j in rng.choice(SPANS, 3, replace=False)),
            )
            for _ in range(count)
        )
        turn = Turn(belief=dict(zip(labels, p.tolist(), strict=True)), arguments=arguments)
        items.append(TurnTaken(round=t, agent=agent, turn=turn))
    if t:
        for seat, count in enumerate(counts):
            for number in range(1, count + 1):
                for judge in range(3):
                    c = float(rng.uniform(0.6, 0.9))
                    score = CritScore(evidence=c, logic=c, relevance=c)
                    items.append(
                        Scored(round=t, argument=argument_id(t, seat, number), slot=f"judge{judge}#0", score=score)
                    )
    return items


def bare(
    p: np.ndarray, before: np.ndarray, omega: np.ndarray, cited: np.ndarray, theta: np.ndarray, scores: np.ndarray
) -> float:
    """The arithmetic alone."""
    mixture = omega @ p
    mean = p.mean(axis=0)
    h = -(mixture @ np.log2(mixture))
    d = -(mean @ np.log2(mean)) - (-(p * np.log2(p)).sum(axis=1)).mean()
    tv = 0.5 * np.abs(mixture - before).sum()
    pooled = cited.mean(axis=1)
    q = pooled @ theta / np.linalg.norm(pooled, axis=1)
    return float(h + d + tv + q.sum() + scores.mean(axis=1).sum() + scores.var(axis=1, ddof=1).sum())


def undisturbed(agents: int, outcomes: int, seconds: float = 4.0) -> float:
    """The 2nd percentile of very many rounds: what they take when the machine does nothing else."""
    rng = np.random.default_rng(1)
    first = opened(agents, outcomes)
    rounds = [inputs(first, t, rng) for t in range(6)]
    took: list[float] = []
    end = monotonic() + seconds
    while monotonic() < end:
        state = first
        for t, items in enumerate(rounds):
            began = process_time()
            for item in items:
                state, _ = step(state, item)
            if t:
                took.append(process_time() - began)
    return float(np.percentile(took, 2))


def measure(agents: int, outcomes: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    state = opened(agents, outcomes)
    folded, plain = [], []
    p = rng.dirichlet(np.ones(outcomes), size=agents)
    cited, theta = rng.normal(size=(ARGUMENTS, 3, DIM)), rng.normal(size=DIM)
    scores, omega = rng.uniform(size=(ARGUMENTS, 3)), np.full(agents, 1 / agents)
    for t in range(ROUNDS):
        items = inputs(state, t, rng)
        began = process_time()
        for item in items:
            state, _ = step(state, item)
        folded.append(process_time() - began)
        began = process_time()
        for _ in range(10):
            bare(p, p[0], omega, cited, theta, scores)
        plain.append((process_time() - began) / 10)
    tracemalloc.start()
    again = opened(agents, outcomes)
    for t in range(6):
        for item in inputs(again, t, rng):
            again, _ = step(again, item)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "agents": agents,
        "outcomes": outcomes,
        "round_ms": 1e3 * median(folded[1:]),
        "best_ms": 1e3 * undisturbed(agents, outcomes),
        "bare_ms": 1e3 * median(plain[1:]),
        "ratio": median(folded[1:]) / median(plain[1:]),
        "peak_mb": peak / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(m, y) for m in (2, 3, 5) for y in (5, 100, 1000)]
    if options.json:
        print(json.dumps(rows))
        return
    print("agents  outcomes  CPU per round (best)     bare NumPy  ratio  peak memory (6 rounds)")
    for r in rows:
        cost = f"{r['round_ms']:>10.3f} ({r['best_ms']:.3f}) ms  {r['bare_ms']:>7.3f} ms  {r['ratio']:>5.1f}"
        print(f"{r['agents']:>6}  {r['outcomes']:>8}  {cost}  {r['peak_mb']:>8.1f} MB")


if __name__ == "__main__":
    main()
