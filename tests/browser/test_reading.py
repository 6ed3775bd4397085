"""Pages as people read them in a real Chromium: words in drawings large enough, what matters first on a phone, ends told apart."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from report_helpers import keep
from stage import Stage, start, stop

pytestmark = pytest.mark.system
SMALLEST = 11
"""Pixels of the letters in a drawing."""
WIDTHS = {"phone": 390, "desk": 1280}
LETTERS = """() => [...document.querySelectorAll('svg text')].filter(text => text.getClientRects().length).map(text => {
  const m = text.getScreenCTM(), size = parseFloat(getComputedStyle(text).fontSize) * Math.hypot(m.a, m.b);
  return [Math.round(100 * size) / 100, text.textContent];
})"""
OVERLAPS = """() => [...document.querySelectorAll('.beliefs svg')].flatMap(svg => {
  const places = [...svg.querySelectorAll('text')].map(t => t.getBoundingClientRect());
  const parts = [...svg.querySelectorAll('rect')].map(r => r.getBoundingClientRect());
  return places.filter(t => !parts.some(r => t.left >= r.left - 1 && t.right <= r.right + 1)).map(t => [t.left, t.right]);
})"""


@pytest.fixture
def tab(browser: Any, request: pytest.FixtureRequest) -> Any:
    """A tab of some width."""
    size = {"width": WIDTHS[request.param], "height": 900}
    context = browser.new_context(viewport=size, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def readable(page: Any, where: str) -> None:
    """No letter of a drawing is small, and none stands outside of its part of a belief's bar."""
    found = page.evaluate(LETTERS)
    assert found, f"{where}: nothing is written in its drawings"
    assert [each for each in found if each[0] < SMALLEST] == [], where
    assert page.evaluate(OVERLAPS) == [], where


def finish(page: Any, stage: Stage, case: str, **fields: str) -> str:
    """Hold a debate of the readers; its address."""
    page.goto(f"{stage.url}/new?builtin={case}")
    for name, value in fields.items():
        page.fill(f"#{name}", value)
    page.click("#start")
    page.wait_for_selector("#do-again")
    return str(page.url)


@pytest.mark.parametrize("tab", WIDTHS, indirect=True)
def test_what_is_written_in_drawings_can_be_read(tab: Any, stage: Stage) -> None:
    start(tab, stage, "Can the bridge be read?")
    tab.wait_for_selector("#p-round-2 details.round")
    readable(tab, "a debate under way")
    stop(tab)
    address = finish(tab, stage, "dengue")
    readable(tab, "a finished debate")
    tab.goto(f"{address}/report.html")
    readable(tab, "a report")
    if not (stage.runs / ".studies" / "read").is_dir():
        keep(stage.runs / ".studies" / "read")
    tab.goto(f"{stage.url}/studies/read")
    readable(tab, "a study")


def test_the_slider_of_a_debate_under_way_knows_of_new_rounds(page: Any, stage: Stage) -> None:
    start(page, stage, "Does the slider follow?")
    page.wait_for_selector("#p-round-1 details.round")
    page.wait_for_selector("#p-round-3 details.round")
    expect(page.locator(".stepper input")).to_have_attribute("max", re.compile(r"[3-9]|\d\d"))
    expect(page.locator(".stepper input")).to_have_value(re.compile(r"[3-9]|\d\d"))
    expect(page.locator(".stepper output")).to_have_text(re.compile("^Round "))
    stop(page)


@pytest.mark.parametrize("tab", ["phone"], indirect=True)
def test_on_a_phone_the_answer_comes_first_then_the_debate_then_figures(tab: Any, stage: Stage) -> None:
    finish(tab, stage, "dengue")
    heads = ("p-verdict", "h-rounds", "h-beliefs", "h-dials", "h-signals", "h-plan", "case")
    places = [tab.locator(f"#{head}").bounding_box()["y"] for head in heads]
    assert places == sorted(places)


@pytest.mark.parametrize("tab", ["phone"], indirect=True)
def test_a_wide_table_says_that_there_is_more_until_its_end_is_seen(tab: Any, stage: Stage) -> None:
    if not (stage.runs / ".studies" / "read").is_dir():
        keep(stage.runs / ".studies" / "read")
    tab.goto(f"{stage.url}/studies/read")
    box, hint = tab.locator(".scroll").first, tab.locator(".more-hint").first
    expect(box).to_contain_class("more")
    expect(hint).to_be_visible()
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    expect(box).not_to_contain_class("more")


def test_a_debate_that_came_to_nothing_is_started_again_from_its_page(page: Any, stage: Stage) -> None:
    finish(page, stage, "tone-budget", budget_tokens="10")
    assert page.inner_text("#p-state") == "no answer: out of budget"
    page.click("#do-again")
    page.wait_for_selector("#new")
    assert page.input_value("#outcomes").split() == ["-2", "-1", "0", "+1", "+2"]
    assert page.input_value("#budget_tokens") == "10"
    page.fill("#budget_tokens", "")
    page.click("#start")
    page.wait_for_selector("#p-state >> text=finished")
    assert "Word statistics cannot decide this case" in page.inner_text("#p-verdict")
