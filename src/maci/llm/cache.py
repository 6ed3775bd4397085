"""Replies kept, and found again by what was asked: a repeated or resumed debate repeats no paid call.

The key is a hash over everything that decides what is sent: who serves the model, under which fixed parameters, the messages, the
schema, the sampling, and which of several draws it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maci.llm.model import Reply, Request, Token
from maci.llm.usage import Usage


def request_key(identity: Mapping[str, Any] | str, request: Request) -> bytes:
    """What a reply is filed under. ``identity`` is the provider's, or its canonical JSON.

    SHA-256 over canonical JSON of all but the messages' texts, for which their roles and lengths stand, and then the texts as they are.
    """
    head = identity if isinstance(identity, str) else canonical(identity)
    texts = [message.content.encode("utf-8", "surrogatepass") for message in request.messages]
    lengths = [(message.role, len(text)) for message, text in zip(request.messages, texts, strict=True)]
    schema = request.schema
    form = "null" if schema is None else f"[{canonical(schema.name)},{schema.text}]"
    rest = (lengths, request.max_tokens, request.temperature, request.seed, request.sample, request.top_logprobs)
    return hashlib.sha256(b"".join((f"[{head},{form},{canonical(rest)}]".encode(), *texts))).digest()


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""JSON with sorted keys and no spaces."""


class ResponseCache:
    """Replies by key, in a file that several processes may share; ``path=None`` keeps them in memory only.

    Raises :class:`~maci.errors.EnvironmentError_` where the file cannot be used, with the path and the next step.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.flights: dict[bytes, asyncio.Future[Reply | None]] = {}
        """Calls under way, so that two who ask the same at once make one call; ``None`` comes of one that failed."""
        self.landed = 0
        """How many replies were put here by this process."""
        self._memory: dict[bytes, Reply] = {}
        self._file = None
        if self.path is not None:
            from maci.llm._disk import ReplyFile

            self._file = ReplyFile(self.path)

    @property
    def durable(self) -> bool:
        """Whether what is put here outlives the process."""
        return self._file is not None

    async def get(self, key: bytes) -> Reply | None:
        """The reply, marked as one that nobody pays for; ``None`` where there is none."""
        return self.find(key)

    def find(self, key: bytes) -> Reply | None:
        """The same at once, for who wants to know what asking would cost."""
        if self._file is None:
            found = self._memory.get(key)
            return None if found is None else as_hit(found, kept=False)
        text = self._file.read(key)  # some 20 µs: less than handing it to a thread
        if text is None:
            return None
        try:
            return as_hit(_load(text), kept=True)
        except (ValueError, TypeError, KeyError):
            return None  # written by something else; the next put replaces it

    async def put(self, key: bytes, reply: Reply) -> None:
        """Keep a reply; returns when it is on disk. Cancelling the wait does not undo the writing."""
        self.landed += 1
        if self._file is None:
            self._memory[key] = reply
        else:
            await self._file.write(key, reply.model, _dump(reply))

    async def aclose(self) -> None:
        """Write what is waiting and let go of the file."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same from outside an event loop."""
        if self._file is not None:
            self._file.close()


def _dump(reply: Reply) -> str:
    usage, logprobs = reply.usage, reply.logprobs
    return json.dumps(
        {
            "text": reply.text,
            "usage": {"prompt": usage.prompt, "cached": usage.cached, "generated": usage.generated, "usd": usage.usd},
            "truncated": reply.truncated,
            "model": reply.model,
            "logprobs": None if logprobs is None else [(token.text, token.logprob, token.top) for token in logprobs],
        }
    )


def _load(text: str) -> Reply:
    kept = json.loads(text)
    logprobs = kept["logprobs"]
    if logprobs is not None:
        logprobs = tuple(Token(token, p, tuple((other, q) for other, q in top)) for token, p, top in logprobs)
    return Reply(
        text=kept["text"],
        usage=Usage(**kept["usage"]),
        truncated=kept["truncated"],
        model=kept["model"],
        logprobs=logprobs,
    )


def as_hit(reply: Reply, *, kept: bool) -> Reply:
    """A reply as the second who asks gets it: its tokens count, but nobody pays for them again."""
    usage = reply.usage
    again = Usage(
        prompt=usage.prompt, cached=usage.cached, generated=usage.generated, free=True, kept=kept, saved=usage.usd
    )
    return Reply(
        text=reply.text,
        usage=again,
        truncated=reply.truncated,
        model=reply.model,
        logprobs=reply.logprobs,
    )
