"""Prompt tokens of a debate and how many of them the provider has read before, by the count of the fake server, beside full history.

    python benchmarks/bench_tokens.py [--json] [--rounds 3,8] [--case dengue]
    python benchmarks/bench_tokens.py --accuracy [--limit 60]        # tokens to reach an accuracy: debate, vote, self-consistency

Two debaters with two arguments a turn, two or three judges. The server (`tests/fake_server`) counts a quarter of the bytes as
tokens. As OpenAI does, it finds what a key has sent before by itself, from 1,024 tokens on in steps of 128; as Anthropic does, it
finds what was marked before at the end of a block, and another schema is another prompt. Full history is computed from the same
debate: every call of a debater repeats its first prompt, every task it was given and every reply of everybody so far, word for
word; all of its prompt but the last replies was sent before, so its cached share is the largest there can be, and its price the
lowest. Prices count a token that was read before as a tenth; what providers take for keeping one is left out, for both.

`--accuracy` runs a small study with the embedded readers on symptom2disease (MACI_DATA): how many tokens each method takes with more
samples or rounds, and what it gets right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fake_server import FakeServer
from maci.cases.case import load_case
from maci.config import load
from maci.controller.events import dump
from maci.controller.inputs import TurnTaken
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.llm.models import House, ModelOptions
from maci.seating.models import ModelPanel
from maci.seating.shelf import Sources, evidence_for
from maci.seating.spec import AgentSpec, JudgeSpec, PanelSpec
from maci.seating.table import opening

CACHED = 0.1
"""What a token costs that the provider has read before, of one that it has not."""
PANELS = {
    "OpenAI": (("openai/gpt-fake", "mistral/fake"), ("xai/fake-1", "deepseek/fake-2", "together/qwen-fake")),
    "Anthropic": (("anthropic/claude-sonnet-4-5", "anthropic/claude-opus-4-1"), ("xai/fake-1", "deepseek/fake-2")),
}


async def measured(api: str, rounds: int, name: str) -> dict[str, float]:
    """One debate: what the server counted, of debaters and of judges."""
    agents, judges = PANELS[api]
    sets = ["gate.q_gate=false", "gate.crit_gate=false", f"max_rounds={rounds}", f"min_rounds={rounds}"]
    config = load(None, sets=[*sets, "answer.recommendation=template", "budget.tokens=10000000"], environ={})
    case, encoder = load_case(name), load_encoder()
    async with FakeServer(quotes=True) as server:
        where = {
            model: ModelOptions(
                base_url=server.url if model.startswith("anthropic/") else f"{server.url}/v1",
                key_env="DEBATER" if model in agents else "JUDGE",
            )
            for model in (*agents, *judges)
        }
        async with House(options=where, environ={"DEBATER": "sk-debater", "JUDGE": "sk-judge"}) as house:
            spec = PanelSpec(
                agents=tuple(AgentSpec(model=model) for model in agents),
                judges=tuple(JudgeSpec(model=model) for model in judges),
            )
            table = ModelPanel(spec, evidence_for(case, Sources()), encoder, house, config).table(case)
            turns, size = list[TurnTaken](), 0
            async for event in debate(opening(case, table, config), table):
                size += len(dump(event))
                if isinstance(event, TurnTaken):
                    turns.append(event)
        counts = server.counts
    debaters, judging = counts["sk-debater"], counts["sk-judge"]
    first = debaters.prompt and _first_prompt(turns)
    said = {t: sum(len((e.turn.raw or "").encode()) for e in turns if e.round == t) // 4 for t in range(rounds + 1)}
    naive = sum(len(agents) * (first + sum(said[s] for s in range(t)) + _TASK * t) for t in range(rounds + 1))
    again = sum(
        len(agents) * (first + sum(said[s] for s in range(t - 1)) + _TASK * (t - 1)) for t in range(1, rounds + 1)
    )
    return {
        "debaters": debaters.prompt,
        "debaters_cached": debaters.cached,
        "judges": judging.prompt,
        "judges_cached": judging.cached,
        "generated": debaters.generated + judging.generated,
        "calls": debaters.served + judging.served,
        "transcript_kb": round(size / 1000),
        "naive_debaters": naive,
        "naive_cached_at_most": again,
    }


_TASK = 150
"""Tokens of the task of a round, about."""


def _first_prompt(turns: list[TurnTaken]) -> int:
    """Tokens of an opening's prompt, as the server counted them."""
    found = [event.turn.usage.prompt for event in turns if event.round == 0]
    return sum(found) // len(found)


