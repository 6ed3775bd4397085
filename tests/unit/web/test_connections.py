"""A server that others keep waiting still answers, closes what is late, and writes little about it."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import resource
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from unittest.mock import Mock

import httpx
import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from maci.web import Limits
from maci.web.connections import Connection, Full, Room, Sparing
from web_helpers import Browser, visit

SERVE = """
import sys
from pathlib import Path
from maci.web import Limits, ServerSettings
from maci.web.server import serve
limits = Limits(**eval(sys.argv[2]))
serve(ServerSettings(runs=Path(sys.argv[1]), port=0, limits=limits), lambda now: print(now.port, flush=True))
"""


@contextmanager
def server(folder: Path, *, code: str = SERVE, **limits: Any) -> Iterator[tuple[int, Path, IO[bytes]]]:
    """A real server in a process of its own: its port, its log and what else it prints."""
    log = folder / "log.txt"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(folder / "runs"), repr(limits)], stdout=subprocess.PIPE, stderr=file
        )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline()), log, process.stdout
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def idle(port: int, count: int, sent: bytes) -> list[socket.socket]:
    """Sockets of clients that began a request and did not end it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count + 1000)), hard))
    made = []
    for _ in range(count):
        each = socket.create_connection(("127.0.0.1", port), timeout=10)
        each.sendall(sent)
        made.append(each)
    return made


def closed(sockets: list[socket.socket], within: float) -> int:
    """How many the server has closed after a while."""
    left, until = set(sockets), time.monotonic() + within
    poll = select.poll()
    by_file = {each.fileno(): each for each in sockets}
    for file in by_file:
        poll.register(file, select.POLLIN)
    while left and time.monotonic() < until:
        for file, _ in poll.poll(100):
            poll.unregister(file)
            left.discard(by_file[file])
    return len(sockets) - len(left)


UNFINISHED = {
    "nothing": b"",
    "headers": b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
    "body": b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
}


@pytest.mark.parametrize("kind", UNFINISHED)
def test_unfinished_requests_keep_nobody_out_and_are_closed_in_time(tmp_path: Path, kind: str) -> None:
    with server(tmp_path, header_seconds=4.0, body_seconds=4.0) as (port, log, _):
        sockets = idle(port, 1100, UNFINISHED[kind])
        try:
            for _ in range(5):
                since = time.monotonic()
                assert httpx.get(f"http://127.0.0.1:{port}/", timeout=2.0).status_code == 200
                assert time.monotonic() - since < 2.0
            assert closed(sockets, 12.0) == 1100
        finally:
            for each in sockets:
                each.close()
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=2.0).status_code == 200
    assert log.stat().st_size < 100_000


def test_a_byte_now_and_then_gives_a_request_no_more_time(tmp_path: Path) -> None:
    with server(tmp_path, header_seconds=1.0) as (port, _, _):
        [slow] = idle(port, 1, b"GET / HTTP/1.1\r\n")
        since = time.monotonic()
        with suppress(OSError):  # whichever way the system says that it is closed
            while time.monotonic() - since < 5:
                slow.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() - since < 3
        slow.close()


def test_an_answer_that_nobody_reads_does_not_keep_its_place(tmp_path: Path) -> None:
    record = tmp_path / "runs" / "long" / "transcript.jsonl"
    frozen = max(Path(__file__).parents[2].glob("transcripts/format-*.jsonl"), key=os.path.getsize)
    record.parent.mkdir(parents=True)
    record.write_bytes(frozen.read_bytes())
    with server(tmp_path, unread_seconds=1.0) as (port, log, _):
        [lazy] = idle(port, 1, b"")
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        lazy.sendall(b"GET /debates/long/transcript.jsonl HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 60)
        until = time.monotonic() + 15
        while "was not read" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.2)
        lazy.close()
        assert "its answer was not read" in log.read_text()


def test_nonsense_fills_no_log(tmp_path: Path) -> None:
    with server(tmp_path) as (port, log, _):
        for _ in range(500):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as each:
                each.sendall(b"\0\1\2 nonsense\r\n\r\n")
                each.recv(1000)
    assert 0 < log.stat().st_size < 5_000


def test_a_request_of_two_lengths_hides_no_other_behind_it(tmp_path: Path) -> None:
    host = b"Host: 127.0.0.1\r\n"
    two = b"POST /debates HTTP/1.1\r\n" + host + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with server(tmp_path) as (port, _, __), socket.create_connection(("127.0.0.1", port), timeout=20) as each:
        each.sendall(two + b"GET / HTTP/1.1\r\n" + host + b"\r\n")
        answer = b""
        while part := each.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1


