"""Schemas as each API takes them: nothing it refuses, and nothing lost that can be said in words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from fake_server.content import write
from maci.llm.providers._schema import anthropic, gemini, openapi, strict

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "links": {
            "type": "array",
            "items": {"$ref": "#/$defs/grade"},
            "minItems": 3,
            "maxItems": 3,
            "uniqueItems": False,
        },
        "kind": {"oneOf": [{"const": "weak"}, {"enum": ["strong"]}], "description": "how it holds"},
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "why": {"type": "string", "minLength": 5, "maxLength": 80, "pattern": "^[a-z]"},
        "deep": {"type": "object", "properties": {"x": {"type": "boolean"}, "y": {"type": "null"}}, "required": ["x"]},
    },
    "required": ["links"],
    "$defs": {"grade": {"type": "integer", "minimum": 0, "maximum": 100}},
}
FORMS: list[Callable[..., dict[str, Any]]] = [
    strict,
    lambda schema: strict(schema, official=True),
    anthropic,
    gemini,
    openapi,
]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(schema, dict):
        yield schema
        for word in ("properties", "$defs"):
            for each in schema.get(word, {}).values():
                yield from nodes(each)
        yield from nodes(schema.get("items"))
        for word in ("anyOf", "oneOf", "allOf"):
            for each in schema.get(word, ()):
                yield from nodes(each)


def words(schema: Any) -> set[str]:
    return {word for node in nodes(schema) for word in node}


@pytest.mark.parametrize("form", FORMS)
def test_the_callers_schema_is_left_as_it_was(form: Callable[..., dict[str, Any]]):
    before = copy.deepcopy(SCHEMA)
    once = form(SCHEMA)
    assert before == SCHEMA and form(once) == once


@pytest.mark.parametrize("form", FORMS[:3])
def test_every_object_is_closed_and_every_property_required(form: Callable[..., dict[str, Any]]):
    objects = [node for node in nodes(form(SCHEMA)) if "properties" in node]
    assert len(objects) == 2
    assert all(
        node["required"] == list(node["properties"]) and node["additionalProperties"] is False for node in objects
    )


def test_what_openai_refuses_is_left_out_for_openai_only():
    assert {"minLength", "maxLength"} <= words(strict(SCHEMA)) and "oneOf" in words(strict(SCHEMA))
    official = words(strict(SCHEMA, official=True))
    assert (
        not official & {"minLength", "maxLength", "uniqueItems", "oneOf"}
        and {"minimum", "minItems", "pattern", "anyOf"} <= official
    )


def test_what_anthropic_refuses_is_left_out_and_said_in_words():
    form = anthropic(SCHEMA)
    refused = {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "oneOf",
        "uniqueItems",
    }
    assert not words(form) & refused
    assert form["properties"]["links"]["description"] == "minItems: 3, maxItems: 3"
    assert form["$defs"]["grade"]["description"] == "minimum: 0, maximum: 100"
    assert form["properties"]["kind"]["description"] == "how it holds"
    assert anthropic({"type": "array", "minItems": 1}) == {"type": "array", "minItems": 1}


def test_gemini_keeps_bounds_and_references():
    form = gemini(SCHEMA)
    assert {"minimum", "maximum", "minItems", "maxItems", "$ref"} <= words(form)
    assert not words(form) & {"minLength", "pattern", "exclusiveMinimum", "uniqueItems"}


def test_the_openapi_form_has_no_references_and_enums_of_strings_only():
    form = openapi(SCHEMA)
    assert not words(form) & {"$ref", "$defs", "const", "additionalProperties"}
    assert form["properties"]["links"]["items"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert form["properties"]["kind"]["anyOf"] == [{"enum": ["weak"]}, {"enum": ["strong"]}]
    endless = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    assert "$ref" not in json.dumps(openapi(endless))


@pytest.mark.parametrize("form", FORMS)
def test_the_fake_model_follows_the_whole_schema_from_any_form_of_it(form: Callable[..., dict[str, Any]]):
    for seed in range(30):
        value = json.loads(write(form(SCHEMA), Random(seed)))
        assert len(value["links"]) == 3 and all(0 <= link <= 100 for link in value["links"])
        assert value["kind"] in ("weak", "strong") and 5 <= len(value["why"]) <= 80
        assert isinstance(value["deep"]["x"], bool) and value["deep"]["y"] is None


def test_keys_of_properties_are_plain_where_an_api_wants_them_so():
    percent = {"type": "integer", "minimum": 0, "maximum": 100}
    labels = ["Dengue fever", "gout", "+1", "登革热"]
    schema = {"type": "object", "properties": dict.fromkeys(labels, percent), "required": labels}
    assert list(strict(schema)["properties"]) == labels  # a server of one's own holds the model to the names themselves
    for form in FORMS[1:]:
        made = form(schema)
        assert list(made["properties"]) == made["required"] == ["Dengue_fever", "gout", "plus_1", "key_4"]
        said = [part.get("description", "") for part in made["properties"].values()]
        assert said[0].startswith("Dengue fever") and said[3].startswith("登革热") and "gout" not in said[1]
    assert openapi(schema)["propertyOrdering"] == ["Dengue_fever", "gout", "plus_1", "key_4"]
    assert (
        sum(
            json.loads(write({"type": "object", "properties": {"belief": anthropic(schema)}}, Random(1)))[
                "belief"
            ].values()
        )
        == 100
    )
