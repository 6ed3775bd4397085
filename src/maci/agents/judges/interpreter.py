"""Two questions to a model that judges, where rules cannot tell; what it says is on record and never asked for twice.

:class:`Comparer`: two names of outcomes, are they the same, one narrower than the other, or two outcomes (D14)? It is asked where
letters and embeddings cannot tell. :class:`Interpreter`: what does the answer of a source say about the question? It is asked where an
answer has more words than a yes or a no; bare ones are read by rules (`acquisition/answers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maci.agents.agent import Participant
from maci.agents.prompt import quoted, single_line
from maci.cases.names import Kind
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema, fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema

NAMES = load("maci.agents.judges", "names")
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
class NameComparison:
    """How the first of two names stands to the second, as a model says."""

    kind: Kind
    raw: str | None = None
    """The model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""


class Comparer(Participant):
    """A model that compares names of outcomes."""

    prompts = (NAMES,)

    def __init__(self, name: str, model: Model, *, family: str | None = None) -> None:
        self.name, self.family = name, family or model.family
        self._model = model

    def prepare(self, question: str, first: str, second: str, *, seed: int = 0) -> Call[NameComparison]:
        """Two names to compare, as a call to make."""
        pair = f"Question: {single_line(question)}\nFirst: {quoted(first)}\nSecond: {quoted(second)}"
        asked = Request(
            messages=(
                Message("system", NAMES.text),
                Message("user", f"<data>\n{pair}\n</data>\nCompare the two names."),
            ),
            max_tokens=_MAX_TOKENS,
            schema=_SCHEMA,
            temperature=0.0,
            seed=seed,
        )
        comparing = ask(self._model, asked, _read_relation)

        async def make(purse: Purse) -> NameComparison:
            answer = await comparing.make(purse)
            return NameComparison(kind=answer.value, raw=answer.text[:2000], prompt=fingerprint(asked.messages))

        return Call(comparing.bound, make)


def _read_relation(data: Any) -> Kind:
    said = str(data.get("relation", "")) if isinstance(data, dict) else ""
    if said not in _CHOICES:
        raise Unusable(f"relation is {said!r}: one of {', '.join(_CHOICES)}")
    return _CHOICES[said]


ANSWERS = load("maci.agents.judges", "answers")
_LONGEST = 2000
"""Characters of an answer that are read."""
_WORDS = ("in_words", "unknown", "something_else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """What an answer says, as a model reads it."""

    verdict: Literal["present", "absent", "told", "unknown", "off_question"]
    chosen: str = ""
    """The finding that is meant, of those the question lists."""
    raw: str | None = None
    """The model's reply, word for word."""
    prompt: str | None = None
    """Hash of the prompt that led to it."""


class Interpreter(Participant):
    """A model that reads answers."""

    prompts = (ANSWERS,)

    def __init__(self, name: str, model: Model, *, family: str | None = None) -> None:
        self.name, self.family = name, family or model.family
        self._model = model

    def prepare(
        self, question: str, answer: str, findings: Sequence[str] = (), *, outcomes: Sequence[str] = (), seed: int = 0
    ) -> Call[Interpretation]:
        """An answer to read, as a call to make; ``findings`` are what the question lists, ``outcomes`` what may not be ordered."""
        numbers = [str(n) for n in range(1, len(findings) + 1)]
        choices = (*numbers, "none", *_WORDS) if findings else ("yes", "no", *_WORDS)
        listed = "".join(f"\n{n}  {quoted(finding, outcomes)}" for n, finding in zip(numbers, findings, strict=True))
        shown = f"Question: {quoted(question, outcomes)}{listed}\nAnswer: {quoted(answer[:_LONGEST], outcomes)}"
        means = {"type": "string", "maxLength": 160}
        request = Request(
            messages=(
                Message("system", ANSWERS.text),
                Message(
                    "user", f"<data>\n{shown}\n</data>\nWhat does the answer say? Choose one of {', '.join(choices)}."
                ),
            ),
            max_tokens=_MAX_TOKENS,
            schema=Schema("reading", object_schema(says=means, choice={"type": "string", "enum": list(choices)})),
            temperature=0.0,
            seed=seed,
        )
        reading = ask(self._model, request, lambda data: _read_choice(data, choices))

        async def make(purse: Purse) -> Interpretation:
            found = await reading.make(purse)
            chosen = findings[int(found.value) - 1] if found.value in numbers else ""
            verdict = _VERDICTS.get(found.value, "told")
            return Interpretation(
                verdict=verdict, chosen=chosen, raw=found.text[:2000], prompt=fingerprint(request.messages)
            )

        return Call(reading.bound, make)


_VERDICTS: dict[str, Literal["present", "absent", "told", "unknown", "off_question"]] = {
    "yes": "present",
    "no": "absent",
    "none": "absent",
    "unknown": "unknown",
    "something_else": "off_question",
}


def _read_choice(data: Any, choices: Sequence[str]) -> str:
    said = str(data.get("choice", "")).strip() if isinstance(data, dict) else ""
    if said not in choices:
        raise Unusable(f"choice is {said!r}: one of {', '.join(choices)}")
    return said
