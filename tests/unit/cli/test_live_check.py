"""``maci doctor --live``: one capped debate with each configured provider, and a report without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hash_encoder import HashEncoder
from maci.debating.live_trial import TOKENS
from serving import serving

SECRET = "sk-this-is-the-key-of-the-tests"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("MACI_", "OLLAMA_", "AZURE_")) or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())


def project(url: str, key: str = "") -> None:
    own = f"{{base_url: '{url}/v1', retries: 0{key}}}"
    Path("maci-panels.yaml").write_text(
        "panels: {shop: {agents: [openai/alpha, vllm/beta], judges: [openai/gamma]}}\n"
        f"models: {{openai: {own}, vllm: {own}}}\n"
    )


def test_each_configured_provider_holds_one_debate(maci: Callable[..., Any]) -> None:
    with serving("alpha", "beta", "gamma") as server:
        project(server.url)
        ran = maci("doctor", "--live", "--json")
        counted = sum(count.prompt + count.generated for count in server.counts.values())
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert [(each["model"], each["works"], each["structured"]) for each in found["trials"]] == [
        ("openai/alpha", True, True),
        ("vllm/beta", True, True),
    ]
    assert sum(each["tokens"] for each in found["trials"]) == counted
    assert all(0 < each["tokens"] <= TOKENS for each in found["trials"])
    assert "| openai | openai/alpha | your own server | yes |" in Path("maci-live.md").read_text(encoding="utf-8")


def test_the_report_holds_no_key_no_address_and_no_path(maci, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MINE", SECRET)
    with serving("alpha", "beta", keys=["another"], echo=True) as server:  # it repeats the key in its complaint
        project(server.url, ", key_env: MINE")
        port = server.url.rpartition(":")[2]
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        ran = maci(
            "doctor",
            "--live",
            "--agents",
            "openai/alpha,azure/secret-house,local//home/me/secret.gguf",
            "--out",
            "r.md",
        )
    assert ran.code == 3
    report = Path("r.md").read_text(encoding="utf-8")
    assert "azure/[deployment]" in report
    assert "local/[file]" in report
    for text in (report, ran.out):
        for secret in (SECRET, SECRET[3:15], port, "secret-house", "secret.gguf", str(tmp_path)):
            assert secret not in text, secret


def test_the_name_of_the_report_cannot_steer_the_terminal(maci: Callable[..., Any]) -> None:
    with serving("alpha", "beta", "gamma") as server:
        project(server.url)
        ran = maci("doctor", "--live", "--out", "a\x9b2Jb.md")
    assert ran.code == 0 and "to share: a" in ran.out and "\x9b" not in ran.out


def test_a_key_alone_is_not_tried(maci, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    ran = maci("doctor", "--live")
    assert ran.code == 2
    assert "no provider is configured" in ran.err
    assert not Path("maci-live.md").exists()
