"""Offline is enforced where connections are opened."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import aiohttp
import pytest

from maci.errors import ModelError
from maci.llm.offline import stay_offline

ELSEWHERE = "http://192.0.2.1:9/"  # an address for documentation, of nobody


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.llm.offline._asked", False)  # and again afterwards
    stay_offline(True)
    stay_offline(False)  # does not lift it


def test_aiohttp_urllib_and_names_are_refused(offline: None) -> None:
    async def get(url: str) -> None:
        async with aiohttp.ClientSession() as session, session.get(url):
            pass

    for url in (ELSEWHERE, "http://example.org/"):
        with pytest.raises(ModelError, match=r"offline: .* is not on this machine"):
            asyncio.run(get(url))
        with pytest.raises(ModelError, match="offline"):
            urllib.request.urlopen(url, timeout=5)
    with pytest.raises(ModelError, match=r"example\.org"):
        socket.getaddrinfo("example.org", 443)
    with pytest.raises(ModelError, match=r"192\.0\.2\.1"), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.sendto(b"x", ("192.0.2.1", 53))


def test_this_machine_is_reached(offline: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        socket.create_connection(door.getsockname()).close()
    left, right = socket.socketpair()
    left.close()
    right.close()


def started(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from maci.cli import main; main()", *args],
        cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("how", [("--offline", {}), (None, {"MACI_OFFLINE": "1"})], ids=["option", "environment"])
def test_a_debate_with_a_provider_elsewhere_ends_at_once_with_the_reason(tmp_path: Path, how) -> None:
    option, environ = how
    more = [option] if option else []
    ran = started(
        "debate", "dengue", "--agents", "openai/gpt-5,openai/gpt-5-mini", "--judges", "reader", "--out", "o", *more,
        cwd=tmp_path, OPENAI_API_KEY="sk-" + "a1" * 20, HTTPS_PROXY="http://127.0.0.1:9", **environ,
    )  # fmt: skip
    assert ran.returncode == 3
    assert "offline: api.openai.com is not on this machine" in ran.stderr and "Traceback" not in ran.stderr


def test_weights_of_the_hub_are_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "huggingface_hub.py").write_text(
        "import urllib.request\n"
        "def hf_hub_download(repository, file, local_files_only=False, **more):\n"
        "    urllib.request.urlopen('http://192.0.2.1:9/' + file, timeout=5)\n"
    )
    (tmp_path / "xllamacpp.py").write_text("")
    ran = started(
        "debate", "dengue", "--agents", "local/hf:org/repo/m.gguf,reader", "--judges", "reader", "--out", "o", "--offline",
        cwd=tmp_path, PYTHONPATH=f"{tmp_path}:{Path(__file__).parents[3] / 'src'}",
    )  # fmt: skip
    assert ran.returncode == 3 and "offline" in ran.stderr and "Traceback" not in ran.stderr
