"""Events: the recorded inputs and the decisions between them, as one tagged union with a JSON form.

The JSON Schema of the union is published (`maci show --schema`). Any other format is refused, never guessed at.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from maci.controller.decisions import Decision
from maci.controller.dials import RoundEvent
from maci.controller.inputs import Input
from maci.errors import InputError

FORMAT = 6
"""Version of the transcript format, the only one that is read."""

Event = Input | Decision
"""Readers of events match every kind and end in ``assert_never``, so that mypy names those who forget a new one."""


@cache
def _adapter() -> TypeAdapter[Event]:
    # An agent may state nan: it is kept as stated, in a form that JSON has.
    config = ConfigDict(ser_json_inf_nan="strings")
    return TypeAdapter(Annotated[Event, Field(discriminator="type")], config=config)


def dump(event: Event) -> bytes:
    """One event as a JSON object; what could not be read back is refused."""
    try:
        return _adapter().dump_json(event, by_alias=False, warnings="error")
    except PydanticSerializationError as error:
        raise InputError(f"this cannot be recorded ({event.type}): {' '.join(str(error).split())}") from error


def parse(data: bytes | str) -> Event:
    """The event a JSON object stands for."""
    return _adapter().validate_json(data)


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


def round_of(event: Event) -> int | None:
    """The round an event belongs to; ``None`` of those that belong to the whole debate."""
    return event.round if isinstance(event, RoundEvent) else None
