r"""What models were asked, word for word, in the record: every text once.

A prompt repeats most of the prompts before it: the case, the evidence, the earlier rounds. So a message is cut into paragraphs, a
paragraph goes into the record once, under its hash, and a prompt is the list of its paragraphs. A prompt that is sent again (to
another judge, or with a higher limit) is named by its own hash.

>>> from maci.llm.model import Message
>>> asked = Exchange(model="x/y", messages=(Message("user", "The case.\n\nWhat is it?"),), at="2026-01-01T00:00:00Z")
>>> packed = store([asked], frozenset())
>>> prompts = Prompts()
>>> prompts.learn(packed.prompts, packed.texts)
>>> prompts.messages(packed.requests[0].prompt)
(('user', 'The case.\n\nWhat is it?'),)
>>> store([asked], packed.known).texts
{}
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from maci.controller.inputs import PromptMessage, RequestRecord
from maci.llm.model import Exchange, fingerprint

_PARAGRAPH = re.compile(r"\n(?:\n+|(?=\[))")
"""Between paragraphs, and before a numbered piece of evidence. It begins with a plain character, which is looked for fast."""
_LEAST = 48
"""Characters below which a paragraph stays with the one before: its hash would take as much room."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Requests as they go into the record, with the prompts and texts it does not hold yet."""

    requests: tuple[RequestRecord, ...]
    prompts: Mapping[str, tuple[PromptMessage, ...]]
    texts: Mapping[str, str]

    @property
    def known(self) -> frozenset[str]:
        """The hashes of all of it."""
        return frozenset((*self.prompts, *self.texts))


def store(exchanges: Iterable[Exchange], known: Collection[str]) -> Packed:
    """Exchanges as they go into a record that holds the prompts and texts of these hashes."""
    requests, prompts, texts = [], dict[str, tuple[PromptMessage, ...]](), dict[str, str]()
    for each in exchanges:
        prompt = fingerprint(each.messages)
        requests.append(
            RequestRecord(
                model=each.model,
                prompt=prompt,
                at=each.at,
                seconds=each.seconds,
                served=each.served,
                attempts=each.attempts,
                cached=each.cached,
                limit=each.limit,
                tokens=each.usage.tokens,
                thought=each.usage.thought,
                truncated=each.truncated,
                without=each.without,
                error=each.error,
            )
        )
        if prompt in known or prompt in prompts:
            continue
        said = []
        for message in each.messages:
            keys, parts = _cut(message.content)
            texts.update((key, part) for key, part in zip(keys, parts, strict=True) if key not in known)
            said.append(PromptMessage(message.role, keys))
        prompts[prompt] = tuple(said)
    return Packed(tuple(requests), prompts, texts)


@lru_cache(maxsize=512)  # as many messages as may be under way at once
def _cut(text: str) -> tuple[tuple[str, ...], Sequence[str]]:
    """The paragraphs of a message and their hashes; several agents, judges and debates are sent the same messages."""
    parts = _parts(_writable(text))
    return tuple(map(_hash, parts)), parts


@lru_cache(maxsize=4096)  # a round repeats the paragraphs of those before it
def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _writable(text: str) -> str:
    """A text without halves of characters, which a record cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _parts(text: str) -> Sequence[str]:
    """The paragraphs of a text, which together are the text."""
    parts, start = list[str](), 0
    for found in _PARAGRAPH.finditer(text):
        if found.end() - start >= _LEAST:
            parts.append(text[start : found.end()])
            start = found.end()
    return [*parts, text[start:]]


@dataclass(slots=True)
class Prompts:
    """The prompts of a record, put together again."""

    _prompts: dict[str, tuple[PromptMessage, ...]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def learn(self, prompts: Mapping[str, tuple[PromptMessage, ...]], texts: Mapping[str, str]) -> None:
        """Take what one event holds."""
        self._prompts.update(prompts)
        self._texts.update(texts)

    def messages(self, prompt: str) -> tuple[tuple[str, str], ...]:
        """The role and the text of every message of a prompt; nothing where the record does not hold it."""
        return tuple(
            (
                message.role,
                "".join(self._texts.get(part, f"(text {part} is not in the record)") for part in message.parts),
            )
            for message in self._prompts.get(prompt, ())
        )
