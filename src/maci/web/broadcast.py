"""One debate, many viewers: every event is written once, and the same bytes go to all.

A viewer is a place in the list of frames. Nobody has a queue of their own, so a slow viewer costs nothing and loses nothing: when it
reads on, it gets what it has not seen, in order. Panels (what is true now) are not history: of each, only the last state is sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

from maci.errors import MissingExtra

__all__ = ["Broadcast"]

HEARTBEAT = 15.0
"""Seconds without news after which a comment is sent, so that nobody between us takes the line for dead."""
_AT_ONCE = 64


class Broadcast:
    """The frames of a debate. Used by one event loop only."""

    def __init__(self, *, heartbeat: float = HEARTBEAT) -> None:
        self._frames: list[bytes] = []
        self._panels: dict[str, tuple[int, str]] = {}
        self._packed: dict[int, tuple[int, bytes]] = {}
        self._version, self._over, self._heartbeat = 0, False, heartbeat
        self._news: asyncio.Future[None] | None = None
        self.viewers = 0

    def __len__(self) -> int:
        return len(self._frames)

    def event(self, kind: str, html: str) -> None:
        """Publish the next event as a line for the log; its id is its place in the record."""
        seq = len(self._frames) + 1
        data = json.dumps({"seq": seq, "type": kind, "html": html}, ensure_ascii=False)
        self._frames.append(_frame(data=data, event="line", id=str(seq)))
        self._wake()

    def panels(self, panels: Mapping[str, str]) -> None:
        """Publish what is true now; what did not change is not sent again."""
        changed = {name: html for name, html in panels.items() if self._panels.get(name, (0, None))[1] != html}
        if changed:
            self._version += 1
            self._panels |= {name: (self._version, html) for name, html in changed.items()}
            self._packed.clear()
            self._wake()

    def end(self) -> None:
        """There will be no more."""
        self._over = True
        self._wake()

    async def follow(self, after: int = 0) -> AsyncIterator[bytes]:
        """Frames for one viewer who has seen the first ``after`` events, until the end."""
        place, version = max(0, min(after, len(self._frames))), 0
        self.viewers += 1
        try:
            yield _frame(retry=1000)
            while True:
                part = self._frames[place : place + _AT_ONCE]
                place += len(part)
                out = b"".join(part)
                if place == len(self._frames) and version < self._version:
                    out += self._pack(version)
                    version = self._version
                if out:
                    yield out
                elif self._over:
                    yield _frame(data="{}", event="end")
                    return
                elif not await self._wait():
                    yield b": still here\n\n"
        finally:
            self.viewers -= 1

    def _pack(self, since: int) -> bytes:
        """The panels that changed since a version, as one frame; the same bytes for all who are as far."""
        known = self._packed.get(since)
        if known is None or known[0] != self._version:
            changed = {name: html for name, (version, html) in self._panels.items() if version > since}
            known = self._version, _frame(data=json.dumps(changed, ensure_ascii=False), event="panels")
            self._packed[since] = known
        return known[1]

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
        self._news = None

    async def _wait(self) -> bool:
        """Until there is news; False where only time has passed."""
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait({self._news}, timeout=self._heartbeat)
        return bool(done)


def _frame(
    *, data: str | None = None, event: str | None = None, id: str | None = None, retry: int | None = None
) -> bytes:
    """One server-sent event on the wire."""
    try:
        from fastapi.sse import format_sse_event
    except ImportError as error:
        raise MissingExtra("fastapi", "web", "the web app") from error
    return format_sse_event(data_str=data, event=event, id=id, retry=retry)
