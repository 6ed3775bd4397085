"""Every page in a real Chromium: hostile text, phone and desk, light and dark, and what axe-core says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from helpers import arg, make_case, script, seat, settings, turn, write
from maci.cases.case import Document
from maci.controller.inputs import Intervened
from maci.evidence.span import Citation
from report_helpers import keep, keep_many
from stage import Stage, check, serving, start, stop

pytestmark = pytest.mark.system
OWNED = "document.documentElement.dataset.owned='yes'"
HOSTILE = f'<script>{OWNED}</script><img src=x onerror="{OWNED}">"\'&</li></details><h1>big\u202e'
TOKEN = "a-token-of-the-tests"
WIDTHS = {"phone": {"width": 390, "height": 844}, "desk": {"width": 1280, "height": 900}}


@pytest.fixture(scope="session")
def hostile(stage: Stage) -> str:
    """A finished debate in which everybody says what browsers would run."""
    labels = ("dengue", "zika", HOSTILE)
    case = make_case(
        labels, question=HOSTILE, context=HOSTILE, title=HOSTILE,
        evidence=(Document(HOSTILE, HOSTILE, "e1"), Document(HOSTILE + " fever", "x", "e4")),
    )  # fmt: skip
    said = arg(HOSTILE, Citation("e1", HOSTILE), Citation(HOSTILE), "e4", outcome=HOSTILE)
    beliefs = {"ada <b>": (0.7, 0.2, 0.1), "bob": (0.1, 0.2, 0.7)}
    agents = [script(name, turn(*p, args=(said,), labels=labels)) for name, p in beliefs.items()]
    path = stage.runs / "hostile" / "transcript.jsonl"
    with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
        hand = [Intervened(cl=0.4, by=HOSTILE)]
        elsewhere.submit(write, path, seat(agents, case=case), settings("max_rounds=2"), case, hand=hand).result()
    return f"{stage.url}/debates/hostile"


@pytest.fixture(scope="session")
def finished(browser: Any, stage: Stage) -> str:
    """A debate of the readers, over."""
    page = browser.new_page()
    page.goto(f"{stage.url}/new?builtin=dengue")
    page.click("#start")
    page.wait_for_selector("#p-state >> text=finished", timeout=90_000)
    address = str(page.url)
    page.close()
    return address


def test_hostile_text_is_shown_as_text_on_every_page(page: Any, stage: Stage, hostile: str) -> None:
    pages = (
        hostile, stage.url, f"{stage.url}/compare?a=hostile&b=hostile", f"{hostile}/replay?profile=paper", f"{hostile}/report.html",
        f"{stage.url}/?q=%3Cscript%3Ealert(1)%3C/script%3E", f"{stage.url}/debates/%3Cimg%20src=x%20onerror=alert(1)%3E",
    )  # fmt: skip
    for address in pages:
        page.goto(address)
        for folded in page.query_selector_all("details:not([open])"):
            folded.evaluate("d => { d.open = true; }")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.dataset.owned") is None, address
        assert page.query_selector_all("img, h1 h1, li h1, main script") == [], address
        assert "\u202e" not in page.content(), address
    page.goto(hostile)
    assert f"<script>{OWNED}</script>" in page.inner_text("main")


@pytest.fixture(scope="session")
def door(panels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server that asks for a token."""
    with serving(tmp_path_factory.mktemp("behind"), panels, "--token", TOKEN) as running:
        yield replace(running, url=running.url.partition("/?")[0])


@pytest.fixture(scope="session")
def study(stage: Stage) -> str:
    """A study with answers."""
    keep(stage.runs / ".studies" / "made")
    return f"{stage.url}/studies/made"


