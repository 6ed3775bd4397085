"""What each option that shortens a debate saves, and what it costs: seconds and tokens of debates whose replies are heavy-tailed.

    python benchmarks/bench_critical_path.py [--json] [--debates 60] [--median 0.05]

Two debaters with two arguments a turn and three judges of different models, three rounds. No server: a provider in this process waits
as long as a reply takes, log-normal with σ = 1 (one in twenty takes five times the median or more), and counts a quarter of the bytes
it reads and writes as tokens. The delay of a request is drawn by its content and its attempt, so every option meets the same ones.
Seconds are of the clock, from the first call of a debate to its end, with all debates at once; tokens are those a debate counted, with
calls given up counted in full, and those the provider served to the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import zlib
from collections import Counter
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers import make_case, seat
from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.config import build
from maci.controller.decisions import Finished
from maci.debating.loop import debate
from maci.llm.client import Client
from maci.llm.model import Provider, Reply, Request
from maci.llm.usage import Usage
from maci.seating.table import opening

SIGMA, ROUNDS = 1.0, 3
OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "crit.enough=2": {"crit.enough": 2},
    "crit.together=2": {"crit.together": 2},
    "budget.hedge=4 medians": {"budget.hedge": 4.0},
    "all three": {"crit.enough": 2, "crit.together": 2, "budget.hedge": 4.0},
}


class HeavyTailed(Provider):
    """Answers in the form asked for, after a while."""

    def __init__(self, name: str, middle: float) -> None:
        self.name = self.origin = name
        self.identity, self._middle = {"model": name}, middle
        self.tokens = self.sent = 0
        self._attempts: Counter[int] = Counter()

    async def send(self, request: Request) -> Reply:
        self.sent += 1
        which = zlib.crc32("\0".join(m.content for m in request.messages).encode(), request.seed or 0)
        self._attempts[which] += 1
        rng = Random(which * 31 + self._attempts[which])
        await asyncio.sleep(self._middle * rng.lognormvariate(0, SIGMA))
        text = json.dumps(_filled(request, Random(which)))
        prompt = sum(len(message.content) for message in request.messages) // 4
        self.tokens += prompt + len(text) // 4
        return Reply(text=text, usage=Usage(prompt=prompt, generated=len(text) // 4))


def _filled(request: Request, rng: Random) -> dict[str, Any]:
    form = request.schema.json["properties"] if request.schema is not None else {}
    if "arguments" in form:
        said = [
            {
                "claim": f"It fits, say I ({n}).",
                "reasons": ["It is written."],
                "outcome": label,
                "citations": [{"span": "E4"}],
            }
            for n, label in enumerate(("dengue", "zika"))
        ]
        p = rng.randrange(30, 70)
        belief = [{"outcome": "dengue", "percent": p}, {"outcome": "zika", "percent": 100 - p}]
        return {"reasoning": "So.", "arguments": said, "belief": belief, "requests": []}
    if "pieces" in form:
        return _grades(form, rng)
    return {name: _grades(part["properties"], rng) for name, part in form.items()}


def _grades(form: Any, rng: Random) -> dict[str, Any]:
    grade = {name: rng.randrange(40, 95) for name in ("evidence", "logic", "relevance")}
    pieces, links = form["pieces"]["minItems"], form["links"]["minItems"]
    return {"pieces": ["supports"] * pieces, "links": [70] * links, "justification": "E1 says so.", **grade}


async def one(seed: int, sets: dict[str, Any], middle: float) -> dict[str, float]:
    """One debate with providers of its own."""
    hedge = sets.get("budget.hedge")
    rules = {
        "stop.max_rounds": ROUNDS, "stop.min_rounds": ROUNDS, "stop.impasse": False, "stop.crit_stable": False, "stop.starved": False,
        "gate.tau_q": 0.0, "gate.fit_tau_q": False, "plan.enabled": False, "budget.tokens": 10**7,
        **sets, **({"budget.hedge": hedge * middle} if hedge else {}),
    }  # fmt: skip
    config, case = build("default", rules), make_case()
    providers = [HeavyTailed(f"fake/{name}", middle) for name in ("x", "y", "a", "b", "c")]
    models = [Client(p, family=p.name).hedged(config.budget.hedge) for p in providers]
    table = seat([Debater(m.name, m) for m in models[:2]], [LlmJudge(m.name, m) for m in models[2:]], case)
    began, last = perf_counter(), None
    async for event in debate(opening(case, table, config, seed=seed), table):
        last = event
    assert isinstance(last, Finished) and last.rounds == ROUNDS, last
    return {
        "seconds": perf_counter() - began,
        "counted": last.tokens,
        "served": sum(p.tokens for p in providers),
        "requests": sum(p.sent for p in providers),
    }


async def measured(debates: int, sets: dict[str, Any], middle: float) -> dict[str, float]:
    rows = await asyncio.gather(*(one(seed, sets, middle) for seed in range(debates)))
    seconds = [row["seconds"] for row in rows]
    means = {key: sum(row[key] for row in rows) / len(rows) for key in ("counted", "served", "requests")}
    return {"median_s": median(seconds), "p95_s": quantiles(seconds, n=20)[-1], **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--debates", type=int, default=60)
    parser.add_argument("--median", type=float, default=0.2, help="seconds of a middling reply")
    options = parser.parse_args()
    asyncio.run(measured(2, {}, 0.001))  # loads what is loaded late
    found = {name: asyncio.run(measured(options.debates, sets, options.median)) for name, sets in OPTIONS.items()}
    if options.json:
        print(json.dumps(found))
        return
    base = found["as it is"]
    print(
        f"{options.debates} debates of {ROUNDS} rounds at once; replies take {options.median:g} s in the middle (σ = {SIGMA:g})"
    )
    print(f"{'':24} {'median':>8} {'p95':>8} {'saved':>7} {'tokens counted':>15} {'served':>8} {'requests':>9}")
    for name, row in found.items():
        saved = 1 - row["median_s"] / base["median_s"]
        print(
            f"{name:24} {row['median_s']:>6.2f} s {row['p95_s']:>6.2f} s {saved:>6.0%} {row['counted']:>15,.0f} {row['served']:>8,.0f}"
            f" {row['requests']:>9.1f}"
        )


if __name__ == "__main__":
    main()
