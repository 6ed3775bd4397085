"""Events: the recorded inputs and the decisions between them, as one tagged union with a JSON form.

The JSON Schema of the union is published (`maci show --schema`). Any other format is refused, never guessed at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from math import inf
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError, SchemaSerializer
from pydantic_core.core_schema import CoreConfig

from maci.controller.decisions import Decision, Finished
from maci.controller.dials import RoundEvent
from maci.controller.inputs import Input, Opened, Sent, usage_of
from maci.errors import InputError

FORMAT = 6
"""Version of the transcript format, the only one that is read."""

Event = Input | Decision
"""Readers of events match every kind and end in ``assert_never``, so that mypy names those who forget a new one."""


@cache
def _adapter() -> TypeAdapter[Event]:
    # An agent may state nan: it is kept as stated, in a form that JSON has.
    return TypeAdapter(Annotated[Event, Field(discriminator="type")], config=ConfigDict(ser_json_inf_nan="strings"))


@cache
def _serializer(kind: str) -> SchemaSerializer:
    """What writes one kind of event: the union's own takes twice as long to find it."""
    whole: Any = _adapter().core_schema
    union = whole["schema"] if whole["type"] == "definitions" else whole
    one = union["choices"][kind]
    return SchemaSerializer(one if union is whole else {**whole, "schema": one}, CoreConfig(ser_json_inf_nan="strings"))


def dump(event: Event) -> bytes:
    """One event as a JSON object; what could not be read back is refused."""
    try:
        return _serializer(event.type).to_json(event, by_alias=False, warnings="error")
    except PydanticSerializationError as error:
        raise InputError(f"this cannot be recorded ({event.type}): {' '.join(str(error).split())}") from error


def parse(data: bytes | str) -> Event:
    """The event a JSON object stands for. A cost below nothing, or beyond all figures, is refused: it would lift a ceiling."""
    event = _adapter().validate_json(data)
    for tokens, usd in _costs(event):
        if tokens < 0 or not 0 <= usd < inf:
            raise InputError(f"{event.type}: a cost of {tokens:,} tokens and {usd} dollars cannot be")
    return event


def _costs(event: Event) -> Iterator[tuple[int, float]]:
    """Tokens and dollars that an event says were or may be spent."""
    if isinstance(event, Sent):
        yield from ((call.tokens, call.usd) for call in event.calls)
    elif isinstance(event, Opened):
        yield event.set_aside.tokens, event.set_aside.usd
    elif isinstance(event, Finished):
        yield event.tokens, event.usd
    elif isinstance(event, Input):
        usage = usage_of(event)
        yield min(usage.prompt, usage.cached, usage.generated, usage.thought), usage.usd


def tree(event: Event) -> dict[str, Any]:
    """One event as plain dicts, lists and numbers."""
    plain: dict[str, Any] = json.loads(dump(event))
    return plain


def schema() -> dict[str, Any]:
    """The JSON Schema of a transcript line, without the chain's own fields."""
    return _adapter().json_schema()


def is_decision(event: Event) -> bool:
    """Whether an event was computed rather than received."""
    return isinstance(event, Decision)


def ended(events: Sequence[Event]) -> Finished | None:
    """The end of a debate; ``None`` of one that has not ended."""
    last = events[-1] if events else None
    return last if isinstance(last, Finished) else None


def round_of(event: Event) -> int | None:
    """The round an event belongs to; ``None`` of those that belong to the whole debate."""
    return event.round if isinstance(event, RoundEvent) else None
