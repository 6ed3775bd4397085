"""A small chaos run: faults of every kind and a few kills. ``make chaos`` is the large one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.totals import add, closing

TESTS = Path(__file__).parents[1]


def chaos(*more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "chaos.run", "--debates", "30", "--life", "0.7", "--seconds", "150", *more]
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=240, check=False
    )


def test_debates_under_faults_and_kills_end_with_a_reason_and_keep_their_ceilings() -> None:
    done = chaos("--kills", "4", "--disks", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["debates"] == 30 and told["wrong"] == []
    assert sum(told["kills"].values()) >= 1 and told["calls under way at kills"] > 0
    assert told["ceilings exceeded"] == told["calls repeated"] == 0
    assert told["tokens, by our count"] >= told["tokens, by the servers"] > 0


@pytest.mark.system
@pytest.mark.parametrize(
    ("safeguard", "found"),
    [
        ("sync", r"the server counted \d+ tokens, we"),
        ("reservation", r"CEILING: the server counted"),
        ("chain", r"LEDGER: .* does not follow from the one before"),
        ("cache", r"calls were made again although their reply was on disk"),
        ("count", r"LEDGER: .* its lines add up to"),
    ],
)
def test_without_a_safeguard_the_run_fails_though_the_product_reads_its_transcripts_without_it_too(
    safeguard: str, found: str
) -> None:
    done = chaos("--kills", "15", "--life", "0.5", "--disks", "0", "--kill", "--without", safeguard)
    assert done.returncode == 1 and re.search(found, done.stderr), done.stdout + done.stderr


def test_the_closing_line_adds_the_parts_up_and_judges_them(tmp_path: Path) -> None:
    file, none = tmp_path / "figures.jsonl", {"lost": 0, "twice": 0, "over": 0, "wrong": 0}
    add(file, "debates", debates=3000, kills={"SIGKILL": 100}, seconds=600, **none)
    add(file, "doors", debates=2000, kills={"SIGKILL": 50, "SIGTERM": 50}, seconds=300, **none)
    line, well = closing(file, 5000, 200)
    assert well and line == (
        "chaos: 5,000 debates, 200 kills (SIGKILL 150, SIGTERM 50), 0 lost, 0 bought twice, 0 over the ceiling, "
        "0 other things wrong, 15.0 min"
    )
    assert closing(file, 5001, 200)[1] is closing(file, 5000, 201)[1] is False
    for what in none:
        bad = tmp_path / f"{what}.jsonl"
        add(bad, "debates", debates=5000, kills={"SIGINT": 200}, seconds=1, **{**none, what: 1})
        assert not closing(bad, 5000, 200)[1]