class Client:
    """A connection, as the room sees it."""

    def __init__(self, room: Room, address: str, phase: str = "headers") -> None:
        self.room, self.address, self.phase = room, address, phase

    def drop(self) -> None:
        self.room.leave(self, self.address)  # type: ignore[arg-type]


def enter(room: Room, address: str, phase: str = "headers") -> Client | None:
    client = Client(room, address, phase)
    return client if room.enter(client, address) else None  # type: ignore[arg-type]


def test_one_client_has_its_own_limit_and_others_keep_their_places() -> None:
    room = Room(Limits(connections=10, per_client=3))
    other = enter(room, "b")
    first = [enter(room, "a", "answer") for _ in range(3)]
    assert all(first)
    assert enter(room, "a") is None  # all of its own are being answered
    assert first[0] is not None
    first[0].phase = "body"
    assert enter(room, "a") is not None
    assert len(room) == 4
    assert other in room._open


def test_addresses_of_one_network_are_one_client() -> None:
    async def go() -> list[bool]:
        room = Room(Limits(connections=10, per_client=2))
        config = uvicorn.Config(app=None, http=H11Protocol)  # type: ignore[arg-type]
        turned_away = []
        for address in ("2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2::3", "2001:db8:1:3::1"):
            connection = Connection(room, config=config, server_state=ServerState(), app_state={})
            transport = Mock(
                **{"get_extra_info.side_effect": {"peername": (address, 1)}.get, "is_closing.return_value": False}
            )
            connection.connection_made(transport)
            connection.phase = "answer"
            turned_away.append(transport.close.called)
        return turned_away

    assert asyncio.run(go()) == [False, False, True, False]


EXHAUSTED = """
import os, resource, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
def take() -> None:
    while not os.path.exists(sys.argv[1] + "-full"):
        time.sleep(0.05)
    held = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        print("full", flush=True)
    time.sleep(4)
    for each in held:
        os.close(each)
threading.Thread(target=take, daemon=True).start()
"""


def test_a_server_out_of_file_descriptors_answers_again_when_some_are_free(tmp_path: Path) -> None:
    with server(tmp_path, code=EXHAUSTED + SERVE) as (port, log, out):
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=5.0).status_code == 200
        (tmp_path / "runs-full").touch()
        assert out.readline() == b"full\n"
        since = time.monotonic()
        for _ in range(3):
            idle(port, 1, UNFINISHED["nothing"])[0].close()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as waiting:
            waiting.sendall(b"GET /static/page.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in waiting.recv(100)
        assert time.monotonic() - since > 2, "there was no want"
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=5.0).status_code == 200
    lines = log.read_text().splitlines()
    assert 1 <= len(lines) <= 6, "\n".join(lines)
    assert all("file descriptor" in line for line in lines), lines


def test_a_full_room_lets_go_of_whoever_waits_longest() -> None:
    room = Room(Limits(connections=3, per_client=9))
    oldest, middle, _ = (enter(room, str(n)) for n in range(3))
    room.wait(oldest)  # type: ignore[arg-type]
    assert enter(room, "new") is not None
    assert oldest in room._open
    assert middle not in room._open


def test_streams_take_half_of_the_places_at_most() -> None:
    room = Room(Limits(connections=8, per_client=4))
    with room.stream("a"), room.stream("a"):
        with pytest.raises(Full), room.stream("a"):
            pass
        with room.stream("b"), room.stream("c"), pytest.raises(Full), room.stream("d"):
            pass
    with room.stream("a"):
        assert room._streams.total() == 1


def test_a_viewer_too_many_is_told_to_come_back(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.get("/debates/any/events")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert (await browser.get("/")).status_code == 200

    visit(tmp_path, walk, limits=replace(Limits(), per_client=1))


def test_a_line_of_a_kind_is_written_once_and_then_with_the_number_left_out() -> None:
    sparing = Sparing(0.2)

    def say(text: str, *args: object) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, text, args, None)
        return record.getMessage() if sparing.filter(record) else None

    assert [say("full: %s", n) for n in range(4)] == ["full: 0", None, None, None]
    assert say("another") == "another"
    time.sleep(0.25)
    found = say("full: %s", 9)
    assert found is not None
    assert re.fullmatch(r"full: 9 \(3 more like it were not logged\)", found)


def test_a_retry_on_a_socket_closed_meanwhile_is_no_news() -> None:
    def logged(text: str) -> bool:
        try:
            raise ValueError("Invalid file descriptor: -1")
        except ValueError:
            return Sparing().filter(logging.LogRecord("asyncio", logging.ERROR, "", 0, text, (), sys.exc_info()))

    assert not logged("Exception in callback BaseSelectorEventLoop._start_serving(…)")
    assert logged("Exception in callback something_of_ours()")
