"""The web app in a real Chromium: start, watch, steer, stop, read; two tabs, broken lines, the keyboard, no scripts."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from maci.controller.inputs import Intervened
from maci.record.replay import replay
from maci.record.transcript import read
from stage import Stage, events_of, log_numbers, serving, start, stop

pytestmark = pytest.mark.system

TURNED = re.compile(r"The dials (will be set when the next round begins|were set for round \d+)")
"""What the page says of dials turned by hand. A paused debate still takes in what is under way, so that the next round may have
begun in the meantime: both are right."""


def test_start_watch_turn_a_dial_stop_and_read_the_report(page: Any, stage: Stage) -> None:
    address = start(page, stage, "Is the first bridge safe?")
    page.wait_for_selector("#p-round-1 details.round")  # nobody loaded the page again
    page.wait_for_selector("#p-dials [data-cl]")
    page.click("#do-pause")
    page.wait_for_selector("#p-state >> text=paused")
    page.locator("#cl-value").fill("0.3")
    assert page.is_checked("#cl-on")  # moving a dial ticks it
    page.fill("#by", "Ada Lovelace")
    page.click("#do-dials")
    expect(page.locator("#notice")).to_have_text(TURNED)
    page.click("#do-go")
    page.wait_for_selector("#p-state >> text=under way")
    page.wait_for_selector("#p-dials >> text=set by hand")
    stop(page)
    events = events_of(stage, address)
    assert log_numbers(page) == list(range(1, len(events) + 1))
    hands = [event for event in events if isinstance(event, Intervened)]
    assert Intervened(cl=0.3, by="Ada Lovelace", hold=True) in hands and hands[-1].stop
    assert any(event.type == "dialled" and event.by_hand and event.dials.cl == 0.3 for event in events)
    assert replay(events).complete
    page.click("#exports summary")
    page.click("#controls >> text=Report")
    page.wait_for_selector("h2:has-text('Audit')")
    assert "Ada Lovelace" in page.content()


def test_a_page_loaded_again_in_mid_debate_and_a_second_tab_miss_nothing(page: Any, stage: Stage) -> None:
    address = start(page, stage, "Is the second bridge safe?")
    page.wait_for_selector("#p-round-1 details.round")
    other = page.context.new_page()
    other.goto(address)
    page.reload()
    page.wait_for_selector("#p-round-2 details.round")
    other.wait_for_selector("#p-round-2 details.round")
    other.click("#do-stop")  # the other tab stops it, this one is told
    page.wait_for_selector("#p-state >> text=finished")
    count = len(events_of(stage, address))
    for tab in (page, other):
        tab.wait_for_selector("#controls >> text=Export")
        assert log_numbers(tab) == list(range(1, count + 1))


def test_a_server_that_dies_in_mid_debate_loses_nothing(page: Any, panels: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with serving(runs, panels) as first:
        address = start(page, first, "Is the third bridge safe?", rounds=3)
        page.wait_for_selector("#p-round-1 details.round")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(30)
    id, port = address.rpartition("/")[2], int(address.split(":")[2].split("/")[0])
    before = read(runs / id / "transcript.jsonl").events
    page.goto(
        "about:blank"
    )  # the page of the debate would load itself again once a server is there, in the middle of the next step
    with serving(runs, panels, port=port) as second:
        page.goto(second.url)
        page.click("button:has-text('Resume')")
        page.wait_for_selector("#p-state >> text=finished")
    after = read(runs / id / "transcript.jsonl").events
    assert after[: len(before)] == before and replay(after).complete


def test_a_viewer_whose_connection_breaks_goes_on_where_it_was(page: Any, stage: Stage) -> None:
    address = start(page, stage, "Is the fourth bridge safe?")
    page.wait_for_selector("#p-round-1 details.round")
    page.context.set_offline(True)
    page.wait_for_timeout(1500)
    page.context.set_offline(False)
    page.wait_for_selector("#p-round-3 details.round")
    stop(page)
    assert log_numbers(page) == list(range(1, len(events_of(stage, address)) + 1))


def test_everything_can_be_done_with_the_keyboard(page: Any, stage: Stage) -> None:
    def to(target: str) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()") == target:
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline != "none", f"{target} has the focus and does not show it"
                return
        raise AssertionError(f"the focus never came to {target}")

    page.goto(stage.url)
    to("New debate")
    page.keyboard.press("Enter")
    page.wait_for_selector("#question")
    to("question")
    page.keyboard.type("Is the keyboard enough?")
    to("outcomes")
    page.keyboard.type("safe, unsafe")
    to("evidence")
    page.keyboard.type("It is safe. ")
    to("panel")
    page.keyboard.type("slow")
    to("start")
    page.keyboard.press("Enter")
    page.wait_for_url("**/debates/*")
    page.wait_for_selector("#p-dials [data-cl]")
    to("do-pause")
    page.keyboard.press("Enter")
    page.wait_for_selector("#p-state >> text=paused")
    to("cl-value")
    page.keyboard.press("ArrowLeft")
    assert page.is_checked("#cl-on")
    to("do-dials")
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_have_text(TURNED)
    to("do-stop")
    page.keyboard.press("Enter")
    page.wait_for_selector("#p-state >> text=finished")


def test_what_somebody_types_survives_updates(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the fifth bridge safe?")
    page.wait_for_selector("#p-round-1 details.round")
    page.focus("#by")
    page.keyboard.type("Bo")
    page.wait_for_selector("#p-round-2 details.round")
    page.keyboard.type("b")
    assert page.input_value("#by") == "Bob"  # nothing took the focus or the text away
    stop(page)


def test_who_reads_an_earlier_round_keeps_it_and_is_told_of_the_newest(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the eighth bridge safe?")
    expect(page.locator("#round-1")).to_have_attribute("open", "")  # who looks at the newest follows it
    expect(page.locator("#round-0")).not_to_have_attribute("open", "")
    page.locator(".stepper input").fill("0")
    expect(page.locator("#newest")).to_have_text(re.compile(r"Round \d+ is under way →"))
    expect(page.locator("#newest")).to_have_text(re.compile(r"Round ([3-9]|\d\d) is under way →"))
    expect(page.locator("#rounds details.round[open]")).to_have_attribute("id", "round-0")
    expect(page.locator(".stepper input")).to_have_value("0")
    page.click("#do-pause")
    page.wait_for_selector("#p-state >> text=paused")
    expect(page.locator("#rounds details.round[open]")).to_have_attribute(
        "id", "round-0"
    )  # a page that was loaded again
    page.click("#newest a")
    expect(page.locator("#newest")).to_be_hidden()
    spoken = page.locator("#rounds details.round:has(.argument)").last  # a round without a turn is not opened yet
    expect(spoken).to_have_attribute("open", "")
    expect(page.locator("#rounds details.round[open]")).to_have_count(1)
    expect(page.locator(".stepper output")).not_to_contain_text("openings")
    stop(page)


def test_screen_readers_are_told_of_rounds_politely(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the sixth bridge safe?")
    assert page.get_attribute("#p-said", "aria-live") == "polite"
    page.wait_for_selector("#p-said:has-text('Round 1 closed')", state="attached")
    stop(page)
    page.wait_for_selector("#p-said:has-text('The debate is over')", state="attached")


def test_without_scripts_a_debate_is_started_watched_and_stopped(browser: Any, stage: Stage) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{stage.url}/new")
    page.fill("#question", "Is it safe without scripts?")
    page.fill("#outcomes", "safe, unsafe")
    page.fill("#evidence", "It is safe.")
    page.select_option("#panel", "slow")
    page.click("#start")
    page.wait_for_selector("#p-round-1 details.round")  # the page loads itself again
    page.check("#cl-on")
    page.click("#do-dials")
    expect(page.locator("body")).to_contain_text(TURNED)
    page.click("#do-stop")
    expect(page.locator("#p-state")).to_contain_text("finished")
    context.close()


def test_a_debate_asks_its_reader_and_goes_on_with_the_answer(page: Any, stage: Stage) -> None:
    page.goto(f"{stage.url}/new?builtin=dengue")
    page.fill("#questions", "1")
    page.click("#start")
    page.wait_for_selector("#answer-form")  # the page shows it by itself
    assert page.inner_text("#p-question").startswith("It asks: ")
    page.fill("#answer", "Yes, since Monday")
    page.click("#do-answer")
    page.wait_for_selector("#p-state >> text=finished")
    acquired = [event for event in events_of(stage, page.url.partition("?")[0]) if event.type == "acquired"]
    assert [event.text for event in acquired] == ["Yes, since Monday"]
