"""``local/…``: models on this machine, through llama.cpp's own HTTP server.

Nothing is loaded before the first request. Then the weights are fetched if they are missing, and a process is started for them that
listens on loopback and requires a private key. Requests are sent as to any OpenAI-compatible server, so a call can be cancelled,
several run at once, and the beginnings of prompts are cached. :func:`cores` counts the cores there are to compute with.

:class:`Prefixes`: the beginning that several prompts have in common is read once, whoever sends them. llama.cpp keeps what each of
its places (slots) has read, but never looks into another place: two agents that are asked about the same case at the same time would
both have all of it read. So prompts that have much to be read wait a moment for others. If several have come that begin alike, that
beginning is read in one place and copied to the others' (``/slots/ID?action=save`` and ``restore``, a file of some 30 kB a token that
is gone at once); then all are sent, and each has only its own end read. What a place has read is the same numbers, whoever had it read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from maci.errors import ConfigError, ContextOverflow, Interrupted, MissingExtra, ModelError, Unreachable
from maci.llm.keys import Key
from maci.llm.local.engine import Counters, Engine, EngineSettings, Lease, lease
from maci.llm.local.gguf import Source, source_of, training_context
from maci.llm.local.weights import Progress
from maci.llm.model import Provider, Reply, Request, without_control_tokens
from maci.llm.providers import Http, OpenAI
from maci.llm.providers._schema import gbnf

_log = logging.getLogger(__name__)
_MOMENT = 0.02
"""Seconds for which a long prompt waits for others: agents of a debate are asked within a millisecond."""
_WORTH = 600
"""Characters, some 150 tokens: as much must be saved, or prompts are sent as they are. Reading that many takes a model of 1.5 billion
parameters two seconds on two cores, and copying what a place has read a fifth of one."""
_SYSTEM = Path("/sys")


def cores(system: Path = _SYSTEM) -> int:
    """Physical cores this process may use; a second thread on a core gains llama.cpp nothing, and waiting for it costs.

    >>> cores() >= 1
    True
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = {_read(system / f"devices/system/cpu/cpu{n}/topology/thread_siblings_list") or str(n) for n in allowed}
    return max(1, min(len(siblings), _quota(system)))


def _quota(system: Path) -> int:
    """What a container may use."""
    quota, _, period = (_read(system / "fs/cgroup/cpu.max") or "max").partition(" ")
    return math.ceil(int(quota) / int(period)) if quota.isdigit() and period.isdigit() else 1 << 16


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


