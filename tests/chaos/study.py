"""A study killed again and again, beside one that was left alone: the same rows, the same tables, nothing bought twice.

    PYTHONPATH=tests python -m chaos.study [SPEC.toml --data DIR] [--limit N] [--kills 20] [--seed S]

Without a spec, made-up cases are answered by model agents on a loopback server. It counts its requests, and the response cache is
counted at every kill: whatever was asked again must have been under way when a kill came.
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
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from chaos.totals import add
from fake_server import FakeServer
from study_helpers import kept, spec_data, toml, write_cases

VARY = (",seconds,", ",cached", ",usd,", ",cost")
"""Figures of a table that depend on the clock and on what was in somebody's cache."""
MACI = str(Path(sys.executable).parent / "maci")


class _Once(Counter[int]):
    """Counts nothing: the server answers the same however often it is asked."""

    def __setitem__(self, key: int, value: int) -> None:
        pass


def made_up(folder: Path, url: str) -> Path:
    """A study with models: two agents, one judge family, three methods."""
    write_cases(folder, 16)
    model = {"base_url": f"{url}/v1", "key_env": "KEY"}
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
    """All that must be the same: not what the provider had cached, nor what was paid anew."""
    rows = kept(folder)
    for row in rows.values():
        for usage in (row["usage"], row["judge_usage"]):
            for name in ("cached", "usd", "free", "kept", "saved"):
                usage.pop(name, None)
    return rows


async def run(command: list[str], cwd: Path) -> asyncio.subprocess.Process:
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"} | {"KEY": "sk-chaos"}
    return await asyncio.create_subprocess_exec(
        *command, cwd=cwd, env=environ, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


async def finish(command: list[str], cwd: Path) -> None:
    process = await run(command, cwd)
    _, said = await process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{said.decode()}")


async def kill_at(process: asyncio.subprocess.Process, rows: Path, target: int, pause: float) -> bool:
    """Kill the whole group soon after so many rows are there; false if it had ended."""
    while process.returncode is None and count(rows, "rows") < target:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(pause)
    alive = process.returncode is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()
    return alive


async def main(options: argparse.Namespace) -> int:
    chance = Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = FakeServer(delay=(0.005, 0.05), quotes=True)
        server._repeats = _Once()
        async with server:
            spec = options.spec.resolve() if options.spec else made_up(folder, server.url)
            base = [MACI, "study", "run", str(spec), "--plain"]
            base += ["--data", str(options.data.resolve())] if options.data else []
            base += ["--limit", str(options.limit)] if options.limit else []

            def into(out: str) -> list[str]:
                return [*base, "--out", str(folder / out), "--cache", str(folder / f"{out}.sqlite")]

            def asked() -> int:
                return sum(c.requests for c in server.counts.values())

            await finish(into("whole"), folder)
            planned, once = count(folder / "whole" / "results.sqlite", "rows"), asked()
            print(f"left alone: {planned} answers, {once} requests", flush=True)
            rows, cache = folder / "killed" / "results.sqlite", folder / "killed.sqlite"
            kills, lost, before, began = 0, 0, (asked(), 0), monotonic()
            for target in sorted(chance.randrange(planned) for _ in range(options.kills)):
                process = await run(into("killed"), folder)
                kills += await kill_at(process, rows, target, chance.random() * 0.1)
                now = (asked(), count(cache, "replies"))
                lost += (now[0] - before[0]) - (now[1] - before[1])
                before = now
            await finish(into("killed"), folder)
            repeated = asked() - once - once
            same = told(folder / "whole") == told(folder / "killed")
            tables = []
            for out in ("whole", "killed"):
                file = folder / f"{out}.csv"
                await finish(
                    [MACI, "study", "report", str(folder / out), "--format", "csv", "--out", str(file)], folder
                )
                tables.append([line for line in file.read_text().splitlines() if not any(w in line for w in VARY)])
            print(f"{kills} kills: {count(rows, 'rows')} answers, {repeated} requests more, {lost} under way at kills")
            print(f"rows equal: {same}; tables equal: {tables[0] == tables[1]} ({len(tables[0])} lines)")
            for ours, theirs in zip(*tables, strict=False):
                if ours != theirs:
                    print(f"  {ours}\n  {theirs}")
            print(f"asked again although the reply was on disk: {max(0, repeated - lost)}")
            debates = sum(key.method == "maci" for key in told(folder / "killed"))
            add(
                options.totals, "study", debates=debates, kills={"SIGKILL": kills}, lost=max(0, planned - count(rows, "rows")),
                twice=max(0, repeated - lost), over=0, wrong=int(not same or tables[0] != tables[1]), seconds=monotonic() - began,
            )  # fmt: skip
            return int(not same or tables[0] != tables[1] or repeated > lost)


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
