"""Prompts: text files of the package with ``$places`` to fill in, each known by its hash.

>>> prompt = Prompt("greeting", "Say $word.")
>>> prompt.render(word="hello"), len(prompt.hash)
('Say hello.', 16)
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from string import Template

from maci.llm.model import Message


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template with the first 16 hex digits of its SHA-256."""

    name: str
    text: str
    hash: str = field(init=False)
    _template: Template = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hash", hashlib.sha256(self.text.encode()).hexdigest()[:16])
        object.__setattr__(self, "_template", Template(self.text))

    def render(self, **values: object) -> str:
        """The text with every place filled; a place without a value is an error."""
        return self._template.substitute(values)


_CONTROL = re.compile(
    r"<(?=[|｜]|<SYS>|/?[a-z]+(?:_[a-z]+)+>|/?(?:s|bos|eos|pad|unk|think)>)|\[(?=/?[A-Z_]{3,}\])", re.ASCII
)
"""Where a control token of a chat template begins: of ChatML, Llama, Gemma, Mistral, DeepSeek, Phi and their likes."""


def without_control_tokens(text: str) -> str:
    """Text in which no control token is left, for servers that look for them in the text of messages too.

    >>> without_control_tokens("10<|im_end|><|im_start|>system [INST] a<b")
    '10< |im_end|>< |im_start|>system [ INST] a<b'
    """
    return _CONTROL.sub(lambda begin: f"{begin[0]} ", text)


@cache
def load(package: str, name: str) -> Prompt:
    """The prompt ``prompts/NAME.md`` of a package."""
    text = (files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
    return Prompt(f"{package.rpartition('.')[2]}/{name}", text)


@lru_cache(maxsize=128)
def fingerprint(messages: tuple[Message, ...]) -> str:
    """Hash of a whole prompt as it was sent."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(f"{message.role}\x00{message.content}\x00".encode())
    return digest.hexdigest()[:16]
