"""The figures of a chaos run, and what is wrong with the run as a whole."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from chaos.check import Found, compare
from chaos.plan import plan, run_ceiling, worker_of
from fake_server import Faults

if TYPE_CHECKING:
    from chaos.run import Run

LARGE = 500
"""From so many debates on, every fault and a good part of the kills must have happened."""


def figures(run: Run, found: list[Found], told: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """What came of it; what is wrong is added to ``run.wrong``."""
    counts: dict[str, dict[str, int]] = {key: count for each in told for key, count in each["counts"].items()}
    served = {each.number: counts.get(plan(run.seed, each.number).key) for each in found}
    for each in found:
        run.wrong += [*each.wrong, *compare(each, run.seed, served[each.number])]
    tokens = {n: (count["prompt"] + count["generated"] if count else 0) for n, count in served.items()}
    of_worker = [sum(t for n, t in tokens.items() if worker_of(n, run.workers) == w) for w in range(run.workers)]
    ceilings = [run_ceiling(worker, run.workers, run.debates) for worker in range(run.workers)]
    for worker, (spent, ceiling) in enumerate(zip(of_worker, ceilings, strict=True)):
        if spent > ceiling:
            run.wrong.append(f"CEILING of the run: the debates of worker {worker} used {spent} tokens of {ceiling}")
    repeated = [call for each in told for call in each["repeated"]]
    if repeated:
        run.wrong.append(
            f"{len(repeated)} calls were made again although their reply was on disk, the first: {repeated[0]}"
        )
    faults = sum((Counter(each["faults"]) for each in told), Counter[str]())
    lost = _lost(run)
    if not run.wrong:
        run.wrong += _worthless(run, found, faults, lost)
    ratios = [each.tokens / tokens[each.number] for each in found if tokens[each.number]]
    mine, theirs = sum(each.tokens for each in found), sum(tokens.values())
    return {
        "debates": len(found),
        "with an answer": sum(each.answered for each in found),
        "stop reasons": dict(Counter(each.reason for each in found).most_common()),
        "requests": sum(count["requests"] for count in counts.values()),
        "  of which charged": sum(count["served"] for count in counts.values()),
        "calls on record": sum(each.sent for each in found),
        "turns and scores lost": sum(each.failed for each in found),
        "faults": dict(faults.most_common()),
        "kills": dict(run.killed.most_common()),
        "  by signal": dict(run.signals.most_common()),
        "faults of the disk": dict(run.disk.most_common()),
        "  that ended a worker": run.ended,
        "debates broken off": lost["resumed"],
        "calls under way at kills": lost["calls"],
        "  tokens counted for them": lost["tokens"],
        "tokens, by the servers": theirs,
        "tokens, by our count": mine,
        "  ours / theirs, overall": round(mine / theirs, 3) if theirs else None,
        "  of a debate, least": round(min(ratios, default=0), 3),
        "  of a debate, most": round(max(ratios, default=0), 1),
        "ceiling of worker 0's run": ceilings[0],
        "  used, by the servers": of_worker[0],
        "  debates it ended": sum(f" of {ceilings[0]} " in each.detail for each in found),
        "ceilings exceeded": sum("CEILING" in each for each in run.wrong),
        "calls repeated": len(repeated),
        "seconds": round(seconds, 1),
    }


def show(told: dict[str, Any]) -> None:
    for name, value in told.items():
        print(f"{name:<30} {' · '.join(f'{k} {v}' for k, v in value.items()) if isinstance(value, dict) else value}")


def _lost(run: Run) -> Counter[str]:
    """What the workers found under way when they were started again."""
    rows = [json.loads(line) for file in run.folder.glob("worker*.jsonl") for line in file.open(encoding="utf-8")]
    return sum((Counter({k: v for k, v in row.items() if k != "pid"}) for row in rows), Counter[str]())


def _worthless(run: Run, found: list[Found], faults: Counter[str], lost: Counter[str]) -> list[str]:
    """What is wrong with the run itself: it would show nothing."""
    wrong = []
    if sum(each.answered for each in found) < 0.3 * len(found):
        wrong.append("fewer than 30 % of the debates have an answer: the run shows little")
    if run.killed.total() and not lost["calls"]:
        wrong.append("no call was under way at any kill: the run shows little")
    if run.debates >= LARGE:
        missing = {field.name for field in fields(Faults)} - set(faults)
        if missing:
            wrong.append(f"faults that never happened: {', '.join(sorted(missing))}")
        if run.killed.total() < 0.8 * run.kills:
            wrong.append(f"only {run.killed.total()} of {run.kills} kills happened")
        if run.disk.total() < 0.8 * run.disks or not run.ended:
            wrong.append(
                f"only {run.disk.total()} of {run.disks} faults of the disk happened, {run.ended} ended a worker"
            )
    return wrong