_CONTEXT = 8192
"""Tokens of a sequence, where nothing else is said and the model can read as many."""
_CACHE_MIB = 4096
"""At most; memory is taken as prompts are displaced."""
_ROOMY = 8192
"""MiB of free memory from which four sequences are worked on at once, and not two: each has its whole context set aside."""
_SAMPLING = frozenset({"top_p", "top_k", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty"})
_PATIENCE = 3600.0


class LocalProvider(Provider):
    """The model whose name is ``local/`` and ``source``. Several for the same weights and settings share one process.

    Nothing is fetched or loaded before the first request, so the extra is not needed before either.

    ``context``: tokens of each sequence (default: 8192, or what the model was trained for if that is less). ``parallel``: sequences
    at once (default: 4, or 2 where less than 8 GB of memory are free). ``threads``: default one for each physical core.
    ``extra``: sampling parameters. ``offline`` (or MACI_OFFLINE=1): fetch nothing. ``progress`` is told how far a
    download is, from another thread.
    """

    def __init__(
        self,
        source: str | Source,
        http: Http | None = None,
        *,
        context: int | None = None,
        parallel: int | None = None,
        threads: int | None = None,
        extra: Mapping[str, Any] | None = None,
        offline: bool = False,
        progress: Progress | None = None,
    ) -> None:
        source = source_of(source) if isinstance(source, str) else source
        self.name = self.origin = f"local/{source.name}"
        for what, value, least in (("context", context, 256), ("parallel", parallel, 1), ("threads", threads, 1)):
            if value is not None and value < least:
                raise ConfigError(f"{what} of {self.name} is {value}: it must be at least {least}")
        if unknown := set(extra or ()) - _SAMPLING:
            raise ConfigError(
                f"{self.name} takes no {', '.join(sorted(unknown))}: extra may have {', '.join(sorted(_SAMPLING))}"
            )
        self.parallel = parallel or (4 if _free() >= _ROOMY else 2)
        """Sequences it works on at once, in one batch; more calls than that wait for each other. In a batch of four a token takes some
        20 % less time than one written alone, in one of two no less (decision 006), and judges need not take the places of agents."""
        self._source, self._context, self._threads = source, context, threads or cores()
        self._extra, self._offline, self._progress = dict(extra or {}), offline, progress
        self.identity = {"api": "llama.cpp", "weights": source.weights, "options": self._extra}
        """The weights and how they are sampled. Not where they are, and not the context: what fits is answered the same."""
        self._http, self._lent = http or Http(total=_PATIENCE), http is not None
        self._lease: Lease | None = None
        self._chat: _Chat | None = None

    def __repr__(self) -> str:
        return f"LocalProvider({self.name!r})"

    async def send(self, request: Request) -> Reply:
        """One attempt; the first one loads the model."""
        chat = await self._ready()
        try:
            return await chat.send(request)
        except ContextOverflow as error:
            tokens = re.search(r"\((\d+) tokens\)", str(error))
            raise ContextOverflow(
                f"{self.name} has room for {chat.engine.settings.context} tokens, prompt and reply together, and the prompt has "
                f"{tokens[1] if tokens else 'more'}: set a larger `context` for this model, or lower evidence.context_tokens"
            ) from error
        except (Interrupted, Unreachable) as error:
            if (ending := await asyncio.to_thread(chat.engine.died)) is None:
                raise
            if chat is self._chat and self._lease is not None:
                self._lease.forget()
                await self._let_go()
            raise Interrupted(
                f"{self.name}: {ending}. The next call loads it again; if that continues, lower `context` or `parallel` of this model"
            ) from error

    async def counters(self) -> Counters:
        """What llama.cpp counted since the model was loaded; loads it if need be."""
        return Counters.read(await asyncio.to_thread((await self._ready()).engine.metrics))

    async def aclose(self) -> None:
        """Let go of the process and of the connections, unless they were lent."""
        await self._let_go()
        if not self._lent:
            await self._http.aclose()

    async def _let_go(self) -> None:
        held, chat, self._lease, self._chat = self._lease, self._chat, None, None
        if chat is not None:
            await chat.prefixes.aclose()
        if held is not None:
            await asyncio.to_thread(held.release)

    def check(self) -> None:
        """Whether it can be loaded here, as far as can be said without doing it: raises :class:`~maci.errors.MissingExtra`."""
        if find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp", "local", self.name)

    async def _ready(self) -> _Chat:
        if self._chat is not None:
            return self._chat
        self.check()
        if self._lease is None:
            self._lease = lease((self._source, self._context, self.parallel, self._threads), self._settings)
        held = self._lease
        try:
            engine = await asyncio.wrap_future(held.engine)
        except ModelError as error:
            error.fatal = True
            if self._lease is held:
                await self._let_go()
            raise
        if self._chat is None:
            self._chat = _Chat(engine, self.name, self._http, self._extra)
        return self._chat

    def _settings(self, unwanted: Event) -> EngineSettings:
        """Fetch the weights if need be, and say how to load them; in a thread."""

        def tell(what: str, done: int, total: int) -> None:
            if unwanted.is_set():
                raise ModelError(f"{self.name} is not wanted any more")
            if self._progress is not None:
                self._progress(what, done, total)

        path = self._source.locate(offline=self._offline, progress=tell)
        trained = training_context(path)
        if self._context and trained and self._context > trained:
            raise ConfigError(f"context of {self.name} is {self._context}, but it was trained for {trained}: lower it")
        context = self._context or min(_CONTEXT, trained or _CONTEXT)
        return EngineSettings(
            path=str(path),
            alias=self.name,
            context=context,
            parallel=self.parallel,
            threads=self._threads,
            cache_mib=_cache(),
        )


class _Chat(OpenAI):
    """The server of one engine."""

    API, PROVIDER = "llama.cpp", "local"

    def __init__(self, engine: Engine, name: str, http: Http, options: Mapping[str, Any]) -> None:
        model = name.removeprefix("local/")
        key = Key(engine.key, "this process")
        super().__init__(
            model=model, http=http, base_url=f"{engine.address}/v1", key=key, provider="local", options=options
        )
        self.engine = engine
        self.prefixes = Prefixes(self._exchange, engine.settings.parallel, engine.folder)

    async def send(self, request: Request) -> Reply:
        """One attempt, once what the prompt has in common with others' has been read."""
        await self.prefixes.ready(self._body(request)["messages"])
        return await super().send(request)

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        for message in body["messages"]:  # llama.cpp reads control tokens wherever they stand
            message["content"] = without_control_tokens(message["content"])
        if "top_logprobs" in body:
            body["top_logprobs"] = request.top_logprobs  # not held to OpenAI's limit
        if request.schema is not None and body.pop("response_format", None) is not None:
            body["grammar"] = (_guidance if self.engine.guided else gbnf)(request.schema.json)
        return body

    async def _exchange(self, path: str, body: object) -> Any:
        """What the server answers at one of its own paths."""
        url, peer = f"{self.engine.address}{path}", self._peer
        if body is None:
            answer = await self._http.get(url, self._headers(), peer)
        else:
            answer = await self._http.post(url, self._headers(), body, peer)
        if answer.status != 200:
            raise ModelError(f"{self.name}: llama.cpp answers {path} with {answer.status}: {str(answer.body)[:200]}")
        return answer.body


def _guidance(schema: Mapping[str, Any]) -> str:
    """A schema as a grammar for LLGuidance, without freedom where to put spaces and line breaks.

    What llama.cpp itself makes of ``response_format`` lets line breaks in between any two parts, which small models use at length, and
    slows the smallest down (benchmarks/bench_local.py). Keywords LLGuidance does not know are passed over (``lenient``): it would
    otherwise let anything through without a word. The reader of a reply validates it anyway.
    """
    form = {
        "whitespace_flexible": False,
        "item_separator": ", ",
        "key_separator": ": ",
        "lenient": True,
        "coerce_one_of": True,
    }
    return "%llguidance {}\nstart: %json " + json.dumps({**schema, "x-guidance": form})


def _cache() -> int:
    """MiB for displaced prompts: a quarter of the memory that is free, within limits."""
    return max(256, min(_CACHE_MIB, _free() // 4))


def _free() -> int:
    """MiB of memory that are free; a guess where the system does not say."""
    try:
        words = Path("/proc/meminfo").read_text(encoding="ascii").split()
        return int(words[words.index("MemAvailable:") + 1]) // 1024
    except (OSError, ValueError, IndexError):
        return _CACHE_MIB


Transport = Callable[[str, object], Awaitable[Any]]
"""Sends a body to a path of the server, or gets it where the body is ``None``; raises ``ModelError``."""


class Prefixes:
    """What the places of one server have read, and who is about to have more read."""

    def __init__(self, exchange: Transport, places: int, folder: Path) -> None:
        """``folder``: where the server keeps what it is told to save."""
        self._exchange, self._places, self._folder = exchange, places, folder
        self._read: deque[str] = deque(maxlen=places)
        """The last prompts sent: about what stands in the places."""
        self._waiting: list[tuple[str, object, asyncio.Future[None]]] = []
        self._sharing: set[asyncio.Task[None]] = set()
        self._saved = 0

    async def ready(self, messages: Sequence[dict[str, str]]) -> None:
        """Return once these messages may be sent; what they have in common with others' has been read then, if that was worth it."""
        text = "\n".join(f"{message['role']}\n{message['content']}" for message in messages)
        known = max((len(_common((text, other))) for other in self._read), default=0)
        if self._places < 2 or len(text) - known < _WORTH:
            self._read.append(text)
            return
        loop = asyncio.get_running_loop()
        may_go: asyncio.Future[None] = loop.create_future()
        self._waiting.append((text, messages, may_go))
        if len(self._waiting) == 1:
            task = loop.create_task(self._share())
            self._sharing.add(task)
            task.add_done_callback(self._sharing.discard)
        await may_go

    async def aclose(self) -> None:
        """Stop what is under way."""
        for task in self._sharing:
            task.cancel()
        await asyncio.gather(*self._sharing, return_exceptions=True)

    async def _share(self) -> None:
        """Let all go who are waiting a moment from now, after what they have in common was read."""
        await asyncio.sleep(_MOMENT)
        group, self._waiting = self._waiting, []
        try:
            if self._saves([text for text, _, _ in group]) >= _WORTH:
                await self._spread([messages for _, messages, _ in group])
        except ModelError as error:  # each has its prompt read by itself then
            _log.debug("the common beginning of %d prompts was not shared: %s", len(group), error)
        finally:
            for text, _, may_go in group:
                self._read.append(text)
                if not may_go.done():
                    may_go.set_result(None)

    def _saves(self, texts: Sequence[str]) -> int:
        """How many characters fewer are read if what the texts have in common is read once; what is in a place is not read anyway."""
        if len(texts) < 2:
            return 0
        common = _common(texts)
        there = sorted((len(_common((common, other))) for other in self._read), reverse=True)
        there += [0] * (len(texts) - len(there))
        return sum(len(common) - known for known in there[1 : len(texts)])

    async def _spread(self, prompts: Sequence[object]) -> None:
        """Have the common beginning read in one place, and copied to as many others as there are further prompts."""
        rendered = [(await self._exchange("/apply-template", {"messages": prompt}))["prompt"] for prompt in prompts]
        told = {"prompt": _common(rendered), "n_predict": 0, "cache_prompt": True}
        source = (await self._exchange("/completion", told))["id_slot"]
        places = await self._exchange("/slots", None)
        free = [place["id"] for place in places if not place["is_processing"] and place["id"] != source]
        self._saved += 1
        name = f"prefix-{self._saved}"
        try:
            await self._exchange(f"/slots/{source}?action=save", {"filename": name})
            for place in free[: len(prompts) - 1]:
                await self._exchange(f"/slots/{place}?action=restore", {"filename": name})
        finally:
            (self._folder / name).unlink(missing_ok=True)


def _common(texts: Sequence[str]) -> str:
    """What all texts begin with.

    >>> _common(["dengue", "dental", "den"])
    'den'
    """
    low, high = 0, min(map(len, texts))
    while low < high:
        middle = (low + high + 1) // 2
        if all(text.startswith(texts[0][:middle]) for text in texts):
            low = middle
        else:
            high = middle - 1
    return texts[0][:low]
