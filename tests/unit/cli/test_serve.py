"""``maci serve`` as a process: where it is, who may come in, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

START = [sys.executable, "-c", "from maci.cli import main; main()", "serve", "--port", "0", "--json"]


@contextmanager
def served(folder: Path, *more: str) -> Iterator[tuple[dict, subprocess.Popen[str]]]:
    with subprocess.Popen(
        [*START, "--dir", str(folder), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        try:
            assert ran.stdout is not None
            yield json.loads(ran.stdout.readline()), ran
        finally:
            ran.kill()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_answers_there_and_ends_with_130_when_interrupted(
    tmp_path: Path, stop: signal.Signals
) -> None:
    with served(tmp_path) as (said, ran):
        assert said["host"] == "127.0.0.1" and said["token"] is None
        assert "No debate yet" in httpx.get(said["url"], timeout=60).text
        ran.send_signal(stop)
        assert ran.wait(60) == 130
        assert ran.stderr is not None and "Traceback" not in ran.stderr.read()


def test_a_server_for_others_makes_a_token(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as (said, _):
        assert len(said["token"]) >= 32 and said["token"] in said["url"]
        here = f"http://127.0.0.1:{said['port']}/"
        assert httpx.get(here, timeout=60).status_code == 303
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            assert "No debate yet" in client.get(here, params={"token": said["token"]}).text


def test_two_servers_with_ceilings_do_not_share_a_folder_and_so_a_ceiling(tmp_path: Path) -> None:
    ceiling = ("--dir", str(tmp_path), "--budget-tokens", "1000")
    with served(tmp_path, *ceiling[2:]) as (_, first):
        second = subprocess.run([*START, *ceiling], capture_output=True, text=True, timeout=60)
        assert second.returncode == 3 and f"--dir {tmp_path} belongs to process {first.pid}" in second.stderr
        first.kill()
        first.wait(60)
    with served(tmp_path, *ceiling[2:]) as (said, _):  # whoever is killed keeps nobody out
        assert httpx.get(said["url"], timeout=60).status_code == 200


@pytest.mark.parametrize(("name", "text"), [("maci.toml", "[set]\nx = 1\n"), ("maci-panels.yaml", "panle: 1\n")])
def test_a_file_that_cannot_be_read_is_said_before_the_server_starts(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    ended = subprocess.run(
        [sys.executable, "-m", "maci", "serve", "--port", "0", "--dir", "runs"],
        cwd=tmp_path, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert ended.returncode == 2 and name in ended.stderr and "http://" not in ended.stdout
    assert "Traceback" not in ended.stderr


def test_a_folder_that_cannot_be_made_is_refused_before_the_server_starts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = subprocess.run([*START, "--dir", str(tmp_path / "file" / "runs")], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 2 and ran.stdout == ""
    assert (
        ran.stderr == f"maci: --dir {tmp_path}/file/runs: {tmp_path}/file is a file, not a folder; give another --dir\n"
    )


@pytest.mark.parametrize("more", [["--token", "short"], ["--host", "256.0.0.1"]])
def test_what_cannot_be_served_is_said(tmp_path: Path, more: list[str]) -> None:
    ran = subprocess.run([*START, "--dir", str(tmp_path), *more], capture_output=True, text=True, timeout=120)
    assert ran.returncode in {2, 3} and ran.stderr.startswith("maci: ") and "Traceback" not in ran.stderr
