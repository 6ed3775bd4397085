"""Agents describe their own manner; a model of another family sums up blind (SPEC 8).

At each level every agent is shown what it wrote, without the level, and asked for its tone, emphasis and turns of phrase. A model of
another family is given the descriptions in sets under letters in a drawn order, sums each up and says how confrontational it is.
It is told neither levels nor models nor topics. If the dial is heard, its order is the dial's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from maci.errors import ConfigError, InputError
from maci.lab.audit.contentiousness.ranking import spearman_of
from maci.lab.audit.contentiousness.sample import Spoken
from maci.llm.model import Message, Model, Request, Schema
from maci.llm.prompts import load
from maci.llm.structured import Unusable, ask

PARTS = ("tone", "emphasis", "patterns")
_OWN, _SETS = load("maci.lab.audit", "own-manner"), load("maci.lab.audit", "sets-of-manners")
_TURNS, _CHARACTERS = 8, 600
"""Most turns an agent is shown of itself, and most characters of each."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What the aggregator made of one level, which it did not know."""

    level: float
    tone: str
    emphasis: str
    patterns: str
    confrontational: float
    """0 … 100, as it judged."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """All levels, from high to low."""

    by: str
    """The aggregator."""
    manners: tuple[Manner, ...]
    rho: float | None
    """Spearman's ρ of its judgement with CL; of so few levels it has no interval."""


async def summarise(
    turns: Sequence[Spoken],
    levels: Sequence[float],
    agents: Mapping[str, Model],
    aggregator: Model,
    *,
    seed: int = 0,
    max_tokens: int = 400,
) -> Summaries:
    """Ask the agents about their own turns, then the aggregator about what they said."""
    if kin := next((model for model in agents.values() if model.family == aggregator.family), None):
        raise ConfigError(
            f"--self-summaries {aggregator.name}: it is of the family {kin.family} like {kin.name}, and would recognise its own: "
            "name a model of another family"
        )
    said: dict[float, list[str]] = {}
    for level in levels:
        for name, model in agents.items():
            own = [t for t in turns if t.sitting.level == level and t.agent == name and t.sitting.words == "stance"]
            if own:
                said.setdefault(level, []).append(await _own(model, own[:_TURNS], seed, max_tokens))
    if len(said) < 2:
        raise InputError("there are no turns at two levels to describe: hold the debates first")
    drawn = list(said)
    np.random.default_rng(seed).shuffle(drawn)
    letters = {chr(ord("A") + i): level for i, level in enumerate(drawn)}
    answered = await _aggregated(aggregator, {name: said[level] for name, level in letters.items()}, seed, max_tokens)
    manners = sorted(
        (
            Manner(letters[name], f["tone"], f["emphasis"], f["patterns"], float(f["confrontational"]))
            for name, f in answered.items()
        ),
        key=lambda manner: -manner.level,
    )
    rho = spearman_of([m.level for m in manners], [m.confrontational for m in manners])(np.arange(len(manners))[None])
    return Summaries(aggregator.name, tuple(manners), float(rho[0]) if isfinite(rho[0]) else None)


async def _own(model: Model, turns: Sequence[Spoken], seed: int, max_tokens: int) -> str:
    shown = "\n\n".join(_fenced(turn.text[:_CHARACTERS]) for turn in turns)
    request = _request(
        _OWN.render(turns=shown), Schema("manner", _object(dict.fromkeys(PARTS, _TEXT))), seed, max_tokens
    )
    answer = await ask(model, request, lambda data: _texts(data, PARTS)).within()
    return "\n".join(f"{part}: {text}" for part, text in answer.value.items())


async def _aggregated(
    model: Model, sets: Mapping[str, Sequence[str]], seed: int, max_tokens: int
) -> dict[str, dict[str, Any]]:
    written = "\n\n".join(
        f"# Set {name}\n<data>\n" + _fenced("\n\n".join(texts)) + "\n</data>" for name, texts in sorted(sets.items())
    )
    one = _object({**dict.fromkeys(PARTS, _TEXT), "confrontational": {"type": "integer", "minimum": 0, "maximum": 100}})
    schema = Schema("sets", _object(dict.fromkeys(sorted(sets), one)))
    prompt = _SETS.render(names=", ".join(sorted(sets)), sets=written)

    def read(data: Any) -> dict[str, dict[str, Any]]:
        found = {}
        for name in sets:
            if not isinstance(data, dict) or not isinstance(data.get(name), dict):
                raise Unusable(f"set {name} is missing")
            number = data[name].get("confrontational")
            if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= 100:
                raise Unusable(f"set {name}: confrontational must be a number from 0 to 100")
            found[name] = {**_texts(data[name], PARTS), "confrontational": number}
        return found

    request = _request(prompt, schema, seed, max_tokens * max(1, len(sets)))
    return (await ask(model, request, read).within()).value


_TEXT: dict[str, Any] = {"type": "string", "maxLength": 240}


def _request(text: str, schema: Schema, seed: int, max_tokens: int) -> Request:
    return Request(messages=(Message("user", text),), max_tokens=max_tokens, schema=schema, temperature=0.0, seed=seed)


def _texts(data: Any, parts: Iterable[str]) -> dict[str, str]:
    if not isinstance(data, dict):
        raise Unusable("the answer is not an object")
    found = {part: str(data.get(part) or "").strip() for part in parts}
    if lacking := [part for part, text in found.items() if not text]:
        raise Unusable(f"{lacking[0]} is missing")
    return found


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def _fenced(text: str) -> str:
    """Text that cannot close the fence it stands in."""
    return text.replace("</", "< /")
