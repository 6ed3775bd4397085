"""The ceiling is a ceiling: whole runs of the command line against a server that counts what it served."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fake_server import FakeServer
from maci.controller.inputs import Recommended, TurnTaken, usage_of
from maci.record.transcript import read

KEY = "sk-fake-ceiling"
PANEL = {
    "models": {},
    "panels": {
        "two": {
            "agents": ["xai/grok-fake", "mistral/fake"],
            "judges": ["reader"],
            "set": {"agents.arguments": 1, "stop.min_rounds": 2, "stop.max_rounds": 2},
        }
    },
}


@contextmanager
def serving(**settings: object) -> Iterator[FakeServer]:
    """A fake server in a thread of its own."""
    server = FakeServer(quotes=True, **settings)  # type: ignore[arg-type]
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with server:
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    cases = [{"id": f"c{n}", "question": "Is it gout?", "outcomes": ["gout", "flu"]} for n in range(3)]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    return tmp_path


def maci(here: Path, server: FakeServer, *words: str) -> subprocess.Popen[str]:
    where = {"base_url": f"{server.url}/v1", "key_env": "FAKE_KEY"}
    panels = {**PANEL, "models": {"xai/grok-fake": where, "mistral/fake": where}}
    (here / "mine.json").write_text(json.dumps(panels))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MACI_") or name == "MACI_DATA"}
    environ |= {"FAKE_KEY": KEY, "MACI_PANELS": str(here / "mine.json"), "MACI_CACHE": str(here / "cache")}
    return subprocess.Popen(
        [sys.executable, "-m", "maci", *words, "--panel", "two"],
        cwd=here,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_what_models_think_beside_their_answer_is_on_record_and_under_the_ceiling(here: Path) -> None:
    with serving(thinks=300) as server:
        with maci(here, server, "batch", "cases.jsonl", "--out", "free", "--no-cache", "--json") as run:
            _, err = run.communicate(timeout=120)
        assert run.returncode == 0, err
        count = server.counts.pop(KEY)
        calls = [
            usage_of(event)
            for path in (here / "free").glob("*/transcript.jsonl")
            for event in read(path).events
            if isinstance(event, TurnTaken | Recommended)
        ]
        assert len(calls) == count.served == 18 + 3 and count.generated > 18 * 300
        assert sum(usage.prompt for usage in calls) == count.prompt
        assert sum(usage.generated for usage in calls) == count.generated

        ceiling = (count.prompt + count.generated) * 2 // 3
        words = ("batch", "cases.jsonl", "--out", "held", "--no-cache", "--budget-tokens", str(ceiling))
        with maci(here, server, *words) as run:
            run.communicate(timeout=120)
        held = server.counts[KEY]
        assert run.returncode != 0 and 0 < held.prompt + held.generated <= ceiling


def test_of_two_batches_in_one_folder_one_is_the_owner_and_nothing_is_bought_twice(here: Path) -> None:
    with serving(delay=0.2) as server:
        words = ("batch", "cases.jsonl", "--out", "out", "--no-cache")
        with maci(here, server, *words) as one, maci(here, server, *words) as two:
            said = {run.pid: run.communicate(timeout=120) for run in (one, two)}
        assert sorted([one.returncode, two.returncode]) == [0, 3], said
        owner, other = sorted((one, two), key=lambda run: run.returncode)
        assert f"belongs to process {owner.pid}" in said[other.pid][1]
        assert server.counts[KEY].served == 18 + 3  # turns, and a recommendation for each case
