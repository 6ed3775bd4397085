"""The servers of the chaos run, in a process of their own: one for each fault rate, with their own counts.

``python -m chaos.server --cache FILE --seed S --for SECONDS`` prints the addresses. ``GET /count`` of a server says what each key
has used; ``GET /chaos`` adds the faults it injected and the calls it was sent although their reply was on disk already: every
request says in a header under which key its reply will be kept and when it left, and the server itself looks into the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import zlib
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from aiohttp import web

from chaos.plan import LABELS, RATES
from fake_server import FakeServer, Faults
from fake_server.content import write

HEADER = "x-chaos-call"


class ChaosServer(FakeServer):
    """A fake server that also looks whether it is asked what it has answered before."""

    def __init__(self, cache: Path, **options: Any) -> None:
        super().__init__(answer=self.say, **options)
        self.cache, self.repeated, self.asked = cache, list[str](), 0
        self._file: sqlite3.Connection | None = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/chaos":
            counts = {key: asdict(count) for key, count in self.counts.items()}
            told = {"counts": counts, "faults": dict(self.faulted), "repeated": self.repeated, "asked": self.asked}
            return web.json_response(told)
        if (mark := request.headers.get(HEADER)) is not None and self._was_on_disk(mark):
            keys = [value for value in request.headers.values() if "chaos-key" in value]
            self.repeated.append(f"call {mark} of {keys[0]}")
        return await super()._handle(request)

    def _was_on_disk(self, mark: str) -> bool:
        call, _, left = mark.partition(" ")
        if self._file is None:
            self._file = sqlite3.connect(self.cache, timeout=10, isolation_level=None)
        row = self._file.execute("SELECT created FROM replies WHERE key = ?", (bytes.fromhex(call),)).fetchone()
        return row is not None and row[0] < float(left)  # a request may arrive long after it left

    def say(self, body: dict[str, Any]) -> str | None:
        """What the model writes: mostly whole pieces cited rather than random words quoted, and outcomes by their name."""
        self.asked += 1
        chance = Random(zlib.crc32(json.dumps(body, sort_keys=True).encode()) + self.asked)
        schema = _schema(body)
        if schema is None:
            asked = json.dumps(body)
            return chance.choice([label for label in LABELS if f"- {label}" in asked] or LABELS)
        said = json.loads(write(schema, chance))
        for argument in said.get("arguments", ()):
            for citation in argument["citations"]:
                if chance.random() < 0.8:
                    citation["quote"] = ""
        return json.dumps(said)


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    """The schema a request has, in any of the three shapes."""
    if form := body.get("response_format"):
        return form.get("json_schema", {}).get("schema")  # type: ignore[no-any-return]
    if form := body.get("output_config"):
        return form["format"]["schema"]  # type: ignore[no-any-return]
    if tools := body.get("tools"):
        return tools[0]["input_schema"]  # type: ignore[no-any-return]
    return (body.get("generationConfig") or {}).get("responseJsonSchema")  # type: ignore[no-any-return]


async def serve(cache: Path, seed: int, seconds: float) -> None:
    async with AsyncExitStack() as stack:
        for rate in RATES:
            server = ChaosServer(cache, faults=Faults.every(rate), seed=seed, delay=(0.0, 0.02), wait=0.02, drip=0.1)
            print((await stack.enter_async_context(server)).url, flush=True)
        await asyncio.sleep(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--for", type=float, default=600.0, dest="seconds")
    asked = parser.parse_args()
    asyncio.run(serve(asked.cache, asked.seed, asked.seconds))


if __name__ == "__main__":
    main()
