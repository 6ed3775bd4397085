"""What the HTTP APIs of all providers share: one session for each event loop, one attempt, and reading the token counts.

:class:`Http` is the session, made on first use and closed by :meth:`Http.aclose`. It sets no limit on connections (the client
does), follows no redirects (a key would follow them), keeps no cookies, and uses the proxy that the environment names. Replies
are not asked for as a stream of events: nothing of a reply can be judged before its last byte, and a stream would cost a parse per
token. The body is read in pieces all the same, and not beyond what the tokens asked for can take: a server that ignores the limit is
cut off, the connection is closed, and what was received counts in full.

:class:`Api` makes the attempt. A server refuses a parameter it does not support with a 400 that names it, before any work. The provider
then leaves that parameter out, remembers it, and asks again within the same attempt: nothing was charged. What a model is known not to
take is left out from the start; the reply says what was (``Reply.without``). A schema is asked for in the
best way the server accepts, see ``_WAYS``; :attr:`Api.structured` says whether the server still holds the model to it. Where it does
not, the schema stands at the end of the prompt.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import quote, urlsplit

from pydantic_core import from_json, to_json

from maci.errors import BadRequest, ConfigError, ModelError, UnknownModel
from maci.llm.keys import SERVICES, Key, host_of, is_loopback, is_public, key_help, scrub, service_at
from maci.llm.model import Message, Provider, Reply, Request, Schema
from maci.llm.offline import check_here, heed_environment, is_offline
from maci.llm.providers._errors import Complaint, Peer, interrupted, lost, no_key
from maci.llm.reasoning import traits
from maci.llm.tokens import DENSEST, at_least
from maci.llm.usage import Usage

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL


_SECRET = 16
"""Letters from which a key is taken for a secret."""
_LARGEST = 8 << 20
"""Most bytes of a reply that are read; no model writes that much."""
_NO_COUNT = 1 << 40
"""What says that it is the tokens of one reply and cannot be; sums of such numbers fit into no store."""
_FRAME, _LOGPROB = 8 << 10, 256
"""Most bytes of a reply around what the model wrote, and of one token among its log-probabilities."""


class HttpAnswer(NamedTuple):
    """What a server answered; ``body`` is parsed, or text where it is not JSON and the status is not 200."""

    status: int
    headers: Mapping[str, str]
    body: Any
    cut: bool = False
    """It was longer than it may be: this is its beginning."""


class Http:
    """Sends requests with JSON in them and reads JSON back; ``offline``: to this machine alone."""

    def __init__(
        self, *, connect: float = 10.0, total: float = 120.0, largest: int = _LARGEST, offline: bool = False
    ) -> None:
        heed_environment()
        self.connect, self.total, self.largest, self.offline = connect, total, largest, offline
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._routes: dict[str, tuple[URL, str | None]] = {}

    async def post(
        self, url: str, headers: Mapping[str, str], body: object, peer: Peer, most: int | None = None
    ) -> HttpAnswer:
        """The answer; of one with status 200 and more than ``most`` bytes, the beginning."""
        return await self._exchange("POST", url, headers, _encode(body), peer, most)

    async def get(self, url: str, headers: Mapping[str, str], peer: Peer) -> HttpAnswer:
        """The same for a request without a body."""
        return await self._exchange("GET", url, headers, None, peer)

    async def aclose(self) -> None:
        """Close the session of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        data: bytes | None,
        peer: Peer,
        most: int | None = None,
    ) -> HttpAnswer:
        check_here(url, self.offline)
        session = self._sessions.get(asyncio.get_running_loop()) or self._open()
        where, proxy = self._routes.get(url) or self._route(url)
        try:
            async with (
                asyncio.timeout(self.total),  # aiohttp's own would take a cancellation in that moment for itself
                session.request(
                    method, where, data=data, headers=headers, proxy=proxy, allow_redirects=False
                ) as response,
            ):
                status = response.status
                limit = self.largest if most is None or status != 200 else min(most, self.largest)
                raw, whole = await _read(response, limit)
        except ModelError:  # offline, by the audit hook: nothing was sent
            raise
        except Exception as error:
            raise lost(peer, error, self.total) from None
        if not whole and (most is None or status != 200):
            raise interrupted(peer, f"it is longer than {self.largest} bytes")
        try:  # of JSON that was cut off, what there is, the text it broke off in included
            body = _decode(raw) if whole else from_json(raw.decode("utf-8", "ignore"), allow_partial="trailing-strings")
            return HttpAnswer(status, response.headers, body, not whole)
        except (ValueError, RecursionError):
            if status == 200:
                raise interrupted(peer, f"{len(raw)} bytes that are not JSON") from None
            return HttpAnswer(status, response.headers, raw[:4000].decode("utf-8", "replace"))

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=None, connect=self.connect),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "maci"},
        )
        self._sessions[asyncio.get_running_loop()] = session
        return session

    def _route(self, url: str) -> tuple[URL, str | None]:
        """The address as aiohttp wants it, and the proxy for it; both worked out once."""
        from urllib.request import getproxies, proxy_bypass

        from yarl import URL

        host, proxy = urlsplit(url).hostname or "", None
        if not is_loopback(url) and not is_offline() and not proxy_bypass(host):
            proxy = getproxies().get(urlsplit(url).scheme)
        self._routes[url] = route = (URL(url, encoded=True), proxy)
        return route


