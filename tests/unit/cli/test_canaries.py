"""Canaries in every place where secrets are kept: none of them is found in anything that is written, shown or said."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fake_server import FakeServer
from maci.cases.case import load_case
from maci.errors import MaciError
from maci.integrations.mcp import DebateService
from maci.seating.seating import PanelChoice
from study_helpers import spec_data, toml, write_cases
from web_helpers import Browser, visit

ENV, FILE, TOML, OWN, URL, WORD = (
    f"canary-{place}-4711aa0815" for place in ("env", "file", "toml", "own", "url", "word")
)
SECRETS = (ENV, FILE, TOML, OWN, URL, WORD)
CASE = {
    "id": "pump", "question": "Which fault stopped the pump?", "context": "It stopped at night.", "outcomes": ["bearing", "filter"],
    "evidence": ["The filter was old and the pressure rose.", "The bearing was new."], "hidden": {"noise": "no"},
}  # fmt: skip


class Parrot(FakeServer):
    """Says in its replies and its errors with which key it was asked, in several forms."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.heard: set[str] = set()
        self.told: Counter[str] = Counter()
        """How often a reply repeated each key."""

    async def _serve(self, request, path, shape):  # type: ignore[no-untyped-def]
        from aiohttp import web

        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.heard.add(key)
        coded = [code(key.encode()).decode() for code in (base64.b64encode, base64.b32encode)]
        said = f"key {key} {key.upper()} {key[::-1]} {' '.join(coded)}"
        said += " " + "".join(f"&#{ord(letter)};" for letter in key)
        if path.endswith("/ask"):
            return web.json_response({"answer": f"no, {said}"})
        if json.loads(await request.text()).get("model") in ("fail", "bad"):
            return web.json_response({"error": {"message": f"wrong {said}", "type": "invalid"}}, status=401)
        answer = await super()._serve(request, path, shape)
        text = (answer.text or "").replace("because", f"because {said}")
        self.told[key] += text.count(said)
        return web.Response(text=text, status=answer.status, content_type="application/json")


@contextmanager
def parrot() -> Iterator[Parrot]:
    """The server in a thread of its own."""
    loop, server = asyncio.new_event_loop(), Parrot(quotes=True)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(20)
        yield server
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
    monkeypatch.setenv("MISTRAL_API_KEY", "")  # until a command reads .env; put back afterwards
    monkeypatch.setenv("PARROT_KEY", OWN)
    monkeypatch.setenv("SOURCE_WORD", f"Bearer {WORD}")
    Path(".env").write_text(f"MISTRAL_API_KEY={FILE}\n")
    Path("case.json").write_text(json.dumps(CASE))
    return tmp_path


def config(url: str) -> None:
    keyed = {"base_url": f"{url}/v1", "key_env": "PARROT_KEY", "retries": 0}
    two = {"agents": ["openai/alpha", "openai/beta"], "judges": ["xai/judge"]}
    models = dict.fromkeys(("openai/alpha", "openai/beta", "openai/fail", "openai/bad", "xai/judge"), keyed)
    there = {"base_url": f"{url}/v1", "retries": 0}  # each with a key from another place where people keep them
    models |= {"openai/gamma": {**there, "key_env": "OPENAI_API_KEY"}, "deepseek/epsilon": there}
    models |= {"mistral/delta": {**there, "key_env": "MISTRAL_API_KEY"}}
    kept = {"agents": ["openai/gamma", "mistral/delta"], "judges": ["deepseek/epsilon"]}
    broken = {**two, "agents": ["openai/fail", "openai/bad"]}
    panels = {"panels": {"pair": two, "broken": broken, "kept": kept}, "models": models}
    Path("config/maci").mkdir(parents=True)
    Path("config/maci/panels.yaml").write_text(json.dumps(panels))
    Path("config/maci/keys.toml").touch(0o600)
    Path("config/maci/keys.toml").write_text(f'"{url.removeprefix("http://")}" = "{TOML}"\n')


def written(folder: Path) -> dict[Path, str]:
    """All that was written, but for where the secrets belong."""
    own = {Path(".env"), Path("config/maci/keys.toml")}
    every = (path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder) not in own)
    return {path: path.read_bytes().decode("utf-8", "replace") for path in every}


def study(url: str) -> None:
    """A study with the parrot among its methods' models."""
    model = {"base_url": f"{url}/v1", "key_env": "PARROT_KEY", "retries": 0}
    names = ("openai/alpha", "openai/beta", "openai/bad")
    panel = {"agents": list(names), "judges": ["reader"], "models": dict.fromkeys(names, model)}
    write_cases(Path(), 3)
    methods = [{"use": "single", "each": True}, {"use": "maci"}]
    quick = {"stop.max_rounds": 2, "agents.arguments": 1}
    Path("study.toml").write_text(
        toml(spec_data(methods=methods, panel=panel, seeds=[0], parts=["test", "dev"], set=quick))
    )


