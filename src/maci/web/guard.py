"""Who may come in: checked before any page sees a request.

====================  =========================================================================================
another site's name   The Host header must name this server, so that a site whose name was pointed at 127.0.0.1
                      (DNS rebinding) is turned away. With a token any name will do: a cookie belongs to one name.
a stranger            With a token: the cookie of somebody who gave it, or `Authorization: Bearer`.
another site's form   What changes something must come from a page of ours (Origin, Sec-Fetch-Site) and carry the
                      word that only our pages know (:attr:`Visit.word`, checked where forms are read).
too much              Bodies are counted while they come in, and streams while they last.
====================  =========================================================================================

Every answer carries a policy that forbids scripts, styles and requests to anywhere but here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.requests import ClientDisconnect, cookie_parser

from maci.llm.keys import is_loopback_host
from maci.web.allowance import visitor_of
from maci.web.connections import Full, Room
from maci.web.server import ServerSettings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_STREAM = re.compile(r"/debates/[^/]+/events")
_OPEN = ("/sign-in", "/static/")
"""What can be seen without a token."""


class TooMuch(Exception):
    """A body that is larger than allowed."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One visitor's session, as a cookie carries it."""

    session: str

    @property
    def word(self) -> str:
        """What forms of this visitor carry: who cannot read the cookie cannot make one. Another one each time."""
        nonce = secrets.token_hex(8)
        return f"{nonce}.{_seal(self.session, nonce)}"

    def knows(self, word: str) -> bool:
        """Whether a form is one of ours."""
        nonce, _, seal = word.partition(".")
        return _same(seal, _seal(self.session, nonce))


class Guard:
    """Stands before the application."""

    def __init__(self, app: App, settings: ServerSettings, room: Room) -> None:
        self._app, self._settings, self._room = app, settings, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served here, not {scope['type']}")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        why = self._refusal(scope, headers)
        if why is not None:
            await _answer(send, *why)
            return
        if await self._signed_in_by_link(scope, send):
            return
        visit, new = self._visit(headers), False
        if self._settings.token is not None and visit is None and not self._bearer(headers):
            if scope["path"].startswith("/v1/"):
                await _answer(send, 401, "a token is needed: Authorization: Bearer TOKEN")
                return
            if not scope["path"].startswith(_OPEN):
                await _answer(send, 303, "", ("location", f"/sign-in?{urlencode({'next': _path(scope)})}"))
                return
        if visit is None:
            visit, new = Visit(secrets.token_urlsafe(32)), self._settings.token is None
        scope["visit"] = visit
        receive, dressed = self._counted(receive, headers), self._dressed(scope, send, visit if new else None)
        stream = _STREAM.fullmatch(scope["path"]) is not None
        try:
            with self._room.stream(visitor_of((scope.get("client") or ("",))[0])) if stream else nullcontext():
                await self._app(scope, receive, dressed)
        except Full as full:
            await _answer(send, 503, str(full), ("retry-after", "5"))
        except ClientDisconnect:
            return  # nobody is there to be answered

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self._settings.token is None and not self._ours(host):
            return (
                421,
                f"this server does not answer to the name {host[:80]!r}: use http://127.0.0.1:{self._settings.port}/",
            )
        if scope["method"] in {"GET", "HEAD"}:
            return None
        if scope["method"] != "POST":
            return 405, "only GET and POST are served here"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.casefold() != host.casefold():
            return 403, "this was sent by a page of another site"
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return 403, "this was sent by a page of another site"
        return None

    def _ours(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname or ""
        return is_loopback_host(name) or name.casefold() == self._settings.host.casefold()

    def _bearer(self, headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        token = self._settings.token
        return token is not None and kind.casefold() == "bearer" and _same(given.strip(), token)

    def _visit(self, headers: dict[str, str]) -> Visit | None:
        """The visitor, if the cookie is one of ours."""
        session = cookie_parser(headers.get("cookie", "")).get(self._settings.cookie, "")
        nonce, _, seal = session.partition(".")
        token = self._settings.token
        ours = len(session) >= 32 and (token is None or _same(seal, _seal(token, nonce)))
        return Visit(session) if ours else None

    def admit(self, token: str) -> Visit | None:
        """The session of somebody who gives the right token."""
        if self._settings.token is None or not _same(token.strip(), self._settings.token):
            return None
        nonce = secrets.token_urlsafe(32)
        return Visit(f"{nonce}.{_seal(self._settings.token, nonce)}")

    async def _signed_in_by_link(self, scope: Scope, send: Send) -> bool:
        """A link with ``?token=…`` becomes a cookie, and a link without."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in query if name == "token"), None)
        if given is None or self._settings.token is None or scope["method"] != "GET":
            return False
        if (visit := self.admit(given)) is None:
            await _answer(send, 403, "this is not the token that the server printed when it started")
            return True
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        where = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        await _answer(send, 303, "", ("location", where), ("set-cookie", self.cookie(visit, scope)))
        return True

    def cookie(self, visit: Visit, scope: Scope) -> str:
        """The header that leaves the session with the visitor."""
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        return f"{self._settings.cookie}={visit.session}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _counted(self, receive: Receive, headers: dict[str, str]) -> Receive:
        most = left = self._settings.limits.body
        told = headers.get("content-length", "")
        much = f"More was sent than the {most >> 20} MB that can be taken at once. Choose fewer or smaller files."

        async def counted() -> Message:
            nonlocal left
            if told.isdecimal() and int(told) > most:
                raise TooMuch(much)
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise TooMuch(much)
            return message

        return counted

    def _dressed(self, scope: Scope, send: Send, new: Visit | None) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                extra = {**_HEADERS, "content-security-policy": POLICY, "cache-control": "no-store"}
                message["headers"] = [
                    *message["headers"],
                    *((n.encode(), v.encode()) for n, v in extra.items() if n.encode() not in there),
                ]
                if new is not None and not scope["path"].startswith("/static/"):
                    message["headers"].append((b"set-cookie", self.cookie(new, scope).encode()))
            await send(message)

        return dressed


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())


def _seal(token: str, nonce: str) -> str:
    return hmac.new(token.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def _path(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])


async def _answer(send: Send, status: int, text: str, *headers: tuple[str, str]) -> None:
    """A short answer without a page."""
    every = {**_HEADERS, "content-security-policy": POLICY, "content-type": "text/plain; charset=utf-8"}
    pairs = [*every.items(), *headers]
    await send({"type": "http.response.start", "status": status,
                "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in pairs]})  # fmt: skip
    await send({"type": "http.response.body", "body": f"{text}\n".encode() if text else b""})
