"""Who may come in: checked before any page sees a request.

====================  =========================================================================================
another site's name   The Host header must name this server, so that a site whose name was pointed at 127.0.0.1
                      (DNS rebinding) is turned away. With a token any name will do: a cookie belongs to one name.
a stranger            With a token: the cookie of somebody who gave it, or `Authorization: Bearer`.
another site's form   What changes something must come from a page of ours (Origin, Sec-Fetch-Site) and carry the
                      word that only our pages know (:attr:`Visit.word`, checked where forms are read).
two requests in one   A body of two lengths, which a proxy before us could end elsewhere, is refused.
too much              Bodies are counted while they come in, and streams while they last.
====================  =========================================================================================

Every answer carries a policy that forbids scripts, styles and requests to anywhere but here.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import SplitResult, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maci.llm.keys import is_loopback_host
from maci.web import ServerSettings
from maci.web.allowance import visitor_of
from maci.web.connections import Full, Room

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
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


def _split(url: str) -> SplitResult:
    """The parts of an address; nothing of one that is none (``Host: [``)."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


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

    def __init__(self, app: ASGIApp, settings: ServerSettings, room: Room) -> None:
        self._app, self._settings, self._room = app, settings, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"only HTTP is served here, not {scope['type']}")
        request = HTTPConnection(scope)
        visit = self._visit(request)
        new = Visit(secrets.token_urlsafe(32)) if visit is None else None
        answer = self._answer(request, visit)
        if answer is not None:
            await answer(scope, receive, self._dressed(scope, send))
            return
        scope["visit"] = visit or new
        dressed = self._dressed(scope, send, new if self._settings.token is None else None)
        stream = _STREAM.fullmatch(scope["path"]) is not None
        try:
            with self._room.stream(visitor_of((scope.get("client") or ("",))[0])) if stream else nullcontext():
                await self._app(scope, self._counted(receive, request.headers), dressed)
        except Full as full:
            await _said(503, str(full), {"retry-after": "5"})(scope, receive, dressed)
        except ClientDisconnect:
            return  # nobody is there to be answered

    def _answer(self, request: HTTPConnection, visit: Visit | None) -> Response | None:
        """What a request gets that is not let through."""
        token, path = self._settings.token, request.scope["path"]
        if (refused := self._refusal(request)) is not None:
            return refused
        given = request.query_params.get("token")
        if given is not None and token is not None and request.scope["method"] == "GET":
            return self._signed_in_by_link(request, given)
        if token is None or visit is not None or self._bearer(request):
            return None
        if path.startswith("/v1/"):
            return _said(401, "a token is needed: Authorization: Bearer TOKEN")
        if path.startswith(_OPEN):
            return None
        query = request.scope["query_string"].decode("latin-1")
        return RedirectResponse(f"/sign-in?{urlencode({'next': f'{path}?{query}' if query else path})}", 303)

    def _refusal(self, request: HTTPConnection) -> Response | None:
        method, headers, host = request.scope["method"], request.headers, request.headers.get("host", "")
        if (
            "transfer-encoding" in headers and "content-length" in headers
        ):  # a proxy may see another end of it than we do
            return _said(400, "a request has one length, and this one gives two", {"connection": "close"})
        if self._settings.token is None and not self._ours(host):
            here = f"use http://127.0.0.1:{self._settings.port}/"
            return _said(421, f"this server does not answer to the name {host[:80]!r}: {here}")
        if method in {"GET", "HEAD"}:
            return None
        if method != "POST":
            return _said(405, "only GET and POST are served here")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        foreign = origin is not None and _split(origin).netloc.casefold() != host.casefold()
        if foreign or site not in {"same-origin", "none"}:
            return _said(403, "this was sent by a page of another site")
        return None

    def _ours(self, host: str) -> bool:
        name = _split(f"//{host}").hostname or ""
        return is_loopback_host(name) or name.casefold() == self._settings.host.casefold()

    def _bearer(self, request: HTTPConnection) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        token = self._settings.token
        return token is not None and kind.casefold() == "bearer" and _same(given.strip(), token)

    def _visit(self, request: HTTPConnection) -> Visit | None:
        """The visitor, if the cookie is one of ours."""
        session, token = request.cookies.get(self._settings.cookie, ""), self._settings.token
        nonce, _, seal = session.partition(".")
        ours = len(session) >= 32 and (token is None or _same(seal, _seal(token, nonce)))
        return Visit(session) if ours else None

    def admit(self, token: str) -> Visit | None:
        """The session of somebody who gives the right token."""
        if self._settings.token is None or not _same(token.strip(), self._settings.token):
            return None
        nonce = secrets.token_urlsafe(32)
        return Visit(f"{nonce}.{_seal(self._settings.token, nonce)}")

    def _signed_in_by_link(self, request: HTTPConnection, given: str) -> Response:
        """A link with ``?token=…`` becomes a cookie, and a link without."""
        if (visit := self.admit(given)) is None:
            return _said(403, "this is not the token that the server printed when it started")
        rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
        where = "/" + request.scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        return RedirectResponse(where, 303, {"set-cookie": self.cookie(visit, request.scope)})

    def cookie(self, visit: Visit, scope: Scope) -> str:
        """The header that leaves the session with the visitor."""
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        return f"{self._settings.cookie}={visit.session}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _counted(self, receive: Receive, headers: Headers) -> Receive:
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

    def _dressed(self, scope: Scope, send: Send, new: Visit | None = None) -> Send:
        """Every answer with the headers that protect its reader, and a cookie for a ``new`` visitor."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if new is not None and not scope["path"].startswith("/static/"):
                    headers.append("set-cookie", self.cookie(new, scope))
            await send(message)

        return dressed


def _said(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """A short answer without a page."""
    return PlainTextResponse(f"{text}\n", status, headers)


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())


def _seal(token: str, nonce: str) -> str:
    return hmac.new(token.encode(), nonce.encode(), hashlib.sha256).hexdigest()
