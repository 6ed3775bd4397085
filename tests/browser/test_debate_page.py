"""The page of a debate in a real Chromium: one look, the thread, the gate, play-back, calls, comparing from the list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import stories
from stage import Stage, check, serving, start, stop

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def shelf(panels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server over four scripted debates: agreed, split, withheld, wrong."""
    runs = tmp_path_factory.mktemp("stories")
    with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
        for name in stories.NAMES:
            elsewhere.submit(stories.write, name, runs).result()
    with serving(runs, panels) as running:
        yield running


FIRST = {
    "outage": ("What caused the checkout outage", "expired certificate", "91 %", "3 of 3 agree"),
    "bridge": ("What should the council do", "weight limit of 7.5 t", "55 %", "split 2–1", "The agents did not agree."),
    "painting": ("Who painted the panel", "Answer withheld", "Best guess: his workshop, 51 %", "2 of 2 agree"),
    "recall": ("Which part of the production", "electrolyte filling", "79 %", "3 of 3 agree", "This is wrong."),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_screen_tells_the_story(page: Any, shelf: Stage, name: str) -> None:
    page.goto(f"{shelf.url}/debates/{name}")
    text = page.inner_text("main").replace("\N{NO-BREAK SPACE}", " ")
    for words in (*FIRST[name], "Why", "Against", "What would change it"):
        assert words in text
    for part in (".look .answer", ".whole", ".course", ".three"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] < 900  # seen without scrolling
    assert page.locator(f".look.tone-{'good' if name in ('outage', 'recall') else 'warn'}").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_every_story_is_free_of_serious_faults_at_every_width(
    browser: Any, shelf: Stage, scheme: str, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    for path in (
        "/debates/bridge",
        "/debates/painting",
        "/debates/bridge/replay?tau_crit=0.7",
        "/debates/bridge/calls",
        "/",
        "/new",
        "/panels",
    ):
        page.goto(f"{shelf.url}{path}")
        check(page, f"{path} {scheme} {width}")
    context.close()


def test_the_thread_is_filtered_searched_and_walked_with_the_keyboard(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/bridge")
    shown = page.locator(".argument:not([hidden])")
    page.select_option(".thread-tools [name=fate]", "rejected")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("Not admitted: the judges graded it too low (0.09, needs 0.30).")
    page.select_option(".thread-tools [name=fate]", "")
    page.select_option(".thread-tools [name=agent]", "Engineer")
    assert set(shown.evaluate_all("all => all.map(card => card.dataset.agent)")) == {"Engineer"}
    page.select_option(".thread-tools [name=agent]", "")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("/")
    page.keyboard.type("school")
    expect(page.locator(".thread-tools output")).to_contain_text("of")
    assert all("school" in text for text in shown.all_inner_texts())
    page.keyboard.press("Escape")
    expect(shown).to_have_count(page.locator(".argument").count())
    page.locator("h1").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "a-0B1"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == "a-0A1"
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_replies_are_lines_and_both_ends_light_up(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/bridge")
    expect(page.locator(".replies path")).to_have_count(4)  # 2A1 → 1B1, 2B1 → 1A1, 2C1 → 1B1 and 1A1; round 3 is folded
    page.hover("#a-2A1 .claim")
    lit = page.locator(".argument.lit")
    expect(lit).to_have_count(2)
    assert set(lit.evaluate_all("all => all.map(card => card.id)")) == {"a-2A1", "a-1B1"}
    expect(page.locator(".replies path.lit")).to_have_count(1)


def test_evidence_opens_with_the_cited_words_marked(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/outage")
    page.click("#a-2A1 .chip summary")
    expect(page.locator("#a-2A1 mark")).to_have_text("rolled back at 09:20, and payments went on failing")


def test_dragging_the_gate_flips_what_replay_flips(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/bridge/replay")
    grip = page.locator(".gate [data-dial=tau_crit] .tau-grip")
    box, plot = grip.bounding_box(), page.locator(".gate").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(plot["x"] + plot["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] / 2, middle - 120, steps=6)
    expect(page.locator("#flips")).to_contain_text("not admitted any more")  # while it is dragged
    expect(page.locator(".dot-arg.flips").first).to_be_visible()
    for _ in range(60):
        value = float(page.get_attribute(".gate [data-dial=tau_crit]", "aria-valuenow"))
        if value >= 0.70:
            break
        middle -= 3
        page.mouse.move(plot["x"] + plot["width"] / 2, middle - 120)
    page.mouse.up()
    value = page.input_value("#tau_crit")
    expect(page.locator("#whatif-result code")).to_contain_text(f"tau_crit={float(value):.2f}")
    call = [
        sys.executable,
        "-c",
        "from maci.cli import main; main()",
        "replay",
        str(shelf.runs / "bridge"),
        "--set",
        f"tau_crit={value}",
        "--json",
    ]
    found = json.loads(subprocess.run(call, check=True, capture_output=True, text=True, env=dict(os.environ)).stdout)
    assert found["flips"]["rejected"] and found["flips"]["admitted"] == []
    expect(page.locator("#flips")).to_have_text(
        f"Flips: not admitted any more: {', '.join(found['flips']['rejected'])}."
    )
    assert (
        page.locator(".dot-arg.flips").evaluate_all("all => all.map(dot => dot.dataset.id)")
        == found["flips"]["rejected"]
    )


def test_play_back_reveals_one_argument_after_another(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/recall")
    page.click(".play[data-speed='4']")
    expect(page.locator(".thread.playing")).to_have_count(1)
    assert page.locator(".argument.played").count() < page.locator(".argument").count()
    expect(page.locator(".thread.playing")).to_have_count(0)  # it ends, and everything is there
    expect(page.locator(".argument").last).to_be_visible()


def test_the_instrument_follows_the_round_in_view(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/bridge")
    page.evaluate("document.querySelector('#round-1').scrollIntoView()")
    expect(page.locator(".at-round:not([hidden])")).to_have_attribute("data-round", "1")
    page.evaluate("document.querySelector('#round-2').scrollIntoView()")
    expect(page.locator(".at-round:not([hidden])")).to_have_attribute("data-round", "2")


def test_two_debates_are_ticked_and_compared(page: Any, shelf: Stage) -> None:
    page.goto(shelf.url)
    page.check("[name=pick][value=outage]")
    page.check("[name=pick][value=recall]")
    page.click("text=Compare the two ticked")
    expect(page.locator("main")).to_contain_text("expired certificate")
    expect(page.locator("main")).to_contain_text("electrolyte filling")
    page.goto(f"{shelf.url}/?only=wrong")
    assert page.locator("table.runs tbody tr").count() == 1


def test_a_debate_gets_a_name_and_tags_and_is_found_by_them(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/painting")
    page.click("#label summary")
    page.fill("#label-name", "The disputed panel")
    page.fill("#label-tags", "auction, lot 214")
    page.click("#do-label")
    expect(page.locator("#notice")).to_have_text("The name and tags were kept.")
    page.goto(shelf.url)
    page.click("text=#auction")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)
    expect(page.locator("table.runs tbody")).to_contain_text("The disputed panel")
    page.fill("#q", "disputed zeppelin")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Nothing fits.")


def test_the_gate_of_a_live_debate_is_dragged_and_set_without_a_reload(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the bridge safe to drag?")
    shown = "#p-dials .at-round:not([hidden])"
    page.wait_for_selector(f"{shown} .gate")
    page.evaluate("window.sameDocument = true")
    page.click("#do-pause")
    expect(page.locator("#do-go")).to_be_visible()
    grip = page.locator(f"{shown} [data-dial=tau_crit] .tau-grip")
    grip.scroll_into_view_if_needed()
    box, plot = grip.bounding_box(), page.locator(f"{shown} .gate").bounding_box()
    x = plot["x"] + plot["width"] / 2
    page.mouse.move(x, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(x, box["y"] - 30, steps=5)
    page.mouse.up()
    value = page.input_value("#tau_crit-value")
    assert float(value) > 0.3 and page.is_checked("#tau_crit-on") and not page.is_checked("#cl-on")
    page.locator("#cl-value").fill("0.9")
    expect(page.locator(f"{shown} .told")).to_contain_text("Be highly confrontational.")
    page.fill("#by", "Ana")
    page.click("#do-dials")
    expect(page.locator("#dial-form .done")).to_contain_text("The dials will be set")
    page.click("#do-go")
    expect(page.locator("#p-past")).to_contain_text("Ana")
    assert page.evaluate("window.sameDocument") is True
    stop(page)


def test_without_scripts_the_story_is_read(browser: Any, shelf: Stage) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{shelf.url}/debates/bridge")
    assert not page.locator(".thread-tools").is_visible()
    page.locator("#a-1A1").wait_for(state="visible")
    page.click("#exports summary")
    page.click("text=Report")
    assert "Mill Bridge" in page.inner_text("h1")
    context.close()