async def visited(browser: Browser, said: list[str]) -> None:
    """Pages of records, a debate from the form and at /v1, and what comes of models that fail."""
    for id in ("run", "asked", "single", "wrong"):
        for page in ("", "/calls", "/report.html", "/report.md", "/result.json", "/transcript.jsonl"):
            said.append((await browser.get(f"/debates/{id}{page}")).text)
    for page in (
        "/",
        "/new?from=asked",
        "/openapi.json",
        "/panels",
        "/studies",
        "/studies/tiny",
        "/compare?a=run&b=asked",
    ):
        said.append((await browser.get(page)).text)
    asked = {
        "messages": [{"role": "user", "content": CASE["question"]}],
        "outcomes": CASE["outcomes"],
        "budget": 60_000,
    }
    for model in ("pair", "broken"):
        fields = {
            "question": "Is it so?",
            "outcomes": "yes, no",
            "panel": model,
            "settings": "max_rounds = 2",
            "evidence": "It is old.",
        }
        answer = await browser.post("/debates", fields)
        said.append(answer.text)
        if id := answer.url.path.partition("/debates/")[2]:
            await browser.end(id)
            said += [
                (await browser.get(f"/debates/{id}{page}")).text for page in ("", "/calls", "/report.html", "/events")
            ]
        for door in ("chat/completions", "responses"):
            body = {**asked, "model": model, "input": CASE["question"]}
            said.append((await browser.client.post(f"/v1/{door}", json=body)).text)
            said.append((await browser.client.post(f"/v1/{door}", json={**body, "stream": True})).text)
    said.append((await browser.get("/v1/models")).text)


async def served(folder: Path, said: list[str]) -> None:
    """The same for MCP clients."""
    service = DebateService(folder)

    async def tell(message: str) -> None:
        said.append(message)

    for panel in ("pair", "broken"):
        try:
            done = await service.debate(load_case("case.json"), PanelChoice(panel=panel), {"max_rounds": 2}, tell)
            said += [done.model_dump_json(), *(service.report(done.run, html=html) for html in (True, False))]
        except MaciError as error:
            said.append(str(error))
    said.append(service.search("pump", 0, 20).model_dump_json())


def test_no_canary_is_in_any_file_log_page_error_or_transcript(maci, house: Path, caplog) -> None:
    caplog.set_level("DEBUG")
    said: list[str] = []

    def run(*words: object) -> int:
        ran = maci(*words)
        said.append(ran.out + ran.err)
        return int(ran.code)

    with parrot() as server:
        url = server.url
        config(url)
        study(url)
        source = f"http://me:{URL}@{url.removeprefix('http://')}/ask?api_key={URL}"
        quick = ("--set", "max_rounds=2", "--set", "crit.k=1", "--out", "run")
        asking = ("--acquire", "1", "--source", source, "--source-header", "X-Word=SOURCE_WORD")
        wrong = ("--agents", "openai/fail,openai/bad", "--judges", "none", "--no-cache", "--out", "wrong")
        dev = [
            {**CASE, "id": f"d{n}", "context": f"It stopped on day {n}.", "gold": CASE["outcomes"][n % 2]}
            for n in range(20)
        ]
        Path("dev.jsonl").write_text("\n".join(map(json.dumps, dev)))
        Path("cases.jsonl.many").write_text(json.dumps(CASE) + "\n" + json.dumps({**CASE, "id": "two"}))
        for words in (
            ("debate", "case.json", "--panel", "pair", *quick),
            ("debate", "case.json", "--panel", "pair", *asking, *quick[:-1], "asked", "--json"),
            ("ask", "case.json", "--panel", "pair", "--out", "single", "--json"),
            ("debate", "case.json", *wrong),
            ("batch", "cases.jsonl.many", "--panel", "pair", *quick[:-1], "many"),
            ("batch", "cases.jsonl.many", "--panel", "broken", "--out", "many-wrong", "--json"),
            (
                "audit",
                "judges",
                "--panel",
                "pair",
                "--arguments",
                "run",
                "--n",
                "2",
                "--probed",
                "1",
                "--repeats",
                "1",
                "--json",
            ),
            ("debate", "case.json", "--panel", "kept", "--env-file", ".env", *quick[:-1], "kept"),
            ("calibrate", "--cases", "dev.jsonl", "--panel", "pair", "--held-out", "0", *quick[:-2], "--yes"),
            ("show", "kept", "--calls"),
            ("study", "run", "study.toml", "--out", ".studies/tiny", "--no-cache"),
            ("study", "report", ".studies/tiny", "--out", ".studies/page.html"),
            ("doctor",),
            ("doctor", "--live", "--panel", "pair"),
            ("panels",),
            ("plugins",),
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
        visit(house, lambda browser: visited(browser, said))
        asyncio.run(served(house / "mcp", said))
    Path("maci.toml").write_text(f'[models."openai/x"]\nkey = "sk-{ENV}"\n')  # a key where none belongs
    run("debate", "case.json", "--panel", "pair", "--out", "never")
    Path("maci.toml").unlink()
    for key in (OWN, ENV, FILE, TOML):  # the parrot was asked with each canary, and repeated it
        assert server.told[key], key
    assert server.told.total() > 20 and Path("calibration.toml").is_file(), said
    assert len(list(house.rglob("transcript.jsonl"))) >= 10 and Path(".studies/page.html").is_file()
    assert [leaks(text) for text in (*said, caplog.text) if leaks(text)] == []
    assert {path: found for path, text in written(house).items() if (found := leaks(text))} == {}
    assert re.search(r"looks like a key", "".join(said))
