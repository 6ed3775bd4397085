r"""JSON Schemas as each API takes them.

Every API wants a subset. What is left out here no longer binds the model, so a constraint is put into words in the description, and
whoever asked validates the reply against the whole schema anyway. Where names of properties must be plain, those that are not are
replaced (:func:`~maci.llm.structured.plain_keys`), the name itself goes into the description, and whoever asked knows both.

>>> strict({"type": "object", "properties": {"n": {"type": "integer"}}})
{'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n'], 'additionalProperties': False}

:func:`gbnf` writes a schema as a grammar, for the models of llama.cpp that LLGuidance cannot hold (``_guided`` in
llm/local/host.py says which). There is no freedom where to put spaces and line breaks: ``", "`` between items and ``": "`` after
names. Every property is written, in the order of the schema, whether it is required or not: what has them all satisfies both.
Keywords that are not known are passed over.

>>> print(gbnf({"type": "object", "properties": {"sure": {"type": "integer", "minimum": 5, "maximum": 100}}}))
root ::= "{\"sure\": " ([5-9] | [1-9] [0-9] | "100") "}"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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


_CHARACTER = r'([^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))'
_NUMBER = '"-"? ("0" | [1-9] [0-9]{0,15})'
_PLAIN = {
    "number": f'{_NUMBER} ("." [0-9]{{1,15}})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
}
_ANY = {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]}
"""What an unknown schema is held to: no lists and no objects, which could go on for ever."""


def gbnf(schema: Mapping[str, Any]) -> str:
    """The grammar of a schema."""
    return f"root ::= {_value(schema)}"


def _value(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if choices is not None:
        return _either(_literal(json.dumps(choice, ensure_ascii=False)) for choice in choices)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _either(_value(one) for one in schema[several])
    kind = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(kind, list):
        return _either(_value({**schema, "type": one}) for one in kind)
    if kind == "object":
        return _object(schema.get("properties", {}))
    if kind == "array":
        return _array(_value(schema.get("items", _ANY)), schema.get("minItems", 0), schema.get("maxItems"))
    if kind == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", "")
        return rf'"\"" {_CHARACTER}{{{least},{most}}} "\""'
    if kind == "integer":
        return _integer(schema.get("minimum"), schema.get("maximum"))
    return f"({_PLAIN[kind]})" if kind in _PLAIN else _value(_ANY)


def _object(properties: Mapping[str, Any]) -> str:
    parts, before = list[str](), "{"
    for name, schema in properties.items():
        parts += [_literal(f"{before}{json.dumps(name, ensure_ascii=False)}: "), _value(schema)]
        before = ", "
    return " ".join([*parts, '"}"']) if parts else '"{}"'


def _array(item: str, least: int, most: int | None) -> str:
    if most == 0:
        return '"[]"'
    rest = f'(", " {item}){{{max(0, least - 1)},{"" if most is None else most - 1}}}'
    filled = f'"[" {item} {rest} "]"' if most != 1 else f'"[" {item} "]"'
    return filled if least else f'("[]" | {filled})'


def _integer(least: int | None, most: int | None) -> str:
    """Whole numbers; where there is no bound on one side, up to sixteen digits."""
    if least is None and most is None:
        return f"({_NUMBER})"
    low, high = -(10**16) + 1 if least is None else least, 10**16 - 1 if most is None else most
    ways = [f'"-" ({way})' for way in _between(max(1, -high), -low)] if low < 0 else []
    return _either([*ways, *_between(max(0, low), high)])


def _between(low: int, high: int) -> list[str]:
    """The ways to write the whole numbers from ``low`` to ``high``, none of them negative.

    >>> _between(0, 100)
    ['[0-9]', '[1-9] [0-9]', '"100"']
    >>> _between(37, 52)
    ['"3" [7-9]', '"4" [0-9]', '"5" [0-2]']
    """
    if low > high:
        return []
    first, last = str(low), str(high)
    if len(first) < len(last):
        middle = 10 ** len(first)
        return [*_between(low, middle - 1), *_between(middle, high)]
    if first == last:
        return [_literal(first)]
    return _digits(first, last)


def _digits(first: str, last: str) -> list[str]:
    """The same for bounds of one length."""
    if len(first) == 1:
        return [_digit(first, last)]
    zeros, nines = "0" * (len(first) - 1), "9" * (len(first) - 1)
    low, high = int(first[0]), int(last[0])
    ways, below, above = list[str](), first[1:] != zeros, last[1:] != nines
    if low == high:
        return [f"{_literal(first[0])} {way}" for way in _digits(first[1:], last[1:])]
    if below:
        ways += [f"{_literal(first[0])} {way}" for way in _digits(first[1:], nines)]
    if low + below <= high - above:
        ways.append(f"{_digit(str(low + below), str(high - above))} " + " ".join(["[0-9]"] * len(zeros)))
    if above:
        ways += [f"{_literal(last[0])} {way}" for way in _digits(zeros, last[1:])]
    return ways


def _digit(low: str, high: str) -> str:
    return _literal(low) if low == high else f"[{low}-{high}]"


def _either(ways: Iterable[str]) -> str:
    """One of several ways; there is always one."""
    found = list(dict.fromkeys(ways))
    return found[0] if len(found) == 1 else f"({' | '.join(found)})"


def _literal(text: str) -> str:
    r"""A text as it stands.

    >>> print(_literal('a "b" \\'))
    "a \"b\" \\"
    """
    for char, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(char, written)
    return f'"{text}"'
