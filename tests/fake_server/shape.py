"""What the fake server knows of an API: the form of a request, a reply, a refusal and an error, as its documentation shows them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(slots=True, kw_only=True)
class Asked:
    """A request, understood."""

    model: str
    texts: list[str]
    """All text of the prompt, in order; the first is the stable part."""
    schema: Mapping[str, Any] | None
    max_tokens: int
    strict: Callable[[Mapping[str, Any]], None] | None = None
    """Refuses a schema this API does not take."""
    schema_text: str = ""
    top_logprobs: int = 0
    tool: str | None = None
    marks: list[int] | None = None
    """Texts up to which the prompt is to be cached; ``None`` where the API does so by itself."""


class Wrong(Exception):
    """A request that this API refuses."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "request", param: str | None = None) -> None:
        super().__init__(message)
        self.message, self.status, self.kind, self.param = message, status, kind, param


class Shape(ABC):
    """One API."""

    KNOWN: ClassVar[frozenset[str]]
    """Top-level parameters it knows."""

    @abstractmethod
    def key(self, headers: Mapping[str, str]) -> str | None:
        """The key a request carries, in the form this API wants it."""

    @abstractmethod
    def read(self, body: dict[str, Any], path: str) -> Asked:
        """The request; raises :class:`Wrong`."""

    @abstractmethod
    def unknown(self, name: str) -> Wrong:
        """What it says of a parameter it does not know."""

    @abstractmethod
    def reply(
        self, asked: Asked, text: str, prompt: int, cached: int, generated: int, whole: bool
    ) -> dict[str, Any]: ...

    @abstractmethod
    def refusal(self, asked: Asked, prompt: int, generated: int) -> dict[str, Any]: ...

    @abstractmethod
    def think(self, reply: dict[str, Any], tokens: int) -> None:
        """Add to a reply what the model thought before it."""

    @abstractmethod
    def error(self, wrong: Wrong) -> dict[str, Any]: ...


def need(holds: bool, message: str, param: str | None = None) -> None:
    """Refuse the request unless something holds."""
    if not holds:
        raise Wrong(message, param=param)


def texts_of(content: Any, where: str) -> list[str]:
    if isinstance(content, str):
        return [content]
    need(isinstance(content, list) and bool(content), f"{where}: content must be a string or a list of blocks")
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    need(len(texts) == len(content) and all(isinstance(text, str) for text in texts), f"{where}: blocks must have text")
    return [str(text) for text in texts]


def closed(schema: Any, where: str, *, required: bool, refuse: frozenset[str] = frozenset()) -> None:
    """Refuse a schema that strict decoding does not take."""
    if isinstance(schema, list):
        for each in schema:
            closed(each, where, required=required, refuse=refuse)
    elif isinstance(schema, dict):
        if (wrong := refuse & schema.keys()) and (wrong != {"minItems"} or schema["minItems"] not in (0, 1)):
            raise Wrong(
                f"{where}: For '{schema.get('type')}' type, property '{min(wrong)}' is not supported", param=where
            )
        properties = schema.get("properties")
        if isinstance(properties, dict):
            if refuse and (odd := [name for name in properties if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)]):
                raise Wrong(
                    f"{where}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$', not {odd[0]!r}",
                    param=where,
                )
            if schema.get("additionalProperties") is not False:
                raise Wrong(
                    f"Invalid schema for {where}: 'additionalProperties' is required to be supplied and to be false.",
                    param=where,
                )
            if required and set(schema.get("required", ())) != set(properties):
                raise Wrong(
                    f"Invalid schema for {where}: 'required' must include every key in properties.", param=where
                )
            for each in properties.values():
                closed(each, where, required=required, refuse=refuse)
        for word in ("items", "anyOf", "allOf"):
            closed(schema.get(word), where, required=required, refuse=refuse)
