"""The page of a debate in a real Chromium: one look, the thread, the gate, play-back, calls, comparing from the list."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import stories
from maci.story import Story
from maci.web.guard import Visit
from maci.web.pages.debate import debate_page
from maci.web.pages.parts import panels
from stage import Stage, check, serving, start, stop, weigh

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def shelf(panels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A server over five scripted debates: agreed, split, withheld, wrong, asked."""
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
    "recall": (
        "Which part of the production",
        "electrolyte filling",
        "79 %",
        "3 of 3 agree",
        "This is wrong: the known answer is separator lot 77.",
    ),
    "engine": ("Why does the engine", "crankshaft sensor", "92 %", "2 of 2 agree", "Fuel pressure stays at 3.8 bar"),
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
    tone = {"bridge": "warn", "painting": "warn", "recall": "bad", "engine": "agreed"}.get(
        name, "good"
    )  # none proves engine's
    assert page.locator(f".look.tone-{tone}").count() == 1
    tone = "agreed" if tone == "good" else tone  # that all agree does not prove it
    assert page.locator(f"#p-state .tag.{tone}").count() == 1  # the tag beside the tabs says nothing else


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
        "/debates/engine",
        "/debates/engine/report.html",
        "/compare?a=engine&b=recall",
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
    expect(page.locator("#a-0B1")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#a-0A1")).to_be_focused()
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


def test_what_was_found_out_is_an_event_in_the_thread_and_a_mark_on_the_chart(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/engine")
    found = page.locator("#round-3 .event")
    expect(found).to_contain_text("Found out before this round")
    expect(found).to_contain_text("What is the sensor signal when warm? Answer: ")
    assert page.locator(".trajectory .sign.found").count() == 2


NARROW, WIDE = 390, 1920


@pytest.mark.parametrize("width", [NARROW, 1000, 1280, WIDE])
def test_the_chart_takes_three_quarters_of_its_card_and_no_label_is_cut(browser: Any, shelf: Stage, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    for name in ("bridge", "recall", "engine"):
        page.goto(f"{shelf.url}/debates/{name}")
        card = page.locator("figure.plot").first.bounding_box()
        lines = page.locator(".trajectory .grid").first.bounding_box()
        assert lines["width"] >= 0.7 * card["width"], (name, width)  # the card has air at its sides
        labels = page.locator(".trajectory .end:visible")
        assert labels.count() or page.locator("figure.plot > .key").is_visible()
        for label in labels.all():
            box = label.bounding_box()
            assert box["x"] + box["width"] <= card["x"] + card["width"], (name, width, label.inner_text())
            assert "…" not in label.text_content()
    context.close()


def test_the_menu_of_exports_stays_on_the_screen(browser: Any, shelf: Stage) -> None:
    for width in (320, NARROW, 1280):
        context = browser.new_context(viewport={"width": width, "height": 844})
        page = context.new_page()
        page.goto(f"{shelf.url}/debates/bridge")
        page.click("#exports summary")
        box = page.locator("#exports ul").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        assert page.locator("#exports li").count() == 4
        context.close()


def test_rejected_cards_are_dimmed_and_grave_warnings_never_folded(page: Any, shelf: Stage) -> None:
    page.goto(f"{shelf.url}/debates/bridge")
    faint = page.locator(".argument.rejected .claim").first.evaluate("claim => +getComputedStyle(claim).opacity")
    assert (
        0.5 < faint < 1 == page.locator(".argument.admitted .claim").first.evaluate("c => +getComputedStyle(c).opacity")
    )
    assert page.locator(".chips li").count() == 2 and page.locator("details .chips").count() == 0
    assert page.locator(".chips li").first.inner_text().endswith("The agents did not agree.")


def test_a_new_debate_starts_from_a_template_and_shows_its_price_before_it_starts(page: Any, stage: Stage) -> None:
    page.goto(f"{stage.url}/new")
    page.click("text=Rate on a scale")
    assert page.input_value("#outcomes").split() == ["-2", "-1", "0", "+1", "+2"] and page.is_checked("#scale")
    page.fill("#risk", "20")
    page.select_option("#panel", "slow")
    page.click("#estimate")
    expect(page.locator("#price")).to_contain_text("tokens, $")
    expect(page.locator("#price")).to_contain_text("Nothing was sent.")
    assert page.input_value("#panel") == "slow" and page.input_value("#risk") == "20"
    page.set_input_files("#files", [{"name": "note.txt", "mimeType": "text/plain", "buffer": b"It is fair."}])
    page.fill("#risk", "101")
    page.locator("#new").evaluate("form => { form.noValidate = true; }")  # as where no browser checks it
    page.click("#start")
    expect(page.locator("#wrong")).to_be_visible()
    expect(page.locator("#risk")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#new")).to_contain_text("note.txt (1 kB), sent before")


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
    page.evaluate("document.querySelector('#round-4').scrollIntoView()")  # folded
    expect(page.locator(".at-round:not([hidden])")).to_have_attribute("data-round", "4")


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
    for _ in range(50):  # a paused debate still takes in what is under way, which may draw the gate again in mid-drag
        box, plot = grip.bounding_box(), page.locator(f"{shown} .gate").bounding_box()
        if box is not None and plot is not None:
            grip.scroll_into_view_if_needed()
            box, plot = grip.bounding_box() or box, page.locator(f"{shown} .gate").bounding_box() or plot
            x = plot["x"] + plot["width"] / 2
            page.mouse.move(x, box["y"] + box["height"] / 2)
            page.mouse.down()
            page.mouse.move(x, box["y"] - 30, steps=5)
            page.mouse.up()
            if page.is_checked("#tau_crit-on"):
                break
        page.wait_for_timeout(200)
    value = page.input_value("#tau_crit-value")
    assert float(value) > 0.3 and page.is_checked("#tau_crit-on") and not page.is_checked("#cl-on")
    page.locator("#cl-value").fill("0.9")
    expect(page.locator(f"{shown} .told")).to_contain_text("Be highly confrontational.")
    page.fill("#by", "Ana")
    page.click("#do-dials")
    expect(page.locator("#dial-form .done")).to_contain_text(re.compile(r"The dials (will be|were) set"))
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


def test_the_calls_of_a_debate_are_searched_opened_and_copied_as_curl(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the called bridge safe?")
    page.wait_for_selector("#p-round-1 .argument.judged, #p-round-2 .argument", state="attached")
    stop(page)
    page.click(".tabs >> text=Calls")
    page.locator(".find input").wait_for()
    page.wait_for_load_state()
    every = page.locator(".call").count()
    assert every > 4
    page.fill(".find input", "turn: Ada")
    expect(page.locator(".call:visible")).not_to_have_count(every)
    assert 0 < page.locator(".call:visible").count() < every
    page.locator(".call:visible > summary").first.click()
    call = page.locator(".call[open]")
    expect(call).to_have_count(1)
    expect(call).to_contain_text("tokens · limit")
    expect(call.locator("pre").first).to_contain_text('"belief"')  # the raw reply
    call.locator("summary:text-is('Prompt')").click()
    expect(call).to_contain_text("Is the called bridge safe?")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    call.locator("summary:text-is('As curl')").click()
    call.locator("button.copy").click()
    expect(call.locator("button.copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("curl ")
    page.fill(".find input", "score")
    page.locator(".call:visible > summary").first.click()
    expect(page.locator(".call[open]:visible").first).to_contain_text("evidence")


def test_a_live_debate_shows_the_moment_of_admission_the_time_passed_and_an_estimate(page: Any, stage: Stage) -> None:
    start(page, stage, "Is the watched bridge safe?")
    page.wait_for_selector("#p-round-1 .argument.open")  # said, and not judged yet
    expect(page.locator("#round-1")).to_have_attribute("open", "")
    page.wait_for_selector("#p-round-1 .argument.judged", state="attached")  # seen at the moment of its judgement
    expect(page.locator("#p-now")).to_contain_text(re.compile(r"\d+ s so far, at most about \d+ (s|min) more"))
    stop(page)


class Live:
    """A page of the bridge that is under way, and the messages that reach it, one after another."""

    def __init__(self, page: Any, url: str) -> None:
        self._messages: list[str] = []
        with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
            self._events = elsewhere.submit(stories.events_of, "bridge").result()
        self._page, self._url = page, f"{url}/debates/live"
        page.route(re.compile("/debates/live/events"), self._stream)

    def _story(self, kind: str, round: int) -> tuple[Story, int]:
        upto = next(i for i, e in enumerate(self._events) if e.type == kind and getattr(e, "round", 0) == round) + 1
        return Story.of(self._events[:upto]), upto

    def open(self, kind: str, round: int) -> None:
        """Load the page as it is after this event."""
        story, upto = self._story(kind, round)
        html = debate_page("live", story, list(self._events[:upto]), "running", Visit("session"))
        self._page.route(self._url, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        self._page.goto(self._url)

    def send(self, kind: str, round: int) -> None:
        """All parts as they are after this event, in one message."""
        story, _ = self._story(kind, round)
        parts = panels(story, "running")
        self._messages.append(
            json.dumps({name: parts[name] for name in parts if name not in ("p-state", "p-question")})
        )

    def _stream(self, route: Any) -> None:
        sent = "".join(f"event: panels\ndata: {message}\n\n" for message in self._messages)
        self._messages.clear()
        route.fulfill(body=f"retry: 50\n\n{sent}", content_type="text/event-stream")


def test_a_judged_round_stays_open_until_the_first_turn_of_the_next(page: Any, shelf: Stage) -> None:
    live = Live(page, shelf.url)
    live.open("turn", 1)
    opened = page.locator("#rounds details.round[open]")
    expect(opened).to_have_attribute("id", "round-1")
    live.send("dialled", 2)  # round 1 is judged and round 2 has begun, but nobody has spoken
    expect(page.locator("#round-1 .argument.judged").first).to_be_visible()
    expect(page.locator("#p-now")).to_contain_text("Round 2")
    expect(opened).to_have_count(1)
    expect(opened).to_have_attribute("id", "round-1")
    live.send("turn", 2)
    expect(opened).to_have_attribute("id", "round-2")
    expect(opened).to_have_count(1)


def test_of_several_rounds_that_arrive_at_once_the_last_is_opened(page: Any, shelf: Stage) -> None:
    live = Live(page, shelf.url)
    live.open("turn", 1)
    live.send("turn", 4)
    expect(page.locator("#rounds details.round")).to_have_count(5)
    opened = page.locator("#rounds details.round[open]")
    expect(opened).to_have_count(1)
    expect(opened).to_have_attribute("id", "round-4")
    expect(page.locator("#newest")).to_be_hidden()


def test_who_reads_an_earlier_round_keeps_it_when_several_arrive_at_once(page: Any, shelf: Stage) -> None:
    live = Live(page, shelf.url)
    live.open("turn", 1)
    page.locator(".stepper input").fill("0")
    live.send("turn", 4)
    expect(page.locator("#newest")).to_have_text("Round 4 is under way →")
    expect(page.locator("#rounds details.round[open]")).to_have_attribute("id", "round-0")


@pytest.mark.parametrize("dial", ["tau_crit", "tau_q"])
def test_dragging_the_gate_of_a_live_debate_marks_what_would_flip(page: Any, shelf: Stage, dial: str) -> None:
    live = Live(page, shelf.url)
    live.open("gated", 1)
    shown = "#p-dials .at-round:not([hidden])"
    grip, plot = page.locator(f"{shown} [data-dial={dial}]"), page.locator(f"{shown} .gate")
    plot.scroll_into_view_if_needed()
    line, box = grip.locator(".tau-grip").bounding_box(), plot.bounding_box()
    across = dial == "tau_q"
    start = (line["x"] + line["width"] / 2, box["y"] + box["height"] / 2)
    start = start if across else (box["x"] + box["width"] / 2, line["y"] + line["height"] / 2)
    end = (start[0] + 0.35 * box["width"], start[1]) if across else (start[0], start[1] - 0.4 * box["height"])
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    value = float(grip.get_attribute("aria-valuenow"))
    story = live._story("gated", 1)[0]
    graded = {item.id: item.admission for item in story.rounds[1].said if item.admission.crit is not None}
    reached = {id: (found.q if across else found.crit) for id, found in graded.items()}
    flips = sorted(id for id, found in graded.items() if found.admitted and reached[id] < value)
    assert flips  # the drag went far enough to tell
    marked = page.locator(f"{shown} .dot-arg.flips").evaluate_all("all => all.map(dot => dot.dataset.id)")
    assert sorted(marked) == flips  # while it is dragged
    page.mouse.up()
    expect(page.locator(f"{shown} .flips").last).to_have_text(re.compile("would not: " + ", ".join(flips)))
    assert page.is_checked(f"#{dial}-on") and float(page.input_value(f"#{dial}-value")) == value


@pytest.mark.parametrize("name", stories.NAMES)
def test_the_first_load_of_a_debate_weighs_at_most_150_kilobytes(shelf: Stage, name: str) -> None:
    found = weigh(shelf.url, f"/debates/{name}")
    assert found.compressed <= 150_000, found
