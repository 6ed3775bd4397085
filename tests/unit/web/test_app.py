"""The pages, as a visitor without a browser sees them."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import stories
from fake_house import FakeHouse
from helpers import make_case
from maci.controller.inputs import Intervened
from maci.errors import EnvironmentError_
from maci.evidence.knowledge import conditions
from maci.record.replay import replay
from maci.record.transcript import Transcript, read
from maci.seating.seating import PanelChoice
from maci.story import Story
from maci.story.result import result_of
from maci.web import Limits
from maci.web.pages.layout import STATIC, static
from maci.web.pages.panels import listed
from stage import slow_panel
from web_helpers import Browser, Held, entries, tables, visit

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</details>\u202e"


def transcript(folder: Path, id: str) -> tuple:
    return read(folder / id / "transcript.jsonl").events


def test_a_debate_is_started_watched_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> str:
        assert "No debate yet" in (await browser.get("/")).text
        id = await browser.start(settings="max_rounds=2")
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert "finished" in page and "Round 2" in page and "ada" in page
        stream = (await browser.get(f"/debates/{id}/events")).text
        seqs = [json.loads(line[6:])["seq"] for line in stream.splitlines() if line.startswith('data: {"seq"')]
        assert seqs == list(range(1, len(transcript(tmp_path, id)) + 1))
        rest = (await browser.get(f"/debates/{id}/events", headers={"last-event-id": str(len(seqs) - 2)})).text
        assert re.findall(r"^id: (\d+)$", rest, re.M) == [str(len(seqs) - 1), str(len(seqs))]
        assert id in (await browser.get("/")).text
        return id

    with tables(monkeypatch):
        id = visit(tmp_path, walk)
    assert replay(transcript(tmp_path, id)).complete


def test_dials_pause_and_stop_are_on_record_with_who_did_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(since=1)

    async def walk(browser: Browser) -> str:
        id = await browser.start(settings="max_rounds=4")
        hand = f"/debates/{id}/hand"
        said = await browser.post(hand, {"action": "dials", "cl": "0.35", "cl_on": "yes", "tau_q": "0.9", "by": "Ada"})
        assert "when the next round begins" in said.text and "do-release" in said.text
        given = await browser.post(hand, {"action": "release", "by": "Ada"})
        assert "The schedule has the dials again" in given.text and "do-release" not in given.text
        assert "No dial was ticked" in (await browser.post(hand, {"action": "dials", "cl": "0.5"})).text
        page = (await browser.post(hand, {"action": "pause", "by": "Ada"})).text
        assert ">paused<" in page and ">Resume<" in page
        page = (await browser.post(hand, {"action": "go", "by": "Ada"})).text
        assert ">under way<" in page and "Pause" in page
        assert (await browser.post(hand, {"action": "fly"})).status_code == 422
        assert (await browser.post(hand, {"action": "dials", "cl": "nan", "cl_on": "yes"})).status_code == 422
        held.gate.set()
        await asyncio.sleep(0)
        await browser.post(hand, {"action": "stop", "by": "Ada"})
        await browser.end(id)
        late = await browser.post(hand, {"action": "stop"})
        assert "It was over before" in late.text
        return id

    with tables(monkeypatch, held):
        id = visit(tmp_path, walk)
    events = transcript(tmp_path, id)
    hands = [event for event in events if isinstance(event, Intervened)]
    assert hands[0] == Intervened(cl=0.35, by="Ada", hold=True)  # the dial that was not ticked was not set
    assert hands[1] == Intervened(by="Ada", release=True)
    assert [hand.pause for hand in hands[2:4]] == [True, False]
    assert replay(events).complete


def test_a_server_that_ends_leaves_a_debate_that_the_next_one_goes_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first(browser: Browser) -> str:
        return await browser.start(settings="max_rounds=2")

    async def second(browser: Browser) -> None:
        assert "1 debate broke off" in (await browser.get("/")).text
        page = (await browser.get(f"/debates/{id}")).text
        assert "broke off" in page and ">Resume<" in page
        answer = await browser.post(f"/debates/{id}/resume", {})
        assert answer.status_code == 200
        await browser.end(id)
        assert "finished" in (await browser.get(f"/debates/{id}")).text
        assert (await browser.post(f"/debates/{id}/resume", {})).status_code == 422

    with tables(monkeypatch, Held(since=1)):
        id = visit(tmp_path, first)
    before = transcript(tmp_path, id)
    with tables(monkeypatch):
        visit(tmp_path, second)
    after = transcript(tmp_path, id)
    assert after[: len(before)] == before and replay(after).complete


def test_several_debates_run_at_once_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(since=0)

    async def walk(browser: Browser) -> None:
        first, second = await browser.start(), await browser.start()
        assert first != second
        answer = await browser.post("/debates", {"question": "And this?", "outcomes": "yes, no"})
        assert answer.status_code == 422 and "2 debates are under way" in answer.text and "And this?" in answer.text
        assert "under way" in (await browser.get("/")).text
        held.gate.set()
        await browser.end(first)
        await browser.end(second)

    with tables(monkeypatch, held):
        visit(tmp_path, walk, limits=Limits(debates=2))


def test_hostile_text_is_shown_as_text_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> None:
        id = await browser.start(question=HOSTILE, context=HOSTILE, outcomes=f"yes\nno\n{HOSTILE}", evidence=HOSTILE)
        await browser.end(id)
        pages = (
            f"/debates/{id}", "/", f"/?q={HOSTILE}", f"/compare?a={id}&b={id}", f"/debates/{id}/replay?settings={HOSTILE}",
            f"/debates/{id}/events", f"/new?question={HOSTILE}", f"/debates/{HOSTILE}",
        )  # fmt: skip
        for path in pages:
            text = (await browser.get(path)).text
            assert "<script>alert" not in text and "<img" not in text and "\u202e" not in text, path

    with tables(monkeypatch, claim=HOSTILE):
        visit(tmp_path, walk)


def test_a_price_is_told_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> None:
        fields = {
            "question": "Is it so?",
            "outcomes": "yes, no",
            "evidence": "It is so.",
            "panel": "readers",
            "estimate": "yes",
        }
        answer = await browser.post("/debates", fields)
        assert answer.status_code == 200 and 'id="price"' in answer.text and "if it ends after 2 rounds" in answer.text
        assert "Nothing was sent" in answer.text and ">Is it so?</textarea>" in answer.text
        assert entries(tmp_path) == []

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_calls_and_what_if_have_pages_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stories.write("bridge", tmp_path)

    async def walk(browser: Browser) -> None:
        calls = (await browser.get("/debates/bridge/calls")).text
        assert "No language model was asked anything" in calls and "Judge K" in calls
        page = (await browser.get("/debates/bridge/replay?tau_q=0.20&tau_crit=0.70")).text
        flips = "Flips: not admitted any more: 1C1, 2C1, 3C1, 4C1."
        assert flips in page and "--set tau_crit=0.70" in page and "tau_q=" not in page.partition("maci replay")[2][:60]
        part = (await browser.get("/debates/bridge/replay?tau_crit=0.70&part=result")).text
        assert flips in part and "<html" not in part
        assert "Nothing was changed" in (await browser.get("/debates/bridge/replay?tau_q=0.2&tau_crit=nonsense")).text

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_a_form_that_cannot_be_used_comes_back_with_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {"question": "Is it?", "outcomes": "yes, no", "settings": "tau_q = 7"})
        assert answer.status_code == 422
        assert 'role="alert"' in answer.text and "out of range" in answer.text and "Is it?" in answer.text
        assert entries(tmp_path) == []

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_what_stands_in_the_way_of_a_table_is_said_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise EnvironmentError_("the table has three legs: mend it")

    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {"question": "Is it?", "outcomes": "yes, no"})
        assert answer.status_code == 422 and "three legs" in answer.text
        await asyncio.sleep(0.05)
        assert browser.desk._running == {}
        assert entries(tmp_path) == []

    with tables(monkeypatch):
        monkeypatch.setattr("maci.seating.tables.Tables._seat", refuse)
        visit(tmp_path, walk)


def test_a_form_that_is_wrong_keeps_its_files_and_marks_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> None:
        given = {"question": "Is it?", "outcomes": "yes"}
        note = {"files": ("note.txt", b"It is so, yes.")}
        answer = await browser.post("/debates", given, files=note)
        assert answer.status_code == 422 and "note.txt (1 kB), sent before" in answer.text
        assert re.search(r'<textarea[^>]* id="outcomes"[^>]* aria-invalid="true"', answer.text)
        word = re.search(r'name="kept" value="([^"]+)"', answer.text)
        assert word is not None
        again = {"question": "Is it?", "outcomes": "yes, no", "kept": word[1], "kept_0": "yes"}
        answer = await browser.post("/debates", again)
        assert answer.status_code == 200 and "/debates/" in answer.url.path
        id = answer.url.path.rpartition("/")[2]
        await browser.end(id)
        assert [d.text for d in (await browser.desk.run(id)).story.opened.case.evidence] == ["It is so, yes."]

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_panels_are_listed_with_who_sits_what_it_costs_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = slow_panel(tmp_path, "http://127.0.0.1:9")
    panels = json.loads(path.read_text())
    panels["panels"]["far"] = {"agents": ["anthropic/claude-x", "openai/first"], "judges": []}
    path.write_text(json.dumps(panels))
    monkeypatch.setenv("MACI_PANELS", str(path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("MACI_KEYS", os.devnull)

    async def walk(browser: Browser) -> None:
        every = {panel.name: panel for panel in listed()}
        assert list(every) == ["readers", "paper", "slow", "far"]
        assert [(seat.role, seat.name, seat.family) for seat in every["slow"].seats] == [
            ("agent", "Ada", "one"),
            ("agent", "Bob", "two"),
            ("judge", "mistral/judge", "three"),
        ]
        assert every["slow"].trouble == "" and "ANTHROPIC_API_KEY" in every["far"].trouble
        assert os.devnull not in every["far"].trouble  # where the keys are is not for visitors
        prices = await browser.desk.prices.of([every["slow"], every["readers"]], patience=60)
        assert prices["readers"] == "free" and re.fullmatch(r"[\d,]+ tokens, \$[\d.]+.*", prices["slow"])
        text = (await browser.get("/panels")).text
        assert "ANTHROPIC_API_KEY" in text and prices["slow"] in text and 'href="/new?panel=slow"' in text
        assert 'href="/new?panel=far"' not in text
        assert f"two slow models, for tests · {prices['slow']}" in (await browser.get("/new")).text

    visit(tmp_path, walk)


def test_a_debate_whose_record_cannot_be_begun_lets_go_of_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = FakeHouse()
    monkeypatch.setattr("maci.seating.seating.checked_house", lambda *args, **more: house)

    async def walk(browser: Browser) -> None:
        (tmp_path / "runs").write_text("in the way")
        choice = PanelChoice(agents="openai/gpt-4o-mini,openai/gpt-4o", judges="anthropic/claude-haiku-4-5")
        with pytest.raises(EnvironmentError_, match="cannot write"):
            await browser.desk.start(make_case(), choice)
        assert house.closed and browser.desk._running == {}

    visit(tmp_path / "runs", walk)


def test_two_debates_stand_side_by_side_and_other_rules_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> None:
        a, b = await browser.start(settings="min_rounds=1\nmax_rounds=1"), await browser.start(settings="max_rounds=2")
        await browser.end(a)
        await browser.end(b)
        page = (await browser.get(f"/compare?a={a}&b={b}&round=2")).text
        assert "It was over by then" in page and "Round 2" in page
        both = (await browser.get(f"/compare?a={a}&b={b}")).text
        assert "It was over by then" not in both and 'aria-current="step">round 1<' in both  # the last that both have
        assert "all others" not in both and '<li class="c0" dir="auto">yes</li>' in both
        assert "Choose two debates" in (await browser.get("/compare")).text
        asked = (await browser.get(f"/debates/{b}/replay?settings=max_rounds%3D1%0Amin_rounds%3D1")).text
        assert "max_rounds=1" in asked and "off-policy" in asked
        assert 'id="replay-set"' in asked and ">max_rounds=1\nmin_rounds=1</textarea>" in asked
        wrong = await browser.get(f"/debates/{b}/replay?settings=nonsense")
        assert wrong.status_code == 422 and ">nonsense</textarea>" in wrong.text
        same = (await browser.get(f"/debates/{b}/replay")).text
        assert "Nothing was changed" in same and "off-policy" not in same and 'id="replay-set"' in same

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_exports_are_what_the_command_line_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> None:
        id = await browser.start(settings="max_rounds=2")
        await browser.end(id)
        result = (await browser.get(f"/debates/{id}/result.json")).json()
        assert {"answer", "distribution", "stop_reason", "rounds", "tokens", "transcript", "warnings"} <= result.keys()
        record = (await browser.get(f"/debates/{id}/transcript.jsonl")).content
        assert record == (tmp_path / id / "transcript.jsonl").read_bytes()
        asked = await browser.start(settings="max_rounds=2\ntriage.enabled=true")
        await browser.end(asked)
        result = (await browser.get(f"/debates/{asked}/result.json")).json()
        assert result == result_of(Story.of(transcript(tmp_path, asked)), Path(asked, "transcript.jsonl")).model_dump(
            mode="json"
        )
        assert result["stage"] and result["explain"]

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_a_record_that_was_edited_is_an_error_page_and_the_rest_still_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> None:
        id = await browser.start(settings="max_rounds=2")
        await browser.end(id)
        path = tmp_path / id / "transcript.jsonl"
        path.write_bytes(path.read_bytes().replace(b"Because", b"Since__"))
        page = await browser.get(f"/debates/{id}")
        assert page.status_code == 422 and "chain is broken" in page.text
        assert (await browser.get("/")).status_code == 200

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_panels_are_models_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> None:
        models = (await browser.get("/v1/models", headers={"authorization": "Bearer anything"})).json()
        assert models["data"][0]["id"] == "readers"
        messages = [{"role": "system", "content": "It rained."}, {"role": "user", "content": "Is the street wet?"}]
        asked = {"model": "readers", "messages": messages, "outcomes": ["yes", "no"]}
        answer = (await browser.client.post("/v1/chat/completions", json=asked)).json()
        said = answer["choices"][0]["message"]["content"]
        assert said.startswith(answer["maci"]["answer"])
        assert sum(answer["maci"]["distribution"].values()) == pytest.approx(1)
        streamed = (await browser.client.post("/v1/chat/completions", json={**asked, "stream": True})).text
        parts = [line[6:] for line in streamed.splitlines() if line.startswith("data: ")]
        assert parts[-1] == "[DONE]" and json.loads(parts[0])["choices"][0]["delta"]["content"].startswith(
            ("yes", "no")
        )
        wrong = await browser.client.post("/v1/chat/completions", json={**asked, "model": "nobody"})
        assert wrong.status_code == 404 and wrong.json()["error"]["code"] == "model_not_found"
        assert (await browser.client.post("/v1/chat/completions", json={"messages": []})).status_code == 400

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_a_debate_without_an_answer_is_no_success_and_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> str:
        id = await browser.start(budget_tokens="1", panel="readers", evidence="yes it is\n\nno it is not")
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert '<span class="tag bad">no answer: out of budget</span>' in page
        assert '<span class="tag bad">no answer: out of budget</span>' in (await browser.get("/")).text
        assert f'href="/new?from={id}"' in page
        form = (await browser.get(f"/new?from={id}")).text
        assert ">Is it so?</textarea>" in form and ">yes\nno</textarea>" in form
        assert 'name="budget_tokens" id="budget_tokens" value="1"' in form and f'name="from" value="{id}"' in form
        return id

    id = visit(tmp_path, walk)
    assert transcript(tmp_path, id)[-1].answer is None


def test_the_page_has_the_minority_report_and_the_known_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> None:
        case = b"question: Is it so?\noutcomes: ['yes', 'no']\ngold: 'no'\n"
        form = {"word": await browser.word(), "settings": "max_rounds=2"}
        answer = await browser.client.post("/debates", data=form, files={"case_file": ("case.yaml", case)})
        id = answer.url.path.rpartition("/")[2]
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert ": the known answer is <bdi>no</bdi>." in page and "This is wrong" in page
        assert "Minority report: 1 agent of 2 would answer otherwise" in page

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_a_question_while_it_is_paused_keeps_its_form(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {"builtin": "dengue", "panel": "readers", "questions": "1"})
        id = answer.url.path.rpartition("/")[2]
        run = browser.desk._running[id]
        async with asyncio.timeout(60):
            while run.asking is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        page = (await browser.post(f"/debates/{id}/hand", {"action": "pause"})).text
        assert "It asks: " in page and 'id="answer-form"' in page and 'id="do-go"' in page
        await browser.post(f"/debates/{id}/answer", {"quick": "stop"})
        await browser.post(f"/debates/{id}/hand", {"action": "go"})
        await browser.end(id)
        assert run.finished is not None

    visit(tmp_path, walk)


def test_a_question_without_outcomes_says_what_the_readers_choose_from(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        question = "Which disease brings fever and pain behind the eyes?"
        id = await browser.start(question=question, outcomes="", settings="max_rounds=2", panel="readers")
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert f"among the {len(conditions())} conditions" in page and "start again with outcomes of your own" in page

    visit(tmp_path, walk)


MATCH = "readers compare words and do not reason"


def test_readers_on_the_page_say_that_they_match_words_and_withhold_what_they_cannot_decide(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        van = {
            "question": "Which van?",
            "outcomes": "Alba, Brix",
            "evidence": "Alba carries 900 kg.\n\nBrix has a radio.",
        }
        id = await browser.start(**van, panel="readers", settings="max_rounds=2")
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert "Word statistics cannot decide this case (2 texts for 2 outcomes" in page and "Answer withheld" in page
        assert MATCH in page and "Best guess" not in page
        assert "withheld" in (await browser.get("/")).text
        id = await browser.start(**van, panel="readers", settings="max_rounds=2\nanswer.force=true")
        await browser.end(id)
        page = (await browser.get(f"/debates/{id}")).text
        assert "Answer withheld" not in page and MATCH in page
        refused = await browser.post(
            "/debates", {"question": "What is 17 times 3?", "outcomes": "", "panel": "readers"}
        )
        assert refused.status_code == 422 and "not about the built-in medical knowledge" in refused.text

    visit(tmp_path, walk)


def test_readers_behind_the_endpoint_say_the_same(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        messages = [{"role": "user", "content": "High fever, pain behind the eyes and a rash. Which disease is it?"}]
        asked = {"model": "readers", "messages": messages}
        answer = (await browser.client.post("/v1/chat/completions", json=asked)).json()
        said = answer["choices"][0]["message"]["content"]
        assert said.startswith(answer["maci"]["answer"]) and MATCH in said
        assert any(MATCH in warning for warning in answer["maci"]["warnings"])
        asked["outcomes"] = ["Dengue fever", "a broken leg", "Gout"]
        answer = (await browser.client.post("/v1/chat/completions", json=asked)).json()
        assert answer["maci"]["answer"] is None
        assert answer["choices"][0]["message"]["content"].startswith(
            "No answer. Word statistics cannot decide this case"
        )
        asked = {"model": "readers", "messages": [{"role": "user", "content": "What is 17 times 3?"}]}
        refused = await browser.client.post("/v1/chat/completions", json=asked)
        assert (
            refused.status_code == 400 and "word statistics cannot decide" in refused.json()["error"]["message"].lower()
        )

    visit(tmp_path, walk)


def test_the_first_page_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a browser fetches for the first page, and for a debate's: 150 kB compressed at most."""

    async def walk(browser: Browser) -> None:
        for _ in range(3):
            await browser.end(id := await browser.start(settings="max_rounds=2"))
        every = sum(len(gzip.compress(static(name))) for name in STATIC)
        for path in ("/", f"/debates/{id}"):
            answer = await browser.get(path)
            assert answer.headers["content-encoding"] == "gzip"
            assert every + len(gzip.compress(answer.content)) < 150_000
            assert not re.search(r'(src|href)="(https?:)?//', answer.text)

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_pages_that_do_not_exist_say_so(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for path in (
            "/nothing",
            "/debates/nothing",
            "/studies/nothing",
            "/static/nothing.js",
            "/debates/nothing/events",
        ):
            answer = await browser.get(path)
            assert answer.status_code == 404 and "All debates" in answer.text, path
        assert "No study yet" in (await browser.get("/studies")).text
        assert (await browser.get("/compare?a=nothing&b=nothing")).status_code == 404

    visit(tmp_path, walk)


def test_a_debate_asks_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> str:
        answer = await browser.post("/debates", {"builtin": "dengue", "panel": "readers", "questions": "2"})
        assert answer.status_code == 200, answer.text
        id = answer.url.path.rpartition("/")[2]
        for said in ({"answer": "Yes, since Monday"}, {"quick": "stop", "answer": "left in the box"}):
            run = browser.desk._running[id]
            async with asyncio.timeout(60):
                while run.asking is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            page = (await browser.get(f"/debates/{id}")).text
            assert "It asks: " in page and 'id="answer-form"' in page
            assert page.index("It asks: ") < page.index('id="answer-form"')
            assert "waits for your answer" in (await browser.get("/")).text
            empty = await browser.post(f"/debates/{id}/answer", {"answer": " "})
            assert "Write an answer, or press one of the buttons." in empty.text and 'id="answer-form"' in empty.text
            again = await browser.post(f"/debates/{id}/answer", said)
            assert again.status_code == 200 and "goes on with that" in again.text
        await browser.end(id)
        assert (await browser.post(f"/debates/{id}/answer", {"answer": "late"})).status_code == 422
        return id

    id = visit(tmp_path, walk)
    acquired = [event for event in transcript(tmp_path, id) if event.type == "acquired"]
    assert acquired[0].text == "Yes, since Monday" and acquired[0].source == "ask"
    assert acquired[1].verdict == "stopped"
    assert replay(transcript(tmp_path, id)).complete


def test_a_debate_that_another_process_writes_is_shown_and_not_steered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def walk(browser: Browser) -> None:
        id = await browser.start(settings="max_rounds=2")
        await browser.end(id)
        path = tmp_path / id / "transcript.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]))
        other, _ = Transcript.resume(path)
        try:
            page = (await browser.get(f"/debates/{id}")).text
            assert "Another process runs this debate" in page and "do-stop" not in page and "do-resume" not in page
            assert (await browser.post(f"/debates/{id}/hand", {"action": "stop"})).status_code == 422
            assert (await browser.post(f"/debates/{id}/resume", {})).status_code == 503
        finally:
            other.close()
        assert ">Resume<" in (await browser.get(f"/debates/{id}")).text

    with tables(monkeypatch):
        visit(tmp_path, walk)


def test_a_file_made_to_crash_its_parser_is_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for name, text in (("a.yaml", "[" * 25_000), ("a.toml", ".".join("a" * 20_000) + "=1")):
            answer = await browser.post("/debates", {}, files={"case_file": (name, text.encode())})
            assert answer.status_code == 422 and "is nested more than 64 deep" in answer.text
        assert (await browser.get("/")).status_code == 200

    visit(tmp_path, walk)


def test_names_too_long_for_a_file_and_negative_seeds_are_refused_in_words(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for path in ("debates", "studies"):
            answer = await browser.get(f"/{path}/{'i' * 5000}")
            assert answer.status_code in {404, 422} and len(answer.text) < 5000
        answer = await browser.post("/debates", {"question": "Is it so?", "outcomes": "yes, no", "seed": "-1"})
        assert answer.status_code == 422 and "0 or more" in answer.text

    visit(tmp_path, walk)


@pytest.mark.parametrize("page", ["", "/calls", "/replay?tau_crit=0.9", "/report.html", "/report.md", "/result.json"])
def test_a_record_that_cannot_be_shown_says_so(tmp_path: Path, page: str) -> None:
    odd = replace(stories.events_of("bridge")[-1], distribution={}, raw={})
    with Transcript.create(tmp_path / "odd" / "transcript.jsonl") as record:
        for event in (*stories.events_of("bridge")[:-1], odd):
            record.append(event)

    async def walk(browser: Browser) -> None:
        answer = await browser.get(f"/debates/odd{page}")
        shown = answer.status_code == 200 and page in {"/calls", "/report.md"}  # needs nothing of what is wrong
        assert shown or (answer.status_code == 422 and 'role="alert"' in answer.text), answer.text
        assert (await browser.get("/")).status_code == 200

    visit(tmp_path, walk)
