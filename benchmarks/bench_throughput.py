"""Many debates at once on a slow server, beside a bare aiohttp script that makes the same calls in the same order.

    python benchmarks/bench_throughput.py [--json] [--quick]

Each of 200 debates has 2 agents, 3 rounds, 3 judges and 1 argument a turn: 26 calls, of which a round's scores wait for their turn,
and a round for all scores of the one before. MACI runs its whole stack: panel, prompts, budget, limits, response cache on disk,
transcript on disk. The bare script sends the bodies of one such debate with ``session.post(json=…)`` and reads the replies.
Both run in processes of their own, in turn, against one server process: at 1 s an answer for the time, at 100 ms for the
CPU a call costs. The ratio is of the medians; `ideal` is what the 7 answers one after another take.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))  # the fake server

AGENTS = ("openai/gpt-fake", "mistral/fake")
JUDGES = ("xai/fake-1", "deepseek/fake-2", "together/qwen-fake")
ROUNDS = 3
CALLS = len(AGENTS) * (1 + ROUNDS * (1 + len(JUDGES)))
STEPS = 1 + 2 * ROUNDS
"""Answers that wait for each other: the opening, then a turn and its scores in each round."""


# --- MACI -------------------------------------------------------------------------------------------------------------------


class Maci:
    """All of the stack. Weights and evidence are loaded here, before the clock starts."""

    def __init__(self) -> None:
        from maci.cases.case import load_case
        from maci.config import load
        from maci.evidence.encode import load_encoder
        from maci.seating.shelf import Sources, evidence_for

        # everything is admitted, so that prompts grow from round to round, and no rule ends a debate early
        sets = ["gate.q_gate=false", "gate.crit_gate=false", "agents.arguments=1"]
        self.config = load(None, sets=[*sets, f"max_rounds={ROUNDS}", f"min_rounds={ROUNDS}"], environ={})
        self.case, self.encoder = load_case("dengue"), load_encoder()
        self.sources = evidence_for(self.case, Sources())

    async def run(self, url: str, debates: int, folder: Path, tap: list[bytes] | None = None) -> None:
        """So many debates at once; ``tap`` gets the bodies of the requests."""
        from maci.llm.cache import ResponseCache
        from maci.llm.models import House, ModelOptions
        from maci.seating.models import ModelPanel
        from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec

        names = (*AGENTS, *JUDGES)
        options = {name: ModelOptions(base_url=f"{url}/v1", key_env="KEY", concurrency=10_000) for name in names}
        cache = ResponseCache(folder / "replies.sqlite")
        async with House(cache=cache, options=options, environ={"KEY": "sk-bench"}) as house:
            spec = PanelSpec(
                agents=tuple(AgentSpec(model=name) for name in AGENTS),
                judges=tuple(JudgeSpec(model=name) for name in JUDGES),
            )
            panel = ModelPanel(spec, self.sources, self.encoder, house, self.config)
            if tap is not None:
                listen(house.model(AGENTS[0]).provider._http, tap)  # type: ignore[attr-defined]
            async with asyncio.TaskGroup() as tasks:
                for seed in range(debates):
                    tasks.create_task(self._debate(panel, folder, seed))
                    await asyncio.sleep(0)  # the first calls of a debate go out before the next debate is begun
                    await asyncio.sleep(0)

    async def _debate(self, panel: Any, folder: Path, seed: int) -> None:
        from maci.controller.decisions import Finished
        from maci.debating.loop import debate
        from maci.record.transcript import Transcript
        from maci.seating.table import opening

        table, last = panel.table(self.case, seed=seed), None
        opened = opening(self.case, table, self.config, seed=seed)
        async with Transcript.create(folder / f"{seed}" / "transcript.jsonl") as record:
            async for event in debate(opened, table, record=record):
                last = event
        assert isinstance(last, Finished) and last.rounds == ROUNDS and last.tokens > 0, last


def listen(http: Any, tap: list[bytes]) -> None:
    post = http.post

    async def tapped(url: str, headers: Mapping[str, str], body: object, *more: Any) -> Any:
        tap.append(json.dumps(body).encode())
        return await post(url, headers, body, *more)

    http.post = tapped


# --- the same calls without it ----------------------------------------------------------------------------------------------


async def bare(url: str, debates: int, bodies: Mapping[str, Any]) -> None:
    """The same graph of calls, and nothing else."""
    import aiohttp

    headers = {"Authorization": "Bearer sk-bench"}

    async def call(body: Any) -> None:
        async with session.post(f"{url}/v1/chat/completions", json=body, headers=headers) as response:
            answer = await response.json()
            json.loads(answer["choices"][0]["message"]["content"])

    async def turn(t: int, agent: int) -> None:
        await call(bodies["turns"][t][agent])
        if t:
            scores = bodies["scores"][t - 1][agent]
            await asyncio.gather(*(call(body) for body in scores))

    async def one() -> None:
        for t in range(ROUNDS + 1):
            await asyncio.gather(*(turn(t, agent) for agent in range(len(AGENTS))))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(one() for _ in range(debates)))


def sorted_bodies(tap: list[bytes]) -> dict[str, Any]:
    """The calls of one debate by their place in it."""
    bodies = [json.loads(raw) for raw in tap]
    turns = [body for body in bodies if body["response_format"]["json_schema"]["name"] == "turn"]
    scores = [body for body in bodies if body["response_format"]["json_schema"]["name"] == "grades"]
    m, k = len(AGENTS), len(JUDGES)
    assert len(turns) == m * (ROUNDS + 1) and len(scores) == m * k * ROUNDS, (len(turns), len(scores))
    return {
        "turns": [turns[t * m : (t + 1) * m] for t in range(ROUNDS + 1)],
        "scores": [
            [scores[(t * m + agent) * k : (t * m + agent + 1) * k] for agent in range(m)] for t in range(ROUNDS)
        ],
    }


async def warm_up(maci: Maci, folder: Path) -> dict[str, Any]:
    """One debate without delay: loads what is loaded late, and shows what the calls are."""
    from fake_server import FakeServer

    tap: list[bytes] = []
    async with FakeServer() as server:
        await maci.run(server.url, 1, folder, tap)
    return sorted_bodies(tap)


# --- measuring --------------------------------------------------------------------------------------------------------------


def work(kind: str, url: str, debates: int) -> dict[str, float]:
    """One measurement, in this process: seconds and CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        maci = Maci()
        bodies = asyncio.run(warm_up(maci, Path(folder) / "warm"))
        gc.collect()
        gc.set_threshold(50_000, 20, 20)  # as `maci` does
        before, began = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
        if kind == "maci":
            asyncio.run(maci.run(url, debates, Path(folder) / "run"))
        else:
            asyncio.run(bare(url, debates, bodies))
        seconds, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu": cpu}


