"""Connections: how many there may be, how long a client may take, and how much is written to the log about it.

========================  ===================================================================================================
too many connections      In all and per client: an address, of IPv6 its network. A new one takes the place of the one that has
                          kept the server waiting longest; where all are being answered, it gets a 503.
too slow                  A request must be there whole in time, first its headers, then its body; an answer must be read.
too many streams          Viewers of debates keep a connection for as long as they look: they may take half of the places.
too many lines            One line of a kind in ten seconds, with the number of those that were left out.
========================  ===================================================================================================

Uvicorn has no time-out for a request that never becomes whole, and refuses by a count of connections that idle ones fill.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Literal

from uvicorn.protocols.http.h11_impl import H11Protocol

from maci.web import Limits
from maci.web.allowance import visitor_of

_log = logging.getLogger("maci.web")
_SPARE = 512
"""File descriptors for everything but connections: transcripts, models, and sockets that were accepted and not yet counted."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\ncontent-type: text/plain\r\n"
    b"content-length: 39\r\n\r\nToo many connections: try again later.\n"
)


class Full(Exception):
    """There is no place for another stream."""


def places(limits: Limits, descriptors: int) -> int:
    """How many connections there may be with so many file descriptors.

    >>> [places(Limits(), descriptors) for descriptors in (100_000, 1024, 256)]
    [1000, 512, 128]
    """
    return min(limits.connections, max(descriptors // 2, descriptors - _SPARE))


class Room:
    """The connections of one server. Used by one event loop only."""

    def __init__(self, limits: Limits, descriptors: int = 1 << 20) -> None:
        self.limits, self._most = limits, places(limits, descriptors)
        self._open: dict[Connection, None] = {}
        """Oldest first; one that waits for its client again goes to the end."""
        self._clients: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, new: Connection, client: str) -> bool:
        """Find a place, if need be that of one that keeps the server waiting; False where all are being answered."""
        if self._clients[client] >= self.limits.per_client:
            found = self._give_up(client)
        else:
            found = len(self._open) < self._most or self._give_up(None)
        if not found:
            _log.warning("too many connections (%s in all): a client was turned away", f"{len(self._open):,}")
            return False
        self._open[new] = None
        self._clients[client] += 1
        return True

    def leave(self, old: Connection, client: str) -> None:
        """Free its place."""
        if old in self._open:
            del self._open[old]
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]

    def wait(self, connection: Connection) -> None:
        """It waits for its client from now on."""
        if connection in self._open:
            self._open[connection] = self._open.pop(connection)

    def _give_up(self, client: str | None) -> bool:
        """Close the connection that has waited longest, of one client or of all."""
        for connection in self._open:
            if connection.phase != "answer" and client in (None, connection.address):
                _log.warning("too many connections (%s in all): an idle one was closed", f"{len(self._open):,}")
                connection.drop()
                return True
        return False

    @contextmanager
    def stream(self, client: str) -> Iterator[None]:
        """A place for a viewer; raises :class:`Full` where there is none."""
        if self._streams[client] >= self.limits.per_client // 2 or self._streams.total() >= self._most // 2:
            raise Full("too many people are watching debates here: try again later, or load the page by hand")
        self._streams[client] += 1
        try:
            yield
        finally:
            self._streams[client] -= 1
            if not self._streams[client]:
                del self._streams[client]


class Connection(H11Protocol):
    """One connection, with deadlines."""

    address = ""
    """Of its visitor: of IPv6, the network."""
    phase: Literal["headers", "body", "answer"] = "headers"
    """What it waits for: the client's request, the rest of it, or us."""

    def __init__(self, room: Room, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find a place for it, and wait for a request."""
        super().connection_made(transport)
        self.address = visitor_of(self.client[0] if self.client else "")
        if self._room.enter(self, self.address):
            self._wait_for("headers")
        else:
            transport.write(_FULL)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free its place."""
        super().connection_lost(exc)
        self._forget()

    def data_received(self, data: bytes) -> None:
        """Hear the client; more bytes of the same request do not give it more time."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client does not read what it asked for."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._room.limits.unread_seconds, self._late, "its answer was not read")

    def resume_writing(self) -> None:
        """It reads on."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def drop(self) -> None:
        """Close it now and free its place."""
        self._forget()
        self.transport.abort()

    def _look(self) -> None:
        cycle = self.cycle
        busy: Literal["body", "answer"] = "body" if cycle is not None and cycle.more_body else "answer"
        phase = "headers" if cycle is None or cycle.response_complete else busy
        if phase != self.phase and not self.transport.is_closing():
            self._wait_for(phase)

    def _wait_for(self, phase: Literal["headers", "body", "answer"]) -> None:
        self.phase, limits = phase, self._room.limits
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if phase == "answer":
            return
        self._room.wait(self)
        seconds = limits.header_seconds if phase == "headers" else limits.body_seconds
        self._deadline = self.loop.call_later(seconds, self._late, f"its {phase} did not come in time")

    def _late(self, why: str) -> None:
        if self._unread is not None or self.phase != "headers" or self.conn.trailing_data[0]:  # else it only idled
            _log.warning("a connection was closed: %s", why)
        self.drop()

    def _forget(self) -> None:
        self._room.leave(self, self.address)
        for timer in (self._deadline, self._unread):
            if timer is not None:
                timer.cancel()
        self._deadline = self._unread = None


class Sparing(logging.Filter):
    """Lets one line of a kind through every so many seconds, and says how many were left out."""

    _KINDS = 1000

    def __init__(self, seconds: float = 10.0) -> None:
        super().__init__()
        self._seconds = seconds
        self._kinds: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        error, raised = record.exc_info[:2] if record.exc_info else (None, None)
        if isinstance(raised, OSError) and raised.errno in (
            errno.EMFILE,
            errno.ENFILE,
        ):  # asyncio tries again in a second
            record.msg, record.args, record.exc_info = "no file descriptor is left: new connections wait", (), None
        if isinstance(raised, ValueError) and "_start_serving" in record.getMessage():
            return False  # asyncio tries again on a socket that was closed meanwhile: the server is stopping
        kind = record.name, record.levelno, str(record.msg).partition("\n")[0][:80], error
        last, left_out = self._kinds.get(kind, (float("-inf"), 0))
        if monotonic() - last < self._seconds:
            self._kinds[kind] = last, left_out + 1
            return False
        if len(self._kinds) >= self._KINDS:
            self._kinds.clear()
        self._kinds[kind] = monotonic(), 0
        if left_out:
            record.msg, record.args = f"{record.getMessage().rstrip()} ({left_out:,} more like it were not logged)", ()
        return True
