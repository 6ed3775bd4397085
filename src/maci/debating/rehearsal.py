"""Stand-ins for models: they send nothing and write filler in the form they are asked for, so that a debate can be rehearsed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from json import dumps
from random import Random
from typing import Any

from maci.evidence.span import estimate_tokens
from maci.llm.client import Client
from maci.llm.fake import FakeModel
from maci.llm.model import Reply, Request, Token
from maci.llm.models import House
from maci.llm.usage import Usage
from maci.seating.models import Models
from maci.seating.spec import PanelSpec

SENTENCE = 100
"""Characters of a claim, a reason or a justification."""
_WORDS = "what is on record fits this better than it fits anything else that was named, and no piece speaks against it so far; "


class StandIns:
    """The models of a house, each with a stand-in before it: same name, family, price and bounds."""

    def __init__(self, models: Models, labels: Sequence[str]) -> None:
        self._models = models
        self.labels: Sequence[str] = labels
        """What a bare answer may be."""
        self.unpriced: list[str] = []

    def model(self, name: str) -> Client:
        """The stand-in for a model."""
        real = self._models.model(name)
        if real.price is None and name not in self.unpriced:
            self.unpriced.append(name)
        return FakeModel(real.name, real.family, partial(self._answer, name), price=real.price)

    def _answer(self, name: str, request: Request) -> Reply:
        """Filler, counted as if the model had written it."""
        rng, form = Random(f"{request.seed}/{request.sample}/{name}"), request.schema
        text = (
            rng.choice(self.labels or ("an outcome", "another outcome"))
            if form is None
            else dumps(fill(form.json, rng))
        )
        read = sum(estimate_tokens(message.content) for message in request.messages)
        read += 0 if form is None else estimate_tokens(form.text)
        usage = Usage(prompt=read, generated=min(request.max_tokens, estimate_tokens(text)))
        return Reply(text=text, usage=usage, logprobs=(Token(text, -0.1),) if request.top_logprobs else None)


@asynccontextmanager
async def stand_ins(panel: PanelSpec | str | None, labels: Sequence[str] = ()) -> AsyncIterator[StandIns | None]:
    """Stand-ins for the models of a panel; nothing needs a key. ``None`` where it has no models."""
    if not isinstance(panel, PanelSpec):
        yield None
        return
    keyless = {name: spec.model_copy(update={"key_env": None}) for name, spec in panel.models.items()}
    house = House(cache=None, options=keyless)
    try:
        yield StandIns(house, labels)
    finally:
        await house.aclose()


def fill(schema: Mapping[str, Any], rng: Random, name: str = "") -> Any:
    """Something that follows a schema: two of what there may be several of, sentences of a usual length, whole citations."""
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object" if name == "belief":
            return _shares(list(schema["properties"]))
        case "object":
            return {key: fill(part, rng, key) for key, part in schema["properties"].items()}
        case "array" if name == "belief":
            return _belief(schema, rng)
        case "array":
            n = max(schema.get("minItems", 0), min(schema.get("maxItems", 2), 2))
            return [fill(schema["items"], rng) for _ in range(n)]
        case "integer" | "number":
            return rng.randint(schema.get("minimum", 0), schema.get("maximum", 100))
        case "boolean":
            return False
        case _:
            if name == "quote":
                return ""
            start, size = rng.randrange(len(_WORDS)), min(SENTENCE, schema.get("maxLength", SENTENCE))
            return f"{rng.randrange(10**6)} {(_WORDS * 3)[start:].strip()}"[:size]


def _belief(schema: Mapping[str, Any], rng: Random) -> list[dict[str, Any]]:
    known = schema["items"]["properties"]["outcome"].get("enum") or ["an outcome", "another outcome"]
    labels = rng.sample(known, min(len(known), schema.get("maxItems", len(known))))
    return [{"outcome": label, "percent": share} for label, share in _shares(labels).items()]


def _shares(labels: Sequence[str]) -> dict[str, int]:
    share, rest = divmod(100, len(labels))
    return {label: share + (rest if not number else 0) for number, label in enumerate(labels)}
