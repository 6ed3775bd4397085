"""Two questions to a model that judges, where rules cannot tell; what it says is on record and never asked for twice.

:class:`Comparer`: is a name the same outcome as one of those in use, a narrower or a wider one, or another (D14)? It is asked where
letters and embeddings cannot tell, once for all names in use. :class:`Interpreter`: what does the answer of a source say about the
question? It is asked where an answer has more words than a yes or a no; bare ones are read by rules (`acquisition/answers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maci.agents.agent import Participant
from maci.agents.prompt import quoted, quoted_names, single_line
from maci.cases.labels import NameQuestion
from maci.cases.names import Kind
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema, fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema

NAMES = load("maci.agents.judges", "names")
_MAX_TOKENS = 300
_CHOICES: dict[str, Kind] = {"same": "same", "narrower": "narrower", "wider": "broader", "another": "other"}
_MEANING = {"type": "string", "maxLength": 120}


@dataclass(frozen=True, slots=True, kw_only=True)
class NameComparison:
    """How a name stands to one of those in use, as a model says."""

    kind: Kind
    listed: str = ""
    """The name in use that is meant; none where the name is another outcome than all of them."""
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

    def prepare(self, question: str, asked: NameQuestion, *, seed: int = 0) -> Call[NameComparison]:
        """A name to compare with all it is put against, as a call to make."""
        numbers = [str(n) for n in range(1, len(asked.among) + 1)]
        name, *among = quoted_names((asked.name, *asked.among))
        listed = "".join(f"\n{n}  {each}" for n, each in zip(numbers, among, strict=True))
        shown = f"Question: {single_line(question)}\nName: {name}\nListed:{listed}"
        which = {"type": "string", "enum": [*numbers, "none"]}
        relation = {"type": "string", "enum": list(_CHOICES)}
        request = Request(
            messages=(
                Message("system", NAMES.text),
                Message("user", f"<data>\n{shown}\n</data>\nCompare the name with those listed."),
            ),
            max_tokens=_MAX_TOKENS,
            schema=Schema(
                "comparison", object_schema(name=_MEANING, nearest=_MEANING, listed=which, relation=relation)
            ),
            temperature=0.0,
            seed=seed,
        )
        comparing = ask(self._model, request, lambda data: _read_relation(data, asked.among))

        async def make(purse: Purse) -> NameComparison:
            answer = await comparing.make(purse)
            kind, name = answer.value
            return NameComparison(kind=kind, listed=name, raw=answer.text[:2000], prompt=fingerprint(request.messages))

        return Call(comparing.bound, make)


def _read_relation(data: Any, among: Sequence[str]) -> tuple[Kind, str]:
    """How the name stands to which of those in use; to none of them where it is another outcome."""
    said, number = (str(data.get(key, "")).strip() if isinstance(data, dict) else "" for key in ("relation", "listed"))
    if said not in _CHOICES:
        raise Unusable(f"relation is {said!r}: one of {', '.join(_CHOICES)}")
    if said == "another":
        return "other", ""
    if number not in map(str, range(1, len(among) + 1)):
        raise Unusable(f"listed is {number!r}: where relation is {said}, a number from 1 to {len(among)}")
    return _CHOICES[said], among[int(number) - 1]


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
