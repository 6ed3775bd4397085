"""An HTTP endpoint as a source: POST of the item as JSON, answer as JSON (``verdict`` and ``text``) or as plain text."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from maci.acquisition.plan import Item
from maci.acquisition.sources.called import as_reply
from maci.acquisition.sources.source import Reply
from maci.errors import EnvironmentError_

__all__ = ["HttpSource"]

_LARGEST = 1 << 20
"""Bytes of an answer that are read; a longer one is refused."""


class HttpSource:
    """Asks an endpoint; a refused connection, a time-out and a 5xx are tried again, everything else is an error at once."""

    kinds: tuple[str, ...] = ()

    def __init__(self, url: str, *, timeout: float = 30.0, attempts: int = 3, pause: float = 0.5) -> None:
        self.name = url
        self._url, self._timeout, self._attempts, self._pause = url, timeout, attempts, pause

    async def answer(self, item: Item) -> Reply:
        """What the endpoint says."""
        question = {
            "id": item.id,
            "kind": item.kind,
            "text": item.text,
            "subject": item.subject,
            "query": item.query,
            "separates": list(item.separates),
            "expected_information_gain": item.expected_information_gain,
        }
        failure = ""
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1))
            try:
                status, body = await self._post(question)
            except (TimeoutError, OSError) as error:
                failure = f"{type(error).__name__}: {error}".rstrip(": ")
                continue
            if status >= 500:
                failure = f"HTTP {status}"
                continue
            if status != 200:
                raise EnvironmentError_(f"{self._url} answers HTTP {status}: {body[:200].decode('utf-8', 'replace')}")
            return as_reply(_read(body))
        raise EnvironmentError_(f"{self._url} does not answer after {self._attempts} attempts ({failure})")

    async def _post(self, question: dict[str, Any]) -> tuple[int, bytes]:
        import aiohttp

        limit = aiohttp.ClientTimeout(total=self._timeout)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.post(self._url, json=question, allow_redirects=False) as response,
            ):
                body = await response.content.read(_LARGEST + 1)
                while len(body) <= _LARGEST and (more := await response.content.read(_LARGEST)):
                    body += more
        except aiohttp.ClientError as error:
            raise OSError(str(error)) from error
        if len(body) > _LARGEST:
            raise EnvironmentError_(f"{self._url}: the answer is larger than {_LARGEST:,} bytes and is refused")
        return response.status, body


def _read(body: bytes) -> Any:
    text = body.decode("utf-8", "replace").strip()
    try:
        return json.loads(text)
    except ValueError:
        return text
