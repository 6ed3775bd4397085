"""What the fake model writes: an instance of the schema it was given, drawn with a seed.

>>> write({"type": "object", "properties": {"evidence": {"type": "integer", "minimum": 0, "maximum": 100}}}, Random(0))
'{"evidence": 49}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

_PIECE = re.compile(r"^\[(E\d+)\] (?:\([^()]*\) )?(.+)$", re.MULTILINE)
"""A piece of evidence, as debaters are shown it."""
_ARGUMENT = re.compile(r"^\[(\d+[A-Z]\d+)\] Analyst", re.MULTILINE)
"""The id of another's argument, as debaters are shown it."""

_TEXT = (
    "the fever and the rash fit the record of this case because joint pain after travel points against a mild outcome while "
    "the evidence of one span supports the other reason and a blood test some days later shows that the argument is weak"
)


def write(schema: Mapping[str, Any] | None, rng: Random) -> str:
    """The model's text: JSON that follows the schema, or a sentence where there is none."""
    return _sentence(rng, 60) if schema is None else json.dumps(_instance(schema, rng, schema))


def quoting(text: str, prompt: str, labels: Sequence[str] = (), *, agrees: bool = False) -> str:
    """A debater's turn that rests on the pieces it cites, so that it can be admitted: it quotes them and is about what they name.

    >>> turn = '{"arguments": [{"outcome": "flu", "claim": "x", "reasons": ["y"], "citations": [{"span": "E1", "quote": ""}]}]}'
    >>> said = quoting(turn, "[E1] (a book) Gout brings a red and swollen toe at night.", ["flu", "gout"])
    >>> json.loads(said)["arguments"][0]["claim"], json.loads(said)["arguments"][0]["citations"][0]["quote"]
    ('gout: Gout brings a red and…', 'Gout brings a red and')
    """
    turn = json.loads(text)
    pieces = dict(_PIECE.findall(prompt))
    for argument in turn.get("arguments", ()) if isinstance(turn, dict) else ():
        del argument["citations"][1:]
        if "answers" in argument:
            argument["answers"] = _ARGUMENT.findall(prompt)[-1:]
        for citation in argument["citations"]:
            piece = pieces.get(citation["span"], "")
            words = piece.split()
            citation["quote"] = " ".join(words[:5])[:100]
            argument["outcome"] = next((x for x in labels if x.casefold() in piece.casefold()), argument["outcome"])
            argument["claim"] = f"{argument['outcome']}: {citation['quote']}{'…' * (len(words) > 5)}"
            argument["reasons"] = [" ".join(words[:30])[:200]] * bool(words)
    if agrees and isinstance(turn.get("belief"), dict):
        turn["belief"] = {label: 0 if number else 95 for number, label in enumerate(turn["belief"])}
        for argument, piece in zip(turn["arguments"], pieces, strict=False):
            argument["citations"][0]["span"], argument["citations"][0]["quote"] = piece, ""
    return json.dumps(turn)


def spoil(fault: str, schema: Mapping[str, Any] | None, rng: Random) -> str:
    """The same with a fault in it."""
    if fault == "empty":
        return ""
    if fault == "huge":
        return json.dumps({"text": "x" * (1 << 20)})
    if fault == "wrong_schema":
        return rng.choice(('{"answer": "yes"}', "[]", '"dengue"', '{"belief": "high", "evidence": {}}', "null", "42"))
    text = write(schema, rng)
    if fault == "bad_content":
        return rng.choice((text[: len(text) * 2 // 3] + '"', text[:-1] + ",", "Here you are: " + text[:-1], "{'a': 1}"))
    value = json.loads(text) if schema is not None else {"percent": 1}
    return json.dumps(_replace_numbers(value, float("nan") if fault == "nan" else -rng.randint(1, 100)))


def _replace_numbers(value: Any, number: float) -> Any:
    if isinstance(value, dict):
        return {name: _replace_numbers(each, number) for name, each in value.items()}
    if isinstance(value, list):
        return [_replace_numbers(each, number) for each in value]
    return number if isinstance(value, int | float) and not isinstance(value, bool) else value


def _instance(schema: Mapping[str, Any], rng: Random, root: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _instance(root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2], {}), rng, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _instance(rng.choice(schema[several]), rng, root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    match str(kind).lower():
        case "object":
            return {name: _part(name, each, rng, root) for name, each in schema.get("properties", {}).items()}
        case "array":
            least = int(_limit(schema, "minItems", 1))
            most = int(min(_limit(schema, "maxItems", least + 2), least + 2))
            return [_instance(schema.get("items", {}), rng, root) for _ in range(rng.randint(min(least, most), most))]
        case "integer":
            low = int(_limit(schema, "minimum", _limit(schema, "exclusiveMinimum", -1) + 1))
            high = int(_limit(schema, "maximum", _limit(schema, "exclusiveMaximum", low + 101) - 1))
            return rng.randint(low, max(low, high))
        case "number":
            low_ = _limit(schema, "minimum", 0.0)
            return round(rng.uniform(low_, _limit(schema, "maximum", low_ + 1.0)), 4)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            longest = int(_limit(schema, "maxLength", 1000))
            return _sentence(rng, min(40, longest)).ljust(int(_limit(schema, "minLength", 0)), ".")[:longest]


def _part(name: str, schema: Mapping[str, Any], rng: Random, root: Mapping[str, Any]) -> Any:
    if name == "belief":
        return _belief(schema, rng, root)
    if name == "quote" and not _limit(schema, "minLength", 0):
        return ""  # the whole piece is meant
    return _instance(schema, rng, root)


def _limit(schema: Mapping[str, Any], word: str, default: float) -> float:
    """A bound, from the schema or from its description, where providers put what an API does not take."""
    if word in schema:
        return float(schema[word])
    found = re.search(rf"{word}: (-?[\d.]+)", schema.get("description", ""))
    return float(found[1]) if found else default


def _belief(schema: Mapping[str, Any], rng: Random, root: Mapping[str, Any]) -> Any:
    """Percentages over the outcomes, where the schema is of a belief; they sum to 100."""
    if each := schema.get("properties"):
        return dict(zip(each, _shares(len(each), rng), strict=True))
    items = schema.get("items") or {}
    properties = items.get("properties") or {}
    if "percent" not in properties or "outcome" not in properties:
        return _instance(schema, rng, root)
    labels = properties["outcome"].get("enum") or ["first outcome", "second outcome"]
    labels = labels[: int(_limit(schema, "maxItems", len(labels)))]
    shares = _shares(len(labels), rng)
    return [{"outcome": label, "percent": share} for label, share in zip(labels, shares, strict=True)]


def _shares(n: int, rng: Random) -> list[int]:
    weights = [rng.random() ** 3 + 0.01 for _ in range(n)]
    shares = [int(100 * weight / sum(weights)) for weight in weights]
    shares[rng.randrange(n)] += 100 - sum(shares)
    return shares


def _sentence(rng: Random, size: int) -> str:
    """A few words, ``size`` characters at most."""
    start = _TEXT.find(" ", rng.randrange(len(_TEXT) // 2)) + 1
    text = _TEXT[start : start + size].strip()
    return f"{text[:-1].rpartition(' ')[0]}…" if " " in text[:-1] and len(_TEXT) > start + size else text
