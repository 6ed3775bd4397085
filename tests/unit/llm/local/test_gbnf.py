"""GBNF grammars, checked by a reader of the few forms that are written: what a grammar takes is what the schema takes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from maci.agents.debater import Form
from maci.llm.providers._schema import gbnf


def pattern(grammar: str) -> re.Pattern[str]:
    """The same language as a regular expression: literals, classes, groups, alternatives and repetitions."""
    rest, out = grammar.removeprefix("root ::= "), ""
    while rest:
        if rest[0] == '"':
            found = re.match(r'"((?:[^"\\]|\\.)*)"', rest)
            assert found is not None
            out += re.escape(re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r", "t": "\t"}.get(m[1], m[1]), found[1]))
        elif rest[0] == "[":
            found = re.match(r"\[(?:[^\]\\]|\\.)*\]", rest)
            assert found is not None
            out += found[0]
        else:
            found = re.match(r"\{\d*,?\d*\}|[()|?]| ", rest)
            assert found is not None, rest
            out += found[0].replace("{,", "{0,").strip()
        rest = rest[found.end() :]
    return re.compile(out)


def takes(schema: dict[str, Any], value: object) -> bool:
    return bool(pattern(gbnf(schema)).fullmatch(json.dumps(value, ensure_ascii=False)))


@pytest.mark.parametrize(
    ("low", "high"), [(0, 100), (0, 9), (5, 5), (37, 52), (1, 1000), (-7, 12), (-30, -4), (99, 101)]
)
def test_whole_numbers_are_those_between_the_bounds(low: int, high: int) -> None:
    taken = pattern(gbnf({"type": "integer", "minimum": low, "maximum": high}))
    numbers = range(-1100, 1101)
    assert [n for n in numbers if taken.fullmatch(str(n))] == [n for n in numbers if low <= n <= high]
    assert not any(map(taken.fullmatch, ("", "-", "007", "1.0", "-0")))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [0, -12, 10**12], [1.5, "1", None]),
        ({"type": "integer", "minimum": 3}, [3, 12345], [2, -3]),
        ({"type": "number"}, [0, -1.5, 3.25], ["1", True]),
        ({"type": "boolean"}, [True, False], [1, "true"]),
        ({"type": "null"}, [None], [0, "null"]),
        ({"type": ["string", "null"]}, ["x", None], [1]),
        ({"const": 'a "b"\\'}, ['a "b"\\'], ["a"]),
        ({"type": "string", "maxLength": 3}, ["", "日本語", 'a"\\', "\n"], ["four", 1]),
        ({"enum": ["Dengue fever", 'say "ah"', "β-blocker"]}, ["Dengue fever", 'say "ah"', "β-blocker"], ["", "Dengue"]),
        ({"type": "array", "items": {"type": "boolean"}}, [[], [True], [True, False, True]], [[1], "[]"]),
        ({"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 2}, [[None], [None] * 2], [[], [None] * 3]),
        ({"type": "array", "items": {"type": "null"}, "maxItems": 1}, [[], [None]], [[None] * 2]),
        ({"type": "array", "maxItems": 0}, [[]], [[1]]),
        ({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "null"}}}]}, [None, {"a": None}], [{}]),
        ({"type": "object"}, [{}], [{"a": 1}]),
        ({}, ["x", 1.5, True, None], [[1], {"a": 1}]),
    ],
    ids=lambda given: json.dumps(given)[:60] if isinstance(given, dict) else "",
)  # fmt: skip
def test_what_a_grammar_takes_is_what_the_schema_takes(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    assert all(takes(schema, value) for value in good)
    assert not any(takes(schema, value) for value in bad)


def test_every_property_is_written_in_the_order_of_the_schema_without_stray_space() -> None:
    schema = {"type": "object", "properties": {"b": {"type": "null"}, "a": {"type": "null"}}, "required": ["b"]}
    taken = pattern(gbnf(schema))
    assert taken.fullmatch('{"b": null, "a": null}')
    for other in ('{"a": null, "b": null}', '{"b": null}', '{ "b": null, "a": null}', '{"b":null,"a":null}'):
        assert not taken.fullmatch(other)


def test_a_debaters_form_is_held() -> None:
    form = Form(kind="closed", labels=("Dengue fever", "Malaria"), pieces={"E1": None}, arguments=1, verbalised=True)  # type: ignore[dict-item]
    argument = {
        "outcome": "Malaria",
        "claim": "It fits.",
        "citations": [{"quote": "“chills”", "span": "E1"}],
        "reasons": ["So it is."],
        "opposing": [],
        "effect": "supports",
    }
    said = {"arguments": [argument], "belief": {"Dengue fever": 20, "Malaria": 80}}
    schema = dict(form.schema().json)
    assert takes(schema, said)
    assert not takes(schema, said | {"belief": {"Malaria": 80, "Dengue fever": 20}})
    assert not takes(schema, {"arguments": [argument | {"outcome": "Ebola"}], "belief": said["belief"]})
