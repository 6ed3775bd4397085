"""Debates under faults and kills, beside the servers' own count.

    python -m chaos.run [--debates 2000] [--workers 2] [--kills 60] [--disks 20] [--seed 0] [--seconds 900] [--without SAFEGUARD]

Servers that injure a share of their replies run in one process, the debates in several others, which are killed (KILL, TERM or INT) at
random moments, or find the disk full, a database locked or a sync that fails, and are started again until all debates are done. Then
:mod:`chaos.ledger`, which shares no code with the product, reads every transcript, and each debate's count is compared with that of the
server; the product itself must be able to read and fold it again, too. Exits 1 if anything does not hold. ``make chaos`` runs it;
loopback only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any, cast
from urllib.request import urlopen

from chaos.check import Found, look
from chaos.disk import FAULTS, TELLS, DiskFault, Fault
from chaos.plan import RATES, run_ceiling
from chaos.report import figures, show
from chaos.safeguards import SAFEGUARDS
from chaos.totals import add
from chaos.worker import PLACES

_ENVIRON = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(Path(__file__).parents[up] / room) for up, room in ((1, ""), (2, "src"))),
    "OMP_NUM_THREADS": "1",
}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_DISKS = (*FAULTS, "fsync")


@dataclass
class Life:
    """A worker's process, and what will become of it."""

    process: subprocess.Popen[bytes]
    pid_file: Path
    """Where the process says that it has begun."""
    born: float | None = None
    """When it had."""
    fate: str = ""
    """A signal from outside, a place and a signal from inside, a fault of the disk, or nothing."""
    within: float | None = None
    """Seconds after its beginning at which it comes, if it comes from outside."""
    lasts: float = 0.0
    """Seconds after which a fault of the disk is over."""
    fault: DiskFault | None = None


