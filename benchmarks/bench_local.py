"""A debate of local models beside llama.cpp itself on the same prompts.

    python benchmarks/bench_local.py [--model qwen2.5-coder-1.5b] [--rounds 1] [--repeats 3] [--judge] [--set KEY=VALUE] [--json]

Runs by turns, each in a new process of llama.cpp that has read nothing yet:

``debate``  the case dengue, two agents of one model, as `maci debate` runs it; with ``--judge`` the same model scores each argument
            three times, instead of the readers
``raw``     the prompts of that debate, as they were sent, straight to llama.cpp's server: in the same order, as many at a time as
            were under way, as many tokens written as in the debate, and no schema

Both have the same prompts answered with the same number of tokens; a rate is these tokens, of prompts and replies, a second, however
many of them were found in the cache. ``ratio`` is the debate's rate over that of the run of ``raw`` behind it: raw's
seconds over the debate's. The target is at least 0.9.
Seconds on the clock are what a person waits; on a machine that does other things at the same time
seconds of the processor say more: of llama.cpp's process alone for ``raw``, of that and MACI's own for ``debate``. ``read`` counts
the prompt tokens that llama.cpp had to read, and not those it found in its cache.

With ``--draws`` one form is filled so many times in each of the two ways a reply can be held to a schema; with ``--batch`` so many
tokens are written in 1, 2 and 4 sequences at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maci.cases.case import load_case
from maci.controller.inputs import TurnFailed
from maci.debating.loop import debate
from maci.llm.local import provider as local
from maci.llm.local.engine import Counters
from maci.llm.local.provider import LocalProvider
from maci.llm.model import Message, Reply, Request, Schema
from maci.llm.providers import Http
from maci.seating.seating import PanelChoice, seat_case

FORM = Schema(
    "turn",
    {
        "type": "object",
        "properties": {
            "claim": {"type": "string", "maxLength": 120},
            "reason": {"type": "string", "maxLength": 120},
            "dengue": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["claim", "reason", "dengue"],
        "additionalProperties": False,
    },
)


@dataclass
class Run:
    """What one run took."""

    wall: float = 0.0
    cpu: float = 0.0
    counters: Counters = field(default_factory=Counters)
    calls: list[tuple[dict[str, Any], Reply]] = field(default_factory=list)
    """What was sent, and what came back, in the order of sending."""
    most: int = 1
    """Calls under way at once, at most."""

    tokens: int = 0
    """Of the prompts that were answered, and of the replies."""


def spent(pid: int) -> float:
    """Processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(model: LocalProvider, run: Run, work: Callable[[], Awaitable[None]], *, own: bool) -> None:
    """Do the work once the model is loaded; ``own`` counts this process's time as well."""
    before = await model.counters()
    assert model._chat is not None
    pid = model._chat.engine._process.pid
    cpu, mine, start = spent(pid), time.process_time(), time.perf_counter()
    await work()
    run.wall = time.perf_counter() - start
    run.cpu = spent(pid) - cpu + (time.process_time() - mine if own else 0.0)
    run.counters = await model.counters() - before


async def debated(options: argparse.Namespace) -> Run:
    """A debate, with everything that was sent to the model."""
    run, under_way, name = Run(), 0, f"local/{options.model}"
    sets = [f"stop.max_rounds={options.rounds}", "stop.min_rounds=1", "budget.tokens=1000000"]
    judges = name if options.judge else "reader"
    choice = PanelChoice(
        agents=f"{name},{name}",
        judges=judges,
        sets=[*sets, "crit.same_family=true", *options.set],
        seed=options.seed,
        no_cache=True,
        offline=True,
    )
    seated = seat_case(load_case("dengue"), choice)
    assert seated.house is not None
    model = seated.house.model(name).provider
    assert isinstance(model, LocalProvider)
    plain = local._Chat.send

    async def watched(chat: local._Chat, request: Request) -> Reply:
        nonlocal under_way
        place, under_way = len(run.calls), under_way + 1
        run.most = max(run.most, under_way)
        run.calls.append((chat._body(request), Reply(text="")))
        try:
            reply = await plain(chat, request)
        finally:
            under_way -= 1
        run.calls[place] = run.calls[place][0], reply
        return reply

    async def work() -> None:
        async for event in debate(seated.opened, seated.table):
            if isinstance(event, TurnFailed):
                raise RuntimeError(event.error)  # noqa: TRY004

    local._Chat.send = watched  # type: ignore[method-assign,assignment]
    try:
        await measured(model, run, work, own=True)
    finally:
        local._Chat.send = plain  # type: ignore[method-assign]
        await seated.house.aclose()
    run.tokens = sum(reply.usage.prompt + reply.usage.generated for _, reply in run.calls)
    return run


async def raw(options: argparse.Namespace, debated: Run) -> Run:
    """The same prompts, straight to the server."""
    run, http = Run(most=debated.most, tokens=debated.tokens), Http(total=3600)
    model = local.LocalProvider(options.model, http, offline=True)
    places = asyncio.Semaphore(debated.most)

    async def work() -> None:
        chat = model._chat
        assert chat is not None

        async def one(body: dict[str, Any], reply: Reply) -> None:
            bare = {key: value for key, value in body.items() if key not in ("grammar", "max_tokens")}
            bare |= {"max_tokens": reply.usage.generated, "ignore_eos": True}
            async with places:
                answer = await http.post(
                    f"{chat.engine.address}/v1/chat/completions", chat._headers(), bare, chat._peer
                )
            if answer.status != 200:
                raise RuntimeError(answer.body)

        await asyncio.gather(*(one(body, reply) for body, reply in debated.calls))

    try:
        await measured(model, run, work, own=False)
    finally:
        await model.aclose()
        await http.aclose()
    return run


