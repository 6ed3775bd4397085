"""A real language model as a judge, audited on this machine; the second time nothing is computed again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maci.llm.local.weights import pull

pytestmark = pytest.mark.system


def test_a_small_model_is_audited_beside_the_readers(tmp_path: Path) -> None:
    pull("smollm2-135m")
    call = [
        sys.executable, "-c", "from maci.cli import main; main()", "audit", "judges", "--judges", "local/smollm2-135m,reader",
        "--n", "3", "--probes", "signed", "--probed", "1", "--repeats", "0", "--resamples", "50", "--set", "crit.max_tokens=200",
        "--cache", str(tmp_path / "replies.sqlite"), "--json",
    ]  # fmt: skip

    def run() -> dict:
        done = subprocess.run(
            call, cwd=tmp_path, capture_output=True, text=True, timeout=900, env=os.environ, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first, again = run(), run()
    model = first["judges"][0]
    assert model["name"] == "local/smollm2-135m" and first["complete"] and first["calls"] == 4 * (3 + 1)
    # what it cannot grade it abstains from: scores and abstentions together are all arguments
    scored = 0 if model["mean"] is None else round(3 * (1 - model["abstained"]["value"]))
    assert model["abstained"]["n"] == 3 and 0 <= scored <= 3
    assert [judge["mean"] for judge in again["judges"]] == [judge["mean"] for judge in first["judges"]]
