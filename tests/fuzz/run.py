"""Fuzzing of everything that strangers can hand in, for a given time.

    PYTHONPATH=tests python -m fuzz.run --for 30m [--seed 0] [--only case,reply] [--save DIR]

Every target has a process of its own, two at a time, and a share of the time. A finding is an exception that is not one of the
product's own errors, an input that takes more than 20 s of computing (120 s by the clock), or more than 2 GB. It is saved in
``tests/fuzz/found/TARGET/``, made small, where ``tests/fuzz/test_found.py`` tries it again in every test run. Exits 1 where something
was found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

FOUND = Path(__file__).parent / "found"
SHARES = {
    "case": 2,
    "transcript": 1,
    "rechained": 5,
    "reply": 2,
    "corpus": 2,
    "config": 1,
    "panels": 1,
    "spec": 1,
    "http": 3,
}
"""Of the time. A record that was forged passes through most doors, and each input takes longest."""
_ENVIRON = {
    "PYTHONPATH": os.pathsep.join(str(Path(__file__).parents[up] / room) for up, room in ((1, ""), (2, "src"))),
    "OMP_NUM_THREADS": "1",
    "MACI_OFFLINE": "1",
}
_SLOW = 300
"""Seconds that a process may take to start and to end."""


@dataclass
class Told:
    """What came of one target."""

    name: str
    inputs: int = 0
    seconds: float = 0.0
    found: dict[str, Path] = field(default_factory=dict)
    """What went wrong → the input."""


def seconds_of(text: str) -> int:
    """``30m``, ``90s``, ``1h`` or seconds.

    >>> seconds_of("30m"), seconds_of("20")
    (1800, 20)
    """
    found = re.fullmatch(r"(\d+)([smh]?)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 30m, 90s or 1h")
    return int(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def fuzz(name: str, seconds: float, seed: int, save: Path) -> Told:
    """One target for so long. A process that an input ended is started again for the time that is left."""
    told, until, module = Told(name), monotonic() + seconds, "requests" if name == "http" else "engine"
    for life in range(50):
        left = int(until - monotonic())
        if left < 1:
            break
        with tempfile.TemporaryDirectory(prefix="maci-fuzz-") as folder:
            command = [
                sys.executable,
                "-m",
                f"fuzz.{module}",
                name,
                "--for",
                str(left),
                "--seed",
                str(seed + life),
                "--out",
                folder,
            ]
            with (Path(folder) / "said").open("wb") as said:
                ended = _ran(command, left + _SLOW, folder, said.fileno())
            _gather(told, Path(folder), save)
            if not told.inputs:
                raise SystemExit(
                    f"{name} did not start:\n{(Path(folder) / 'said').read_text(errors='replace')[-3000:]}"
                )
        if ended:
            break
    return told


def _ran(command: list[str], most: float, folder: str, said: int) -> bool:
    """Whether a process ended as it should."""
    environ = {
        **os.environ,
        **_ENVIRON,
        "TMPDIR": folder,
        "MACI_CACHE": f"{folder}/cache",
        "MACI_CONFIG": f"{folder}/config",
    }
    try:
        return (
            subprocess.run(
                command, stdout=said, stderr=said, env=environ, cwd=folder, timeout=most, check=False
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def _gather(told: Told, folder: Path, save: Path) -> None:
    try:
        figures = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    told.inputs, told.seconds = told.inputs + figures["inputs"], told.seconds + figures["seconds"]
    inputs = {what: folder / "inputs" / name for what, name in figures["found"].items()}
    inputs |= {
        f"{kind} ({file.name[-8:]})": file for kind in ("timeout", "oom", "crash") for file in folder.glob(f"{kind}-*")
    }
    for what, file in inputs.items():
        kept = save / told.name / file.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(file.read_bytes())
        told.found.setdefault(what, kept)


def fuzz_all(names: Iterable[str], seconds: float, seed: int, save: Path) -> list[Told]:
    """All of them, two at a time, the longest first."""
    chosen = sorted(names, key=lambda name: -SHARES[name])
    whole = sum(SHARES[name] for name in chosen)
    slots = min(2, len(chosen), os.cpu_count() or 1)
    with ThreadPoolExecutor(slots) as pool:
        running = [
            pool.submit(fuzz, name, max(5.0, slots * seconds * SHARES[name] / whole), seed, save) for name in chosen
        ]
        told = []
        for each in running:
            told.append(each.result())
            show(told[-1])
    return told


def show(told: Told) -> None:
    rate = told.inputs / told.seconds if told.seconds else 0.0
    print(f"{told.name:<11} {told.inputs:>8,} inputs  {rate:>8,.1f} /s  {len(told.found)} findings", flush=True)
    for what, file in told.found.items():
        print(f"  {what}: {file}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--for", dest="seconds", type=seconds_of, default="30m", help="30m, 90s, 1h: of all targets together"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(SHARES), help="targets, with commas between")
    parser.add_argument("--save", type=Path, default=FOUND, help="where inputs that failed are kept")
    asked = parser.parse_args()
    began = monotonic()
    told = fuzz_all(asked.only.split(","), asked.seconds, asked.seed, asked.save)
    findings = sum(len(each.found) for each in told)
    print(f"{sum(each.inputs for each in told):,} inputs in {monotonic() - began:.0f} s, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
