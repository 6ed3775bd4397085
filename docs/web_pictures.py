"""Pictures of the web page for docs/images: the real server, a real debate, a real browser.

python docs/screenshots.py web-live web-home …
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TESTS = str(Path(__file__).resolve().parents[1] / "tests")
sys.path.insert(0, TESTS)
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (TESTS, os.environ.get("PYTHONPATH")))
)  # fake models are a process
NAMES = (
    "web-home", "web-new", "web-live", "web-finished", "web-compare", "web-live-phone", "web-live-dark", "web-scale",
    "web-no-answer", "web-question", "web-study", "web-sign-in", "web-agreed", "web-split", "web-asked", "web-wrong",
    "web-withheld-phone", "web-thread", "web-gate", "web-panels",
)  # fmt: skip
_STORIES: dict[str, tuple[str, str]] = {
    "web-agreed": ("/debates/outage", ""),
    "web-split": ("/debates/bridge", ""),
    "web-asked": ("/debates/engine", ""),
    "web-wrong": ("/debates/recall", ""),
    "web-withheld-phone": ("/debates/painting", ""),
    "web-thread": ("/debates/bridge", "document.querySelector('#round-1').scrollIntoView()"),
    "web-gate": ("/debates/bridge/replay?tau_crit=0.62", ""),
}
"""Pictures of scripted debates: the page, and what is done there."""


_DEBATES = NAMES[:7]
"""Those that need the same three debates."""


@contextmanager
def tab(browser: Any, *, phone: bool = False, dark: bool = False, height: int = 900) -> Iterator[Any]:
    """A window of a desk or a phone."""
    size = {"width": 390, "height": 844} if phone else {"width": 1280, "height": height}
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce")
    context.set_default_timeout(90_000)
    yield context.new_page()
    context.close()


def make(browser: Any, images: Path, wanted: set[str]) -> None:
    """Make those that are wanted; all need the same debates."""
    from stage import fake_models, serving

    with tempfile.TemporaryDirectory() as name, fake_models(0.9) as models:
        folder, panels = Path(name), _panels_file(Path(name), models)
        studies = folder / "studies"
        if "web-study" in wanted:
            _study(studies / "complaints")
        if wanted & {*_STORIES}:
            _stories(browser, folder / "stories", panels, images, wanted)
        with serving(folder / "runs", panels, studies=studies) as stage:
            if wanted & {*_DEBATES}:
                _debates(browser, stage, images, wanted)
            if wanted & {"web-scale", "web-no-answer", "web-question"}:
                _ends(browser, stage, images, wanted)
            if "web-study" in wanted:
                with tab(browser, height=1000) as page:
                    page.goto(f"{stage.url}/studies/complaints")
                    page.screenshot(path=images / "web-study.png")
        if "web-panels" in wanted:
            _panels(browser, folder, models, images)
        if "web-sign-in" in wanted:
            with serving(folder / "others", panels, "--token", "a-token-of-the-pictures") as door, tab(browser) as page:
                page.goto(door.url.partition("/?")[0])
                page.fill("#token", "not the token at all")
                page.keyboard.press("Enter")
                page.wait_for_selector("[role=alert]")
                page.screenshot(path=images / "web-sign-in.png", clip={"x": 0, "y": 0, "width": 1280, "height": 480})


def _panels_file(folder: Path, models: str) -> Path:
    """A panel of two debaters and a judge, whose debates have at most six rounds."""
    from stage import slow_panel

    path = slow_panel(folder, models)
    panels = json.loads(path.read_text(encoding="utf-8"))
    pair = panels["panels"].pop("slow")
    pair["about"] = "two debaters and a judge, three families"
    pair["set"] |= {"stop.min_rounds": 6, "stop.max_rounds": 6, "budget.tokens": 60_000}
    panels["panels"]["council"] = pair
    path.write_text(json.dumps(panels), encoding="utf-8")
    return path


def _panels(browser: Any, folder: Path, models: str, images: Path) -> None:
    """A panel that is ready, and one that lacks a key."""
    from stage import serving

    own = folder / "panels"
    own.mkdir()
    path = _panels_file(own, models)
    panels = json.loads(path.read_text(encoding="utf-8"))
    panels["panels"]["review"] = {
        "about": "three providers, for decisions that matter",
        "agents": ["gemini/gemini-2.5-flash", "anthropic/claude-sonnet-4-5", "openai/first"],
        "judges": ["mistral/judge"],
    }
    path.write_text(json.dumps(panels), encoding="utf-8")
    with serving(folder / "none", path) as stage, tab(browser, height=780) as page:
        for _ in range(20):
            page.goto(f"{stage.url}/panels")
            if "being estimated" not in page.inner_text("main"):
                break
        page.screenshot(path=images / "web-panels.png")


def _stories(browser: Any, runs: Path, panels: Path, images: Path, wanted: set[str]) -> None:
    """Debates from several fields that end agreed, split, withheld and wrong, and one that asks on the way."""
    import stories
    from stage import serving

    with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
        for name in stories.NAMES:
            elsewhere.submit(stories.write, name, runs).result()
    with serving(runs, panels) as stage:
        for name in sorted(wanted & {*_STORIES}):
            path, act = _STORIES[name]
            with tab(
                browser, phone=name.endswith("phone"), dark=name in ("web-split", "web-thread"), height=780
            ) as page:
                page.goto(stage.url + path)
                if act:
                    page.evaluate(act)
                    page.wait_for_timeout(300)
                page.screenshot(path=images / f"{name}.png")


def _study(folder: Path) -> None:
    """The study of the examples: made-up complaints, the embedded readers."""
    spec = Path(__file__).resolve().parents[1] / "examples" / "complaints.toml"
    subprocess.run([sys.executable, "-m", "maci", "study", "run", spec, "--out", folder, "--quiet"], check=True)


def _ends(browser: Any, stage: Any, images: Path, wanted: set[str]) -> None:
    """A scale, a debate that came to nothing, and one that asks."""

    def held(page: Any, name: str, case: str, until: str, **fields: str) -> None:
        if name not in wanted:
            return
        page.goto(f"{stage.url}/new?builtin={case}")
        for field, value in fields.items():
            page.fill(f"#{field}", value)
        page.click("#start")
        page.wait_for_selector(until)
        page.screenshot(path=images / f"{name}.png")

    with tab(browser) as page:
        held(page, "web-scale", "tone-budget", "#do-again")
        held(page, "web-no-answer", "dengue", "#do-again", budget_tokens="1000")
        held(page, "web-question", "dengue", "#answer-form", questions="2")


def _debates(browser: Any, stage: Any, images: Path, wanted: set[str]) -> None:
    def take(page: Any, name: str) -> None:
        if name in wanted:
            page.screenshot(path=images / f"{name}.png")

    with tab(browser) as page:
        page.goto(f"{stage.url}/new")
        take(page, "web-new")
        done = [_finished(page, stage, case) for case in ("dengue", "hepatitis")]
        page.set_viewport_size({"width": 1280, "height": 1180})  # down to the arguments
        live = _bridge(page, stage)
        page.wait_for_selector("#p-round-3 .argument")
        take(page, "web-live")
        page.set_viewport_size({"width": 1280, "height": 900})
        for name, phone in (("web-live-phone", True), ("web-live-dark", False)):
            with tab(browser, phone=phone, dark=True, height=1050) as other:
                other.goto(live)
                other.wait_for_selector("#p-round-3 details.round")
                take(other, name)
        page.click("#do-stop")
        page.wait_for_selector("#p-state >> text=finished")
        page.goto(done[0])
        take(page, "web-finished")
        ids = [address.rpartition("/")[2] for address in done]
        page.goto(f"{stage.url}/compare?a={ids[0]}&b={ids[1]}")
        take(page, "web-compare")
        page.goto(stage.url)
        take(page, "web-home")


def _finished(page: Any, stage: Any, case: str) -> str:
    page.goto(f"{stage.url}/new?builtin={case}")
    page.click("#start")
    page.wait_for_selector("#p-state >> text=finished")
    return str(page.url)


def _bridge(page: Any, stage: Any) -> str:
    page.goto(f"{stage.url}/new")
    page.fill("#question", "Is the old bridge over the mill stream safe for lorries of 40 tonnes?")
    page.fill("#outcomes", "safe\nunsafe\nsafe with a speed limit")
    page.fill(
        "#evidence",
        "Two bolts are cracked, which is unsafe.\n\nThe bridge is safe for cars.\n\nThe south pier moved by 2 mm.",
    )
    page.select_option("#panel", "council")
    page.click("#start")
    page.wait_for_url("**/debates/*")
    return str(page.url)
