"""A whole debate between two real language models through the real server path, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maci.controller.inputs import Sent, TurnFailed, TurnTaken
from maci.llm.local.weights import pull
from maci.record.replay import replay
from maci.record.transcript import read

pytestmark = pytest.mark.system
MODEL = "local/smollm2-135m"


def maci(*words: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", "from maci.cli import main; main()", *words]
    return subprocess.run(
        call, cwd=cwd, capture_output=True, text=True, timeout=900, env={**os.environ, **environ}, check=False
    )


def test_two_small_models_debate_their_record_replays_and_a_repetition_costs_nothing(tmp_path: Path) -> None:
    pull("smollm2-135m")
    panels = {
        "panels": {
            "small": {
                "agents": [{"model": MODEL, "belief": "sampled", "draws": 3, "max_tokens": 700}] * 2,
                "judges": ["reader"],
                "set": {
                    "agents.arguments": 1,
                    "agents.evidence": "split",
                    "evidence.k_ret": 8,
                    "stop.min_rounds": 1,
                    "stop.max_rounds": 1,
                },
            }
        }
    }
    (tmp_path / "maci-panels.yaml").write_text(json.dumps(panels), encoding="utf-8")
    told = ("debate", "dengue", "--panel", "small", "--cache", str(tmp_path / "replies.sqlite"), "--json")
    done = maci(*told, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    events = read(tmp_path / "run" / "transcript.jsonl").events
    assert replay(events).complete
    turns = [event for event in events if isinstance(event, TurnTaken)]
    assert result["rounds"] == 1
    assert {turn.round for turn in turns} == {0, 1}
    assert not [event for event in events if isinstance(event, TurnFailed)]
    assert all(turn.turn.usage.prompt > 0 and turn.turn.usage.generated > 0 for turn in turns)
    assert sum(call.kind == "turn" for event in events if isinstance(event, Sent) for call in event.calls) >= 4

    again = maci(*told, "--out", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    repeated = [e.turn for e in read(tmp_path / "again" / "transcript.jsonl").events if isinstance(e, TurnTaken)]
    assert [turn.raw for turn in repeated] and {turn.raw for turn in repeated} == {turn.turn.raw for turn in turns}
    assert all(turn.usage.free for turn in repeated)  # every reply came from the cache
