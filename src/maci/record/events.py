"""Events: the recorded inputs and the decisions between them, as one tagged union with a JSON form.

The JSON Schema of the union is published (`maci show --schema`). A newer format is refused, never guessed at.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from maci.controller.decisions import Decision, Dialled, Finished, Gated, Initialized, Measured, Weighed
from maci.controller.inputs import Input

__all__ = ["FORMAT", "Event", "dump", "is_decision", "parse", "schema", "tree"]

FORMAT = 1
"""Version of the transcript format."""

Event = Input | Decision


@cache
def _adapter() -> TypeAdapter[Event]:
    return TypeAdapter(Annotated[Event, Field(discriminator="type")])


def dump(event: Event) -> bytes:
    """One event as a JSON object."""
    return _adapter().dump_json(event, by_alias=False)


def parse(data: bytes | str) -> Event:
    """The event a JSON object stands for."""
    return _adapter().validate_json(data)


def tree(event: Event) -> dict[str, Any]:
    """One event as plain dicts, lists and numbers."""
    plain: dict[str, Any] = _adapter().dump_python(event, mode="json")
    return plain


def schema() -> dict[str, Any]:
    """The JSON Schema of a transcript line, without the chain's own fields."""
    return _adapter().json_schema()


def is_decision(event: Event) -> bool:
    """Whether an event was computed rather than received."""
    return isinstance(event, Initialized | Gated | Weighed | Measured | Dialled | Finished)
