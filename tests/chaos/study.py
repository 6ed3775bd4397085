"""A study killed again and again, beside one that was left alone: the same rows, the same tables, nothing bought twice.

    PYTHONPATH=tests python -m chaos.study [SPEC.toml --data DIR] [--limit N] [--kills 20] [--seed S]

Without a spec, made-up cases are answered by model agents on a loopback server that injures a tenth of its replies. Both studies must
end alike, so what goes wrong with a request goes wrong however often it is sent, save that one which is refused is served in the end;
requests without an answer are left to the other parts. The study is killed (KILL, TERM or INT, with all its processes) when a drawn
number of rows is there; in some lives the disk is full before that, or a database locked. The server looks into the response cache:
nothing that is there may be asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from chaos.bookkeeper import Bookkeeper
from chaos.disk import FAULTS, TELLS, DiskFault
from chaos.plan import RATES
from chaos.totals import add
from fake_server import Faults
from study_helpers import kept, spec_data, toml, write_cases

VARY = (",seconds,", ",cached", ",usd,", ",cost", ",tokens,", ",judge_tokens,", ",prompt,", ",token_ratio,", "_per_1k,")
"""Figures of a table that depend on the clock, on what was in a cache, and on what a process had learnt of a model's tokens when
a call failed of which nobody knows what it cost: the most that it can have cost is counted."""
MACI = [sys.executable, "-m", "maci"]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
USAGES, TOKENS = ("usage", "judge_usage"), ("prompt", "generated")
HURTS = 0.4
"""In how many lives the disk fails."""
KEY = "sk-chaos"


def made_up(folder: Path, url: str) -> Path:
    """A study with models: two agents, one judge family, three methods."""
    write_cases(folder, 16)
    model = {"base_url": f"{url}/v1", "key_env": "KEY", "retries": 3}
    panel = {
        "agents": ["openai/gpt-fake", "mistral/fake"],
        "judges": ["xai/fake-1"],
        "models": dict.fromkeys(("openai/gpt-fake", "mistral/fake", "xai/fake-1"), model),
    }
    methods = [{"use": "single", "each": True}, {"use": "average"}, {"use": "du_debate"}, {"use": "maci"}]
    spec = spec_data(methods=methods, panel=panel, set={"stop.max_rounds": 3, "crit.k": 1})
    path = folder / "study.toml"
    path.write_text(toml(spec), encoding="utf-8")
    return path


def count(file: Path, table: str) -> int:
    """Rows of a table, read as another process would."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.Error:
        return 0


def told(folder: Path) -> dict[Any, dict[str, Any]]:
    """All that must be the same: not what the provider had cached, what was paid anew, nor what failures were counted for."""
    rows = kept(folder)
    for row in rows.values():
        for usage in (row["usage"], row["judge_usage"]):
            for name in ("prompt", "cached", "usd", "free", "kept", "saved"):
                usage.pop(name, None)
    return rows


async def run(command: list[str], cwd: Path) -> asyncio.subprocess.Process:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"} | {"KEY": KEY}
    return await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=environ, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


async def finish(command: list[str], cwd: Path) -> None:
    process = await run(command, cwd)
    _, said = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said.decode()}")


