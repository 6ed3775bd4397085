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
from maci.llm.model import Message, Model, Reply, Request
from maci.llm.usage import PROMPT_CUT

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
    """Without what the model thought."""
    thinking: str = ""
    note: str = ""
    """What is to be said of the call itself: a prompt that was cut."""

    @property
    def raw(self) -> str:
        """Word for word, with what the model thought before it."""
        return f"<think>{self.thinking}</think>\n{self.text}" if self.thinking else self.text


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


_LONGEST_TOKEN = 6
"""Characters a token of a prompt has on average at most; prose has four or five."""
_CONTEXT, _USUAL_TOKEN = 1024, 5
"""A count that is a multiple of this may well be the length of a context: then these characters a token are enough to tell."""


def cut_prompt(name: str, request: Request, counted: int) -> str:
    """A warning where a server counted far fewer tokens than the prompt has: it was cut to the context length. Else nothing.

    Ollama and LM Studio cut and say nothing. Under which name they are reached does not matter: either also serves OpenAI's API.

    >>> long = Request(messages=(Message("user", "The case and its evidence. " * 1000),), max_tokens=10)
    >>> cut_prompt("ollama/m", long, 2048)[:54], cut_prompt("ollama/m", long, 6000)
    ('the prompt was cut: ollama/m counted 2,048 tokens in a', '')
    >>> near = Request(messages=(Message("user", "The case. " * 1100),), max_tokens=10)
    >>> bool(cut_prompt("ollama/m", near, 2048)), bool(cut_prompt("ollama/m", near, 2050))
    (True, False)
    """
    if counted <= 0:
        return ""
    size = sum(len(message.content) for message in request.messages)
    if counted >= size // (_LONGEST_TOKEN if counted % _CONTEXT else _USUAL_TOKEN):
        return ""
    ollama = "set OLLAMA_CONTEXT_LENGTH for the server, such as 16384, and restart it"
    longer = "load the model with a longer context"
    step = ollama if name.startswith("ollama/") else longer
    if name.startswith("openai/"):
        step = f"{longer} (for Ollama, {ollama})"
    return f"{PROMPT_CUT}: {name} counted {counted:,} tokens in a prompt of {size:,} characters, so it did not read all of it; {step}"


def ask(model: Model, request: Request, read: Callable[[Any], T], *, limit: str = "max_tokens") -> Call[Usable[T]]:
    """A call whose answer is as ``read`` makes it; ``read`` raises :class:`Unusable` where it cannot.

    One repair is attempted, unless the reply was cut off: then a higher limit was tried already. After that,
    :class:`~maci.errors.BadReply`. ``limit`` names the setting to raise where a reply was cut off.
    """
    first = model.prepare(request)

    async def make(purse: Purse) -> Usable[T]:
        reply = await first.make(purse)
        note = cut_prompt(model.name, request, reply.usage.prompt)
        try:
            return Usable(read(extract(reply.text)), reply.text, reply.thinking, note)
        except Unusable as error:
            if reply.truncated:
                raise _cut_off(model, reply, limit) from error
            wrong = str(error)
        said = Message("assistant", reply.text[:_SHOWN] or "(nothing)")
        repair = f"That cannot be used: {wrong}. Answer again, with the whole JSON object and nothing else."
        again = replace(request, messages=(*request.messages, said, Message("user", repair)))
        second = await model.prepare(again).make(purse)
        try:
            return Usable(read(extract(second.text)), second.text, second.thinking, note)
        except Unusable as error:
            if second.truncated:
                raise _cut_off(model, second, limit) from error
            raise BadReply(f"{model.name} gave no usable answer, also when asked again: {error}") from error

    return Call(first.bound, make)


def _cut_off(model: Model, reply: Reply, limit: str) -> BadReply:
    thought = f", {reply.usage.thought:,} of them thinking" if reply.usage.thought else ""
    step = "set a lower `reasoning` for this model" if thought or not reply.text else f"raise {limit}"
    return BadReply(
        f"{model.name} was cut off after {reply.usage.generated:,} tokens{thought}, also with a higher limit: {step}"
    )
