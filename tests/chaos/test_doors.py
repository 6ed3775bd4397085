"""The commands under kills, in small; and that each safeguard is one: without it the same run finds what is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_NOTHING = {"debates": 0, "asks": 0, "batches": 0, "cases": 8, "rivals": 0, "serves": 0}


def doors(*more: str, **sizes: int) -> subprocess.CompletedProcess[str]:
    words = [word for name, n in {**_NOTHING, **sizes}.items() for word in (f"--{name}", str(n))]
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "chaos.doors", *words, *more],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=400, check=False,
    )  # fmt: skip


def test_commands_that_are_killed_and_started_again_lose_nothing_and_buy_nothing_twice() -> None:
    done = doors(debates=1, asks=1, batches=1, rivals=1)
    assert done.returncode == 0, done.stdout + done.stderr
    kills = re.search(r"(\d+) kills, 0 things wrong", done.stdout)
    assert kills and int(kills[1]) >= 3, done.stdout


@pytest.mark.system
@pytest.mark.parametrize(
    ("safeguard", "where", "found"),
    [
        ("sync", {"debates": 8}, r"the server counted \d+ tokens, we"),
        ("reservation", {"debates": 3}, r"CEILING"),
        ("lock", {"rivals": 1}, r"two in one folder|sent by both"),
        ("chain", {"debates": 1}, r"does not follow from the one before|ended with"),
        ("fence", {"debates": 1}, r"outside the fence"),
        ("cache", {"batches": 1, "cases": 30}, r"sent although their reply was on disk already"),
    ],
)
def test_without_a_safeguard_the_run_fails(safeguard: str, where: dict[str, int], found: str) -> None:
    done = doors("--kill", "--without", safeguard, **where)
    assert done.returncode == 1 and re.search(found, done.stdout + done.stderr), done.stdout + done.stderr