def every_page(stage: Stage, finished: str) -> Iterator[str]:
    id = finished.rpartition("/")[2]
    yield from (
        stage.url, f"{stage.url}/?q=nothing+fits+this", f"{stage.url}/new", finished, f"{stage.url}/compare",
        f"{finished}/replay?profile=paper", f"{stage.url}/compare?a={id}&b={id}", f"{stage.url}/studies", f"{stage.url}/no-such-page",
        f"{finished}/report.html", f"{finished}/replay?settings=nonsense", f"{stage.url}/debates/hostile",
    )  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_has_a_serious_fault_for_assistive_technology_or_scrolls_sideways(
    browser: Any, stage: Stage, finished: str, hostile: str, scheme: str, width: str
) -> None:
    context = browser.new_context(viewport=WIDTHS[width], color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    page = context.new_page()
    for address in every_page(stage, finished):
        page.goto(address)
        check(page, address)
    start(page, stage, f"Is it safe in the {scheme} on a {width}?")
    page.wait_for_selector("#p-round-1 details.round")
    check(page, "a debate under way")
    stop(page)  # and the page has loaded itself again
    page.goto(f"{stage.url}/new")
    page.click("#start")  # nothing was filled in
    page.wait_for_selector("[role=alert]")
    check(page, "a form with an error")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_study_and_a_question_have_no_serious_fault_and_a_way_back(
    browser: Any, stage: Stage, study: str, finished: str, scheme: str, width: str
) -> None:
    context = browser.new_context(viewport=WIDTHS[width], color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{stage.url}/studies")
    page.click("text=made")
    check(page, study)
    page.click("text=All studies")
    expect(page).to_have_url(f"{stage.url}/studies")
    page.goto(f"{finished}/report.html")
    page.click("text=Back to the debate")
    expect(page).to_have_url(finished)
    page.goto(f"{stage.url}/new?builtin=dengue")
    page.fill("#questions", "1")
    page.click("#start")
    page.wait_for_selector("#answer-form")
    page.wait_for_selector("#p-state >> text=waits for your answer")
    asked, form = page.locator("#p-question").bounding_box(), page.locator("#answer-form").bounding_box()
    assert asked["y"] + asked["height"] <= form["y"]  # one reads the question first
    check(page, "a question")
    page.click("text=Ask no more")
    page.wait_for_selector("#p-state >> text=finished")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_door_has_no_serious_fault(browser: Any, door: Stage, scheme: str, width: str) -> None:
    context = browser.new_context(viewport=WIDTHS[width], color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(door.url)
    check(page, "the door")
    page.fill("#token", "not the token at all")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]")
    check(page, "the door, shut")
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Debates')")
    context.close()


def test_dark_is_dark_and_the_button_changes_it(browser: Any, stage: Stage) -> None:
    def brightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(stage.url)
    assert brightness(page) < 150
    page.click("button.theme")
    assert brightness(page) > 600
    page.goto(f"{stage.url}/new")  # it is remembered
    page.wait_for_selector("html[data-theme=light]", state="attached")
    context.close()


def test_the_slider_steps_through_the_rounds(page: Any, finished: str) -> None:
    def unfolded() -> list[str]:
        return page.evaluate("[...document.querySelectorAll('details.round')].filter(d => d.open).map(d => d.id)")

    page.goto(finished)
    slider = page.locator(".stepper input")
    assert len(unfolded()) > 1  # what was said is there to read at once
    slider.fill("1")
    expect(page.locator("details.round[open]")).to_have_count(1)
    assert unfolded() == ["round-1"]
    slider.press("ArrowRight")
    expect(page.locator("#round-2[open]")).to_have_count(1)
    assert unfolded() == ["round-2"]


def test_a_file_that_is_too_large_is_said_beside_its_field(page: Any, stage: Stage) -> None:
    page.goto(f"{stage.url}/new")
    page.fill("#question", "Is the large file read?")
    large = {"name": "large.txt", "mimeType": "text/plain", "buffer": b"x" * (9 << 20)}
    page.set_input_files("#files", [large])
    expect(page.locator("#files-wrong")).to_contain_text("large.txt has 9.0 MB; a file may have 8.0 MB")
    page.click("#start")
    expect(page.locator("#files-wrong")).to_be_visible()  # nothing was sent
    page.set_input_files("#files", [{**large, "name": f"{i}.txt", "buffer": b"x" * (5 << 20)} for i in range(3)])
    expect(page.locator("#files-wrong")).to_contain_text("15.0 MB together")
    page.set_input_files("#files", [])
    expect(page.locator("#files-wrong")).to_be_empty()


NODES = (
    "(() => { let n = 0; const all = document.createTreeWalker(document); while (all.nextNode()) n++; return n; })()"
)


@pytest.fixture(scope="session")
def many(stage: Stage) -> str:
    """A study of thirty methods on two data sets."""
    keep_many(stage.runs / ".studies" / "many")
    return f"{stage.url}/studies/many"


def test_a_study_of_thirty_methods_is_a_short_page_whose_table_can_be_sorted(page: Any, many: str) -> None:
    page.goto(many)
    assert page.evaluate(NODES) <= 4000
    names, head = page.locator("#s0 table tbody th"), page.locator("#s0 table thead th")
    assert names.count() == 30
    assert names.first.inner_text() == "maci"  # the most accurate first
    tokens = head.filter(has_text="Tokens")
    tokens.get_by_role("button").click()
    expect(tokens).to_have_attribute("aria-sort", "descending")
    assert names.first.inner_text() == "method-27"  # the dearest
    tokens.get_by_role("button").click()
    assert names.first.inner_text() == "maci" and names.nth(1).inner_text() == "majority_vote"
    assert page.locator("#s0 svg.interval").count() == 59  # accuracy of all, the difference of all but the reference
    assert page.locator("#s0 figure text.name").count() < 5  # the frontier and the reference


def test_a_study_has_a_tab_for_each_data_set_and_its_details_come_when_they_are_opened(page: Any, many: str) -> None:
    page.goto(many)
    contents = page.locator("nav.contents")
    assert not page.locator("#s1").is_visible()
    contents.get_by_role("link", name="second", exact=True).click()
    expect(page.locator("#s1")).to_be_visible()
    expect(page.locator("#s0")).to_be_hidden()
    expect(page.locator("#s1 > .later table tbody tr")).to_have_count(30)
    expect(contents.locator("[aria-current]")).to_have_text("second")
    details = page.locator("#s1 details").filter(has_text="Main results")
    assert details.locator("table").count() == 0
    details.locator("summary").click()
    details.locator("thead button").first.wait_for()  # it can be sorted too
    page.mouse.wheel(0, 2000)
    expect(contents).to_be_in_viewport()
    page.goto(f"{many}#s0-t2")  # a link to a part opens it
    page.locator("#s0 details[open] table").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_a_large_study_has_no_serious_fault_at_any_width(browser: Any, many: str, scheme: str, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(many)
    check(page, f"{many} {width} {scheme}")
    for summary in page.locator("#s0 details > summary").all()[:4]:
        summary.click()
    check(page, f"{many} {width} {scheme}, opened")
    context.close()


def test_a_study_is_read_without_scripts(browser: Any, many: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(many)
    assert page.locator("#s0").is_visible() and page.locator("#s1").is_visible()
    assert page.locator("#s1 > .later table").is_visible()
    details = page.locator("#s1 details").filter(has_text="Main results")
    details.locator("summary").click()
    assert details.locator("table").is_visible()
    context.close()