@dataclass
class Run:
    """One chaos run."""

    debates: int
    workers: int
    kills: int
    disks: int
    """How many faults of the disk."""
    seed: int
    seconds: float
    life: float
    """How many seconds a worker that is to be killed lives, about."""
    folder: Path
    without: str = ""
    """The safeguard that is taken out."""
    how: Sequence[signal.Signals] = SIGNALS
    killed: Counter[str] = field(default_factory=Counter)
    """Where: from outside, or at which place."""
    signals: Counter[str] = field(default_factory=Counter)
    disk: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    """Workers that could not write and said so."""
    wrong: list[str] = field(default_factory=list)

    def go(self) -> list[dict[str, Any]]:
        """Run all debates; what each server counted."""
        began = monotonic()
        with self._servers() as urls:
            chance = Random(self.seed)
            lives = {
                worker: self._start(worker, urls, Random(f"{self.seed}/{worker}")) for worker in range(self.workers)
            }
            try:
                while lives and not self.wrong:
                    sleep(0.02)
                    if monotonic() - began > self.seconds:
                        self.wrong.append(f"not done within {self.seconds:g} s")
                    for worker, life in list(lives.items()):
                        if self._over(life, chance):
                            del lives[worker]
                            code = life.process.returncode
                            self.ended += code == TELLS
                            if -code in SIGNALS or (code == TELLS and self.disk):
                                lives[worker] = self._start(worker, urls, chance)
                            elif code != 0:
                                self.wrong.append(f"worker {worker} failed ({code}):\n{self._said(worker)}")
            finally:
                for life in lives.values():
                    if life.fault is not None:
                        life.fault.end()
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
        command += ["--without", self.without] if self.without else []
        fate, within, nth = self._fate(chance), None, 1 + int(chance.expovariate(1 / (60 * self.life)))
        if ":" in fate:
            place, _, how = fate.partition(":")
            command += ["--die", f"{place}:{nth}:{how}"]
        elif fate:
            within = chance.expovariate(1 / self.life)
        with (self.folder / f"worker{worker}.err").open("wb") as said:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env=_ENVIRON)
        return Life(process, self.folder / f"worker{worker}.pid", None, fate, within, chance.uniform(0.05, 1.5))

    def _fate(self, chance: Random) -> str:
        """What becomes of a life, as long as kills and faults are left; from inside it has a place and a signal."""
        kills, disks = max(0, self.kills - self.killed.total()), max(0, self.disks - self.disk.total())
        if not kills and not disks:
            return ""
        if chance.random() * (kills + disks) < disks:
            what = chance.choice(_DISKS)
            return "fsync:SIGKILL" if what == "fsync" else what
        how = chance.choice(self.how).name
        if chance.random() < 0.5:
            return how
        place = chance.choice(PLACES)
        return (
            f"{place}:{'SIGKILL' if place == 'torn' and how == 'SIGINT' else how}"  # it would go on after half a line
        )

    def _over(self, life: Life, chance: Random) -> bool:
        """Let its fate come, if it is time; whether the process is at its end. Who outlives a fault of the disk has another fate."""
        process = life.process
        if life.born is None and life.pid_file.exists() and life.pid_file.read_text() == str(process.pid):
            life.born = monotonic()
        lived = 0.0 if life.born is None else monotonic() - life.born
        if life.fault is not None and (lived > (life.within or 0.0) + life.lasts or process.poll() is not None):
            life.fault.end()
            life.fault, life.within = None, None
            if (fate := self._fate(chance)) and ":" not in fate:
                life.fate, life.within = fate, lived + chance.expovariate(1 / self.life)
        if process.poll() is None and life.fault is None and life.within is not None and lived > life.within:
            if life.fate in FAULTS:
                life.fault = DiskFault(cast(Fault, life.fate), process.pid, self.folder / "replies.sqlite")
                self.disk[life.fate] += life.fault.holds
            else:
                process.send_signal(signal.Signals[life.fate])
                life.within = None
        code = process.poll()
        if code is None:
            return False
        place = life.fate.partition(":")[0]
        if -code in SIGNALS:
            self.killed[place if ":" in life.fate else "from outside"] += 1
            self.signals[signal.Signals(-code).name] += 1
        elif code == TELLS and place == "fsync":
            self.disk[place] += 1
        return True

    def _said(self, worker: int) -> str:
        return (self.folder / f"worker{worker}.err").read_text(encoding="utf-8", errors="replace")[-4000:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--debates", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--disks", type=int, default=20, help="faults of the disk")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=900.0, help="the whole run may take")
    parser.add_argument(
        "--life", type=float, default=2.0, help="seconds that a worker which is to be killed lives, about"
    )
    parser.add_argument("--without", choices=SAFEGUARDS, default="", help="take a safeguard out: then it must fail")
    parser.add_argument("--kill", action="store_true", help="no orderly stops: SIGKILL alone")
    parser.add_argument("--keep", type=Path, help="a folder for transcripts and cache")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--totals", type=Path, help="a file for the figures of all parts (chaos.totals)")
    asked = parser.parse_args()
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="maci-chaos-") as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        run = Run(
            debates=asked.debates,
            workers=asked.workers,
            kills=asked.kills,
            disks=asked.disks,
            seed=asked.seed,
            seconds=asked.seconds,
            life=asked.life,
            folder=folder,
            without=asked.without,
            how=(signal.SIGKILL,) if asked.kill else SIGNALS,
        )
        told = run.go()
        found: list[Found] = []
        if not run.wrong:
            with ProcessPoolExecutor(2) as pool:
                found = list(
                    pool.map(partial(look, folder, asked.seed, asked.without), range(asked.debates), chunksize=20)
                )
        told_of = figures(run, found, told, monotonic() - began)
    over, twice = told_of["ceilings exceeded"], told_of["calls repeated"]
    lost = asked.debates - told_of["debates"]
    wrong = max(0, len(run.wrong) - over - bool(twice))
    add(
        asked.totals, "debates", debates=told_of["debates"], kills=run.signals, lost=lost, twice=twice, over=over,
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
