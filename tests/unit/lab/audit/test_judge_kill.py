"""An audit that is killed outright goes on, and buys no reply twice that had reached the disk."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from maci.cli import main; main()", "audit", "judges"]


def test_a_killed_audit_goes_on(tmp_path: Path):
    line = {"question": "Which?", "reasons": ["One.", "Two."], "family": "f"}
    lines = [
        {**line, "claim": f"It is {n}.", "spans": [f"Text {n}.", "More."], "debate": str(n // 2), "agent": "ab"[n % 2]}
        for n in range(60)
    ]
    (tmp_path / "arguments.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    server = subprocess.Popen(
        [sys.executable, "-m", "fake_server", "--delay", "0.4", "--jitter", "0.4"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        env = {**os.environ, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-test", "MACI_STATE": str(tmp_path)}
        command = [
            *COMMAND, "--judges", "openai/alpha", "--arguments", "arguments.jsonl", "--n", "60", "--probed", "20", "--repeats", "1",
            "--resamples", "50", "--cache", "replies.sqlite", "--json",
        ]  # fmt: skip
        first = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while asked(url) < 50 and time.monotonic() < until and first.poll() is None:
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
        first.wait()
        kept, before = replies(tmp_path / "replies.sqlite"), asked(url)
        assert 0 < kept <= before
        again = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0, again.stderr
        found = json.loads(again.stdout)
        # 60 plain, and 20 each turned, padded, signed and once again
        assert found["complete"] and found["calls"] == 60 + 4 * 20
        assert asked(url) - before == found["calls"] - kept
        assert found["judges"][0]["abstained"]["value"] == 0
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def asked(url: str) -> int:
    with urllib.request.urlopen(f"{url}/count") as reply:
        counts = json.load(reply)
    return sum(entry["requests"] for entry in counts.values())


def replies(file: Path) -> int:
    for _ in range(50):
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as opened:
                return int(opened.execute("select count(*) from replies").fetchone()[0])
        except sqlite3.OperationalError:
            time.sleep(0.1)
    pytest.fail("the cache cannot be read")
