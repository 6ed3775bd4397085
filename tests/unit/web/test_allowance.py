"""A server's ceilings hold, in all and for each visitor, while debates run and across restarts; who leaves stops spending."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_house import FakeHouse
from helpers import make_case
from maci.cases.case import load_case
from maci.controller.inputs import Lost
from maci.errors import EnvironmentError_
from maci.llm.usage import Bound, Usage
from maci.record.transcript import read
from maci.seating.seating import PanelChoice
from maci.web import ServerSettings
from maci.web.allowance import FILE, Allowance, AllowanceSpent, DailyCeilings, on_record, visitor_of
from maci.web.desk import Desk, Run
from web_helpers import Browser, Held, Speaker, tables, visit

CHOICE = PanelChoice(
    agents="openai/gpt-4o-mini,openai/gpt-4o", judges="anthropic/claude-haiku-4-5", sets=("budget.tokens=25000",)
)


def spent(desk: Desk) -> list[int]:
    """The tokens of every debate, by its record."""
    return [
        read(path).events[-1].tokens  # type: ignore[union-attr]
        for path in sorted(desk.settings.runs.glob("*/transcript.jsonl"))
    ]


async def hold(desk: Desk, visitor: str) -> None:
    run = await desk.start(make_case(), CHOICE, visitor)
    await asyncio.wait_for(run.over.wait(), 60)
    assert run.finished is not None, run.error


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.seating.seating.checked_house", lambda *args, **more: FakeHouse())


@pytest.mark.usefixtures("models")
def test_a_visitor_cannot_spend_more_than_a_day_allows_even_by_parallel_debates(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> tuple[list[int], int]:
        refused = 0
        for _ in range(4):
            done = await asyncio.gather(*(hold(browser.desk, "192.0.2.1") for _ in range(5)), return_exceptions=True)
            refused += sum(isinstance(each, AllowanceSpent) for each in done)
        mine = spent(browser.desk)
        await hold(browser.desk, "192.0.2.2")  # somebody else still may
        assert sum(spent(browser.desk)) > sum(mine)
        return mine, refused

    tokens, refused = visit(tmp_path, walk, ceilings=DailyCeilings(visitor_tokens=60_000))
    assert 30_000 < sum(tokens) <= 60_000
    assert refused


@pytest.mark.usefixtures("models")
def test_the_ceiling_in_all_holds_for_every_visitor_and_after_a_restart(tmp_path: Path) -> None:
    async def spend(browser: Browser) -> list[int]:
        with suppress(AllowanceSpent):
            for number in range(60):
                await hold(browser.desk, f"192.0.2.{number}")
        return spent(browser.desk)

    before = visit(tmp_path, spend, ceilings=DailyCeilings(tokens=40_000))
    assert 20_000 < sum(before) <= 40_000
    assert sum(visit(tmp_path, spend, ceilings=DailyCeilings(tokens=40_000))) == sum(before)  # nothing fits any more


@pytest.mark.usefixtures("models")
def test_when_nothing_is_left_models_are_refused_and_readers_are_not(tmp_path: Path) -> None:
    Allowance(DailyCeilings(tokens=1), tmp_path).claim("other", "192.0.2.1", Bound(1))  # and this server was killed
    asked = {"outcomes": ["Dengue fever", "Gout"], "messages": [{"role": "user", "content": "Fever: which?"}]}

    async def walk(browser: Browser) -> None:
        with pytest.raises(AllowanceSpent, match="This server has spent what may be spent today"):
            await hold(browser.desk, "192.0.2.1")
        assert (await browser.client.post("/v1/chat/completions", json=asked)).status_code == 200
        monkey.setattr(browser.desk, "start", refuse)
        assert (await browser.client.post("/v1/chat/completions", json=asked)).status_code == 429

    async def refuse(*args: object) -> None:
        raise AllowanceSpent("nothing is left")

    with pytest.MonkeyPatch.context() as monkey:
        visit(tmp_path, walk, ceilings=DailyCeilings(tokens=1))


def test_a_ceiling_in_dollars_needs_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maci.seating.seating.checked_house", lambda *args, **more: FakeHouse(price=None))
    choice = PanelChoice(agents="openai/nobody-knows-1,openai/nobody-knows-2", sets=("crit.enabled=false",))

    async def walk(browser: Browser) -> None:
        with pytest.raises(EnvironmentError_, match="price of openai/nobody-knows-1"):
            await browser.desk.start(make_case(), choice)

    visit(tmp_path, walk, ceilings=DailyCeilings(usd=1.0))
    assert not list(tmp_path.glob("*/transcript.jsonl"))


def test_what_a_killed_server_had_set_aside_counts_until_its_record_says_less(tmp_path: Path) -> None:
    first = Allowance(DailyCeilings(tokens=1000), tmp_path)
    first.claim("gone", "192.0.2.1", Bound(600))  # no record at all: it may have spent everything
    then = Allowance(DailyCeilings(tokens=1000), tmp_path)
    assert then.claim("next", "192.0.2.1", Bound(600)).bound == Bound(400)
    frozen = next((Path(__file__).parents[2] / "transcripts").glob("format-*.jsonl"))
    (tmp_path / "next").mkdir()
    (tmp_path / "next" / "transcript.jsonl").write_bytes(frozen.read_bytes())
    known = read(frozen).events[-1].tokens  # type: ignore[union-attr]
    after = Allowance(DailyCeilings(tokens=100_000), tmp_path)
    assert after.claim("last", "192.0.2.1", Bound(10**6)).bound.tokens == 100_000 - 600 - known


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize("overnight", [False, True])
def test_a_debate_that_is_killed_resumed_and_killed_counts_once_and_on_its_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overnight: bool
) -> None:
    ceilings = DailyCeilings(tokens=1_000_000)
    monkeypatch.setattr(Allowance, "settle", lambda self, claim: None)  # killed before it could

    async def first(browser: Browser) -> None:
        await hold(browser.desk, "192.0.2.1")

    async def again(browser: Browser) -> None:
        run = await browser.desk.resume(path.parent.name, "192.0.2.1")
        await asyncio.wait_for(run.over.wait(), 60)
        assert run.finished is not None, run.error

    visit(tmp_path, first, ceilings=ceilings)
    [path] = tmp_path.glob("*/transcript.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    before = on_record(read(path).events).tokens
    if overnight:
        data = json.loads((tmp_path / FILE).read_text())
        (tmp_path / FILE).write_text(json.dumps({**data, "day": "2026-01-01"}))
    visit(tmp_path, again, ceilings=ceilings)
    [after] = spent(Desk(ServerSettings(runs=tmp_path)))
    assert 0 < before < after
    left = Allowance(ceilings, tmp_path).claim("next", "192.0.2.2", Bound(10**9)).bound.tokens
    assert 1_000_000 - left == (after - before if overnight else after)


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    "choice",
    [
        PanelChoice(panel="readers", judges="reader"),
        PanelChoice(agents="reader,reader/lexical", sets=("crit.enabled=false",)),
    ],
)
def test_readers_cost_nothing_however_they_are_named(tmp_path: Path, choice: PanelChoice) -> None:
    case = load_case("dengue")

    async def walk(browser: Browser) -> None:
        browser.desk._allowance.claim("other", "192.0.2.1", Bound(1))  # nothing is left
        run = await browser.desk.start(case, choice, "192.0.2.1")
        await asyncio.wait_for(run.over.wait(), 60)
        assert run.finished is not None, run.error

    visit(tmp_path, walk, ceilings=DailyCeilings(tokens=1))


def test_figures_that_cannot_be_written_set_nothing_aside(tmp_path: Path) -> None:
    allowance = Allowance(DailyCeilings(tokens=100), tmp_path)
    (tmp_path / f"{FILE}.part").mkdir()
    with pytest.raises(EnvironmentError_, match="cannot write"):
        allowance.claim("a", "192.0.2.1", Bound(100))
    (tmp_path / f"{FILE}.part").rmdir()
    assert allowance.claim("b", "192.0.2.1", Bound(100)).bound == Bound(100)
    assert json.loads((tmp_path / FILE).read_text())["open"].keys() == {"b"}


def test_models_are_let_go_of_when_the_figures_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Allowance, claim: object) -> None:
        raise EnvironmentError_("the disk is full")

    house = FakeHouse()
    monkeypatch.setattr("maci.seating.seating.checked_house", lambda *args, **more: house)
    monkeypatch.setattr(Allowance, "settle", full)

    async def walk(browser: Browser) -> None:
        run = await browser.desk.start(make_case(), CHOICE)
        await asyncio.wait_for(run.over.wait(), 60)
        assert "the disk is full" in run.error

    visit(tmp_path, walk, ceilings=DailyCeilings(tokens=100_000))
    assert house.closed


def test_visitors_of_ipv4_are_told_apart_on_a_socket_of_ipv6(tmp_path: Path) -> None:
    allowance = Allowance(DailyCeilings(visitor_tokens=100), tmp_path)
    allowance.claim("a", visitor_of("::ffff:192.0.2.1"), Bound(100))
    assert allowance.claim("b", visitor_of("::ffff:192.0.2.2"), Bound(100)).bound == Bound(100)
    with pytest.raises(AllowanceSpent, match="You have"):
        allowance.claim("c", visitor_of("192.0.2.1"), Bound(100))


def test_a_new_day_begins_with_nothing_spent_and_yesterdays_debates_do_not_count(tmp_path: Path) -> None:
    days = ["2026-01-01"]
    allowance = Allowance(DailyCeilings(tokens=100), tmp_path, lambda: days[0])
    late = allowance.claim("late", "192.0.2.1", Bound(100))
    with pytest.raises(AllowanceSpent, match="This server has spent"):
        allowance.claim("more", "192.0.2.2", Bound(100))
    days[0] = "2026-01-02"
    assert allowance.claim("more", "192.0.2.2", Bound(100)).bound == Bound(100)
    late.ledger.settle(Bound(), Usage(prompt=100))
    allowance.settle(late)
    assert json.loads((tmp_path / FILE).read_text())["visitors"] == {"192.0.2.2": {"tokens": 0, "usd": 0.0}}


def test_a_clock_that_is_set_back_over_midnight_gives_nobody_another_day(tmp_path: Path) -> None:
    days = ["2026-01-02"]
    allowance = Allowance(DailyCeilings(tokens=100), tmp_path, lambda: days[0])
    allowance.claim("a", "192.0.2.1", Bound(100))
    for again in ("2026-01-01", "2026-01-02"):
        days[0] = again
        for server in (allowance, Allowance(DailyCeilings(tokens=100), tmp_path, lambda: days[0])):
            with pytest.raises(AllowanceSpent, match="This server has spent"):
                server.claim("b", "192.0.2.2", Bound(100))
    days[0] = "2025-01-01"  # it was a year ahead before
    assert allowance.claim("b", "192.0.2.2", Bound(100)).bound == Bound(100)


def test_a_debate_without_a_ceiling_in_dollars_leaves_room_for_others(tmp_path: Path) -> None:
    allowance = Allowance(DailyCeilings(usd=8.0), tmp_path)
    assert allowance.claim("a", "192.0.2.1", Bound(100), places=8).ledger.usd == 1.0
    assert allowance.claim("b", "192.0.2.1", Bound(100, 0.5), places=7).ledger.usd == 0.5


def test_figures_that_cannot_be_read_are_an_error_and_not_a_new_day(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    with pytest.raises(EnvironmentError_, match="what was spent today"):
        Allowance(DailyCeilings(tokens=1), tmp_path)


async def leave(browser: Browser, until: Callable[[Run], bool], **asked: Any) -> Run:
    """Ask for a completion, and close the connection once the debate is so far."""
    left: list[Run] = []
    body = json.dumps({"messages": [{"role": "user", "content": "Is it so?"}], "outcomes": ["yes", "no"], **asked})
    sent = [{"type": "http.request", "body": body.encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        if sent:
            return sent.pop()
        while not left:
            left.extend(run for run in browser.desk._running.values() if run.events and until(run))
            if not left:
                await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    headers = [(b"host", b"127.0.0.1:8642"), (b"content-type", b"application/json")]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/v1/chat/completions", "raw_path": b"/v1/chat/completions", "query_string": b"",
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8642), "root_path": "",
    }  # fmt: skip
    await asyncio.wait_for(browser.app(scope, receive, send), 20)  # type: ignore[arg-type]
    return left[0]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("cost", [0, 50])
def test_a_debate_whose_program_left_goes_on_where_it_was_and_nothing_is_bought_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool, cost: int
) -> None:
    bought: list[tuple[int, str]] = []
    speak = Speaker.turn

    async def counted(self: Speaker, request: Any) -> Any:
        said = await speak(self, request)
        bought.append((request.round, self.name))
        return replace(said, usage=Usage(generated=cost))

    async def walk(browser: Browser) -> None:
        def far(run: Run) -> bool:
            return run.story.current.number == 1 and len(run.story.waiting) == (2 if cost else 0)

        run = await leave(browser, far, stream=stream)
        if cost:  # what was paid for is waited for
            while not run.story.paused:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert not run.over.is_set() and len(run.story.waiting) == 2
            held.gate.set()
        await asyncio.wait_for(run.over.wait(), 20)
        assert run.state == "broken" and "client" in run.story.hands[-1].by

    async def again(browser: Browser) -> None:
        run = await browser.desk.resume(path.parent.name)
        await asyncio.wait_for(run.over.wait(), 20)
        assert run.finished is not None and run.finished.stop_reason != "stopped_by_user", run.error

    monkeypatch.setattr(Speaker, "turn", counted)
    monkeypatch.setattr(Speaker, "ceiling", lambda self, request: cost)
    with tables(monkeypatch, Held(since=1)) as held:
        visit(tmp_path, walk)
        [path] = tmp_path.glob("*/transcript.jsonl")
        assert not read(path).finished
        held.gate.set()
        visit(tmp_path, again)
    assert len(bought) == len(set(bought))
    assert not [event for event in read(path).events if isinstance(event, Lost)]


def test_a_page_that_is_closed_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def walk(browser: Browser) -> Any:
        id = await browser.start()
        run = browser.desk._running[id]
        viewer = browser.desk.frames(run).follow()
        await anext(viewer)
        await viewer.aclose()  # type: ignore[attr-defined]
        held.gate.set()
        await browser.end(id)
        return run.finished

    with tables(monkeypatch, Held(since=1)) as held:
        last = visit(tmp_path, walk)
    assert last.stop_reason != "stopped_by_user"
