"""Descriptions of the style by people and by the agents themselves, both without knowing the level (SPEC 8).

People get the classifier's question: how contentious is this turn? :func:`blind` writes a file with the turns in a random order under
neutral names, and an empty column ``guess`` for a level from 1 (most cooperative) up to the number of levels. The file leaves out the
level, topic, seed and agent of a turn; :func:`guesses` looks them up in the debates when the file comes back.

Agents describe their own manner (:func:`summarise`). At each level every agent is shown what it wrote, without the level, and asked for
its tone, emphasis and turns of phrase. A model of another family gets the descriptions in sets under letters in a random order, sums
each up and says how confrontational it is. It is told neither levels nor models nor topics. If the dial can be heard in the turns, this
model's order of the sets is the dial's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from maci.agents.prompt import quoted
from maci.calibration.stats import RESAMPLES, Estimate, bootstrap, bootstrap_mean
from maci.errors import ConfigError, InputError
from maci.lab.audit import read_blind
from maci.lab.audit.contentiousness.debates import Spoken
from maci.lab.audit.contentiousness.trends import macro_auc, resampled, spearman_of
from maci.llm.model import Message, Model, Request, Schema, load
from maci.llm.structured import Unusable, ask

FIELDS = ("item", "text", "guess")


@dataclass(frozen=True, slots=True)
class Guesses:
    """How well people tell the levels."""

    n: int
    """Turns with a guess."""
    unknown: int
    """Rows that are no turn of these debates."""
    empty: int
    right: Estimate
    """Share of turns whose level was guessed."""
    chance: float
    rho: Estimate
    """Spearman's ρ of guess and level."""
    auc: Estimate
    """Macro AUC: the nearer a guess is to a level, the higher that level scores; ½ is guessing."""


def _id(turn: Spoken) -> str:
    """A name for a turn that tells nothing of it."""
    return hashlib.sha256(f"{turn.sitting.place}/{turn.round}/{turn.agent}".encode()).hexdigest()[:12]


def blind(turns: Sequence[Spoken], seed: int = 0) -> list[dict[str, str]]:
    """Rows in a drawn order, the guess left open."""
    order = np.random.default_rng(seed).permutation(len(turns))
    return [{"item": _id(turns[i]), "text": turns[i].text, "guess": ""} for i in order]


def read_guesses(path: Path, levels: int) -> dict[str, int | None]:
    """Item → guess from 1 to ``levels``; ``None`` where it was left open."""
    found: dict[str, int | None] = {}
    for where, item, said, _ in read_blind(path, "item", "guess"):
        if said and (not said.isdigit() or not 1 <= int(said) <= levels):
            raise InputError(f"{where}: guess is {said!r}: write a whole number from 1 to {levels}, or nothing")
        if item in found:
            raise InputError(f"{where}: the item {item} stands there twice: one file for each person")
        found[item] = int(said) if said else None
    return found


def guesses(
    turns: Sequence[Spoken],
    levels: Sequence[float],
    given: Mapping[str, int | None],
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
) -> Guesses:
    """What people's guesses say; intervals draw topics × seeds anew."""
    known = {_id(turn): turn for turn in turns}
    rising = sorted(levels)
    rated = [(known[item], guess) for item, guess in given.items() if guess is not None and item in known]
    if not rated:
        raise InputError("none of the guesses is about a turn of these debates: import the file of this very audit")
    truth = np.array([rising.index(turn.sitting.level) + 1 for turn, _ in rated], dtype=float)
    said = np.array([guess for _, guess in rated], dtype=float)
    blocks = [turn.sitting.block for turn, _ in rated]
    scores = -np.abs(said[:, None] - np.arange(1, len(rising) + 1)[None])
    return Guesses(
        n=len(rated),
        unknown=sum(item not in known for item in given),
        empty=sum(guess is None for guess in given.values()),
        right=bootstrap_mean(truth == said, rng, groups=blocks, resamples=resamples),
        chance=1 / len(rising),
        rho=bootstrap(
            spearman_of(truth, said), len(rated), rng, groups=blocks, method="percentile", resamples=resamples
        ),
        auc=bootstrap(
            resampled(macro_auc(scores, truth.astype(int) - 1, np.zeros(len(rated))), len(rated)),
            len(rated),
            rng,
            groups=blocks,
            method="percentile",
            resamples=resamples,
        ),
    )


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
    shown = "\n\n".join(quoted(turn.text[:_CHARACTERS], ()) for turn in turns)
    request = _request(
        _OWN.render(turns=shown), Schema("manner", _object(dict.fromkeys(PARTS, _TEXT))), seed, max_tokens
    )
    answer = await ask(model, request, lambda data: _texts(data, PARTS)).within()
    return "\n".join(f"{part}: {text}" for part, text in answer.value.items())


async def _aggregated(
    model: Model, sets: Mapping[str, Sequence[str]], seed: int, max_tokens: int
) -> dict[str, dict[str, Any]]:
    written = "\n\n".join(
        f"# Set {name}\n<data>\n" + "\n\n".join(quoted(text, ()) for text in texts) + "\n</data>"
        for name, texts in sorted(sets.items())
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
