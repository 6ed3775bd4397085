"""Reports as files in a real Chromium: without a network, without scripts, on paper, on a phone, and for assistive technology."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from helpers import arg, play, script, seat, settings, turn
from maci.evidence.span import Citation
from maci.record.transcript import read
from maci.story import Story
from maci.story.report.page import Entry, index_html, to_html
from maci.story.report.sources import Provenance
from stage import check

pytestmark = pytest.mark.system
FROZEN = Path(__file__).parents[1] / "transcripts" / "format-6.jsonl"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a finished debate and of one under way, and their index."""
    folder = tmp_path_factory.mktemp("reports")
    events = read(FROZEN).events
    stories = {"finished": Story.of(events), "under way": Story.of(events[:40])}
    source = Provenance(unfinished="it ends in round 1", resume="maci debate --resume --out run")
    pages = {name: to_html(story, source if story.result is None else None) for name, story in stories.items()}
    entries = [Entry(name=name, link=f"./{name}.html", story=story) for name, story in stories.items()]
    pages["index"] = index_html([*entries, Entry(name="broken", error="the chain is broken here")], "Debates")
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_report_has_a_serious_fault_or_scrolls_sideways(
    browser: Any, files: dict[str, Path], scheme: str, width: int
):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    for name, file in files.items():
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        check(page, name)
    context.close()


def test_a_report_asks_for_nothing(page: Any, files: dict[str, Path]):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(files["finished"].as_uri())
    page.wait_for_timeout(200)
    assert asked == [files["finished"].as_uri()]


def test_a_link_to_an_argument_opens_its_round(page: Any, files: dict[str, Path]):
    page.goto(files["finished"].as_uri())
    link = page.locator("article.span a").first
    target = link.get_attribute("href")
    page.evaluate("document.querySelectorAll('details.round').forEach(d => { d.open = false; })")
    assert not page.locator(target).is_visible()
    link.click()
    page.locator(target).wait_for(state="visible")


def test_the_stepper_shows_one_round_at_a_time_and_then_all(page: Any, files: dict[str, Path]):
    page.goto(files["finished"].as_uri())
    rounds = page.locator("details.round").count()
    page.get_by_role("button", name="Next ›").click()
    expect(page.locator("details.round[open]")).to_have_count(1)
    assert page.locator("details.round[open]").evaluate_all("all => all.map(d => d.id)") == ["round-1"]
    page.get_by_role("button", name="All").click()
    expect(page.locator("details.round[open]")).to_have_count(rounds)


def test_without_scripts_everything_can_be_read_and_nothing_dead_is_shown(browser: Any, files: dict[str, Path]):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["finished"].as_uri())
    assert not page.locator(".stepper").is_visible() and not page.locator("button.theme").is_visible()
    assert not page.locator(".thread-tools").is_visible()
    page.locator("#a-1A1").wait_for(state="visible")
    page.locator("#round-1 > summary").click()
    page.locator("#a-1A1").wait_for(state="hidden")
    context.close()


def test_on_paper_every_round_is_open_and_the_page_is_light(browser: Any, files: dict[str, Path]):
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(files["finished"].as_uri())
    page.emulate_media(media="print")
    assert page.locator("#a-1A1").is_visible()
    assert not page.locator("nav").is_visible()
    context.close()


def test_the_quote_is_marked_in_its_span(page: Any, tmp_path: Path):
    quoted = arg("Dengue.", Citation("e1", "pain behind the eyes"), outcome="dengue")

    def happened() -> list[Any]:
        agents = [script("a", turn(0.8, 0.1, 0.1, args=[quoted])), script("b", turn(0.7, 0.2, 0.1))]
        return play(seat(agents), settings("max_rounds=2"))

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
        events = elsewhere.submit(happened).result()
    file = tmp_path / "report.html"
    file.write_text(to_html(Story.of(events)), encoding="utf-8")
    page.goto(file.as_uri())
    assert page.locator("article.span mark").all_inner_texts() == ["pain behind the eyes"]
