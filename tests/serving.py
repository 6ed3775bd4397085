"""A fake server in a thread of its own, for tests that run commands in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fake_server import FakeServer
from fake_server.shape import Asked, Shape


@contextmanager
def serving(*models: str, kind: type[FakeServer] = FakeServer, **how: Any) -> Iterator[FakeServer]:
    """A server that has these models; debaters quote the evidence they are shown."""
    server, loop, up = kind(models=models, quotes=True, **how), asyncio.new_event_loop(), threading.Event()
    over = asyncio.Event()

    async def serve() -> None:
        async with server:
            up.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert up.wait(10)
        yield server
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


class CuttingServer(FakeServer):
    """A server that reads the first tokens of a prompt and says nothing of the rest, as Ollama does."""

    def _measure(self, shape: Shape, asked: Asked) -> int:
        return min(super()._measure(shape, asked), 300)
