"""A web app in this process, with a table of scripted agents that can be held."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from hash_encoder import HashEncoder
from helpers import arg, judge, seat, turn
from maci.agents.agent import Agent
from maci.agents.argument import Turn
from maci.web import ServerSettings
from maci.web.desk import Desk
from maci.web.server import create_app

LABELS = ("yes", "no")
HOST = "http://127.0.0.1:8642"


class Held:
    """Agents wait here from a round on, until the test lets them go."""

    def __init__(self, since: int | None = None) -> None:
        self.since, self.gate = since, threading.Event()

    async def wait(self, round: int) -> None:
        while self.since is not None and round >= self.since and not self.gate.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Speaker(Agent):
    """Says the same every round, after the gate lets it."""

    family = "speaker"

    def __init__(self, name: str, p: float, held: Held, claim: str) -> None:
        self.name, self._p, self._held, self._claim = name, p, held, claim

    def ceiling(self, request: object) -> int:
        return 0

    async def turn(self, request: Any) -> Turn:
        await self._held.wait(request.round)
        return turn(self._p, 1 - self._p, args=(arg(self._claim),), labels=LABELS)


@contextmanager
def tables(monkeypatch: Any, held: Held | None = None, claim: str = "Because it is so.") -> Iterator[Held]:
    """Every debate is held between two speakers."""
    held = held or Held()

    def make(self: Any, case: Any, seed: int) -> Any:
        return seat([Speaker("ada", 0.9, held, claim), Speaker("bob", 0.2, held, claim)], [judge()], case=case)

    monkeypatch.setattr("maci.seating.seating.load_encoder", lambda *args, **more: HashEncoder())
    monkeypatch.setattr("maci.seating.tables.Tables._seat", make)
    try:
        yield held
    finally:
        held.gate.set()


class Browser:
    """A visitor: keeps cookies, follows redirects, finds the word of forms."""

    def __init__(self, settings: ServerSettings, base: str = HOST) -> None:
        self.app = create_app(settings)
        self.desk: Desk = self.app._app.state.desk  # type: ignore[attr-defined]
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app), base_url=base, follow_redirects=True
        )

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    async def word(self) -> str:
        found = re.search(r'name="word" value="([^"]+)"', (await self.get("/new")).text)
        assert found is not None
        return found[1]

    async def post(self, path: str, fields: dict[str, str], **more: Any) -> httpx.Response:
        return await self.client.post(path, data={"word": await self.word(), **fields}, **more)

    async def start(self, **fields: str) -> str:
        """Begin a debate; its id."""
        answer = await self.post("/debates", {"question": "Is it so?", "outcomes": "yes, no", **fields})
        assert answer.status_code == 200, answer.text
        return answer.url.path.rpartition("/")[2]

    async def end(self, id: str) -> None:
        """Wait until a debate is no longer under way."""
        run = self.desk._running.get(id)
        if run is not None:
            await asyncio.wait_for(run.over.wait(), 60)


def entries(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


def visit(folder: Path, walk: Callable[[Browser], Awaitable[Any]], **settings: Any) -> Any:
    """Let a visitor walk through an app over a folder of debates."""

    async def go() -> Any:
        browser = Browser(ServerSettings(runs=folder, studies=folder / ".studies", **settings))
        try:
            return await walk(browser)
        finally:
            await browser.desk.close()
            await browser.client.aclose()

    return asyncio.run(go())
