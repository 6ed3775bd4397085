"""Answers in a form: ask with a JSON schema, read what comes, ask once more if it cannot be used.

A server that follows the schema makes the repair rare; one that ignores it gets the same chance as a careless model.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from maci.errors import BadReply
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request

T = TypeVar("T")

_SHOWN = 4000
"""Most characters of a bad answer that are shown to the model again."""
_FENCE = re.compile(r"^```[a-zA-Z]*\s*|\s*```$")
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Names of properties that every API takes in a schema."""


class Unusable(ValueError):
    """Says what is wrong with an answer, in words the model can act on."""


@dataclass(frozen=True, slots=True)
class Usable(Generic[T]):
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


def object_schema(**fields: Any) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these properties."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def plain_keys(names: Iterable[str]) -> dict[str, str]:
    """Name → a key that every API takes in a schema, each its own; a name that is such a key stays as it is.

    >>> plain_keys(["gout", "Dengue fever", "+1", "1", "Ménière's disease", "登革热"])  # doctest: +NORMALIZE_WHITESPACE
    {'gout': 'gout', 'Dengue fever': 'Dengue_fever', '+1': 'plus_1', '1': '1', "Ménière's disease": 'Meniere_s_disease',
     '登革热': 'key_6'}
    """
    names = list(names)
    taken = {name for name in names if _KEY.fullmatch(name)}
    keys: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        key = name
        if name not in taken:
            plain = unicodedata.normalize("NFKD", name.replace("+", " plus ")).encode("ascii", "ignore").decode()
            key = re.sub(r"[^A-Za-z0-9.-]+", "_", plain).strip("_")[:56]
            key = key if key and key not in taken else f"{key or 'key'}_{number}"
            taken.add(key)
        keys[name] = key
    return keys


def ask(model: Model, request: Request, read: Callable[[Any], T], *, limit: str = "max_tokens") -> Call[Usable[T]]:
    """A call whose answer is as ``read`` makes it; ``read`` raises :class:`Unusable` where it cannot.

    One repair is attempted; then :class:`~maci.errors.BadReply`. ``limit`` names the setting to raise where both were cut off.
    """
    first = model.prepare(request)

    async def make(purse: Purse) -> Usable[T]:
        reply = await first.make(purse)
        try:
            return Usable(read(extract(reply.text)), reply.text, False)
        except Unusable as error:
            wrong = f"{error}; it was cut off, be shorter" if reply.truncated else str(error)
        said = Message("assistant", reply.text[:_SHOWN] or "(nothing)")
        repair = f"That cannot be used: {wrong}. Answer again, with the whole JSON object and nothing else."
        again = replace(request, messages=(*request.messages, said, Message("user", repair)))
        second = await model.prepare(again).make(purse)
        try:
            return Usable(read(extract(second.text)), second.text, True)
        except Unusable as error:
            why = str(error)
            if second.truncated:
                why = f"it was cut off at {request.max_tokens:,} tokens: raise {limit}"
            raise BadReply(f"{model.name} gave no usable answer, also when asked again: {why}") from error

    return Call(first.bound, make)
