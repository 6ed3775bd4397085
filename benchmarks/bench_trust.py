"""What the warnings of the harm monitor tell: accuracy with and without each of them, on the development part of studies.

maci study run studies/trust-readers.toml --data DIR
python benchmarks/bench_trust.py studies-out/trust-readers [more folders] [--part test] [--method maci]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from maci.calibration.stats import wilson
from maci.config import load
from maci.lab.study.report.gather import gather
from maci.lab.study.study import Row

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from hash_encoder import HashEncoder

SIGNS = {
    "conformed": lambda h: h.conformed > 0,
    "collapsed": lambda h: bool(h.collapses),
    "hollow": lambda h: h.hollow,
    "stubborn": lambda h: bool(h.stubborn),
    "repeats more than half": lambda h: h.repeated > 0.5 * h.arguments,
    "answer worse supported": lambda h: h.support < h.opening_support,
}


def right(row: Row) -> bool:
    assert row.belief is not None
    return max(row.belief, key=lambda y: row.belief[y]) == row.gold


def show(some: list[Row]) -> str:
    found = wilson(sum(map(right, some)), len(some))
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}] of {len(some)}" if some else "– of 0"


def replayed(folder: Path, debates: str) -> None:
    """Every recorded turn of real debates through the fold: whose lead goes from right to wrong, and back."""
    from maci.controller.caution import Watched
    from maci.debating.loop import debate
    from maci.lab.datasets import load as load_data
    from maci.lab.study.worker import RecordedPanel
    from maci.seating.table import opening

    task = load_data("ford_debates", folder, options={"debates": debates})
    items = (*task.dev, *task.test)
    panel = RecordedPanel(items, HashEncoder())
    sets = ["crit.enabled=false", "min_rounds=3", "max_rounds=3", "dispersion.gate=off", "plan.enabled=false"]
    harmed: dict[str, int] = {}
    mended: dict[str, int] = {}

    async def play() -> None:
        for item in items:
            table = panel.table(item.case)
            async for event in debate(opening(item.case, table, load(environ={}, sets=sets)), table):
                if isinstance(event, Watched):
                    for count, who in ((harmed, event.harmed), (mended, event.mended)):
                        for agent in who or ():
                            count[agent] = count.get(agent, 0) + 1

    asyncio.run(play())
    print(f"\n{debates}, {len(items)} debates, 3 rounds: moves of an agent's lead")
    for agent in sorted({*harmed, *mended}):
        print(f"  {agent:<10} right → wrong {harmed.get(agent, 0):4}   wrong → right {mended.get(agent, 0):4}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--part", default="dev", choices=("dev", "test"))
    parser.add_argument("--method", default="maci")
    parser.add_argument("--ford", type=Path, help="folder of the data sets: also replay ford_debates")
    own = parser.parse_args()
    for study in gather(own.folders) if own.folders else ():
        rows = [r for r in study.rows.values() if r.part == own.part and r.method == own.method and r.harm and r.gold]
        for data in dict.fromkeys(r.data for r in rows):
            some = [r for r in rows if r.data == data and r.belief is not None]
            print(f"\n{study.label}: {data}, {own.part}, {own.method}: right {show(some)}")
            for name, sign in SIGNS.items():
                warned = [r for r in some if sign(r.harm)]
                rest = [r for r in some if not sign(r.harm)]
                print(f"  {name:<24} with {show(warned):<30} without {show(rest)}")
            for equal in (False, True):
                left = [r for r in some if max(r.belief, key=lambda y: r.belief[y]) != r.harm.opening_answer]
                back = [r for r in left if r.harm.support - r.harm.opening_support < (1e-12 if equal else 0)]
                gain = sum((r.harm.opening_answer == r.gold) - right(r) for r in back)
                print(
                    f"  rollback={'unearned' if equal else 'worse':<10} {len(back)} of {len(left)} that left round 0: {gain:+d} right"
                )
    if own.ford:
        for debates in ("table_chatgpt_davinci_gpt4__piqa", "table_chatgpt_davinci_gpt4__ecare"):
            replayed(own.ford, debates)


if __name__ == "__main__":
    main()
