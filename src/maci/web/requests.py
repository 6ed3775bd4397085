"""What programs ask for at ``/v1``: a conversation, what the answer can be, and the form it is to have.

The last message of the user is the question; all others are the context, with who said it: those before it, and results of tools and
instructions that came after it. A multiple-choice question that wants its answer as ``ANSWER: $LETTER`` is debated by its choices. What
cannot be honoured is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from maci.cases.case import Case, parse_case
from maci.errors import EvidenceError, InputError, concerning
from maci.seating.seating import PanelChoice
from maci.web import ServerSettings
from maci.web.desk import NotHere
from maci.web.forms import choice_of, panels

_TOLD = {"system", "developer"}
_ASSISTANT = "assistant"
_RESULTS = {"function_call_output", "custom_tool_call_output"}
"""Items of the Responses API that say what a tool of the client found."""
_CLIENTS_OWN = {"function", "custom"}
"""Kinds of tools that the client runs where the model calls them, which a debate never does. Other kinds are run by the service."""
_PROBABILITY = frozenset(["probability", "confidence", "likelihood", "certainty", "p"])
_RATIONALE = frozenset(
    ["rationale", "reason", "reasons", "reasoning", "explanation", "justification", "why", "summary", "thoughts"]
)


class NoSuchModel(NotHere):
    """A model that no panel of this server is called."""

    about = "model"


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Message(_Lenient):
    role: str = "user"
    type: str = "message"
    content: str | list[dict[str, Any]] | None = None
    output: str | list[dict[str, Any]] | None = None

    @property
    def speaker(self) -> str:
        """Who says it; nobody where it is no message and no result of a tool."""
        if self.type in _RESULTS:
            return "tool"
        return self.role if self.type == "message" else ""

    @property
    def text(self) -> str:
        """What it says."""
        said = self.output if self.type in _RESULTS else self.content
        if not isinstance(said, list):
            return said or ""
        for part in said:
            if "text" not in part and "refusal" not in part:
                raise InputError(f"a part of a message is {part.get('type')!r:.40}, and only text can be debated")
        return "\n".join(str(part.get("text", part.get("refusal"))) for part in said)


class _StreamOptions(_Lenient):
    include_usage: bool = False


class _Budget(_Lenient):
    tokens: int | None = Field(None, gt=0, strict=True)
    usd: float | None = Field(None, gt=0, strict=True)


class _Common(_Lenient):
    """What both endpoints take."""

    told: ClassVar[str] = "messages"
    """The field that holds what was said."""
    model: str = "readers"
    stream: bool = False
    stream_options: _StreamOptions | None = None
    seed: int | None = Field(None, ge=0)
    outcomes: list[str] | None = None
    evidence: list[str | dict[str, Any]] = []
    agents: list[str] | None = None
    judges: list[str] | None = None
    budget: StrictInt | _Budget | None = None
    budget_tokens: StrictInt | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    prompt: str | dict[str, Any] | None = None
    background: bool | None = None

    def said(self) -> list[_Message]:
        """All messages, in order."""
        raise NotImplementedError

    def unmet(self) -> Iterator[tuple[str, str]]:
        """What cannot be honoured: fields, each with the reason and the remedy."""
        if self.tool_choice == "required" or isinstance(self.tool_choice, dict):
            yield "tool_choice", "a debate calls no tools: leave tool_choice out"
        for tool in self.tools or ():
            if (kind := tool.get("type", "function")) not in _CLIENTS_OWN:
                yield (
                    "tools",
                    f"a debate calls no tools, {kind!r:.40} neither: leave it out, and send what it would find as `evidence`",
                )
        for name in ("previous_response_id", "conversation"):
            if getattr(self, name):
                yield (
                    name,
                    f"{name} cannot be honoured, since no conversation is kept here: send all of it as `{self.told}`",
                )
        if self.prompt:
            instead = "`instructions`" if self.told == "input" else "a message"
            yield "prompt", f"prompt cannot be honoured, since no prompts are kept here: send its text as {instead}"
        if self.background:
            yield "background", "background cannot be honoured: wait for the answer, or stream it"

    def form(self) -> AnswerForm | None:
        """The form that the answer is to have; nothing for plain text."""
        raise NotImplementedError

    def wanted(self) -> Wanted:
        """What is asked for; raises where it cannot be honoured."""
        for name, why in self.unmet():
            with concerning(name):
                raise InputError(why)
        known = [name for name, _ in panels()]
        if self.model not in known:
            raise NoSuchModel(f"there is no model {self.model!r:.80}: /v1/models lists those of this server")
        form = self.form()
        outcomes = self.outcomes
        if form is not None:
            if outcomes is not None and set(outcomes) != set(form.labels):
                with concerning("outcomes"):
                    raise InputError("outcomes are not those of the schema's enum: leave outcomes out")
            outcomes = list(form.labels)
        given = self.budget
        tokens = given.tokens if isinstance(given, _Budget) else given if given is not None else self.budget_tokens
        usd = given.usd if isinstance(given, _Budget) else None
        if tokens is not None and tokens < 1:
            with concerning("budget"):
                raise InputError(f"budget is {tokens}: give tokens, 1 or more")
        with concerning(self.told):
            question, context = _read(self.said())
        letters: Mapping[str, str] = {}
        if outcomes is None and (found := _choices(question)) is not None:
            question, letters = found
            outcomes = list(letters)
        return Wanted(
            data={"question": question, "context": context, "outcomes": outcomes or "open", "evidence": self.evidence},
            fields={
                "panel": self.model, "agents": ",".join(self.agents or ()), "judges": _judges(self.judges),
                "seed": str(self.seed or 0), "budget_tokens": str(tokens or ""), "budget_usd": str(usd or ""),
            },
            model=self.model, stream=self.stream, form=form, letters=letters,
            usage=bool(self.stream_options and self.stream_options.include_usage),
        )  # fmt: skip


_NO_LOGPROBS = "a debate has no log-probabilities of tokens: `maci.distribution` has those of outcomes"


def _judges(given: list[str] | None) -> str:
    return "" if given is None else ",".join(given) or "none"


class ChatRequest(_Common):
    """The body of ``/v1/chat/completions``."""

    messages: list[_Message] = Field(min_length=1)
    response_format: dict[str, Any] | None = None
    n: int | None = None
    logprobs: bool | None = None
    function_call: str | dict[str, Any] | None = None
    modalities: list[str] | None = None
    web_search_options: dict[str, Any] | None = None

    def said(self) -> list[_Message]:
        return self.messages

    def unmet(self) -> Iterator[tuple[str, str]]:
        yield from super().unmet()
        if (self.n or 1) != 1:
            yield "n", f"n is {self.n}: a debate has one answer"
        if self.logprobs:
            yield "logprobs", _NO_LOGPROBS
        if isinstance(self.function_call, dict):
            yield "function_call", "a debate calls no functions: leave function_call out"
        if other := [each for each in self.modalities or () if each != "text"]:
            yield "modalities", f"modalities has {other[0]!r:.40}: a debate answers with text alone"
        if self.web_search_options is not None:
            yield "web_search_options", "a debate does not search the web: send what there is to read as `evidence`"

    def form(self) -> AnswerForm | None:
        with concerning("response_format"):
            return _form(self.response_format, nested=True)


class _Text(_Lenient):
    format: dict[str, Any] | None = None


class ResponsesRequest(_Common):
    """The body of ``/v1/responses``."""

    told: ClassVar[str] = "input"
    input: str | list[_Message]
    instructions: str | None = None
    text: _Text | None = None
    top_logprobs: int | None = None
    include: list[str] | None = None

    def unmet(self) -> Iterator[tuple[str, str]]:
        yield from super().unmet()
        if self.top_logprobs or any("logprobs" in each for each in self.include or ()):
            yield ("top_logprobs" if self.top_logprobs else "include"), _NO_LOGPROBS

    def said(self) -> list[_Message]:
        said = [_Message(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        return [*([_Message(role="developer", content=self.instructions)] if self.instructions else []), *said]

    def form(self) -> AnswerForm | None:
        with concerning("text.format"):
            return _form(self.text.format if self.text else None, nested=False)

    def wanted(self) -> Wanted:
        return replace(super().wanted(), responses=True, instructions=self.instructions)


def _form(given: Mapping[str, Any] | None, *, nested: bool) -> AnswerForm | None:
    kind = "text" if given is None else given.get("type")
    if given is None or kind == "text":
        return None
    if kind != "json_schema":
        raise InputError(f"the form {kind!r:.40} cannot be honoured: give a json_schema with an enum of the answers")
    held = given.get("json_schema") if nested else given
    found = held.get("schema") if isinstance(held, Mapping) else None
    if not isinstance(found, Mapping):
        raise InputError("json_schema has no schema")
    return AnswerForm.of(found)


def _read(messages: Sequence[_Message]) -> tuple[str, str]:
    """The question and its context: all else that was said, with who said it."""
    said = [(message.speaker, message.text) for message in messages if message.speaker]
    last = next((i for i in reversed(range(len(said))) if said[i][0] == "user"), None)
    if any(message.type == "item_reference" for message in messages):
        raise InputError("an item_reference cannot be honoured, since no items are kept here: send the item itself")
    if last is None:
        raise InputError("there is no message of the user: the last one is the question")
    if said[-1][0] == _ASSISTANT and said[-1][1].strip():
        raise InputError(
            "the last message is the assistant's, and a debate does not continue a reply: end with the user's question"
        )
    lines = [
        text.strip() if role in _TOLD else f"{role.capitalize()}: {text.strip()}"
        for i, (role, text) in enumerate(said)
        if i != last and text.strip()
    ]
    return said[last][1], "\n".join(lines)


_LETTER_WANTED = re.compile(r"(?i)\banswer:\s*\$letter\b")
_CHOICE = re.compile(r"\(?([A-Z]|[1-9]\d?)[).:]\s+(\S.*)")


def _choices(text: str) -> tuple[str, dict[str, str]] | None:
    r"""The question without its choices and without the line that says how to answer; and each choice with its letter.

    >>> _choices("Reply with 'ANSWER: $LETTER'.\n\nWhich is red?\n\nA) blood\nB) the sea,\nor the sky")
    ('Which is red?', {'blood': 'A', 'the sea, or the sky': 'B'})
    >>> _choices("Which is red?\nA) blood\nB) the sea")
    """
    lines = text.splitlines()
    first = [i for i, line in enumerate(lines) if (found := _CHOICE.fullmatch(line.strip())) and found[1] == "A"]
    if not first or _LETTER_WANTED.search(text) is None:
        return None
    letters, told, said = iter([*map(chr, range(ord("B"), ord("Z") + 1)), *map(str, range(1, 100))]), ["A"], [""]
    following = next(letters)
    for line in lines[first[-1] :]:
        found = _CHOICE.fullmatch(line.strip())
        if found and found[1] == following:
            told.append(following)
            said.append(found[2])
            following = next(letters, "")
        else:
            said[-1] += f" {found[2] if not said[-1] and found else line}"
    question = "\n".join(line for line in lines[: first[-1]] if _LETTER_WANTED.search(line) is None).strip()
    labels = [" ".join(each.split()) for each in said]
    if not question or len(labels) < 2 or len(set(labels)) < len(labels):
        return None
    return question, dict(zip(labels, told, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A debate as a program asks for it."""

    data: Mapping[str, Any]
    fields: Mapping[str, str]
    model: str
    stream: bool
    usage: bool
    """Whether a stream ends with what was spent."""
    form: AnswerForm | None = None
    letters: Mapping[str, str] = field(default_factory=dict)
    """Of a multiple-choice question: outcome → the letter that stands for it."""
    responses: bool = False
    """It is to be answered as the Responses API does."""
    instructions: str | None = None

    @property
    def digest(self) -> str:
        """The same for two requests that the same debate answers."""
        asked = json.dumps([self.data, self.fields], sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()

    def case(self, settings: ServerSettings) -> Case:
        """The case; its evidence is within the limits of the server."""
        case = parse_case(dict(self.data), "the request")
        length, most = sum(len(document.text) for document in case.evidence), settings.limits.text
        if length > most:
            with concerning("evidence"):
                raise EvidenceError(
                    f"the evidence has {length:,} characters, and {most:,} are allowed here: send less of it"
                )
        return case

    def choice(self, settings: ServerSettings) -> PanelChoice:
        """Who debates; models beyond the panels files only where the operator allows them."""
        return choice_of(self.fields, any_model=settings.any_model)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """A JSON schema that an answer can fill: an object with an enum of strings, and perhaps a probability and a rationale."""

    answer: str
    labels: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    """Every property that is filled, in order, and with what: answer, probability, percent, whole percent, rationale or null."""
    longest: int | None = None
    """Characters of the rationale."""

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> AnswerForm:
        """The form of a schema; raises where one of the fields it asks for cannot be filled."""
        root, _ = _resolved(schema, schema)
        properties = root.get("properties")
        if root.get("type") != "object" or not isinstance(properties, Mapping):
            raise InputError("the schema is no object with properties: one of them has to be an enum of the answers")
        found = {str(name): _resolved(each, schema) for name, each in properties.items()}
        enums = [name for name, (each, _) in found.items() if _labels(each) is not None]
        if len(enums) != 1:
            raise InputError(
                f"the schema has {len(enums) or 'no'} properties that are an enum of two or more strings, and exactly one is debated"
            )
        required, fields = root.get("required"), []
        for name, (each, nullable) in found.items():
            with_ = "answer" if name == enums[0] else _filled(name, each)
            if with_ is None and isinstance(required, list) and name in required:
                if not nullable:
                    raise InputError(f"the schema requires {name!r:.60}, and a debate has nothing to fill it with")
                with_ = "null"
            if with_ is not None:
                fields.append((name, with_))
        strings = (found[name][0] for name, with_ in fields if with_ == "rationale")
        longest = [most for part in strings if isinstance(most := part.get("maxLength"), int) and most >= 0]
        return cls(enums[0], _labels(found[enums[0]][0]) or (), tuple(fields), min(longest, default=None))

    def fill(self, answer: str, p: float, why: str) -> str:
        """The schema filled, as JSON."""
        values = {
            "answer": answer,
            "probability": p,
            "percent": 100 * p,
            "whole percent": round(100 * p),
            "rationale": why[: self.longest],
            "null": None,
        }
        return json.dumps({name: values[with_] for name, with_ in self.fields}, ensure_ascii=False)


def _resolved(part: Any, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """A property with its reference followed and without `null`; and whether it may be null."""
    nullable = False
    for _ in range(8):  # references that lead in a circle end here
        if not isinstance(part, Mapping):
            return {}, nullable
        options = part.get("anyOf")
        if isinstance(part.get("$ref"), str) and part["$ref"].startswith("#/"):
            where: Any = schema
            for step in part["$ref"][2:].split("/"):
                where = where.get(step) if isinstance(where, Mapping) else None
            part = where
        elif isinstance(options, list):
            rest = [each for each in options if not (isinstance(each, Mapping) and each.get("type") == "null")]
            nullable = nullable or len(rest) < len(options)
            if len(rest) != 1:
                return {}, nullable
            part = rest[0]
        else:
            kind = part.get("type")
            if isinstance(kind, list) and "null" in kind and len(kind) == 2:
                return {**part, "type": next(each for each in kind if each != "null")}, True
            return part, nullable
    return {}, nullable


def _labels(part: Mapping[str, Any]) -> tuple[str, ...] | None:
    found = part.get("enum")
    if not isinstance(found, list):
        return None
    labels = tuple(each for each in found if each is not None)
    return labels if len(labels) > 1 and all(isinstance(each, str) for each in labels) else None


def _filled(name: str, part: Mapping[str, Any]) -> str | None:
    """What a property is filled with, by its name and type."""
    words = set(name.casefold().replace("-", "_").split("_"))
    kind = part.get("type")
    if kind in ("number", "integer") and words & _PROBABILITY and "enum" not in part and "multipleOf" not in part:
        span = part.get("minimum", 0), part.get("maximum", 1)
        if span == (0, 100):
            return "percent" if kind == "number" else "whole percent"
        return "probability" if kind == "number" and span == (0, 1) else None
    plain = not {"enum", "const", "pattern", "format", "minLength"} & set(part)
    return "rationale" if kind == "string" and words & _RATIONALE and plain else None