def in_turn(delay: float, debates: int, times: int) -> dict[str, Any]:
    """Both, one after the other, several times, against one server."""
    command = [sys.executable, "-m", "fake_server", "--delay", str(delay), "--for", "900"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)}
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            rows: dict[str, list[dict[str, float]]] = {"bare": [], "maci": []}
            for _ in range(times):
                for kind in rows:
                    rows[kind].append(_child(kind, url, debates))
        finally:
            server.terminate()
    seconds = {kind: median(row["seconds"] for row in found) for kind, found in rows.items()}
    cpu = {kind: median(row["cpu"] for row in found) / (debates * CALLS) for kind, found in rows.items()}
    return {
        "delay_s": delay,
        "debates": debates,
        "calls": debates * CALLS,
        "ideal_s": delay * STEPS,
        "bare_s": seconds["bare"],
        "maci_s": seconds["maci"],
        "ratio": seconds["maci"] / seconds["bare"],
        "bare_cpu_ms": 1e3 * cpu["bare"],
        "maci_cpu_ms": 1e3 * cpu["maci"],
        "all": {kind: [row["seconds"] for row in found] for kind, found in rows.items()},
    }


def _child(kind: str, url: str, debates: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", kind, "--url", url, "--debates", str(debates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise SystemExit(f"{kind} failed:\n{done.stderr}")
    sleep(0.2)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="each once, 40 debates")
    parser.add_argument("--debates", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--delays", default="1.0,0.1", help="seconds the server takes")
    parser.add_argument("--work", choices=("maci", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work, options.url, options.debates)))
        return
    debates, times = (40, 1) if options.quick else (options.debates, options.times)
    rows = [in_turn(delay, debates, times) for delay in map(float, options.delays.split(","))]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{debates} debates at once, {CALLS} calls each; medians of {times} runs of each, in turn")
    print("server   ideal     bare     MACI   ratio   CPU per call: bare      MACI")
    for r in rows:
        print(
            f"{r['delay_s']:>4g} s  {r['ideal_s']:>5.1f} s  {r['bare_s']:>5.2f} s  {r['maci_s']:>5.2f} s  {r['ratio']:>6.3f}"
            f"  {r['bare_cpu_ms']:>16.3f} ms  {r['maci_cpu_ms']:>6.3f} ms"
        )


if __name__ == "__main__":
    main()
