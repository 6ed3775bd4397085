"""A debate against a mock of the APIs that nobody here wrote (`@copilotkit/aimock`, from npm)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from maci.controller.inputs import JudgeAbstention, Requested, TurnFailed
from maci.record.replay import replay
from maci.record.transcript import read

pytestmark = pytest.mark.system
PROGRAM = Path(__file__).parent / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
TURN = {
    "arguments": [
        {
            "outcome": "dengue",
            "claim": "Dengue explains the high fever.",
            "citations": [{"span": "E2", "quote": ""}],
            "reasons": ["Dengue brings high fever."],
            "opposing": [],
            "effect": "supports",
        }
    ],
    "belief": {"dengue": 90, "measles": 10},
}
USAGE = {  # the mock counts nothing by itself, and what nobody counts is taken at its most
    **{"prompt_tokens": 900, "completion_tokens": 580, "total_tokens": 1480},
    **{"input_tokens": 900, "output_tokens": 580},
    **{"promptTokenCount": 900, "candidatesTokenCount": 580, "totalTokenCount": 1480},
}
GRADES = {
    "pieces": ["supports"], "links": [80], "justification": "E1 says so.", "evidence": 80, "logic": 80, "relevance": 80,
}  # fmt: skip


@contextmanager
def mock(folder: Path) -> Iterator[str]:
    """The mock, with a model that thinks before each answer."""
    if not PROGRAM.exists():
        pytest.skip("@copilotkit/aimock is not installed: tests/system/install.sh installs it where npm is")
    thought = {"reasoning": "Fever fits both; the rash fits measles better. " * 100}
    replies = {"judge": GRADES, "agent": TURN}
    fixtures = [
        {"match": {"model": f"{who}-1"}, "response": {"content": json.dumps(said), "usage": USAGE, **thought}}
        for who, said in replies.items()
    ]
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = ["node", str(PROGRAM), "--port", str(port), "--fixtures", str(folder / "fixtures.json"), "--strict"]
    with (folder / "aimock.log").open("wb") as log, subprocess.Popen(call, stdout=log, stderr=log) as server:
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("service", "api"), [("openai", None), ("openai", "responses"), ("anthropic", None), ("gemini", None)]
)
def test_a_debate_through_a_mock_that_nobody_here_wrote(tmp_path: Path, service: str, api: str | None) -> None:
    (tmp_path / "case.json").write_text(
        json.dumps(
            {
                "question": "Is it dengue?",
                "context": "High fever and a rash.",
                "outcomes": ["dengue", "measles"],
                "evidence": ["Dengue brings high fever.", "Measles brings a rash."],
            }
        ),
        encoding="utf-8",
    )
    with mock(tmp_path) as url:
        own = {"base_url": url + ("/v1" if service == "openai" else ""), "key_env": "MOCK_KEY"}
        own |= {} if api is None else {"api": api}
        models = {f"{service}/agent-1": {**own, "family": "a"}, f"{service}/judge-1": {**own, "family": "j"}}
        (tmp_path / "panels.json").write_text(json.dumps({"models": models}), encoding="utf-8")
        agent = f"{service}/agent-1"
        words = (
            "debate",
            "case.json",
            "--agents",
            f"{agent},{agent}",
            "--judges",
            f"{service}/judge-1",
            "--out",
            "run",
        )
        environ = {**os.environ, "MACI_PANELS": str(tmp_path / "panels.json"), "MOCK_KEY": "mock-key-1"}
        done = subprocess.run(
            [sys.executable, "-m", "maci", *words, "--json", "--no-cache"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            env=environ,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["answer"] == "dengue" and result["rounds"] >= 2 and result["tokens"] > 0
    events = read(tmp_path / "run" / "transcript.jsonl").events
    assert replay(events).complete
    assert not [event for event in events if isinstance(event, TurnFailed | JudgeAbstention)]
    asked = [request for event in events if isinstance(event, Requested) for request in event.requests]
    assert asked and not any(request.error for request in asked)
    assert service == "gemini" or all(request.served for request in asked)  # the mock does not say it there
