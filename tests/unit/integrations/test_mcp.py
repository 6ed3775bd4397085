"""``maci mcp`` with the official client, over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from fake_server import FakeServer
from maci.cases.case import load_case
from maci.controller.decisions import Finished
from maci.record.transcript import read
from serving import serving

DENGUE = load_case("dengue")
CASE = {
    "question": DENGUE.question, "context": DENGUE.context, "outcomes": list(DENGUE.outcomes.labels),
    "evidence": [document.text for document in DENGUE.evidence], "panel": "readers",
}  # fmt: skip


def with_client(
    tmp_path: Path, use: Callable[[Client], Awaitable[Any]], *options: str, mode: str = "auto", **environ: str
) -> Any:
    """Start the command, connect the official client and use it."""
    environment = {**os.environ, "MACI_HOME": str(tmp_path / "home"), **environ}
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "maci", "mcp", "--dir", str(tmp_path / "runs"), *options],
        env=environment, cwd=tmp_path,
    )  # fmt: skip

    async def connected() -> Any:
        async with Client(stdio_client(started), mode=mode) as client:
            return await use(client)

    return asyncio.run(asyncio.wait_for(connected(), 120))


def test_json_prints_the_entry_of_a_client_which_starts_the_server(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "maci", "mcp", "--dir", "runs", "--budget-tokens", "700", "--json"]
    ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    entry = json.loads(ran.stdout)["mcpServers"]["maci"]
    assert entry["args"][-4:] == ["--dir", str(tmp_path / "runs"), "--budget-tokens", "700"]
    assert not (tmp_path / "runs").exists()
    started = StdioServerParameters(**entry, env={**os.environ, "MACI_HOME": str(tmp_path / "home")}, cwd="/")

    async def connected() -> set[str]:
        async with Client(stdio_client(started)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert "debate" in asyncio.run(asyncio.wait_for(connected(), 120))


def test_the_entry_of_a_client_runs_no_code_of_the_folder_the_client_works_in(tmp_path: Path) -> None:
    call = [sys.executable, "-m", "maci", "mcp", "--json"]
    ran = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    entry = json.loads(ran.stdout)["mcpServers"]["maci"]
    for name in ("yaml", "typer", "mcp"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    call = [entry["command"], *entry["args"], "--help"]
    started = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert started.returncode == 0, started.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=lambda stop: stop.name)
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "reads nothing"])
def test_a_signal_ends_the_server_and_a_debate_under_way_can_be_resumed(
    tmp_path: Path, stop: signal.Signals, reads: bool
) -> None:
    with serving("a", "b", delay=30) as server:
        panels = tmp_path / "panels.yaml"
        models = {name: {"base_url": f"{server.url}/v1", "retries": 0} for name in ("openai/a", "openai/b")}
        panels.write_text(json.dumps({"panels": {"two": {"agents": list(models)}}, "models": models}))
        call = [sys.executable, "-P", "-m", "maci", "mcp", "--dir", str(tmp_path / "runs")]
        environ = {**os.environ, "MACI_PANELS": str(panels), "MACI_CACHE": str(tmp_path / "cache")}
        with subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, cwd=tmp_path
        ) as ran:
            assert ran.stdin is not None and ran.stdout is not None
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            asked = {"name": "debate", "arguments": {**CASE, "panel": "two"}}
            for id, (method, given) in enumerate((("initialize", hello), ("tools/call", asked)), 1):
                message = {"jsonrpc": "2.0", "id": id, "method": method, "params": given}
                ran.stdin.write(json.dumps(message).encode() + b"\n")
                ran.stdin.flush()
                if id == 1:
                    assert b"serverInfo" in ran.stdout.readline()
                    ran.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            if not reads:  # what it answers fills the pipe
                ran.stdin.write(b'{"jsonrpc": "2.0", "id": 9, "method": "tools/list"}\n' * 300)
                ran.stdin.flush()
            until = monotonic() + 60
            while not (sent := [*tmp_path.glob("runs/*/transcript.jsonl")]) or b'"sent"' not in sent[0].read_bytes():
                assert monotonic() < until and ran.poll() is None
                sleep(0.05)
            began = monotonic()
            ran.send_signal(stop)
            assert ran.wait(60) == 130 and monotonic() - began < 15
    events = read(sent[0]).events
    assert events and not isinstance(events[-1], Finished)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_debate_ends_with_a_result_a_record_and_a_report(tmp_path: Path, mode: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    async def use(client: Client) -> None:
        tools = await client.list_tools()
        assert {tool.name for tool in tools.tools} == {"debate", "ask", "plan", "audit", "search_runs"}
        done = await client.call_tool("debate", CASE, progress_callback=progress)
        assert not done.is_error, done.content
        found = done.structured_content
        assert found is not None and found["answer"] == "Dengue fever" and 0 < found["probability"] <= 1
        assert sum(found["distribution"].values()) == pytest.approx(1)
        messages = [message for _, message in told]
        assert messages[0] == f"run {found['run']}" and messages[-1].startswith("Dengue fever ")
        assert [place for place, _ in told] == sorted({place for place, _ in told})

        listed = await client.list_resources()
        assert found["transcript"] in {str(each.uri) for each in listed.resources}
        lines = (await client.read_resource(found["transcript"])).contents[0].text.splitlines()
        assert json.loads(lines[-1])["type"] == "finished"
        report = (await client.read_resource(found["report"])).contents[0].text
        assert "Dengue fever" in report and "<html" not in report
        assert "<html" in (await client.read_resource(f"{found['report']}.html")).contents[0].text

        plan = await client.call_tool("plan", {"run": found["run"], "top": 2})
        assert not plan.is_error and len(plan.structured_content["items"]) <= 2
        hits = await client.call_tool("search_runs", {"query": "fever"})
        assert [row["run"] for row in hits.structured_content["runs"]] == [found["run"]]
        assert (await client.call_tool("search_runs", {"query": "nothing of it"})).structured_content["runs"] == []
        audit = await client.call_tool("audit", {"run": found["run"], "arguments": 10})
        assert not audit.is_error, audit.content
        assert audit.structured_content["verdict"] and audit.structured_content["report"].startswith("#")

    with_client(tmp_path, use, mode=mode)


def test_ask_answers_and_a_withheld_answer_is_null(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("ask", CASE)
        assert not done.is_error and done.structured_content["answer"] == "Dengue fever"
        texts = [f"{word} is what note {i} says of the square." for word in ("Permit", "Ban") for i in range(4)]
        unfit = {"question": "May one park on the square?", "outcomes": ["Permit", "Ban"], "evidence": texts}
        held = await client.call_tool("debate", {**unfit, "panel": "readers"})
        assert not held.is_error, held.content
        found = held.structured_content
        assert found["answer"] is None and found["probability"] is None
        assert found["withheld"].startswith("Word statistics cannot decide") and "orce" not in found["withheld"]
        assert (
            "Use a language model (another `panel`, where there is one)." in found["withheld"]
            and "maci init" not in found["withheld"]
        )
        (row, *_) = (await client.call_tool("search_runs", {})).structured_content["runs"]
        assert row["run"] == found["run"] and row["answer"] is None

    with_client(tmp_path, use)


CEILING = 40_000
"""Tokens: of two whole debates of one round."""
REFUSED = (
    ("debate", {**CASE, "panel": "openai/gpt-4o"}, "choose among readers, paper"),
    ("debate", {**CASE, "panel": "/etc/passwd"}, "choose among"),
    ("debate", {**CASE, "budget_tokens": 0}, "greater than or equal to 1"),
    ("debate", {"question": "dengue.yaml", "panel": "readers"}, "Name the outcomes"),
    ("plan", {"run": "../../etc"}, "no debate of this folder"),
    ("plan", {"run": "unknown"}, "`search_runs` lists those"),
    ("audit", {"panel": "paper"}, "name judges"),
)


def test_what_cannot_be_honoured_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        for tool, arguments, said in REFUSED:
            done = await client.call_tool(tool, arguments)
            assert done.is_error and done.structured_content is None
            assert said in done.content[0].text
        for uri in ("maci://runs/unknown/transcript", "maci://runs/..%2F..%2Fetc/report"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert (await client.call_tool("search_runs", {})).structured_content["total"] == 0

    with_client(tmp_path, use)


def _requests(server: FakeServer) -> int:
    return sum(count.requests for count in server.counts.values())


def panel_of(server: FakeServer, tmp_path: Path) -> dict[str, str]:
    """A panels file with two models behind the fake server, the only panel besides the built-in ones."""
    file = tmp_path / "panels.yaml"
    file.write_text(
        f"models:\n  openai:\n    base_url: {server.url}\npanels:\n  own:\n    agents: [openai/a, openai/b]\n    judges: []\n",
        encoding="utf-8",
    )
    return {"MACI_PANELS": str(file), "OPENAI_API_KEY": "none"}


def test_a_cancelled_request_stops_spending_and_leaves_a_record_that_can_be_resumed(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        under_way = asyncio.Event()

        async def progress(done: float, total: float | None, message: str | None) -> None:
            if (message or "").startswith("2 agents"):
                under_way.set()

        request = asyncio.create_task(client.call_tool("debate", {**CASE, "panel": "own"}, progress_callback=progress))
        await asyncio.wait_for(under_way.wait(), 30)
        for _ in range(500):
            if _requests(server):
                break
            await asyncio.sleep(0.02)
        request.cancel()
        await asyncio.wait({request})
        assert request.cancelled()
        for _ in range(100):
            (row,) = (await client.call_tool("search_runs", {})).structured_content["runs"]
            if row["state"] == "broken":
                break
            await asyncio.sleep(0.05)
        sent = _requests(server)
        await asyncio.sleep(0.3)
        assert _requests(server) == sent
        recording = read(tmp_path / "runs" / row["run"] / "transcript.jsonl")
        assert not recording.finished and recording.opened.panel == "own"

    with serving("a", "b", delay=20.0) as server:
        with_client(tmp_path, use, **panel_of(server, tmp_path))


def test_the_server_caps_what_clients_spend_together(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("debate", {**CASE, "panel": "own", "budget_tokens": 1_000_000, "seed": 1})
        assert done.is_error and "raise budget_tokens" in done.content[0].text

    with serving("a", "b") as server:
        with_client(tmp_path, use, "--budget-tokens", "50", **panel_of(server, tmp_path))
        assert _requests(server) == 0


def test_a_request_cannot_raise_the_ceilings_of_the_project_file(tmp_path: Path) -> None:
    (tmp_path / "maci.toml").write_text('panel = "readers"\n[budget]\ntokens = 30000\nusd = 0.4\n', encoding="utf-8")

    async def use(client: Client) -> None:
        for own, said in (
            ({"budget_tokens": 900_000}, "budget.tokens is 900,000"),
            ({"budget_usd": 7}, "budget.usd is 7"),
        ):
            for tool in ("debate", "ask"):
                done = await client.call_tool(tool, {**CASE, **own})
                assert done.is_error and said in done.content[0].text and "allows" in done.content[0].text
        assert (await client.call_tool("search_runs", {})).structured_content["total"] == 0
        assert not (await client.call_tool("debate", {**CASE, "budget_tokens": 29_000})).is_error

    with_client(tmp_path, use)


def test_a_request_meets_the_ceiling_that_another_spent(tmp_path: Path) -> None:
    """All ask for the same; the first gets what it needs, and one after it meets what the others left."""

    async def use(client: Client) -> None:
        spent: list[int] = []
        while len(spent) < 6:
            sent = _requests(server)
            asked = {**CASE, "panel": "own", "max_rounds": 1, "seed": len(spent)}
            done = await client.call_tool("debate", asked)
            if done.is_error:
                break
            spent.append(done.structured_content["tokens"])
        assert spent and spent[0] == max(spent) and sum(spent) <= CEILING
        assert done.is_error and "raise budget_tokens" in done.content[0].text
        assert _requests(server) == sent  # refused before anything was asked

    with serving("a", "b") as server:
        environ = panel_of(server, tmp_path) | {"MACI_CACHE": str(tmp_path / "cache")}
        with_client(tmp_path, use, "--budget-tokens", str(CEILING), **environ)


def test_one_round_is_a_debate_that_a_client_can_ask_for(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("debate", {**CASE, "max_rounds": 1})
        assert not done.is_error, done.content
        found = done.structured_content
        assert found["rounds"] == 1 and found["stop_reason"] == "max_rounds" and found["answer"]
        assert "min_rounds was lowered from 2 to 1, because max_rounds is 1" in found["warnings"]
        many = await client.call_tool("debate", {**CASE, "max_rounds": 0})
        assert many.is_error and "greater than or equal to 1" in many.content[0].text

    with_client(tmp_path, use)


def test_readers_cost_nothing_and_use_up_no_ceiling(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        checked = await client.call_tool("audit", {"arguments": 4, "budget_tokens": 1})
        assert not checked.is_error and checked.structured_content["tokens"] > 50
        for seed in (1, 2):
            assert not (await client.call_tool("debate", {**CASE, "seed": seed})).is_error
        small = await client.call_tool(
            "debate", {**CASE, "budget_tokens": 1}
        )  # a request's own budget holds for them too
        assert small.is_error and "raise budget_tokens" in small.content[0].text

    with_client(tmp_path, use, "--budget-tokens", "50")


def test_a_storm_of_requests_waits_its_turn_and_can_be_cancelled(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        asked = [{**CASE, "panel": "own", "seed": n, "evidence": [f"Text {n}."]} for n in range(30)]
        storm = [asyncio.create_task(client.call_tool("debate", each)) for each in asked]
        for _ in range(500):
            if _requests(server) >= 16:
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        assert _requests(server) == 16  # the openings of eight debates
        for each in storm:
            each.cancel()
        await asyncio.wait(storm)
        server.delay = 0.0
        again = await asyncio.wait_for(client.call_tool("debate", {**CASE, "panel": "own", "max_rounds": 2}), 60)
        assert again.structured_content is not None, again.content

    with serving("a", "b", delay=20.0) as server:
        with_client(tmp_path, use, **panel_of(server, tmp_path))


def test_inputs_that_no_program_sends_are_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    """Line by line, as a client that keeps to nothing would write them."""

    def line(id: int, method: str, **params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_runs", {"start": 10**25}),
        ("search_runs", {"query": "a b c " * 100_000}),
        ("debate", {**CASE, "budget_usd": "1e999"}),
        ("debate", {**CASE, "seed": -1}),
        ("plan", {"run": ["a"] * 1000}),
        ("no_such_tool", {}),
        ("search_runs", {}),
    ]
    asked = [
        line(1, "initialize", **about), json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "{", "[]", '"text"', "\x00\x01", "[" * 100_000,
        line(2, "tools/call", name="plan", arguments={"run": "half a character: \ud800"}),  # no JSON: it has no answer
        *(line(10 + n, "tools/call", name=name, arguments=given) for n, (name, given) in enumerate(calls)),
    ]  # fmt: skip
    environment = {**os.environ, "MACI_HOME": str(tmp_path / "home")}

    async def talk() -> dict[int, Any]:
        ran = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "maci", "mcp", "--dir", str(tmp_path / "runs")), env=environment, cwd=tmp_path,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert ran.stdin is not None and ran.stdout is not None and ran.stderr is not None
        complaints = asyncio.create_task(ran.stderr.read())
        ran.stdin.write("".join(f"{each}\n" for each in asked).encode())
        found: dict[int, Any] = {}
        while len(found) < 1 + len(calls) and (answer := await ran.stdout.readline()):
            found[json.loads(answer)["id"]] = json.loads(answer)
        ran.stdin.close()
        await ran.wait()
        assert b"Traceback" not in await complaints
        return found

    found = asyncio.run(asyncio.wait_for(talk(), 60))
    *wrong, last = [found[10 + n]["result"] for n in range(len(calls))]
    assert all(each["isError"] for each in wrong)
    assert last["structuredContent"]["total"] == 0  # nothing was begun


def test_a_ceiling_in_dollars_needs_known_prices(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("debate", {**CASE, "panel": "own"})
        assert done.is_error and "choose another panel" in done.content[0].text

    with serving("a", "b") as server:
        with_client(tmp_path, use, "--budget-usd", "1", **panel_of(server, tmp_path))


def test_what_the_server_redacts_is_in_no_record(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("debate", {**CASE, "context": f"CANARY. {DENGUE.context}"})
        assert not done.is_error, done.content

    with_client(tmp_path, use, "--redact", "context")
    assert "CANARY" not in next((tmp_path / "runs").glob("*/transcript.jsonl")).read_text()


def test_models_that_fail_are_an_error_and_never_an_answer(tmp_path: Path) -> None:
    async def use(client: Client) -> None:
        done = await client.call_tool("debate", {**CASE, "panel": "own"})
        assert done.is_error and done.structured_content is None

    with serving("a", "b", keys=("another",)) as server:
        with_client(tmp_path, use, **panel_of(server, tmp_path))
