"""The server itself: routes, counts, delays and faults."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Self

from fake_server.anthropic import Anthropic
from fake_server.content import quoting, spoil, write
from fake_server.faults import CONTENT, REFUSED, Faults, draw
from fake_server.gemini import Gemini
from fake_server.openai import OpenAI, Responses
from fake_server.shape import Asked, Shape, Wrong

if TYPE_CHECKING:
    from aiohttp import web


Delay = float | tuple[float, float] | Callable[[Random], float]
"""Seconds before each answer: as many, between two, or drawn."""
_TEXTS = 64
_OPENAI, _RESPONSES, _ANTHROPIC, _GEMINI = OpenAI(), Responses(), Anthropic(), Gemini()


_LEAST = 4096
"""Bytes from which the beginning of a prompt is cached: 1,024 tokens."""


@dataclass(slots=True)
class Count:
    """What one key has used, by the server's own count."""

    requests: int = 0
    served: int = 0
    """Of these, the ones that cost something: all but those refused before any work."""
    prompt: int = 0
    cached: int = 0
    """Of the prompts, what it had read before."""
    generated: int = 0


class FakeServer:
    """A server on this machine that answers as the three APIs do. Use as ``async with FakeServer() as server``.

    Every request is answered the same way for the same ``seed``, key, body and number of times it was sent, whatever else goes on.
    """

    def __init__(
        self,
        *,
        faults: Faults = Faults(),
        seed: int = 0,
        delay: Delay = 0.0,
        answer: Callable[[dict[str, Any]], str | None] | None = None,
        keys: Collection[str] | None = None,
        models: Collection[str] = (),
        context: int | None = None,
        refuses: Collection[str] = (),
        echo: bool = False,
        quotes: bool = False,
        agrees: bool = False,
        thinks: int = 0,
        obeys: bool = True,
        wait: float = 0.05,
        drip: float = 0.2,
        port: int = 0,
    ) -> None:
        self.seed, self.delay, self.answer = seed, delay, answer
        self.keys = None if keys is None else frozenset(keys)
        """Keys it accepts; ``None`` accepts any, and none at all."""
        self.models, self.context, self.refuses = tuple(models), context, frozenset(refuses)
        """Models it has (any, if empty), tokens they can read, parameters it does not know."""
        self.echo, self.quotes, self.agrees = echo, quotes, agrees
        """Whether its errors repeat the key in full; whether debaters quote the evidence they are shown, and all hold the first
        outcome for the likeliest."""
        self.thinks, self.obeys = thinks, obeys
        """Tokens a model thinks before each answer, unless it is told not to and obeys; what its limit leaves after that is for the
        answer. As xAI has it, only the total of the OpenAI-compatible API counts them."""
        self.wait, self.drip = wait, drip
        """Seconds of a Retry-After, and of an answer in small pieces."""
        self.counts: dict[str, Count] = {}
        self.seen: deque[tuple[str, Mapping[str, str], dict[str, Any]]] = deque(maxlen=64)
        """Path, headers and body of the last requests."""
        self.faulted: Counter[str] = Counter()
        self._table, self._port = faults.table(), port
        self._repeats: Counter[int] = Counter()
        self._passed: set[tuple[Shape, str]] = set()
        self._written: dict[tuple[str, int], str] = {}
        self._prefixes: set[tuple[str, str, int, int]] = set()
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        from aiohttp import web

        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=4096)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if request.method == "POST":
            if path.endswith("/chat/completions"):
                return await self._serve(request, path, _OPENAI)
            if path.endswith("/responses"):
                return await self._serve(request, path, _RESPONSES)
            if path.endswith("/messages"):
                return await self._serve(request, path, _ANTHROPIC)
            if path.endswith(":generateContent"):
                return await self._serve(request, path, _GEMINI)
            if path == "/reset":
                self.counts.clear()
                return _json({})
        elif path == "/count":
            return _json({key: asdict(count) for key, count in self.counts.items()})
        elif path == "/v1beta/models":
            return _json({"models": [{"name": f"models/{model}"} for model in self.models]})
        elif path.endswith("/models"):
            return _json({"object": "list", "data": [{"id": model, "object": "model"} for model in self.models]})
        return _json({"detail": "Not Found"}, 404)

    async def _serve(self, request: web.BaseRequest, path: str, shape: Shape) -> web.StreamResponse:
        raw = await request.read()
        try:
            key = self._key(shape, request.headers)
            count = self._count(key)
            count.requests += 1
            body = self._parse(shape, raw)
            self.seen.append((path, request.headers, body))
            asked = shape.read(body, path)
            prompt = self._measure(shape, asked)
        except Wrong as wrong:
            return _json(shape.error(wrong), wrong.status)
        print_ = zlib.crc32(raw, zlib.crc32(key.encode(), self.seed & 0xFFFFFFFF))
        self._repeats[print_] += 1
        rng = Random(print_ * 1009 + self._repeats[print_])
        fault = draw(self._table, rng)
        if fault is not None:
            self.faulted[fault] += 1
            if fault in REFUSED:
                return self._refuse(shape, fault)
        thought = 0 if self.obeys and _told_not_to_think(body) else min(self.thinks, asked.max_tokens)
        asked.max_tokens -= thought
        text, whole = self._text(fault, body, asked, rng)
        generated = (
            min(-(-len(text.encode()) // 4), asked.max_tokens) if fault != "refused" else min(8, asked.max_tokens)
        )
        count.served += 1
        count.prompt += prompt
        count.generated += generated + thought
        if self.delay:
            delay = self.delay(rng) if callable(self.delay) else self.delay
            await asyncio.sleep(rng.uniform(*delay) if isinstance(delay, tuple) else delay)
        if fault == "broken":
            return _json(shape.error(Wrong("Internal server error", status=500, kind="server")), 500)
        if fault == "refused":
            return _json(shape.refusal(asked, prompt, generated))
        cached = self._cached(key, asked)
        count.cached += cached
        reply = shape.reply(asked, text, prompt, cached, generated, whole)
        if thought:
            shape.think(reply, thought)
        if fault is None or fault in CONTENT:
            return _json(reply)
        return await self._break(request, fault, json.dumps(reply).encode(), rng)

    def _count(self, key: str) -> Count:
        """What a key has used."""
        return self.counts.setdefault(key, Count())

    def _key(self, shape: Shape, headers: Mapping[str, str]) -> str:
        key = shape.key(headers)
        if self.keys is not None and key not in self.keys:
            shown = key if self.echo else (key or "")[:3] + "***"
            status = 400 if isinstance(shape, Gemini) else 401
            raise Wrong(f"Incorrect API key provided: {shown}. API key not valid.", status=status, kind="key")
        return key or ""

    def _parse(self, shape: Shape, raw: bytes) -> dict[str, Any]:
        try:
            body = json.loads(raw)
        except ValueError:
            raise Wrong("We could not parse the JSON body of your request.") from None
        if not isinstance(body, dict):
            raise Wrong("The body must be an object.")
        names = body.keys() | (body.get("generationConfig") or {}).keys() if isinstance(shape, Gemini) else body.keys()
        for name in (body.keys() - shape.KNOWN) | (names & self.refuses):
            raise shape.unknown(name)
        return body

    def _measure(self, shape: Shape, asked: Asked) -> int:
        """Tokens of the prompt: a quarter of its bytes, the schema included."""
        if self.models and asked.model not in self.models:
            raise Wrong(
                f"The model `{asked.model}` does not exist or you do not have access to it.", status=404, kind="model"
            )
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in asked.texts)
        if asked.schema is not None:
            size += len(self._schema(shape, asked))
        tokens = -(-size // 4)
        if self.context is not None and tokens + asked.max_tokens > self.context:
            raise Wrong(
                f"prompt is too long: this model's maximum context length is {self.context} tokens, {tokens} were given. The input "
                "token count exceeds the maximum number of tokens allowed.",
                kind="context",
            )
        return tokens

    def _schema(self, shape: Shape, asked: Asked) -> str:
        """The schema as text, once the API is known to take it."""
        text = json.dumps(asked.schema, separators=(",", ":"))
        if asked.strict is not None and asked.schema is not None and (shape, text) not in self._passed:
            asked.strict(asked.schema)
            self._passed.add((shape, text))
        asked.schema_text = text
        return text

    def _cached(self, key: str, asked: Asked) -> int:
        """Tokens at the beginning of the prompt that this key has sent before, from 1,024 on.

        Where the API caches by itself they are found in steps of 128. Where it has to be told (``marks``), what was marked before is
        found again at the end of a block, up to 20 blocks before a mark; another schema is another beginning.
        """
        if len(self._prefixes) > 1 << 17:
            self._prefixes.clear()
        data = [text.encode("utf-8", "surrogatepass") for text in asked.texts]
        if asked.marks is None:
            whole = b"\0".join(data)
            ends = range(_LEAST, len(whole) + 1, 512)
            known = [(key, asked.model, end, hash(whole[:end])) for end in ends]
            found = 0
            for end, one in zip(ends, known, strict=True):
                if one not in self._prefixes:
                    break
                found = end
            self._prefixes.update(known)
            return found // 4
        known_at, size, chain = [], 0, hash((key, asked.model, asked.schema_text))
        for block in data:
            size, chain = size + len(block), hash((chain, block))
            known_at.append((size, ("", asked.model, size, chain)))
        found = 0
        for mark in asked.marks:
            for size, one in known_at[max(0, mark - 20) : mark + 1]:
                found = max(found, size) if one in self._prefixes else found
            size, one = known_at[mark]
            if size >= _LEAST:
                self._prefixes.add(one)
        return found // 4

    def _text(self, fault: str | None, body: dict[str, Any], asked: Asked, rng: Random) -> tuple[str, bool]:
        """What the model writes, and whether it fits into ``max_tokens``."""
        if fault in CONTENT:
            return spoil(str(fault), asked.schema, rng), True
        text = self.answer(body) if self.answer is not None else None
        if text is None:
            text = self._write(asked, rng)
            if self.quotes and asked.schema is not None and "arguments" in asked.schema.get("properties", ()):
                said = asked.schema["properties"]["arguments"]["items"]["properties"]
                text = quoting(text, "\n".join(asked.texts), said["outcome"].get("enum", ()), agrees=self.agrees)
        if len(text) <= asked.max_tokens * 4 and len(text.encode()) <= asked.max_tokens * 4:
            return text, True
        return text.encode()[: asked.max_tokens * 4].decode("utf-8", "ignore"), False

    def _write(self, asked: Asked, rng: Random) -> str:
        """One of a few texts for each schema: writing one takes longer than all the rest."""
        which = (asked.schema_text, rng.randrange(_TEXTS))
        text = self._written.get(which)
        if text is None:
            if len(self._written) >= 1 << 14:
                self._written.clear()
            self._written[which] = text = write(asked.schema, Random(zlib.crc32(which[0].encode()) + which[1]))
        return text

    def _refuse(self, shape: Shape, fault: str) -> web.Response:
        if fault == "unavailable":
            return _json(shape.error(Wrong("The model is overloaded.", status=503, kind="server")), 503)
        waits = fault == "limited_wait"
        wrong = Wrong("Rate limit reached", status=429, kind="limited", param=f"{self.wait:g}" if waits else None)
        return _json(shape.error(wrong), 429, {"Retry-After": f"{self.wait:g}"} if waits else {})

    async def _break(self, request: web.BaseRequest, fault: str, body: bytes, rng: Random) -> web.StreamResponse:
        """An answer with a fault in its transport."""
        from aiohttp import web

        if fault == "hang":
            await asyncio.get_running_loop().create_future()  # cancelled when the client goes away or the server stops
        if fault == "bad_body":
            return _bytes(rng.choice((body[:-1], b"<html>Bad gateway</html>", b"\xff\xfe" + body, b"[" * 100_000, b"")))
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
        await response.prepare(request)
        pieces = 10
        for i in range(pieces if fault == "drip" else pieces // 2):
            await response.write(body[i * len(body) // pieces : (i + 1) * len(body) // pieces])
            await asyncio.sleep(self.drip / pieces if fault == "drip" else 0)
        transport = request.transport
        if fault != "drip" and transport is not None:
            if fault == "reset":
                opened = transport.get_extra_info("socket")
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                transport.abort()
            else:
                transport.close()
        return response


def _told_not_to_think(body: Mapping[str, Any]) -> bool:
    """In the words of any of the services."""
    config = (body.get("generationConfig") or {}).get("thinkingConfig") or {}
    return (
        body.get("reasoning_effort") == "none"
        or (body.get("reasoning") or {}).get("effort") == "none"
        or (body.get("thinking") or {}).get("type") == "disabled"
        or (body.get("chat_template_kwargs") or {}).get("enable_thinking") is False
        or config.get("thinkingBudget") == 0
        or config.get("thinkingLevel") == "MINIMAL"
    )


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return _bytes(json.dumps(value).encode(), status, headers)


def _bytes(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    from aiohttp import web

    return web.Response(body=body, status=status, headers=headers, content_type="application/json")
