"""One HTTP session for all providers of an event loop.

The session is made on first use and closed by :meth:`Http.aclose`. It sets no limit on connections (the client does), follows no
redirects (a key would follow them), keeps no cookies, and goes through the proxy the environment names. Replies are read whole
and not as a stream: nothing of a reply can be judged before its last byte, and a stream would cost a parse per token.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from maci.llm.keys import is_loopback
from maci.llm.providers._errors import Peer, interrupted, lost

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

__all__ = ["Http"]

_LARGEST = 8 << 20
"""Most bytes of a reply that are read; no model writes that much."""


class Http:
    """Sends requests with JSON in them and reads JSON back."""

    def __init__(self, *, connect: float = 10.0, total: float = 120.0, largest: int = _LARGEST) -> None:
        self.connect, self.total, self.largest = connect, total, largest
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}
        self._routes: dict[str, tuple[URL, str | None]] = {}

    async def post(
        self, url: str, headers: Mapping[str, str], body: object, peer: Peer
    ) -> tuple[int, Mapping[str, str], Any]:
        """Status, headers and parsed body of the answer; the text where it is not JSON and the status is not 200."""
        return await self._exchange("POST", url, headers, _encode(body), peer)

    async def get(self, url: str, headers: Mapping[str, str], peer: Peer) -> tuple[int, Mapping[str, str], Any]:
        """The same for a request without a body."""
        return await self._exchange("GET", url, headers, None, peer)

    async def aclose(self) -> None:
        """Close the session of this event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None, peer: Peer
    ) -> tuple[int, Mapping[str, str], Any]:
        session = self._sessions.get(asyncio.get_running_loop()) or self._open()
        where, proxy = self._routes.get(url) or self._route(url)
        try:
            async with (
                asyncio.timeout(self.total),  # aiohttp's own would take a cancellation in that moment for itself
                session.request(
                    method, where, data=data, headers=headers, proxy=proxy, allow_redirects=False
                ) as response,
            ):
                raw = await self._read(response)
        except Exception as error:
            raise lost(peer, error, self.total) from None
        if raw is None:
            raise interrupted(peer, f"it is longer than {self.largest} bytes")
        status = response.status
        try:
            return status, response.headers, _decode(raw)
        except (ValueError, RecursionError):
            if status == 200:
                raise interrupted(peer, f"{len(raw)} bytes that are not JSON") from None
            return status, response.headers, raw[:4000].decode("utf-8", "replace")

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | None:
        """The whole body, or nothing if it is too long."""
        if response.content_length is not None and "Content-Encoding" not in response.headers:
            return await response.read() if response.content_length <= self.largest else None
        parts, size = [], 0
        async for part in response.content.iter_any():
            size += len(part)
            if size > self.largest:
                return None
            parts.append(part)
        return b"".join(parts)

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
        if not is_loopback(url) and not proxy_bypass(host):
            proxy = getproxies().get(urlsplit(url).scheme)
        self._routes[url] = route = (URL(url, encoded=True), proxy)
        return route


def _encode(body: object) -> bytes:
    """JSON, four times as fast as the standard library's; that knows half of a surrogate pair, which some texts have."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body).encode()


def _decode(raw: bytes) -> Any:
    try:
        return from_json(raw)
    except ValueError:
        return json.loads(raw)
