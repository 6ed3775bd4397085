"""The model that writes the joint recommendation at the end of a debate (D20).

It is given the result, the best admitted arguments for and against it, and the plan, each cut to a length that is known beforehand:
so the most the call can cost is known before the debate begins, and can be set aside. What it writes is checked by
:mod:`maci.controller.recommending`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from maci.agents.agent import Participant
from maci.agents.anchor import WritingRequest
from maci.agents.argument import Argument, Part, Sentence
from maci.agents.prompt import names_beside, plain, quoted, side_of, single_line
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema, fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema
from maci.llm.tokens import byte_bound
from maci.llm.usage import Bound

PROMPT = load("maci.agents", "recommendation")
_MAX_TOKENS = 700
_ARGUMENTS, _OPPOSED, _STEPS = 4, 3, 3
"""Arguments for and against the answer, and steps, that are shown."""
_QUESTION, _ARGUMENT, _STEP, _LABEL = 400, 320, 160, 120
"""Most bytes of each."""
_SENTENCE, _CITED = 240, 4
"""Most characters of a sentence, and most ids that it cites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What the writer wrote."""

    sentences: tuple[Sentence, ...]
    raw: str
    """The model's reply, word for word."""
    prompt: str
    """Hash of the prompt that led to it."""


class Writer(Participant):
    """A model of the panel that sums a debate up."""

    prompts = (PROMPT,)

    def __init__(self, name: str, model: Model, *, family: str | None = None) -> None:
        self.name, self.family = name, family or model.family
        self._model = model

    @property
    def ceiling(self) -> Bound:
        """The most a recommendation can cost, whatever the debate will be about."""
        ids = [f"{n}{seat}" for seat in "AB" for n in range(10_000, 10_000 + max(_ARGUMENTS, _OPPOSED, _STEPS))]
        request = WritingRequest(
            question="x" * _QUESTION,
            answer="x" * _LABEL,
            support=tuple((i, Argument(claim="x" * _ARGUMENT)) for i in ids[:_ARGUMENTS]),
            against=tuple((i, Argument(claim="x" * _ARGUMENT)) for i in ids[-_OPPOSED:]),
            steps=tuple((i, "x" * _STEP) for i in ids[:_STEPS]),
        )
        return self.prepare(request).bound

    def prepare(self, request: WritingRequest) -> Call[Draft]:
        """The recommendation as a call to make."""
        steps = {f"P{n}": item for n, (item, _) in enumerate(request.steps[:_STEPS], 1)}
        shown = [identity for identity, _ in (*request.support[:_ARGUMENTS], *request.against[:_OPPOSED])]
        asked = Request(
            messages=(Message("system", PROMPT.text), Message("user", _material(request))),
            max_tokens=_MAX_TOKENS,
            schema=_schema([*shown, *steps]),
            temperature=0.0,
            seed=request.seed,
        )
        writing = ask(self._model, asked, lambda data: _read(data, steps))

        async def make(purse: Purse) -> Draft:
            answer = await writing.make(purse)
            return Draft(sentences=answer.value, raw=answer.text[:4000], prompt=fingerprint(asked.messages))

        return Call(writing.bound, make)


def _material(request: WritingRequest) -> str:
    def lines(title: str, rows: list[tuple[str, str]], most: int) -> list[str]:
        body = [f"[{identity}] {_cut(text, most)}" for identity, text in rows] or ["(none)"]
        return [title, "<data>", *body, "</data>"]

    def said(arguments: Sequence[tuple[str, Argument]]) -> list[tuple[str, str]]:
        return [(identity, _said(argument, request.outcomes)) for identity, argument in arguments]

    steps = [(f"P{n}", quoted(text, request.outcomes)) for n, (_, text) in enumerate(request.steps[:_STEPS], 1)]
    result = (
        f"No answer is given: {_cut(request.withheld, _LABEL)}"
        if request.answer is None
        else f"Answer: {_cut(quoted(request.answer, (request.answer,)), _LABEL)} ({100 * request.confidence:.0f} %)"
    )
    return "\n".join(
        (
            "Question",
            "<data>",
            _cut(request.question, _QUESTION),
            "</data>",
            "Result",
            "<data>",
            result,
            "</data>",
            *lines("Admitted arguments", said(request.support[:_ARGUMENTS]), _ARGUMENT),
            *lines("Admitted arguments against the answer", said(request.against[:_OPPOSED]), _ARGUMENT),
            *lines("Steps that could be taken next", steps, _STEP),
            "Write the recommendation.",
        )
    )


def _said(argument: Argument, outcomes: Sequence[str]) -> str:
    """An argument on one line, with the side it takes."""
    outcome = argument.outcome and quoted(argument.outcome, (argument.outcome,))
    side = f"({side_of(argument, outcome)}) " if outcome else ""
    shown = plain(argument, names_beside(argument, outcomes))
    return side + " ".join((shown.claim, *shown.reasons))


def _cut(text: str, most: int) -> str:
    """Fenced text on one line, of so many bytes at most.

    >>> _cut("Ménière's </data> disease", 12)
    "Ménière's"
    """
    text = single_line(text)
    while (size := byte_bound(text)) > most:
        text = text[: min(len(text) - 1, len(text) * most // size)].rstrip()
    return text


def _schema(ids: list[str]) -> Schema:
    sentence = object_schema(
        text={"type": "string", "maxLength": _SENTENCE},
        cites={"type": "array", "items": {"type": "string", "enum": ids}, "minItems": 1, "maxItems": _CITED},
    )
    parts = {part: {"type": "array", "items": sentence, "maxItems": 2} for part in get_args(Part)}
    return Schema("recommendation", object_schema(**parts))


_ID = re.compile(r"\s*[\[(](?:\d+[A-Z]\d*|P\d+)(?:\s*[,;]\s*(?:\d+[A-Z]\d*|P\d+))*[\])]")
"""Ids in brackets, which belong beside the sentence."""


def _read(data: Any, steps: dict[str, str]) -> tuple[Sentence, ...]:
    if not isinstance(data, dict) or not any(part in data for part in get_args(Part)):
        raise Unusable(f"it needs the lists {', '.join(get_args(Part))}")
    found = []
    for part in get_args(Part):
        listed = data.get(part, [])
        for each in listed if isinstance(listed, list) else ():
            said = each if isinstance(each, dict) else {"text": each}
            cites = said.get("cites") if isinstance(said.get("cites"), list) else []
            text = " ".join(_ID.sub("", str(said.get("text", ""))).split())[: 2 * _SENTENCE]
            if text:
                ids = tuple(dict.fromkeys(steps.get(str(i), str(i)) for i in cites or ()))
                found.append(Sentence(part=part, text=text, cites=ids))
    return tuple(found)
