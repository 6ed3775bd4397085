"""From one machine to many: writers of one PostgreSQL, a Ray cluster with a killed node, a million cases simulated from the figures.

    python benchmarks/bench_scale.py postgres [--writers 1,4,16] [--seconds 5]
    python benchmarks/bench_scale.py ray [--cases 80]
    python benchmarks/bench_scale.py simulate [--cases 1000000] [--help]

postgres: Debian's server on loopback, with fsync; every writer is a thread with a connection of its own and does what a study of paid
models does: it notes what it spent and set aside (`journal`), and keeps rows (`put`). ray: two nodes of one CPU in a network namespace
of their own on this machine (needs root), a study of the embedded readers on one node, on two, and on two of which one is killed at a
third of the rows. All of it shares this machine's cores, so the figures are those of a slow cluster.

simulate: cases come one by one to workers and take calls until a provider's limit, a worker's CPU, the database or the places for
debates under way are used up; minute by minute, with nodes that die. What is used to more than 99 % in most minutes holds the rest up.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

# --- PostgreSQL with many writers ---------------------------------------------------------------------------------------------


def postgres_writers(writers: int, seconds: float, url: str) -> dict[str, float]:
    """Rows and notes of the journal that so many writers get in, in so many seconds."""
    from maci.lab.study.store import PostgresStore
    from maci.llm.usage import Bound
    from study_helpers import make_row

    counted: Counter[str] = Counter()
    wrong: list[BaseException] = []

    def write(number: int, what: str, end: float) -> None:
        n = 0
        try:
            with PostgresStore(url, f"bench-{writers}") as store:
                while monotonic() < end:
                    if what == "journal":
                        store.journal(f"life-{number}", Bound(n, 0.0), Bound(100, 0.0))
                    else:
                        store.put(make_row(f"{number}-{n}"))
                    n += 1
        except BaseException as error:
            wrong.append(error)
        counted[what] += n

    for what in ("journal", "put"):
        end = monotonic() + seconds
        threads = [threading.Thread(target=write, args=(number, what, end)) for number in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if wrong:
        raise wrong[0]
    with PostgresStore(url, f"bench-{writers}") as store:
        assert len(store.keys()) == counted["put"], "a row is missing"
    return {"writers": writers, **{f"{what}_per_second": round(n / seconds, 1) for what, n in counted.items()}}


def many_writers(counts: list[int], seconds: float) -> list[dict[str, float]]:
    from postgres_server import postgres

    with postgres(durable=True) as server:
        return [postgres_writers(n, seconds, server.url) for n in counts]


# --- a Ray cluster ------------------------------------------------------------------------------------------------------------


def ray_cluster(cases: int) -> list[dict[str, Any]]:
    """Rows a second of a study on one node, on two, and on two of which one is killed."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "system"))
    import test_ray as ray_tests

    from study_helpers import Runs, kept, spec_data, toml, write_cases

    found, rows = [], cases * 2 * 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ray_tests.ENV["HOME"] = name
        write_cases(folder, cases)
        (folder / "study.toml").write_text(toml(spec_data(methods=ray_tests.METHODS)), encoding="utf-8")
        cluster = ray_tests.Cluster(folder)
        try:
            own = f"--temp-dir={cluster.temp}"
            cluster.add(
                "--head", f"--node-ip-address={ray_tests.HEAD}", "--port=6379", "--include-dashboard=false", own
            )
            cluster.wait(1)
            with Runs(folder, ray_tests.ENV) as runs:
                for out, nodes, kill in (("one", 1, False), ("two", 2, False), ("killed", 2, True)):
                    if nodes == 2 and len(cluster.nodes) < 2:
                        second = cluster.add(
                            f"--address={ray_tests.HEAD}:6379", f"--node-ip-address={ray_tests.SECOND}"
                        )
                        cluster.wait(2)
                    there = (
                        "--engine",
                        "ray",
                        "--address",
                        f"{ray_tests.HEAD}:6379",
                        "--jobs",
                        str(nodes),
                        "--out",
                        out,
                    )
                    began = monotonic()
                    process = runs.start(*there, inside=cluster.inside)
                    path = folder / out / "results.sqlite"
                    runs.wait(process, lambda path=path: ray_tests.count(path), 1)
                    first = monotonic()
                    if kill:
                        runs.wait(process, lambda path=path: ray_tests.count(path), rows // 3)
                        os.killpg(second.pid, signal.SIGKILL)
                    said = runs.end(process)
                    took = monotonic() - first
                    assert f"{rows} of {rows} answers" in said, said
                    found.append(
                        {
                            "nodes": nodes,
                            "killed": int(kill),
                            "rows": rows,
                            "start_seconds": round(first - began, 1),
                            "rows_per_second": round(rows / took, 1),
                            "same_rows": kept(folder / out) == kept(folder / "one"),
                        }
                    )
        finally:
            cluster.close()
    return found


# --- a million cases ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class World:
    """What the simulation is calibrated on; every field is an option."""

    cases: int = 1_000_000
    calls: float = 38.0
    """Of a debate (`bench_tokens.py --rounds 3`, the first panel; so are all figures of that script)."""
    prompt: float = 32_400.0
    judges: float = 28_600.0
    generated: float = 3_400.0
    """Tokens of a debate: prompts of debaters, of judges, and what is written (`bench_tokens.py`). Models write more than the fake
    server does."""
    cached: float = 0.55
    """Share of the debaters' prompts that the provider has read before (`bench_tokens.py`)."""
    steps: float = 8.0
    """Calls of a debate that wait for one another."""
    seconds: float = 4.0
    """Of a call, in the mean."""
    requests_per_minute: float = 10_000.0
    tokens_per_minute: float = 10_000_000.0
    """The account's limits, all models together."""
    usd_prompt: float = 3.0
    usd_cached: float = 0.3
    usd_generated: float = 15.0
    """Dollars for a million tokens."""
    workers: int = 4
    concurrency: int = 1000
    """Debates under way on a worker."""
    cpu_ms: float = 1.2
    """CPU milliseconds of a call on a worker (`bench_throughput.py`)."""
    journal: float = 1470.0
    """Notes of the journal that the database takes a second (`bench_scale.py postgres`)."""
    kilobytes: float = 190.0
    """Of a transcript (`bench_tokens.py`)."""
    deaths_per_day: float = 1.0
    """Of a worker; what is under way there is paid and asked again."""
    restart_minutes: float = 5.0


def simulated(world: World, seed: int = 0) -> dict[str, Any]:
    """Minute by minute: how many debates end, what holds them up, and what was paid for in vain."""
    rng = Random(seed)
    tokens = world.prompt + world.judges + world.generated
    length = world.steps * world.seconds / 60
    usd = (
        (world.prompt * (1 - world.cached) + world.judges) * world.usd_prompt
        + world.prompt * world.cached * world.usd_cached
        + world.generated * world.usd_generated
    ) / 1e6
    done = lost = minute = 0.0
    down = [0.0] * world.workers
    held: Counter[str] = Counter()
    deaths = 0
    while done < world.cases:
        alive = sum(until <= minute for until in down)
        rates = {
            "requests a minute": world.requests_per_minute / world.calls,
            "tokens a minute": world.tokens_per_minute / tokens,
            "CPU of the workers": alive * 60_000 / (world.cpu_ms * world.calls),
            "debates under way": alive * world.concurrency / length,
            "notes of the journal": world.journal * 60 / (2 * world.calls),
        }
        tight = min(rates, key=lambda name: rates[name])
        ended = min(rates[tight], world.cases - done) if alive else 0.0
        held[tight if alive else "no worker alive"] += 1
        for worker, until in enumerate(down):
            if until <= minute and rng.random() < world.deaths_per_day / 1440:
                down[worker] = minute + world.restart_minutes
                deaths += 1
                lost += min(world.concurrency, ended * length / max(1, alive))
        done, minute = done + ended, minute + 1
    tight, count = held.most_common(1)[0]
    used = {name: round(rates[tight] / rate, 3) for name, rate in rates.items()}
    paid = world.cases + lost / 2  # broken off halfway, in the mean
    return {
        "days": round(minute / 1440, 2),
        "usd": round(paid * usd),
        "usd_per_case": round(usd, 4),
        "held_up_by": tight,
        "in_minutes": round(count / minute, 3),
        "use_of_each_limit": dict(sorted(used.items(), key=lambda item: -item[1])),
        "deaths": deaths,
        "debates_lost": round(lost),
        "gigabytes": round(world.cases * world.kilobytes / 1e6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parts = parser.add_subparsers(dest="part", required=True)
    database = parts.add_parser("postgres")
    database.add_argument("--writers", default="1,4,16")
    database.add_argument("--seconds", type=float, default=5.0)
    parts.add_parser("ray").add_argument("--cases", type=int, default=80)
    simulate = parts.add_parser("simulate")
    for name, value in vars(World()).items():
        simulate.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = parser.parse_args()
    found: Any
    if options.part == "postgres":
        found = many_writers([int(n) for n in options.writers.split(",")], options.seconds)
    elif options.part == "ray":
        found = ray_cluster(options.cases)
    else:
        found = [simulated(World(**{name: getattr(options, name) for name in vars(World())}))]
    for row in found:
        print(json.dumps(row) if options.json else ", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
