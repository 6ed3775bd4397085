"""Canaries in every place where secrets are kept: none of them is found in anything that is written, shown or said."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fake_server import FakeServer
from web_helpers import Browser, visit

ENV, FILE, OWN, URL, WORD = (f"canary-{place}-4711aa0815" for place in ("env", "file", "own", "url", "word"))
SECRETS = (ENV, FILE, OWN, URL, WORD)
CASE = {
    "id": "pump", "question": "Which fault stopped the pump?", "context": "It stopped at night.", "outcomes": ["bearing", "filter"],
    "evidence": ["The filter was old and the pressure rose.", "The bearing was new."], "hidden": {"noise": "no"},
}  # fmt: skip


class Parrot(FakeServer):
    """Says in its replies and its errors with which key it was asked, in several forms."""

    heard: set[str] = set()  # noqa: RUF012

    async def _serve(self, request, path, shape):  # type: ignore[no-untyped-def]
        from aiohttp import web

        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.heard.add(key)
        coded = [code(key.encode()).decode() for code in (base64.b64encode, base64.b32encode)]
        said = f"key {key} {key.upper()} {key[::-1]} {' '.join(coded)}"
        said += " " + "".join(f"&#{ord(letter)};" for letter in key)
        if "bad" in path or (len(self.heard) and "fail" in (await request.text())):
            return web.json_response({"error": {"message": f"wrong {said}", "type": "invalid"}}, status=401)
        answer = await super()._serve(request, path, shape)
        text = answer.text.replace("because", f"because {said}") if answer.text else answer.text
        return web.Response(text=text, status=answer.status, content_type="application/json")


@contextmanager
def parrot() -> Iterator[str]:
    """The server in a thread of its own; its address."""
    loop, server = asyncio.new_event_loop(), Parrot(quotes=True)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(20)
        yield server.url
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(20)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


def leaks(text: str) -> list[str]:
    """Which canaries are in a text, in whatever form."""
    forms = {
        form
        for secret in SECRETS
        for form in (secret, secret.upper(), secret[::-1], base64.b64encode(secret.encode()).decode()[:-4],
                     base64.b32encode(secret.encode()).decode()[:-8], secret.encode().hex())
    }  # fmt: skip
    return [form for form in forms if form in text]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with keys in the environment, in .env, in the keys file and in maci.toml's neighbourhood."""
    for name in [name for name in os.environ if name.startswith("MACI_") or name.endswith(("_API_KEY", "_BASE_URL"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MACI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MACI_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", ENV)
    monkeypatch.setenv("PARROT_KEY", OWN)
    monkeypatch.setenv("SOURCE_WORD", f"Bearer {WORD}")
    Path(".env").write_text(f"MISTRAL_API_KEY={FILE}\n")
    Path("case.json").write_text(json.dumps(CASE))
    return tmp_path


def config(url: str) -> None:
    keyed = {"base_url": f"{url}/v1", "key_env": "PARROT_KEY", "retries": 0}
    panels = {"panels": {"pair": {"agents": ["openai/alpha", "openai/beta"], "judges": ["xai/judge"]}},
              "models": dict.fromkeys(("openai/alpha", "openai/beta", "xai/judge"), keyed)}  # fmt: skip
    Path("config/maci").mkdir(parents=True)
    Path("config/maci/panels.yaml").write_text(json.dumps(panels))
    Path("config/maci/keys.toml").write_text(f'xai = "{FILE}"\n')


def written(folder: Path) -> dict[Path, str]:
    """All that was written, but for where the secrets belong."""
    own = {Path(".env"), Path("config/maci/keys.toml")}
    every = (path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder) not in own)
    return {path: path.read_bytes().decode("utf-8", "replace") for path in every}


def test_no_canary_is_in_any_file_log_page_error_or_transcript(maci, house: Path) -> None:
    said: list[str] = []

    def run(*words: object) -> int:
        ran = maci(*words)
        said.append(ran.out + ran.err)
        return int(ran.code)

    with parrot() as url:
        config(url)
        source = f"http://me:{URL}@{url.removeprefix('http://')}/ask?api_key={URL}"
        quick = ("--set", "max_rounds=2", "--set", "crit.k=1", "--out", "run")
        asking = ("--acquire", "1", "--source", source, "--source-header", "X-Word=SOURCE_WORD")
        wrong = ("--agents", "openai/fail,openai/bad", "--judges", "none", "--no-cache", "--out", "wrong")
        for words in (
            ("debate", "case.json", "--panel", "pair", *quick),
            ("debate", "case.json", "--panel", "pair", *asking, *quick[:-1], "asked", "--json"),
            ("ask", "case.json", "--panel", "pair", "--out", "single", "--json"),
            ("debate", "case.json", *wrong),
            ("doctor",),
            ("panels",),
            ("config",),
            ("init", "--json"),
            ("show", "run"),
            ("show", "run", "--calls"),
            ("show", "run", "--json"),
            ("report", "run"),
            ("report", "run", "--format", "md"),
            ("replay", "run"),
            ("plan", "run", "--json"),
            ("export", "run"),
            ("debate", "--resume", "--out", "asked"),
        ):
            run(*words)
    Path("maci.toml").write_text(f'[models."openai/x"]\nkey = "sk-{ENV}"\n')  # a key where none belongs
    run("debate", "case.json", "--panel", "pair", "--out", "never")
    Path("maci.toml").unlink()
    assert OWN in Parrot.heard  # the parrot was asked with a canary

    async def walk(browser: Browser) -> None:
        for id in ("run", "asked", "single", "wrong"):
            for page in ("", "/calls", "/report.html", "/report.md", "/result.json", "/transcript.jsonl"):
                said.append((await browser.get(f"/debates/{id}{page}")).text)
        said.append(
            (await browser.get("/")).text
            + (await browser.get("/new?from=asked")).text
            + (await browser.get("/openapi.json")).text
        )

    visit(house, walk)
    assert (house / "run/transcript.jsonl").is_file() and len(said) > 20
    assert [leaks(text) for text in said if leaks(text)] == []
    assert {path: found for path, text in written(house).items() if (found := leaks(text))} == {}
    assert re.search(r"looks like a key", "".join(said))
