"""A model reads the answer of a source: what does it say about the question?

It is asked where an answer has more words than a yes or a no; bare ones are read by rules (`acquisition/answers.py`). What it says is
on record with the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maci.agents.agent import Participant
from maci.agents.debater.prompt import fenced
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema
from maci.llm.prompts import fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema

PROMPT = load("maci.agents.judges", "answers")
_MAX_TOKENS = 300
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

    prompts = (PROMPT,)

    def __init__(self, name: str, model: Model, *, family: str | None = None) -> None:
        self.name, self.family = name, family or model.family
        self._model = model

    def prepare(
        self, question: str, answer: str, findings: Sequence[str] = (), *, seed: int = 0
    ) -> Call[Interpretation]:
        """An answer to read, as a call to make; ``findings`` are what the question lists."""
        numbers = [str(n) for n in range(1, len(findings) + 1)]
        choices = (*numbers, "none", *_WORDS) if findings else ("yes", "no", *_WORDS)
        listed = "".join(f"\n{n}  {fenced(finding)}" for n, finding in zip(numbers, findings, strict=True))
        shown = f"Question: {fenced(question)}{listed}\nAnswer: {fenced(answer[:_LONGEST])}"
        means = {"type": "string", "maxLength": 160}
        request = Request(
            messages=(
                Message("system", PROMPT.text),
                Message(
                    "user", f"<data>\n{shown}\n</data>\nWhat does the answer say? Choose one of {', '.join(choices)}."
                ),
            ),
            max_tokens=_MAX_TOKENS,
            schema=Schema("reading", object_schema(says=means, choice={"type": "string", "enum": list(choices)})),
            temperature=0.0,
            seed=seed,
        )
        reading = ask(self._model, request, lambda data: _read(data, choices))

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


def _read(data: Any, choices: Sequence[str]) -> str:
    said = str(data.get("choice", "")).strip() if isinstance(data, dict) else ""
    if said not in choices:
        raise Unusable(f"choice is {said!r}: one of {', '.join(choices)}")
    return said
