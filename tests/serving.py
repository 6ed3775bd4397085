"""A fake server in a thread of its own, for tests that run commands in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from aiohttp import web

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


class LoadingServer(FakeServer):
    """A server that has just been started, as llama-server answers until its model is there."""

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        said = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
        return web.json_response(said, status=503)


class MumblingServer(FakeServer):
    """A server whose models never keep to the form they are asked for."""

    def _text(self, fault: str | None, body: dict[str, Any], asked: Asked, rng: Random) -> tuple[str, bool]:
        return "I would say the first.", True


class LockedServer(FakeServer):
    """A server that does not even list its models without its key."""

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET" and request.headers.get("Authorization", "")[7:] not in (self.keys or ()):
            return web.json_response({"error": {"message": "No API key was sent."}}, status=401)
        return await super()._handle(request)
