"""Makes the pictures of docs/images: a debate of the readers, its report, the live terminal, the web page. Needs Chromium.

python docs/screenshots.py [NAME…]
"""

from __future__ import annotations

import asyncio
import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import web_pictures
from rich.console import Console

from maci.cases.case import load_case
from maci.cli.live import Look, frame
from maci.cli.terminal import Lines
from maci.cli.view import DebateView
from maci.config import load
from maci.debating.loop import debate
from maci.evidence.encode import load_encoder
from maci.record.transcript import Transcript, read
from maci.seating.table import opening
from maci.seating.tables import Tables
from maci.story import Story
from maci.story.report.page import to_html
from maci.story.report.sources import Provenance

IMAGES = Path(__file__).parent / "images"
LARGEST = 200_000
"""Bytes of a picture."""


def recorded(folder: Path) -> Path:
    """A debate of the embedded readers: the same every time."""
    path, case = folder / "dengue" / "transcript.jsonl", load_case("dengue")
    table = Tables("readers", load_encoder("wordllama")).table(case)

    async def play() -> None:
        with Transcript.create(path) as record:
            async for _ in debate(opening(case, table, load()), table, record=record):
                pass

    asyncio.run(play())
    return path


def page_of(path: Path) -> Path:
    """Its report beside it."""
    recording = read(path)
    page = path.with_name("report.html")
    page.write_text(
        to_html(Story.of(recording.events), Provenance.of(recording, Path("dengue/transcript.jsonl"))), encoding="utf-8"
    )
    return page


def report(browser: Any, path: Path, name: str, *, width: int, height: int, at: str = "") -> None:
    """One view of the report."""
    tab = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    tab.goto(page_of(path).as_uri())
    if at:
        tab.evaluate(f"document.querySelector('{at}').scrollIntoView()")
    tab.screenshot(path=IMAGES / f"{name}.png")
    tab.close()


def terminal(browser: Any, path: Path, name: str) -> None:
    """The terminal in the middle of a debate: what is printed above, the live area below."""
    events = read(path).events
    end = next(i for i, event in enumerate(events) if event.type == "turn" and event.round == 2) + 2
    screen = Console(record=True, width=92, height=44, file=io.StringIO(), force_terminal=True)
    view = DebateView(lines=Lines(console=screen))
    for event in events[:end]:
        if (event.type not in ("opened",) and getattr(event, "round", 0) in (0, 2)) or event.type == "opened":
            view.show(event)
    screen.print("─" * 91, style="dim")
    for line in frame(Story.of(events[:end]), Look(width=92, height=40, elapsed=41, left=95)):
        screen.print(line)
    tab = browser.new_page(viewport={"width": 1140, "height": 1200}, device_scale_factor=0.75)
    tab.set_content(screen.export_svg(title="maci debate dengue"))
    tab.locator("svg").screenshot(path=IMAGES / f"{name}.png")
    tab.close()


PICTURES: dict[str, Callable[[Any, Path], None]] = {
    "report": lambda browser, path: report(browser, path, "report", width=1100, height=1000),
    "report-course": lambda browser, path: report(browser, path, "report-course", width=1100, height=900, at="#course"),
    "terminal": lambda browser, path: terminal(browser, path, "terminal"),
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    wanted = sys.argv[1:] or [*PICTURES, *web_pictures.NAMES]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or set(wanted) - {*PICTURES, *web_pictures.NAMES}:
        sys.exit(
            "no Chromium: tests/system/install.sh"
            if chromium is None
            else f"choose from {', '.join([*PICTURES, *web_pictures.NAMES])}"
        )
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = recorded(Path(folder))
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            if web := {*wanted} & {*web_pictures.NAMES}:
                web_pictures.make(browser, IMAGES, web)
            for name in wanted:
                if name in PICTURES:
                    PICTURES[name](browser, path)
                size = (IMAGES / f"{name}.png").stat().st_size
                print(f"docs/images/{name}.png: {size:,} bytes" + (", too large" if size > LARGEST else ""))
            browser.close()


if __name__ == "__main__":
    main()
