"""Pictures of the web page for docs/images: the real server, a real debate, a real browser.

python docs/screenshots.py web-live web-home …
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
NAMES = (
    "web-home", "web-empty", "web-new", "web-live", "web-finished", "web-compare", "web-replay", "web-error",
    "web-live-phone", "web-finished-phone", "web-live-dark",
)  # fmt: skip


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
    from stage import fake_models, serving, slow_panel

    with tempfile.TemporaryDirectory() as name, fake_models(0.9) as models:
        folder = Path(name)
        with serving(folder / "runs", slow_panel(folder, models)) as stage:
            _pictures(browser, stage, images, wanted)


def _pictures(browser: Any, stage: Any, images: Path, wanted: set[str]) -> None:
    def take(page: Any, name: str) -> None:
        if name in wanted:
            page.screenshot(path=images / f"{name}.png")

    with tab(browser) as page:
        page.goto(stage.url)
        take(page, "web-empty")
        page.goto(f"{stage.url}/studies")
        take(page, "web-studies")
        page.goto(f"{stage.url}/no-such-page")
        take(page, "web-error")
        page.goto(f"{stage.url}/new")
        take(page, "web-new")
        done = [_finished(page, stage, case) for case in ("dengue", "hepatitis")]
        live = _bridge(page, stage)
        page.wait_for_selector("#p-round-3 details.round")
        take(page, "web-live")
        for name, phone in (("web-live-phone", True), ("web-live-dark", False)):
            with tab(browser, phone=phone, dark=True) as other:
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
        page.goto(f"{done[0]}/replay?profile=paper")
        take(page, "web-replay")
        page.goto(stage.url)
        take(page, "web-home")
    with tab(browser, phone=True) as page:
        page.goto(done[0])
        take(page, "web-finished-phone")
    with tab(browser, dark=True) as page:
        page.goto(stage.url)
        take(page, "web-home-dark")


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
    page.select_option("#panel", "slow")
    page.click("#start")
    page.wait_for_url("**/debates/*")
    return str(page.url)