async def forms(options: argparse.Namespace) -> dict[str, float]:
    """Tokens for one filled form, and their rate: held by LLGuidance, and by GBNF."""
    model, found = local.LocalProvider(options.model, offline=True), {}
    messages = (Message("system", "You diagnose."), Message("user", "Fever, rash, pain behind the eyes. Is it dengue?"))
    try:
        await model.counters()
        assert model._chat is not None
        engine = model._chat.engine
        ways = {"llguidance": True, "gbnf": False} if engine.guided else {"gbnf": False}
        for name, guided in ways.items():
            engine.guided, before = guided, await model.counters()
            for seed in range(options.draws):
                await model.send(Request(messages=messages, max_tokens=200, schema=FORM, temperature=0.7, seed=seed))
            used = await model.counters() - before
            found[f"form_tokens_{name}"] = round(used.generated / options.draws, 1)
            found[f"form_tokens_per_s_{name}"] = round(used.generated / used.generated_seconds, 1)
    finally:
        await model.aclose()
    return found


async def batches(options: argparse.Namespace) -> dict[str, float]:
    """Processor milliseconds a written token, for 1, 2 and 4 sequences at once: what a batch saves."""
    model, found = local.LocalProvider(options.model, parallel=4, offline=True), {}
    try:
        await model.counters()
        chat = model._chat
        assert chat is not None
        pid = chat.engine._process.pid
        for many in (1, 2, 4):
            took = []
            for _ in range(options.repeats):
                asked = [{"prompt": f"Tale {n}:", "n_predict": options.batch, "ignore_eos": True} for n in range(many)]
                before = spent(pid)
                await asyncio.gather(*(chat._exchange("/completion", one) for one in asked))
                took.append(1e3 * (spent(pid) - before) / (many * options.batch))
            found[f"cpu_ms_a_token_{many}_at_once"] = round(statistics.median(took), 1)
    finally:
        await model.aclose()
    return found


def summary(ratios: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "most": round(max(ratios), 3),
    }


async def measure(options: argparse.Namespace) -> dict[str, object]:
    pairs: list[tuple[Run, Run]] = []
    for _ in range(options.repeats):
        ours = await debated(options)
        pairs.append((ours, await raw(options, ours)))
        for name, run in zip(("debate", "raw"), pairs[-1], strict=True):
            print(
                f"{name:6} {run.tokens} tokens, {run.counters.processed} read, {run.counters.generated} written: "
                f"{run.wall:.1f} s, {run.cpu:.1f} s of the processor, load {os.getloadavg()[0]:.1f}",
                file=sys.stderr,
                flush=True,
            )
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def total(runs: list[Run], of: Callable[[Run], float]) -> float:
        return sum(map(of, runs))

    figures: dict[str, object] = {
        "model": options.model,
        "repeats": options.repeats,
        "calls": [len(run.calls) for run in ours],
        "at_once": max(run.most for run in ours),
    }
    for name, runs in (("debate", ours), ("raw", theirs)):
        figures[name] = {
            "wall_s": [round(run.wall, 1) for run in runs],
            "cpu_s": [round(run.cpu, 1) for run in runs],
            "prompt_tokens": sum(run.counters.processed + run.counters.cached for run in runs),
            "read": sum(run.counters.processed for run in runs),
            "written": sum(run.counters.generated for run in runs),
            "prompt_tokens_per_s": _rate(runs, "processed", "prompt_seconds"),
            "written_per_s": _rate(runs, "generated", "generated_seconds"),
            "tokens_per_wall_s": round(total(runs, lambda run: run.tokens) / total(runs, lambda run: run.wall), 1),
            "tokens_per_cpu_s": round(total(runs, lambda run: run.tokens) / total(runs, lambda run: run.cpu), 1),
        }
    figures["ratio_wall"] = summary([(a.tokens / a.wall) / (b.tokens / b.wall) for a, b in pairs])
    figures["ratio_cpu"] = summary([(a.tokens / a.cpu) / (b.tokens / b.cpu) for a, b in pairs])
    figures |= await forms(options) if options.draws else {}
    return figures | (await batches(options) if options.batch else {})


def _rate(runs: list[Run], count: str, seconds: str) -> float | None:
    spent = sum(getattr(run.counters, seconds) for run in runs)
    return round(sum(getattr(run.counters, count) for run in runs) / spent, 1) if spent else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="what follows local/ in its name")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the debate")
    parser.add_argument("--judge", action="store_true", help="the model judges as well")
    parser.add_argument("--draws", type=int, default=0, help="forms filled in each way")
    parser.add_argument(
        "--batch", type=int, default=0, help="tokens written in each sequence to see what a batch saves"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = asyncio.run(measure(options))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            print(f"{name:12}", "  ".join(f"{key} {given}" for key, given in value.items()))
        else:
            print(f"{name:12} {value}")


if __name__ == "__main__":
    main()
