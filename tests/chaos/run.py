"""Debates under faults and kills, beside the servers' own count.

    python -m chaos.run [--debates 2000] [--workers 2] [--kills 60] [--seed 0] [--seconds 900]

Servers that injure a share of their replies run in one process, the debates in several others, which are killed (SIGKILL) at random
moments and started again until all debates are done. Then every transcript is read back and replayed, and every debate's count is
compared with that of the server. Exits 1 if anything does not hold. ``make chaos`` runs it; loopback only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

from chaos.check import Found, look
from chaos.plan import RATES, run_ceiling
from chaos.report import figures, show
from chaos.totals import add
from chaos.worker import PLACES

_ENVIRON = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(Path(__file__).parents[up] / room) for up, room in ((1, ""), (2, "src"))),
    "OMP_NUM_THREADS": "1",
}


@dataclass
class Life:
    """A worker's process, and how it will be killed."""

    process: subprocess.Popen[bytes]
    born: float
    within: float | None
    """Seconds after which it is killed from outside, if it is."""


@dataclass
class Run:
    """One chaos run."""

    debates: int
    workers: int
    kills: int
    seed: int
    seconds: float
    life: float
    """How many seconds a worker that is to be killed lives, about."""
    folder: Path
    killed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def go(self) -> list[dict[str, Any]]:
        """Run all debates; what each server counted."""
        began = monotonic()
        with self._servers() as urls:
            lives = {
                worker: self._start(worker, urls, Random(f"{self.seed}/{worker}")) for worker in range(self.workers)
            }
            chance = Random(self.seed)
            try:
                while lives and not self.wrong:
                    sleep(0.02)
                    if monotonic() - began > self.seconds:
                        self.wrong.append(f"not done within {self.seconds:g} s")
                    for worker, life in list(lives.items()):
                        if self._over(life):
                            del lives[worker]
                            if life.process.returncode == -9:
                                lives[worker] = self._start(worker, urls, chance)
                            elif life.process.returncode != 0:
                                self.wrong.append(f"worker {worker} failed:\n{self._said(worker)}")
            finally:
                for life in lives.values():
                    life.process.kill()
                    life.process.wait()
            return [json.load(urlopen(f"{url}/chaos", timeout=30)) for url in urls]

    @contextmanager
    def _servers(self) -> Iterator[list[str]]:
        options = ["--cache", str(self.folder / "replies.sqlite"), "--seed", str(self.seed)]
        command = [sys.executable, "-m", "chaos.server", *options, "--for", str(self.seconds + 60)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_ENVIRON) as server:
            try:
                assert server.stdout is not None
                yield [server.stdout.readline().strip() for _ in RATES]
            finally:
                server.kill()

    def _start(self, worker: int, urls: list[str], chance: Random) -> Life:
        command = [sys.executable, "-m", "chaos.worker", "--folder", str(self.folder), "--urls", ",".join(urls)]
        command += [
            "--worker",
            str(worker),
            "--workers",
            str(self.workers),
            "--tokens",
            str(run_ceiling(worker, self.workers, self.debates)),
        ]
        command += ["--debates", str(self.debates), "--seed", str(self.seed)]
        within = None
        if self.killed.total() < self.kills:
            if chance.random() < 0.5:
                command += ["--die", f"{chance.choice(PLACES)}:{1 + int(chance.expovariate(1 / (60 * self.life)))}"]
            else:
                within = 1.0 + chance.expovariate(1 / self.life)
        with (self.folder / f"worker{worker}.err").open("wb") as said:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env=_ENVIRON)
        return Life(process, monotonic(), within)

    def _over(self, life: Life) -> bool:
        if life.process.poll() is None and life.within is not None and monotonic() - life.born > life.within:
            life.process.kill()
            life.process.wait()
            self.killed["from outside"] += 1
        elif life.process.poll() == -9:
            self.killed[life.process.args[-1].partition(":")[0]] += 1  # type: ignore[index,union-attr]
        return life.process.poll() is not None

    def _said(self, worker: int) -> str:
        return (self.folder / f"worker{worker}.err").read_text(encoding="utf-8", errors="replace")[-4000:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debates", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0, help="the whole run may take")
    parser.add_argument(
        "--life", type=float, default=2.0, help="seconds that a worker which is to be killed lives, about"
    )
    parser.add_argument("--keep", type=Path, help="a folder for transcripts and cache")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--totals", type=Path, help="a file for the figures of all parts (chaos.totals)")
    asked = parser.parse_args()
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="maci-chaos-") as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(asked.debates, asked.workers, asked.kills, asked.seed, asked.seconds, asked.life, folder)
        told = run.go()
        found: list[Found] = []
        if not run.wrong:
            with ProcessPoolExecutor(2) as pool:
                found = list(pool.map(partial(look, folder, asked.seed), range(asked.debates), chunksize=20))
        told_of = figures(run, found, told, monotonic() - began)
    over, twice = told_of["ceilings exceeded"], told_of["calls repeated"]
    lost = asked.debates - told_of["debates"]
    wrong = max(0, len(run.wrong) - over - bool(twice))
    add(
        asked.totals, "debates", debates=told_of["debates"], kills={"SIGKILL": run.killed.total()}, lost=lost, twice=twice, over=over,
        wrong=wrong, seconds=told_of["seconds"],
    )  # fmt: skip
    if asked.json:
        print(json.dumps(told_of | {"wrong": run.wrong}))
    else:
        show(told_of)
        print(f"{len(run.wrong)} things are wrong" if run.wrong else "everything holds")
    for line in run.wrong[:20]:
        print(f"WRONG: {line}", file=sys.stderr)
    sys.exit(bool(run.wrong))


if __name__ == "__main__":
    main()
