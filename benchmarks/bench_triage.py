"""Triage against always doing the same: accuracy and tokens by data set, regime and stage, with paired intervals.

maci study run studies/triage-mixed.toml --data DIR --out studies-out/triage-mixed
python benchmarks/bench_triage.py studies-out/triage-mixed
python benchmarks/bench_triage.py --recorded --data DIR     recorded panels: what a vote and a debate would have added
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn
from maci.cases.case import Case
from maci.config import Config, build
from maci.controller.triage import regime
from maci.evidence.encode import load_encoder
from maci.lab.datasets import load
from maci.lab.methods.baselines import Single, WeightedAverage
from maci.lab.methods.maci import Ask, Maci
from maci.lab.methods.method import Bench, Method, MethodAnswer
from maci.lab.study.learning import learn, learn_stages
from maci.lab.study.store import open_store
from maci.lab.study.study import Row
from maci.lab.study.worker import RecordedPanel
from maci.llm.usage import Bound, Usage
from maci.seating.table import Table

ALWAYS = "maci"
RESAMPLES = 10_000


def lead(belief: Mapping[str, float]) -> str:
    return max(belief, key=lambda y: belief[y])


def right(row: Row) -> bool:
    return row.belief is not None and lead(row.belief) == row.gold


def tokens(row: Row) -> int:
    return row.usage.tokens + row.judge_usage.tokens


def intervals(groups: Sequence[str], gain: np.ndarray, own: np.ndarray, always: np.ndarray) -> str:
    """Accuracy difference in points and token ratio, 95 % percentile bootstrap over items (all seeds of an item together)."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        places[group].append(place)
    sums = np.array([[gain[p].sum(), len(p), own[p].sum(), always[p].sum()] for p in places.values()])
    rng = np.random.default_rng(0)
    drawn = np.array([sums[rng.integers(len(sums), size=len(sums))].sum(axis=0) for _ in range(RESAMPLES)])
    low, high = np.percentile(100 * drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    ratio = own.sum() / always.sum()
    r_low, r_high = np.percentile(drawn[:, 2] / drawn[:, 3], [2.5, 97.5])
    return f"{100 * gain.mean():+5.1f} [{low:+.1f}, {high:+.1f}]  {ratio:5.2f} [{r_low:.2f}, {r_high:.2f}]"


def kind(row: Row) -> str:
    """The regime of a case, from what its opening showed in the debate."""
    start = row.course[0]
    return regime(len(row.belief or ()), start.q, start.d, None, 1, Config()).kind


def study(folder: Path) -> None:
    rows: dict[tuple[str, int, str], dict[str, Row]] = defaultdict(dict)
    for row in open_store(folder, make=False).rows():
        if row.part == "test":
            rows[(row.data, row.seed, row.item)][row.method] = row
    methods = sorted({method for some in rows.values() for method in some})
    whole = {
        key: some
        for key, some in rows.items()
        if len(some) == len(methods) and all(r.status == "done" for r in some.values())
    }
    print(f"{len(whole)} of {len(rows)} test answers have all methods")
    parts: dict[str, Callable[[tuple[str, int, str], Mapping[str, Row]], str]] = {
        "data": lambda key, some: key[0],
        "regime": lambda key, some: f"regime {kind(some[ALWAYS])}",
        "all": lambda key, some: "all",
    }
    print(
        f"\n{'':28}{'method':24}{'n':>5} {'right':>6} {'tokens':>7}  right less maci, points; tokens over maci [95 %]"
    )
    for split in parts.values():
        groups: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
        for key, some in whole.items():
            groups[split(key, some)].append(key)
        for name, keys in sorted(groups.items()):
            for method in methods:
                _line(name, method, [(f"{k[0]}/{k[2]}", whole[k][method], whole[k][ALWAYS]) for k in keys])
    for method in (m for m in methods if m.startswith("ask")):
        print(f"\n{method}, by where it stopped")
        by: dict[str, list[tuple[str, Row, Row]]] = defaultdict(list)
        for key, some in whole.items():
            stage = some[method].reason.split(":")[0]
            by[f"{key[0]}: {stage}"].append((f"{key[0]}/{key[2]}", some[method], some[ALWAYS]))
        for name, some in sorted(by.items()):
            _line(name, "", some)
    if (meta := open_store(folder, make=False).meta()) is not None:
        print("\nlearnt on dev")
        for data, lessons in meta.learnt.items():
            for seed, lesson in lessons.items():
                print(f"{data}, seed {seed}: " + "; ".join(lesson.debates))


def _line(name: str, method: str, pairs: Sequence[tuple[str, Row, Row]]) -> None:
    own, always = np.array([right(a) for _, a, _ in pairs], float), np.array([right(b) for _, _, b in pairs], float)
    spent, most = np.array([tokens(a) for _, a, _ in pairs], float), np.array([tokens(b) for _, _, b in pairs], float)
    against = "" if method == ALWAYS else intervals([g for g, _, _ in pairs], own - always, spent, most)
    print(f"{name:34}{method:24}{len(pairs):5} {own.mean():6.3f} {spent.mean():7.0f}  {against}")


RECORDED = (
    ("ford_debates", {"debates": "table_chatgpt_davinci_gpt4__piqa"}, 250),
    ("ford_debates", {"debates": "table_chatgpt_davinci_gpt4__ecare"}, 250),
    ("mmlu_pro_panel", {}, 250),
    ("medagentsbench", {}, 250),
)
TURN = 1000
"""Tokens that a recorded turn counts as: the records say nothing of most."""


class Priced(Agent):
    """A recorded model whose turns cost something."""

    def __init__(self, agent: Agent) -> None:
        self.name, self.family, self._agent = agent.name, agent.family, agent

    def ceiling(self, request: TurnRequest) -> int | Bound:
        return self._agent.ceiling(request)

    async def turn(self, request: TurnRequest) -> Turn:
        return replace(await self._agent.turn(request), usage=Usage(prompt=TURN, free=True))


class PricedPanel(RecordedPanel):
    def table(self, case: Case, *, seed: int = 0) -> Table:
        table = super().table(case, seed=seed)
        return replace(table, agents=[Priced(agent) for agent in table.agents])


async def recorded(folder: Path | None) -> None:
    """Models that answered already: everything learnt on dev answers, measured on test answers; a turn counts as 1,000 tokens."""
    settings = {"crit.enabled": False, "gate.q_gate": False, "budget.tokens": 10**9}
    print(f"{'':48}{'method':18}{'n':>5} {'right':>6} {'calls':>6}  stages")
    for name, options, limit in RECORDED:
        task = load(name, folder, options=options)
        dev, test = task.dev[:limit], task.test[:limit]
        panel = PricedPanel((*dev, *test), load_encoder("wordllama"))
        bench = Bench(panel=panel, config=build("default", settings))
        lesson = await learn_stages(await learn(dev, bench, 0), dev, bench, 0)
        taught = replace(bench, config=build("default", {**settings, **lesson.taught}))
        first = max(
            lesson.settings["reliability.prior"], key=lambda a: lesson.settings["reliability.prior"][a], default=0
        )
        methods: list[Method] = [Single(first), WeightedAverage(), Maci(), Ask()]
        title = f"{name} {' '.join(options.values())}"
        for method in methods:
            said = [(item, await method.answer(replace(item.case, gold=None), taught, 0)) for item in test]
            _recorded_line(title, method.name, [(item.case.gold, answer) for item, answer in said])
        print("   dev: " + "; ".join(lesson.debates))


def _recorded_line(title: str, method: str, said: Sequence[tuple[str | None, MethodAnswer]]) -> None:
    scored = [(gold, a) for gold, a in said if a.belief is not None]
    share = np.mean([lead(a.belief or {}) == gold for gold, a in scored])
    stages = ""
    if method == "ask":
        names = [a.reason.split(":")[0] for _, a in scored]
        stages = ", ".join(f"{s} {names.count(s)}" for s in ("single", "vote", "debate"))
    print(f"{title:48}{method:18}{len(scored):5} {share:6.3f} {np.mean([a.calls for _, a in scored]):6.1f}  {stages}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, nargs="?", default=Path("studies-out/triage-mixed"))
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.recorded:
        asyncio.run(recorded(given.data))
    else:
        study(given.study)


if __name__ == "__main__":
    main()
