"""JSON Schemas as each API takes them.

Every API wants a subset. What is left out here no longer binds the model, so a constraint is put into words in the description, and
whoever asked validates the reply against the whole schema anyway. Where names of properties must be plain, those that are not are
replaced (:func:`~maci.llm.structured.plain_keys`), the name itself goes into the description, and whoever asked knows both.

>>> strict({"type": "object", "properties": {"n": {"type": "integer"}}})
{'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n'], 'additionalProperties': False}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from maci.llm.structured import plain_keys

_STRINGS = frozenset({"minLength", "maxLength"})
_OBJECTS = frozenset(
    {"minProperties", "maxProperties", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"}
    | {"unevaluatedProperties", "if", "then", "else", "not"}
)
_ARRAYS = frozenset({"uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})

_OPENAI = _STRINGS | _OBJECTS | _ARRAYS
_ANTHROPIC = _STRINGS | _OBJECTS | _ARRAYS | _NUMBERS | {"prefixItems", "maxItems", "minItems"}
_GEMINI = _STRINGS | _OBJECTS | _ARRAYS | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
_OPENAPI = _GEMINI | {"additionalProperties", "$schema", "$id", "title", "default", "examples"}


def strict(schema: Mapping[str, Any], *, official: bool = False) -> dict[str, Any]:
    """Every property required and none besides, as OpenAI's strict mode wants it.

    ``official``: also without the keywords api.openai.com refuses. Other servers ignore what they do not know, and llama.cpp
    holds a model to lengths, which keeps small ones from rambling.
    """
    return _adapt(schema, _OPENAI if official else frozenset(), closed=True, plain=official)


def anthropic(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Closed objects, no bounds; of the lengths of a list only ``minItems`` 0 and 1.

    >>> anthropic({"type": "integer", "minimum": 0, "maximum": 100})
    {'type': 'integer', 'description': 'minimum: 0, maximum: 100'}
    """
    return _adapt(schema, _ANTHROPIC, closed=True, plain=True)


def gemini(schema: Mapping[str, Any]) -> dict[str, Any]:
    """For ``responseJsonSchema``."""
    return _adapt(schema, _GEMINI, closed=False, plain=True)


def openapi(schema: Mapping[str, Any]) -> dict[str, Any]:
    """For ``responseSchema``, the OpenAPI subset of older Gemini models: no references, enums of strings only.

    >>> openapi({"$ref": "#/$defs/a", "$defs": {"a": {"enum": [1, 2]}}})
    {'description': 'one of [1, 2]'}
    """
    return _adapt(_inline(schema, schema.get("$defs", {}), 0), _OPENAPI, closed=False, plain=True, strings=True)


def _adapt(
    schema: Mapping[str, Any], drop: frozenset[str], *, closed: bool, plain: bool, strings: bool = False
) -> dict[str, Any]:
    done: dict[str, Any] = {}
    notes: list[str] = []
    names = plain_keys(schema.get("properties", ())) if plain else {}

    def deeper(each: Any, name: str = "") -> Any:
        if not isinstance(each, Mapping):
            return each
        part = _adapt(each, drop, closed=closed, plain=plain, strings=strings)
        if names.get(name, name) != name:  # the key no longer says it
            part["description"] = "; ".join(filter(None, [name, part.get("description")]))
        return part

    for word, value in schema.items():
        if word in drop and not (word == "minItems" and value in (0, 1)):
            if (
                word not in ("additionalProperties", "$schema", "$id", "title", "default", "examples")
                and value is not False
            ):
                notes.append(f"{word}: {json.dumps(value)}")
        elif word == "properties":
            done[word] = {names.get(name, name): deeper(each, name) for name, each in value.items()}
        elif word == "required":
            done[word] = [names.get(name, name) for name in value]
        elif word in ("$defs", "definitions"):
            done[word] = {name: deeper(each) for name, each in value.items()}
        elif word in ("anyOf", "oneOf", "allOf"):
            done["anyOf" if word == "oneOf" and drop else word] = [deeper(each) for each in value]
        elif word == "items":
            done[word] = deeper(value)
        elif strings and word in ("enum", "const"):
            values = value if word == "enum" else [value]
            if all(isinstance(each, str) for each in values):
                done["enum"] = list(values)
            else:
                notes.append(f"one of {json.dumps(values)}")
        else:
            done[word] = value
    if closed and "properties" in done:
        done["required"], done["additionalProperties"] = list(done["properties"]), False
    if strings and "properties" in done:  # those models write properties in alphabetical order otherwise
        done["propertyOrdering"] = list(done["properties"])
    if notes:
        done["description"] = "; ".join(filter(None, [done.get("description"), ", ".join(notes)]))
    return done


def _inline(schema: Any, definitions: Mapping[str, Any], depth: int) -> Any:
    """References replaced by what they refer to; a schema that refers to itself ends as anything at all."""
    if isinstance(schema, list):
        return [_inline(each, definitions, depth) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    target = schema.get("$ref")
    if isinstance(target, str):
        return {} if depth > 8 else _inline(definitions.get(target.rpartition("/")[2], {}), definitions, depth + 1)
    return {word: _inline(value, definitions, depth) for word, value in schema.items() if word != "$defs"}