def _encode(body: object) -> bytes:
    """JSON, four times as fast as the standard library's; that knows half of a surrogate pair, which some texts have."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body).encode()


async def _read(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    """The body, and whether that is all of it; of one with more than ``most`` bytes, as many. The connection is closed then."""
    size = response.content_length
    if size is not None and size <= most and "Content-Encoding" not in response.headers:
        return await response.read(), True
    raw = bytearray()
    while part := await response.content.read(most + 1 - len(raw)):
        raw += part
        if len(raw) > most:
            response.close()
            return bytes(raw[:most]), False
    return bytes(raw), True


def _decode(raw: bytes) -> Any:
    try:
        return from_json(raw)
    except ValueError:
        return json.loads(raw)


_UNSUPPORTED = re.compile(
    r"unsupported|not (?:currently |yet )?support|n't support|unrecogni[sz]ed|unknown|deprecated|unexpected|extra (?:input|field)"
    r"|not (?:be )?permitted|not allowed|unavailable|cannot find field|not available|not compatible|only the default|only be set"
)

_SHOWN, _PATIENCE = 20, 10.0
"""Names of models in a message, and the seconds they may take."""


class Api(Provider, ABC):
    """One model behind one HTTP API. Subclasses say how a request is written and a reply is read."""

    API: ClassVar[str]
    """Its name in the response cache."""
    PROVIDER: ClassVar[str]
    _ROOT: ClassVar[str] = ""
    """What all paths begin with; a base_url may end with it already."""
    _PATH: ClassVar[str]
    """Where requests go."""
    _WAYS: ClassVar[tuple[str, ...]]
    """How a schema can be asked for, the best way first; the last one asks for nothing."""
    _BINDING: ClassVar[frozenset[str]]
    """The ways that hold the model to the schema."""
    _SCHEMA: ClassVar[re.Pattern[str]]
    """How a refusal names the schema."""
    _OPTIONAL: ClassVar[Mapping[str, re.Pattern[str]]]
    """What can be left out, and how a refusal names it."""
    _OWN: ClassVar[frozenset[str]] = frozenset()
    """Parameters that are not an option's to set."""

    def __init__(
        self,
        *,
        model: str,
        http: Http | None = None,
        base_url: str | None = None,
        key: Key | None = None,
        provider: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if wrong := self._OWN & set(options or ()):
            raise ConfigError(f"options of {model!r}: {', '.join(sorted(wrong))} cannot be set here: leave it out")
        self.model, self.provider, self.options = model, provider or self.PROVIDER, dict(options or {})
        self._http, self._lent = http or Http(), http is not None
        self._peer, self._lacks_key = self._meet(base_url, key)
        self.name, self.origin = self._peer.name, self._peer.host
        self.key_source = "" if key is None else key.source
        self._root = self._peer.base_url.removesuffix(self._ROOT) + self._ROOT
        self._url = self._root + self._PATH.format(model=quote(model.removeprefix("models/"), safe="/-._~"))
        self.identity = {"api": self.API, "address": self._peer.base_url, "model": model, "options": self.options}
        self._traits = traits(self.name)
        self._way, self._without = 0, self._traits.without & frozenset(self._OPTIONAL)
        self._adapted: dict[tuple[str, str], dict[str, Any]] = {}

    def _meet(self, base_url: str | None, key: Key | None) -> tuple[Peer, str]:
        """Who serves the model, and the service whose key is missing, if it is."""
        name = f"{self.provider}/{self.model}"
        if base_url is not None and not is_public(base_url):
            raise ConfigError(
                f"base_url of {name} must be like http://127.0.0.1:8000/v1, without user or password: correct it"
            )
        service = service_at(self.provider, base_url)
        if service is None and base_url is None:
            raise ConfigError(f"{name}: no service of that name ({', '.join(SERVICES)}): correct it, or set base_url")
        address = (base_url or (service.base_url if service else "")).rstrip("/")
        host, step = host_of(address), key_help(self.provider, base_url)
        peer = Peer(name=name, host=host, base_url=address, key=key, key_help=step)
        return peer, service.name if key is None and service is not None and service.variables else ""

    @property
    def structured(self) -> bool:
        """Whether the server holds the model to a schema, as far as it has shown."""
        return self._WAYS[self._way] in self._BINDING

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self.origin})"

    def check(self) -> None:
        """Whether there is a key, where one is needed."""
        if self._lacks_key:
            raise no_key(self._peer, self._lacks_key)

    async def send(self, request: Request) -> Reply:
        """One attempt; a request refused for a parameter is sent again without it."""
        self.check()
        while True:
            way, without, left_out = self._way, self._without, self._left_out(request)
            answer = await self._post(self._body(self._worded(request)), self._most_bytes(request))
            if answer.status == 200:
                reply = self._reply(request, answer.body, cut=answer.cut)
                return replace(reply, without=left_out) if left_out else reply
            complaint = Complaint.read(answer.status, answer.headers, answer.body)
            if complaint.cut_off:  # it may have been charged: all that was asked for counts
                usage = self._usage(request, None, None, None)
                return Reply(text="", usage=usage, truncated=True, without=left_out)
            if complaint.kind() is not BadRequest or not self._give_up(request, complaint.about, way, without):
                error = complaint.error(self._peer)
                if isinstance(error, UnknownModel):
                    other = "v1/responses" in complaint.about
                    step = f"; write `{self.name}: {{api: responses}}` under `models` of a panels file" if other else ""
                    error.args = (f"{error}{step or await self._instead()}",)
                raise error

    async def models(self) -> tuple[str, ...]:
        """What the server says it serves."""
        self.check()
        status, headers, body, _ = await self._http.get(self._root + "/models", self._headers(), self._peer)
        if status != 200:
            raise Complaint.read(status, headers, body).error(self._peer)
        rows = body.get("data") or body.get("models") if isinstance(body, dict) else None
        names = (row.get("id") or row.get("name") for row in rows or () if isinstance(row, dict))
        return tuple(name.removeprefix("models/") for name in names if isinstance(name, str))

    async def _instead(self) -> str:
        """Of what the server does serve, what comes nearest to a model it does not; nothing where it will not say."""
        try:
            async with asyncio.timeout(_PATIENCE):
                offers = await self.models()
        except (ModelError, TimeoutError):
            return ""
        names = {name.casefold(): name for name in offers}
        if near := difflib.get_close_matches(self.model.casefold(), names, n=1):
            return f"; did you mean {self.provider}/{names[near[0]]}?"
        more = f" and {len(offers) - _SHOWN} more" if len(offers) > _SHOWN else ""
        return f"; it serves {', '.join(offers[:_SHOWN])}{more}" if offers else ""

    async def aclose(self) -> None:
        """Close the session, unless it was lent."""
        if not self._lent:
            await self._http.aclose()

    async def _post(self, body: dict[str, Any], most: int) -> HttpAnswer:
        return await self._http.post(self._url, self._headers(), body, self._peer, most)

    def _most_bytes(self, request: Request) -> int:
        """The most bytes a reply can have in which no more tokens were generated than asked for."""
        per_token = DENSEST + (_LOGPROB * (request.top_logprobs + 1) if request.top_logprobs > 0 else 0)
        return _FRAME + per_token * request.max_tokens

    @abstractmethod
    def _headers(self) -> dict[str, str]: ...

    @abstractmethod
    def _body(self, request: Request) -> dict[str, Any]:
        """The request as the API wants it, without what was given up."""

    @abstractmethod
    def _read(self, request: Request, answer: dict[str, Any]) -> Reply:
        """The reply; raises where the model refused, and any lookup error where the form is wrong."""

    def _reply(self, request: Request, body: Any, *, cut: bool = False) -> Reply:
        if isinstance(body, dict) and body.get("error"):
            error = body["error"]
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise Complaint.read(status, {}, body, begun=True).error(self._peer)
        try:
            reply = self._without_key(self._cut_off(request, body) if cut else self._read(request, body))
            if reply.text.isascii():
                return reply  # else without halves of characters, which JSON can hold and UTF-8 cannot
            return replace(reply, text=reply.text.encode("utf-8", "replace").decode())
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise interrupted(self._peer, f"the reply has not the API's form: {type(error).__name__} {error}") from None

    def _without_key(self, reply: Reply) -> Reply:
        """A reply in which a server has echoed the key it was sent, without it. A short one is a stand-in, such as `ollama`."""
        secret = "" if self._peer.key is None else self._peer.key.reveal()
        if len(secret) < _SECRET:
            return reply
        text, thinking = scrub(reply.text, [secret]), scrub(reply.thinking, [secret])
        same = text == reply.text and thinking == reply.thinking
        return reply if same else replace(reply, text=text, thinking=thinking, logprobs=None)

    def _cut_off(self, request: Request, body: Any) -> Reply:
        """A reply that was not read to its end: all that was set aside for it counts, and more where more was received."""
        reply = self._read(replace(request, top_logprobs=0), body)
        generated = max(request.max_tokens, at_least(reply.text), reply.usage.generated)
        return replace(reply, usage=Usage(generated=generated), truncated=True)

    def _takes(self, parameter: str, request: Request) -> bool:
        """Whether a parameter can be sent with a request: the API has it and nothing says that this model refuses it."""
        return parameter in self._OPTIONAL and parameter not in self._without

    def _left_out(self, request: Request) -> tuple[str, ...]:
        """What a request asks for and is not sent."""
        wanted = {
            "temperature": request.temperature is not None,
            "seed": request.seed is not None,
            "logprobs": request.top_logprobs > 0,
            "reasoning": request.reasoning is not None,
        }
        left_out = [name for name, asked in wanted.items() if asked and not self._takes(name, request)]
        if request.schema is not None and not self.structured:
            left_out.append("schema")
        return tuple(left_out)

    def _worded(self, request: Request) -> Request:
        """The request, with its schema in words where the server does not hold the model to it. A prompt's bound has room for it."""
        if request.schema is None or self.structured:
            return request
        *before, last = request.messages
        schema = json.dumps(
            request.schema.json, separators=(",", ":")
        )  # in the order in which fields are to be written
        told = f"{last.content}\n\nReply with a JSON object that follows this JSON Schema, and nothing else:\n{schema}"
        return replace(request, messages=(*before, Message(last.role, told)))

    def _give_up(self, request: Request, about: str, way: int, without: frozenset[str]) -> bool:
        """Leave out what a refusal names. ``way`` and ``without`` are of the request refused: others may be ahead of it."""
        if request.schema is not None and way < len(self._WAYS) - 1 and self._SCHEMA.search(about):
            self._way = max(self._way, way + 1)
            return True
        if _UNSUPPORTED.search(about):
            for name, words in self._OPTIONAL.items():
                if name not in without and words.search(about):
                    self._without |= {name}
                    return True
        return False

    def _as(self, way: str, schema: Schema, adapt: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """A schema as this API takes it, worked out once."""
        key = way, schema.text
        if key not in self._adapted:
            if len(self._adapted) >= 64:
                self._adapted.clear()
            self._adapted[key] = adapt(schema.json)
        return self._adapted[key]

    def _usage(
        self, request: Request, prompt: Any, cached: Any, generated: Any, total: Any = None, thought: Any = None
    ) -> Usage:
        """What the server counted. A prompt it did not count has 0 tokens here: the client knows how many were set aside for it. A
        reply it did not count has all that were asked for.

        Some (xAI) leave what the model thought out of ``generated`` and count it in ``total`` alone: it is paid for.
        """
        known = [generated] if _counts(generated) else []
        if not _counts(prompt):
            prompt = 0
        elif _counts(total) and total > prompt:
            known.append(total - prompt)
        generated = max(known, default=request.max_tokens)
        return Usage(
            prompt=prompt,
            cached=min(cached, prompt) if _counts(cached) else 0,
            generated=generated,
            thought=min(thought, generated) if _counts(thought) else 0,
        )


def _counts(value: Any) -> bool:
    return type(value) is int and 0 <= value < _NO_COUNT  # no bool