STUDY = """
name = "tokens"
seeds = [0]
limit = {limit}
[[data]]
set = "symptom2disease"
[panel]
name = "readers"
"""
METHODS = [
    *(("majority_vote", {"n": n}) for n in (3, 5, 10, 20)),
    *(("self_consistency", {"n": n}) for n in (3, 5, 10, 20)),
    *(("maci", {"set": {"stop.max_rounds": t, "stop.min_rounds": 1}}) for t in (1, 2, 3, 8)),
]


def accuracy(limit: int) -> list[dict[str, Any]]:
    """Tokens and accuracy of methods with more samples or rounds, from a study with readers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = STUDY.format(limit=limit)
        for use, options in METHODS:
            label = f"{use} {options.get('n') or options['set']['stop.max_rounds']}"
            text += f'[[methods]]\nname = "{label}"\nuse = "{use}"\n'
            text += f"n = {options['n']}\n" if "n" in options else ""
            if "set" in options:
                text += "[methods.set]\n" + "".join(f'"{key}" = {value}\n' for key, value in options["set"].items())
        (folder / "tokens.toml").write_text(text, encoding="utf-8")
        run = [sys.executable, "-m", "maci", "study", "run", folder / "tokens.toml", "--out", folder / "out", "--quiet"]
        subprocess.run([*run, "--data", os.environ["MACI_DATA"]], check=True, stdout=sys.stderr)
        from maci.lab.study.report import gather

        (study,) = gather([folder / "out"])
        rows: dict[str, list[tuple[bool, int]]] = {}
        for row in study.rows.values():
            if row.part == "test" and row.status == "done" and row.belief:
                best = max(row.belief, key=lambda y: row.belief[y])  # type: ignore[index]
                rows.setdefault(row.method, []).append((best == row.gold, row.usage.tokens + row.judge_usage.tokens))
    return [
        {
            "method": method,
            "n": len(some),
            "accuracy": sum(r for r, _ in some) / len(some),
            "tokens": sum(t for _, t in some) / len(some),
        }
        for method, some in rows.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", default="3", help="several with commas between them")
    parser.add_argument("--case", default="dengue")
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--limit", type=int, default=60, help="cases of the small study")
    options = parser.parse_args()
    if options.accuracy:
        rows = accuracy(options.limit)
        if options.json:
            print(json.dumps(rows))
            return
        for row in rows:
            print(
                f"{row['method']:24} n = {row['n']:>4}  accuracy {row['accuracy']:.3f}  {row['tokens']:>10,.0f} tokens a case"
            )
        for goal in sorted({row["accuracy"] for row in rows}):
            reach: dict[str, float] = {}
            for row in sorted(rows, key=lambda r: r["tokens"]):
                if row["accuracy"] >= goal - 1e-9:
                    reach.setdefault(row["method"].split()[0], row["tokens"])
            words = ", ".join(f"{use} {tokens:,.0f}" for use, tokens in reach.items())
            print(f"fewest tokens for {goal:.3f}: {words}")
        return
    found = {
        (api, rounds): asyncio.run(measured(api, rounds, options.case))
        for api in PANELS
        for rounds in map(int, options.rounds.split(","))
    }
    if options.json:
        print(json.dumps([{"api": api, "rounds": rounds, **row} for (api, rounds), row in found.items()]))
        return
    head = (
        "", "rounds", "debaters' prompts", "read before", "in full-price tokens", "full history", "read before, at most",
        "in full-price tokens, at least", "ratio of tokens", "of price, at most", "judges' prompts",
    )  # fmt: skip
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for (api, rounds), row in found.items():
        own, cached, naive, again = (
            row[name] for name in ("debaters", "debaters_cached", "naive_debaters", "naive_cached_at_most")
        )
        price, least = (full - (1 - CACHED) * read for full, read in ((own, cached), (naive, again)))
        ours = f"{own:,} | {cached / own:.0%} | {price:,.0f}"
        theirs = f"{naive:,} | {again / naive:.0%} | {least:,.0f}"
        print(f"| {api} | {rounds} | {ours} | {theirs} | {own / naive:.2f} | {price / least:.2f} | {row['judges']:,} |")


if __name__ == "__main__":
    main()
