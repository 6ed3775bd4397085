"""One worker of the chaos run: its share of the debates, each with a transcript, over one response cache shared with the others.

It may be killed at any moment and started again; it then goes on with what is not finished. ``--die PLACE:N[:SIGNAL]`` makes it kill
itself the N-th time it comes to a place where a kill from outside seldom hits:

    sent      a call is on record, and not yet made
    asked     a request is about to leave
    answered  a reply is here, and not yet on disk
    kept      it is in the response cache, and not yet in the transcript
    torn      half a line of the transcript is written
    fsync     nobody kills it: the N-th sync fails. No other process can make that happen, so it is done in here

Where the disk takes nothing, whoever makes it so, it ends with exit code 3. It waits for a locked database less long than the product
does, so that a lock is more than a delay.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from time import time
from typing import Any

from chaos.disk import TELLS
from chaos.plan import PRICE, Plan, Seated, plan, worker_of
from chaos.safeguards import SAFEGUARDS, remove
from chaos.server import HEADER
from hash_encoder import HashEncoder
from maci.agents.debater import Debater
from maci.agents.judges.llm import LlmJudge
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.debating.loop import debate
from maci.errors import EnvironmentError_, ModelError, TranscriptError
from maci.evidence.span import CaseEvidence
from maci.files import sqlite
from maci.llm.budget import Ledger
from maci.llm.cache import ResponseCache, canonical, request_key
from maci.llm.client import Client
from maci.llm.keys import Key
from maci.llm.limits import Limiter
from maci.llm.model import Provider, Reply, Request
from maci.llm.providers import Anthropic, Gemini, Http, OpenAI
from maci.llm.providers._api import HttpAnswer
from maci.llm.providers._errors import Peer
from maci.paths import writing
from maci.record.replay import replay
from maci.record.transcript import Recording, Transcript
from maci.seating.table import Table, opening

AT_ONCE = 12
PLACES = ("sent", "asked", "answered", "kept", "torn")
LOCKED = 0.3
"""Seconds to wait for a locked database."""
_APIS = {"openai": OpenAI, "anthropic": Anthropic, "gemini": Gemini}
_key: ContextVar[str] = ContextVar("key")
_call: ContextVar[str] = ContextVar("call")


class Fate:
    """Kills the process at its hour."""

    def __init__(self, hour: str | None) -> None:
        self.place, n, how = [*(hour or ":0").split(":"), "SIGKILL"][:3]
        self.left, self.signal = int(n), signal.Signals[how]
        if self.place == "fsync":
            self._sync, os.fsync = os.fsync, self.sync

    def comes(self, place: str) -> bool:
        """Whether this is the place and the time."""
        if place == self.place:
            self.left -= 1
        return place == self.place and self.left == 0

    def at(self, place: str) -> None:
        if self.comes(place):
            os.kill(os.getpid(), self.signal)

    def sync(self, file: int) -> None:
        if self.comes("fsync"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._sync(file)


class KeyOfTheDebate(Key):
    """Whoever asks, asks with the key of the debate it asks for: models are shared, counts are not."""

    __slots__ = ()

    def reveal(self) -> str:
        return _key.get()


class Marking(Http):
    """Says in a header which call this is, so that the server can look whether its reply is on disk."""

    async def post(
        self, url: str, headers: Mapping[str, str], body: object, peer: Peer, most: int | None = None
    ) -> HttpAnswer:
        return await super().post(url, {**headers, HEADER: f"{_call.get()} {time()}"}, body, peer, most)


class Mortal:
    """A provider that may not live to see the answer."""

    def __init__(self, provider: Provider, fate: Fate, cache: ResponseCache) -> None:
        self._provider, self._fate, self._cache = provider, fate, cache
        self._identity = canonical(provider.identity)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def send(self, request: Request) -> Reply:
        key = request_key(self._identity, request)
        kept = self._cache.find(key)
        short = kept is not None and kept.truncated and kept.usage.generated < request.max_tokens
        _call.set("00" if short else key.hex())  # what was cut off for want of room is asked again with more
        self._fate.at("asked")
        reply = await self._provider.send(request)
        self._fate.at("answered")
        return reply


class MortalCache(ResponseCache):
    """The cache, after which everything may end."""

    fate: Fate

    async def put(self, key: bytes, reply: Reply) -> None:
        await super().put(key, reply)
        self.fate.at("kept")


class MortalTranscript(Transcript):
    """A transcript that may end in the middle of a line."""

    fate: Fate

    def append(self, event: Event, *, sync: bool = False) -> None:
        if self.fate.comes("torn"):
            self._file.flush()
            os.write(self._file.fileno(), b'{"hash":"0000')
            os.kill(os.getpid(), self.fate.signal)
        super().append(event, sync=sync)

    def flush(self, *, now: bool = False) -> None:
        super().flush(now=now)
        if now:
            self.fate.at("sent")


class Worker:
    """Runs debates until all of its share are done."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.folder, self.urls, self.fate = Path(asked.folder), asked.urls.split(","), Fate(asked.die)
        self.http, self.cache = Marking(connect=5.0, total=1.0), MortalCache(self.folder / "replies.sqlite")
        self.cache.fate = MortalTranscript.fate = self.fate
        self.limiters = [Limiter(url, concurrency=64) for url in self.urls]
        self.clients: dict[tuple[int, str, str, bool], Client] = {}
        self.share = [n for n in range(asked.debates) if worker_of(n, asked.workers) == asked.worker]
        self.plans = [plan(asked.seed, n) for n in self.share if not self._result(n).exists()]
        self.ledger = Ledger(asked.tokens)
        self.log = (self.folder / f"worker{asked.worker}.jsonl").open("a", encoding="utf-8")
        with writing(self.folder / f"worker{asked.worker}.pid"):  # from now on it may be killed
            (self.folder / f"worker{asked.worker}.pid").write_text(str(os.getpid()))

    def _result(self, number: int) -> Path:
        return self.folder / f"{number:05d}.json"

    async def run(self) -> None:
        """All that is left of the share, a few at a time."""
        places = asyncio.Semaphore(AT_ONCE)
        met = self._recover()

        async def one(each: Plan) -> None:
            async with places:
                await self._debate(each, met.get(each.number))

        try:
            async with asyncio.TaskGroup() as tasks:
                for each in self.plans:
                    tasks.create_task(one(each))
        finally:
            await self.http.aclose()
            await self.cache.aclose()

    def _recover(self) -> dict[int, tuple[MortalTranscript, Recording]]:
        """Open what broke off. The run's ledger learns what all its debates have spent, calls under way included."""
        found, lost = {}, Counter[str]()
        for number in self.share:
            if self._result(number).exists():
                self._spend(json.loads(self._result(number).read_text(encoding="utf-8"))["tokens"])
        for each in self.plans:
            path = self._transcript(each)
            if not path.exists():
                continue
            try:
                found[each.number] = MortalTranscript.resume(path)
            except TranscriptError as error:  # killed before the first line was whole: nothing had been sent
                if "no whole line" not in str(error):
                    raise
                path.unlink()
                continue
            state = replay(found[each.number][1].events).state
            under_way = sum(usage.tokens for usage in state.in_flight.values())
            self._spend(state.usage.tokens + under_way)
            lost += Counter(resumed=1, calls=len(state.in_flight), tokens=under_way)
        with writing(Path(self.log.name)):
            self.log.write(json.dumps({"pid": os.getpid(), **lost}) + "\n")
            self.log.flush()
        return found

    def _spend(self, tokens: int) -> None:
        from maci.llm.usage import Usage

        self.ledger.spent = self.ledger.spent + Usage(prompt=tokens)

    def _transcript(self, each: Plan) -> Path:
        return self.folder / f"{each.number:05d}" / "transcript.jsonl"

    async def _debate(self, each: Plan, met: tuple[MortalTranscript, Recording] | None) -> None:
        _key.set(each.key)
        table = self._table(each)
        opened = met[1].opened if met else opening(each.case, table, each.config, seed=each.seed)
        record = met[0] if met else MortalTranscript.create(self._transcript(each))
        last = met[1].events[-1] if met else None
        async with record:
            async for event in debate(
                opened, table, record=record, recorded=met[1].events if met else (), ledger=self.ledger
            ):
                last = event
        assert isinstance(last, Finished), last
        told = {"tokens": last.tokens, "usd": last.usd, "reason": last.stop_reason, "rounds": last.rounds}
        draft = self._result(each.number).with_suffix(".tmp")
        with writing(draft):
            draft.write_text(json.dumps(told), encoding="utf-8")
            draft.rename(self._result(each.number))

    def _table(self, each: Plan) -> Table:
        agents = [
            Debater(
                seat.name,
                self._client(each, seat),
                family=seat.name,
                belief=seat.belief,  # type: ignore[arg-type]
                draws=seat.draws,
                max_tokens=seat.max_tokens,
                arguments=each.config.agents.arguments,
            )
            for seat in each.agents
        ]
        judges = [
            LlmJudge(seat.name, self._client(each, seat), family=seat.name, max_tokens=seat.max_tokens)
            for seat in each.judges
        ]
        return Table(agents=agents, judges=judges, evidence=CaseEvidence(each.case), encoder=HashEncoder())

    def _client(self, each: Plan, seat: Seated) -> Client:
        """One client for each model, shared by all debates, as :class:`maci.llm.models.House` does."""
        which = each.server, seat.shape, seat.name, each.cached
        if which not in self.clients:
            url = self.urls[each.server] + ("/v1" if seat.shape == "openai" else "")
            provider = _APIS[seat.shape](
                model=f"fake-{seat.name}", http=self.http, base_url=url, key=KeyOfTheDebate("unused")
            )
            self.clients[which] = Client(
                Mortal(provider, self.fate, self.cache),
                family=seat.name,
                cache=self.cache if each.cached else None,
                limiter=self.limiters[each.server],
                price=PRICE,
                retries=2,
                timeout=1.1,
                sleep=lambda seconds: asyncio.sleep(seconds / 50),
            )
        return self.clients[which]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True)
    parser.add_argument("--urls", required=True)
    parser.add_argument("--debates", type=int, required=True)
    parser.add_argument("--worker", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True, help="the ceiling of this worker's debates together")
    parser.add_argument(
        "--without", choices=SAFEGUARDS, default="", help="take a safeguard out: then the run must fail"
    )
    parser.add_argument("--die", help="PLACE:N[:SIGNAL]")
    asked = parser.parse_args()
    sqlite.LOCKED = LOCKED
    if asked.without:
        remove(asked.without)
    code = 0
    try:
        asyncio.run(Worker(asked).run())
    except* EnvironmentError_ as errors:
        if errors.subgroup(ModelError) is not None:  # that is for the debate to deal with
            raise
        code = TELLS
    sys.exit(code)


if __name__ == "__main__":
    main()
