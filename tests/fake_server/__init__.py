"""A fake: a server on this machine that behaves like OpenAI's, Anthropic's and Gemini's APIs, their faults included.

For tests, for the chaos run and for benchmarks: real sockets, the shapes each API documents, replies that follow the schema they are
asked for, and its own count of what each key has used (``GET /count``, ``POST /reset``), a token being four bytes. It knows nothing.

>>> import asyncio
>>> async def main():
...     async with FakeServer() as server:
...         return server.url.startswith("http://127.0.0.1:")
>>> asyncio.run(main())
True

From a shell: ``python -m fake_server --port 8000 --model alpha --delay 1.0 --fault-rate 0.2``; there, debaters quote the
evidence they are shown, so that a debate gets somewhere.
"""

from __future__ import annotations

from fake_server.faults import Faults
from fake_server.server import Count, FakeServer

__all__ = ["Count", "FakeServer", "Faults"]