@dataclass
class Killer:
    """Kills a study, and counts what it did to it."""

    chance: Random
    rows: Path
    cache: Path
    kills: Counter[str] = field(default_factory=Counter)
    disk: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    """How often the study said that it could not write, and ended."""
    wrong: list[str] = field(default_factory=list)

    async def at(self, process: asyncio.subprocess.Process, target: int) -> None:
        """Kill the whole group soon after so many rows are there, unless it ends before, perhaps for a fault of the disk."""
        said = asyncio.create_task(process.communicate())
        hurt, killed = self.chance.random() < HURTS, False
        if hurt:
            await self._has(process, self.chance.randint(min(target, count(self.rows, "rows")), target))
            database = self.chance.choice((self.rows, self.cache))
            fault = await asyncio.to_thread(DiskFault, self.chance.choice(FAULTS), process.pid, database)
            self.disk[fault.fault] += fault.holds
            await asyncio.wait({said}, timeout=self.chance.choice((0.1, 0.5, 3.0)))
            fault.end()
        await self._has(process, target)
        await asyncio.wait({said}, timeout=self.chance.random() * 0.1)
        if process.returncode is None:
            how, killed = self.chance.choice(SIGNALS), True
            os.killpg(process.pid, how)
            self.kills[how.name] += 1
        words = (await said)[1].decode(errors="replace")
        code = process.returncode
        self.ended += hurt and code == TELLS
        if not killed and code != 0 and not (hurt and code == TELLS and "Traceback" not in words):
            self.wrong.append(f"the study ended with {code}: {words[-1500:]}")

    async def _has(self, process: asyncio.subprocess.Process, target: int) -> None:
        while process.returncode is None and count(self.rows, "rows") < target:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def main(options: argparse.Namespace) -> int:
    chance = Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, cache = folder / "killed" / "results.sqlite", folder / "killed.sqlite"
        faults = replace(Faults.every(RATES[1]), hang=0.0)
        async with Bookkeeper(
            lambda key: cache, steady=True, faults=faults, seed=options.seed, delay=(0.005, 0.05), drip=0.1
        ) as server:
            spec = options.spec.resolve() if options.spec else made_up(folder, server.url)
            base = [*MACI, "study", "run", str(spec), "--plain"]
            base += ["--data", str(options.data.resolve())] if options.data else []
            base += ["--limit", str(options.limit)] if options.limit else []

            def into(out: str) -> list[str]:
                return [*base, "--out", str(folder / out), "--cache", str(folder / f"{out}.sqlite")]

            began = monotonic()
            await finish(into("whole"), folder)
            planned, once = count(folder / "whole" / "results.sqlite", "rows"), server.asked(KEY)
            print(
                f"left alone: {planned} answers, {once} requests, {server.faulted.total()} replies injured", flush=True
            )
            killer = Killer(chance, rows, cache)
            ours = sum(row[of][what] for row in kept(folder / "whole").values() for of in USAGES for what in TOKENS)
            if ours < (theirs := server.tokens(KEY)):
                killer.wrong.append(f"the server counted {theirs} tokens, we {ours}")
            for target in sorted(chance.randrange(planned) for _ in range(options.kills)):
                await killer.at(await run(into("killed"), folder), target)
            await finish(into("killed"), folder)
            twice, repeated = server.sold_again(KEY), server.asked(KEY) - 2 * once
            same = told(folder / "whole") == told(folder / "killed")
            tables = []
            for out in ("whole", "killed"):
                file = folder / f"{out}.csv"
                await finish(
                    [*MACI, "study", "report", str(folder / out), "--format", "csv", "--out", str(file)], folder
                )
                tables.append([line for line in file.read_text().splitlines() if not any(w in line for w in VARY)])
            kills, disk = (
                ", ".join(f"{name} {n}" for name, n in sorted(each.items())) for each in (killer.kills, killer.disk)
            )
            print(f"{killer.kills.total()} kills ({kills}), faults of the disk ({disk}), ended by it {killer.ended}")
            print(
                f"{count(rows, 'rows')} answers, {repeated} requests more, {server.faulted.total()} replies injured in all"
            )
            print(f"rows equal: {same}; tables equal: {tables[0] == tables[1]} ({len(tables[0])} lines)")
            for ours, theirs in zip(*tables, strict=False):
                if ours != theirs:
                    print(f"  {ours}\n  {theirs}")
            print(f"asked again although the reply was on disk: {twice}")
            for line in killer.wrong:
                print(f"WRONG: {line}", file=sys.stderr)
            debates = sum(key.method == "maci" for key in told(folder / "killed"))
            add(
                options.totals, "study", debates=debates, kills=killer.kills, lost=max(0, planned - count(rows, "rows")),
                twice=twice, over=0, wrong=int(not same or tables[0] != tables[1]) + len(killer.wrong), seconds=monotonic() - began,
            )  # fmt: skip
            return int(not same or tables[0] != tables[1] or twice > 0 or bool(killer.wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spec", type=Path, nargs="?")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--totals", type=Path, help="a file for the figures of all parts (chaos.totals)")
    parser.add_argument("--seconds", type=float, default=600.0, help="the whole run may take")
    asked_for = parser.parse_args()
    try:
        sys.exit(asyncio.run(asyncio.wait_for(main(asked_for), asked_for.seconds)))
    except TimeoutError:
        add(asked_for.totals, "study", debates=0, kills={}, lost=0, twice=0, over=0, wrong=1, seconds=asked_for.seconds)
        sys.exit(f"not done within {asked_for.seconds:g} s")
