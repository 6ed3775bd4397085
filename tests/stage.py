"""A whole server for browsers: `maci serve` as a process, and a slow panel of models that a fake server plays."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDLESS = 500
"""Rounds of a debate that a test stops by hand: however slow the browser is, it does not end before."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Stage:
    """Where the server is, and where it keeps its debates."""

    url: str
    runs: Path
    process: subprocess.Popen[str]


@contextmanager
def fake_models(delay: float) -> Iterator[str]:
    """A server of fake models that take their time; ends by itself after an hour at the latest."""
    call = [sys.executable, "-m", "fake_server", "--delay", str(delay), "--for", "3600"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as ran:
        try:
            assert ran.stdout is not None
            yield ran.stdout.readline().split()[-1]
        finally:
            ran.terminate()


def slow_panel(folder: Path, models: str) -> Path:
    """A panels file with `slow`: two agents and a judge at a fake server."""
    address = {"base_url": f"{models}/v1", "price": {"input": 1.0, "output": 2.0}}
    panels: dict[str, Any] = {
        "panels": {
            "slow": {
                "about": "two slow models, for tests",
                "agents": [{"model": "openai/first", "name": "Ada"}, {"model": "openai/second", "name": "Bob"}],
                "judges": ["mistral/judge"],
                "set": {
                    "stop.min_rounds": ENDLESS,
                    "stop.max_rounds": ENDLESS,
                    "crit.k": 1,
                    "budget.tokens": 50_000_000,
                },
            }
        },
        "models": {
            "openai/first": {**address, "family": "one"},
            "openai/second": {**address, "family": "two"},
            "mistral/judge": {**address, "family": "three"},
        },
    }
    path = folder / "panels.yaml"
    path.write_text(json.dumps(panels), encoding="utf-8")
    return path


@contextmanager
def serving(runs: Path, panels: Path, *more: str, port: int = 0, studies: Path | None = None) -> Iterator[Stage]:
    """A server over a folder of debates."""
    call = [
        sys.executable,
        "-c",
        "from maci.cli import main; main()",
        "serve",
        "--json",
        "--port",
        str(port),
        "--dir",
        str(runs),
    ]
    call += ["--studies", str(studies or runs / ".studies"), *more]
    environ = {**os.environ, "MACI_PANELS": str(panels), "MACI_CACHE": str(panels.parent / "cache"), "OPENAI_API_KEY": "test-key",
               "MISTRAL_API_KEY": "test-key"}  # fmt: skip
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environ, cwd=panels.parent) as ran:
        try:
            assert ran.stdout is not None
            yield Stage(json.loads(ran.stdout.readline())["url"].rstrip("/"), runs, ran)
        finally:
            ran.terminate()


@dataclass(frozen=True)
class Weight:
    """What the first load of a page sends, and what a browser makes of its markup."""

    bytes: int
    compressed: int
    nodes: int
    """Elements in the markup."""


def weigh(url: str, path: str) -> Weight:
    """A page with its style sheet and scripts, as a browser fetches them."""
    from gzip import compress
    from urllib.request import urlopen

    page = urlopen(f"{url}{path}").read()
    links = dict.fromkeys(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode()))
    parts = [page, *(urlopen(f"{url}{link}").read() for link in links)]
    nodes = len(re.findall(rb"<[a-zA-Z]", page))
    return Weight(sum(map(len, parts)), sum(len(compress(part)) for part in parts), nodes)


@contextmanager
def chromium() -> Iterator[Any]:
    """A real browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def start(page: Any, stage: Stage, question: str, panel: str = "slow", rounds: int = ENDLESS) -> str:
    """Fill in the form; the address of the debate."""
    page.goto(f"{stage.url}/new")
    page.fill("#question", question)
    page.fill("#outcomes", "safe\nunsafe")
    page.fill("#evidence", "Two bolts are cracked, so it is unsafe.\n\nThe bridge is safe for cars.")
    page.select_option("#panel", panel)
    page.click("summary:has-text('Settings')")
    page.fill("#settings", f"min_rounds={rounds}\nmax_rounds={rounds}")
    page.click("#start")
    page.wait_for_url("**/debates/*")
    return str(page.url)


def stop(page: Any) -> None:
    """Stop the debate of a page, and wait until it is over and has loaded itself again."""
    page.click("#do-stop")
    page.wait_for_selector("#debate:not([data-live]) #p-state >> text=finished")


def events_of(stage: Stage, address: str) -> tuple[Any, ...]:
    """The record of a debate."""
    from maci.record.transcript import read

    return read(stage.runs / address.rpartition("/")[2] / "transcript.jsonl").events


def log_numbers(page: Any) -> list[int]:
    """The numbers of the events in the page's log."""
    return [int(n) for n in page.eval_on_selector_all("#log > li", "rows => rows.map(row => row.value)")]


def check(page: Any, address: str) -> None:
    """No serious fault for assistive technology, and nothing beyond the width of the window."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    serious = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
    told = [{"id": f["id"], "help": f["help"], "at": [n["target"] for n in f["nodes"][:3]]} for f in serious]
    assert serious == [], f"{address}: {json.dumps(told, indent=1)}"
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{address} scrolls sideways by {wide} px"
