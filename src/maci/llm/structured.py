"""Answers in a form: ask with a JSON schema, read what comes, ask once more if it cannot be used.

A server that follows the schema makes the repair rare; one that ignores it gets the same chance as a careless model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from maci.errors import BadReply
from maci.llm.model import Message, Model, Request

__all__ = ["Answer", "Unusable", "ask", "extract"]

T = TypeVar("T")

_SHOWN = 4000
"""Most characters of a bad answer that are shown to the model again."""
_FENCE = re.compile(r"^```[a-zA-Z]*\s*|\s*```$")


class Unusable(ValueError):
    """Says what is wrong with an answer, in words the model can act on."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A usable answer."""

    value: T
    text: str
    """Word for word."""
    repaired: bool


def extract(text: str) -> Any:
    """The JSON object in a text, with or without a fence or words around it.

    >>> extract('Sure! ```json {"a": 1}```')
    {'a': 1}
    """
    bare = text.strip()
    if not bare.startswith("{"):
        bare = _FENCE.sub("", bare)
    if not bare:
        raise Unusable("the answer is empty")
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        pass
    start = bare.find("{")
    if start >= 0:
        try:
            return json.JSONDecoder().raw_decode(bare, start)[0]
        except (ValueError, RecursionError):
            pass
    raise Unusable("the answer is not a JSON object")


async def ask(model: Model, request: Request, read: Callable[[Any], T]) -> Answer[T]:
    """The answer as ``read`` makes it; ``read`` raises :class:`Unusable` where it cannot.

    One repair is attempted; then :class:`~maci.errors.BadReply`.
    """
    reply = await model.complete(request)
    try:
        return Answer(read(extract(reply.text)), reply.text, False)
    except Unusable as error:
        wrong = f"{error}; it was cut off, be shorter" if reply.truncated else str(error)
    shown = reply.text[:_SHOWN] or "(nothing)"
    again = replace(
        request,
        messages=(
            *request.messages,
            Message("assistant", shown),
            Message(
                "user", f"That cannot be used: {wrong}. Answer again, with the whole JSON object and nothing else."
            ),
        ),
    )
    second = await model.complete(again)
    try:
        return Answer(read(extract(second.text)), second.text, True)
    except Unusable as error:
        raise BadReply(f"{model.name} gave no usable answer, also when asked again: {error}") from error
