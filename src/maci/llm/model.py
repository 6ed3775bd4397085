"""What is asked of a language model, what comes back, and what anything that can answer must offer.

:class:`Model` is what agents and judges talk to. :class:`Provider` is one API: it makes one attempt at one request and says
what came of it. :class:`maci.llm.client.Client` makes a model of a provider: cache, budget, limits and retries.

A :class:`Prompt` is a text file of the package with ``$places`` to fill in, known by its hash.

>>> prompt = Prompt("greeting", "Say $word.")
>>> prompt.render(word="hello"), len(prompt.hash)
('Say hello.', 16)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from json import dumps
from string import Template
from typing import Any, Literal, Protocol

from maci.llm.budget import Call
from maci.llm.reasoning import Reasoning, traits
from maci.llm.usage import RequestFacts, Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Schema:
    """The JSON Schema a reply must follow.

    >>> Schema("answer", {"type": "object", "a": 1}).text
    '{"a":1,"type":"object"}'
    """

    name: str
    """Letters, digits, ``_`` and ``-``; some APIs want one."""
    json: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The schema as canonical JSON."""
        return dumps(self.json, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One thing asked of a model."""

    messages: tuple[Message, ...]
    max_tokens: int
    """Most tokens it may generate, thinking included."""
    schema: Schema | None = None
    temperature: float | None = None
    seed: int | None = None
    """Sent where the API takes one; part of the cache key everywhere."""
    sample: int = 0
    """Which of several draws of the same request this is; part of the cache key."""
    top_logprobs: int = 0
    """Ask for the log-probabilities of this many alternatives per token, where the API gives them."""
    reasoning: Reasoning | None = None
    """How much it is to think before it answers; ``None``: as it does by itself."""
    thinking: int = 0
    """How many of ``max_tokens`` are room for thinking."""


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token with its log-probability (natural log) and the alternatives at its place."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered."""

    text: str
    """The answer, without what it thought."""
    usage: Usage = field(default_factory=Usage)
    truncated: bool = False
    """It ran into ``max_tokens``."""
    model: str = ""
    """The model's name as the server gave it."""
    logprobs: tuple[Token, ...] | None = None
    """Where asked for and given."""
    thinking: str = ""
    """What it thought before it answered, as far as the server shows it."""
    without: tuple[str, ...] = ()
    """Parameters of the request that were left out because the model or its API does not take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(RequestFacts):
    """One request to a model, and what it cost."""

    messages: tuple[Message, ...]
    usage: Usage = field(default_factory=Usage)


class Model(Protocol):
    """Anything that answers requests."""

    @property
    def name(self) -> str:
        """``provider/model``."""

    @property
    def family(self) -> str:
        """The model family; judges must be of another one than the debaters."""

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it answers, so that the form of the answer needs no room for it."""

    def prepare(self, request: Request) -> Call[Reply]:
        """A call that gives the answer; made, it raises :class:`~maci.errors.ModelError` or a subclass."""


class Provider(Protocol):
    """One model behind one API. Derive from it: what is not said has the values given here."""

    name: str
    """``provider/model``."""
    origin: str
    """Who serves it (host and port, or ``local``): concurrency, rates and faults are counted per origin."""
    identity: Mapping[str, Any]
    """What tells this model from others in the response cache: API, address, model, fixed parameters. No key."""
    parallel: int = 64
    """Calls it takes at once, unless the user says otherwise."""
    key_source: str = ""
    """Where its key is from; nothing where it has none."""

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, as far as its name tells."""
        return traits(self.name).thinks

    @property
    def always_thinks(self) -> bool:
        """Whether it thinks also when told not to, as far as its name tells."""
        return traits(self.name).always

    @property
    def structured(self) -> bool:
        """Whether the model is held to a schema, and not only asked to follow it."""
        return True

    def check(self) -> None:
        """Raise what can be said before anything is sent: an extra that is not installed, a key that is lacking."""
        return

    async def models(self) -> tuple[str, ...]:
        """The models the service offers, as far as it says."""
        return ()

    async def send(self, request: Request) -> Reply:
        """One attempt. ``Reply.usage`` has tokens, not dollars. Raises the errors of :mod:`maci.errors`."""

    async def aclose(self) -> None:
        """Let go of connections, threads and weights."""


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


@lru_cache(maxsize=512)
def fingerprint(messages: tuple[Message, ...]) -> str:
    """Hash of a whole prompt as it was sent."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(f"{message.role}\x00{message.content}\x00".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]
