"""One question to a model about two names of outcomes: the same, one narrower than the other, or two outcomes (D14).

It is asked where letters and embeddings cannot tell, of a model that judges; the answer is on record and never asked for twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maci.agents.agent import Participant
from maci.agents.debater.prompt import single_line
from maci.cases.names import Kind
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema
from maci.llm.prompts import fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema

PROMPT = load("maci.agents.judges", "names")
_MAX_TOKENS = 300
_CHOICES: dict[str, Kind] = {
    "same": "same",
    "first_is_narrower": "narrower",
    "second_is_narrower": "broader",
    "different": "other",
}
_MEANING = {"type": "string", "maxLength": 120}
_SCHEMA = Schema(
    "comparison",
    object_schema(first=_MEANING, second=_MEANING, relation={"type": "string", "enum": list(_CHOICES)}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How the first of two names stands to the second, as a model says."""

    kind: Kind
    raw: str | None = None
    """The model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""


class Comparer(Participant):
    """A model that compares names of outcomes."""

    prompts = (PROMPT,)

    def __init__(self, name: str, model: Model, *, family: str | None = None) -> None:
        self.name, self.family = name, family or model.family
        self._model = model

    def prepare(self, question: str, first: str, second: str, *, seed: int = 0) -> Call[Comparison]:
        """Two names to compare, as a call to make."""
        pair = f"Question: {single_line(question)}\nFirst: {single_line(first)}\nSecond: {single_line(second)}"
        asked = Request(
            messages=(
                Message("system", PROMPT.text),
                Message("user", f"<data>\n{pair}\n</data>\nCompare the two names."),
            ),
            max_tokens=_MAX_TOKENS,
            schema=_SCHEMA,
            temperature=0.0,
            seed=seed,
        )
        comparing = ask(self._model, asked, _read)

        async def make(purse: Purse) -> Comparison:
            answer = await comparing.make(purse)
            return Comparison(kind=answer.value, raw=answer.text[:2000], prompt=fingerprint(asked.messages))

        return Call(comparing.bound, make)


def _read(data: Any) -> Kind:
    said = str(data.get("relation", "")) if isinstance(data, dict) else ""
    if said not in _CHOICES:
        raise Unusable(f"relation is {said!r}: one of {', '.join(_CHOICES)}")
    return _CHOICES[said]
