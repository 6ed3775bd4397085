"""A small chaos run: faults of every kind and a few kills. ``make chaos`` is the large one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_debates_under_faults_and_kills_end_with_a_reason_and_keep_their_ceilings() -> None:
    command = [sys.executable, "-m", "chaos.run", "--debates", "30", "--kills", "4", "--life", "0.7", "--json"]
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [*command, "--seconds", "150"], capture_output=True, text=True, env=environ, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["debates"] == 30 and told["wrong"] == []
    assert sum(told["kills"].values()) >= 1 and told["calls under way at kills"] > 0
    assert told["ceilings exceeded"] == told["calls repeated"] == 0
    assert told["tokens, by our count"] >= told["tokens, by the servers"] > 0
