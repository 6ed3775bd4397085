"""Those that `make bench` compares MACI with still do what they are there for: two debates each, against the fake server.

MACI_PEERS names the Python that has them; without it, that of `make`'s environment is looked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PYTHON = Path(
    os.environ.get("MACI_PEERS", ROOT / ".venv-peers" / "bin" / "python")
).absolute()  # it is run from other folders


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setenv("MACI_PEERS", str(PYTHON))
    yield import_module("bench_throughput")
    for name in ("bench_throughput", "peers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("who", ["maci", "langgraph", "autogen", "inspect"])
def test_two_debates_are_the_calls_of_two_debates(who: str, bench: Any) -> None:
    if who != "maci" and not PYTHON.exists():
        pytest.skip("needs the environment of the frameworks (`make .venv-peers/.done`), or MACI_PEERS")
    if (
        who != "maci"
        and subprocess.run([PYTHON, "-c", bench.IMPORTS[who]], check=False, capture_output=True).returncode
    ):
        pytest.fail(f"{who} cannot be imported by {PYTHON.name} of MACI_PEERS")
    (turn,) = bench.in_turn("0", 2, 1, ["bare", who])
    assert not [ran["failed"] for ran in turn["ran"].values() if "failed" in ran]
    (bare, own) = turn["ran"].values()
    assert own["cpu"] > 0
    assert own["peak_mb"] >= bare["peak_mb"] > 0  # equal where the process that started both is larger than either
