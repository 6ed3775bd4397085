r"""A JSON schema as a GBNF grammar, for models that LLGuidance cannot hold (``_guided`` in host.py says which).

One rule, with no freedom where to put spaces and line breaks: ``", "`` between items and ``": "`` after names. Every property is
written, in the order of the schema, whether it is required or not: what has them all satisfies both. Keywords that are not known
are passed over; the reader of a reply validates it anyway.

>>> print(gbnf({"type": "object", "properties": {"sure": {"type": "integer", "minimum": 5, "maximum": 100}}}))
root ::= "{\"sure\": " ([5-9] | [1-9] [0-9] | "100") "}"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

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
