"""The agent: asks its model for arguments and a belief, by a form (:class:`Form`) that also reads the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.agents.agent import Agent
from maci.agents.anchor import Question, TurnRequest
from maci.agents.argument import Argument, Inquiry, Kind, Subkind, Turn
from maci.agents.contentiousness import Words
from maci.agents.elicit import measured, sampled
from maci.agents.prompt import (
    CHOICE,
    FULL,
    LISTED,
    PROMPTS,
    Length,
    answerable,
    messages,
    names_each,
    numbered,
)
from maci.cases.names import bare
from maci.cases.outcomes import normal, shown
from maci.evidence.span import Citation, Span, quote_score
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema, fingerprint
from maci.llm.structured import Unusable, ask, object_schema, plain_keys

Belief = Literal["auto", "verbalised", "sampled", "logprobs"]
_NAME = 48
"""Most tokens of an outcome's name."""
_WARM = 0.7
"""Least temperature of a repeated draw: at 0 every draw would reason alike."""
_KEPT = 20_000
"""Most characters of a reply that go into the record."""


class Debater(Agent):
    """A language model at the table. It may raise; then it sits the round out, and the mixture says so."""

    def __init__(
        self,
        name: str,
        model: Model,
        *,
        family: str | None = None,
        persona: str = "",
        belief: Belief = "auto",
        draws: int = 5,
        temperature: float | None = 0.7,
        max_tokens: int = 1600,
        arguments: int = 2,
        words: Words = "stance",
        reasons: bool = True,
        length: Length = FULL,
    ) -> None:
        """``reasons``: its replies begin with its reasoning, which nobody else is shown; not where the model thinks by itself."""
        self.name, self.family = name, family or model.family
        self._model, self._persona, self._belief, self._draws = model, persona, belief, draws
        self._temperature, self._max_tokens, self._arguments = temperature, max_tokens, arguments
        self._words: Words = words
        self._reasons, self._length = reasons, length

    def redrawn(self, seed: int) -> Debater:
        """Another draw: warm enough that its reasoning differs; the request's seed is given by whoever asks."""
        if self._temperature is None or self._temperature >= _WARM:
            return self
        return self._like(self, self._persona, _WARM)

    def as_copy_of(self, other: Debater) -> Debater:
        """The other's model and manner under this one's name."""
        return self._like(other, other._persona, other._temperature)

    def styled(self, manner: str) -> Debater:
        """The same model told to reason in a given manner."""
        return self._like(self, f"{self._persona}\n{manner}".strip(), self._temperature)

    def _like(self, other: Debater, persona: str, temperature: float | None) -> Debater:
        return Debater(
            self.name,
            other._model,
            family=other.family,
            persona=persona,
            belief=other._belief,
            draws=other._draws,
            temperature=temperature,
            max_tokens=other._max_tokens,
            arguments=other._arguments,
            words=other._words,
            reasons=other._reasons,
            length=other._length,
        )

    prompts = PROMPTS
    """The templates it asks with; their hashes go into the record."""

    def prepare(self, request: TurnRequest) -> Call[Turn]:
        """The turn, bounded by the first attempt at the arguments; repairs and draws ask for more when they come to it."""
        asked, form = self._request(request)
        arguing = ask(self._model, asked, form.read, limit="agents.max_tokens")

        async def make(purse: Purse) -> Turn:
            answer = await arguing.make(purse)
            said = answer.value
            belief, note = said.belief, said.note
            if belief is None:
                belief, note = await self._elicit(request, asked, answer.text, purse)
            return Turn(
                belief=belief,
                arguments=said.arguments,
                requests=said.requests,
                raw=answer.raw[:_KEPT],
                prompt=fingerprint(asked.messages),
                note="; ".join(filter(None, (answer.note, note))),
            )

        return Call(arguing.bound, make)

    def _request(self, request: TurnRequest) -> tuple[Request, Form]:
        verbalised = self._states(request.question)
        form = Form(
            kind=request.question.kind,
            labels=request.question.labels,
            pieces=numbered(request.evidence),
            ids=answerable(request),
            arguments=self._arguments,
            verbalised=verbalised,
            asks=request.asks,
            reasons=self._reasons,
            length=self._length,
        )
        asked = Request(
            messages=messages(
                request,
                persona=self._persona,
                arguments=self._arguments,
                verbalised=verbalised,
                words=self._words,
                reasons=self._reasons,
                length=self._length,
            ),
            max_tokens=self._max_tokens,
            schema=form.schema(),
            temperature=self._temperature,
            seed=request.seed,
        )
        return asked, form

    def _states(self, question: Question) -> bool:
        """Whether it writes its belief down; one token's log-probabilities save a model on this machine a quarter of its reply."""
        if self._belief == "auto":
            return question.kind == "open" or not self._model.name.startswith("local/")
        return self._belief == "verbalised"

    async def _elicit(
        self, request: TurnRequest, asked: Request, said: str, purse: Purse
    ) -> tuple[dict[str, float], str]:
        labels = request.question.labels
        if request.question.kind == "open" or self._belief == "sampled":
            names = () if request.question.kind == "open" else labels
            return await sampled(self._model, self._choose(asked, said, self._temperature), names, self._draws, purse)
        return await measured(self._model, self._choose(asked, said, 0.0), labels).make(purse), ""

    def _choose(self, asked: Request, said: str, temperature: float | None) -> Request:
        return Request(
            messages=(*asked.messages, Message("assistant", said), CHOICE),
            max_tokens=_NAME,
            temperature=temperature,
            seed=asked.seed,
            top_logprobs=0 if self._belief == "sampled" else 20,
        )


_QUOTED, _MISQUOTED = 0.9, 0.5
"""Share of a quote's words that stand in a piece: it is from there; it is not."""
_ID = 8
"""Most characters of an argument's id."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Citation(_Part):
    span: str
    quote: str = ""


def _ids(answers: Any) -> list[str]:
    """Ids of arguments, however they were written; what cannot be read is none: nobody has to answer."""
    given = answers if isinstance(answers, list) else [answers]
    return [part for text in given if isinstance(text, str) for part in re.findall(r"\w+", text)]


class _Argument(_Part):
    claim: str = Field(min_length=1)
    outcome: str | None = None
    effect: Literal["supports", "opposes"] = "supports"
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    citations: tuple[_Citation, ...] = ()
    answers: Annotated[tuple[str, ...], BeforeValidator(_ids)] = ()


class _Share(_Part):
    outcome: str
    percent: float


def _listed(belief: Any) -> Any:
    """Both forms a belief may have, as one: a percentage under each outcome's name, or a list of outcomes with theirs."""
    return [{"outcome": name, "percent": p} for name, p in belief.items()] if isinstance(belief, dict) else belief


_KINDS: Mapping[str, tuple[Kind, Subkind | None]] = {
    "question": ("question", None),
    "history": ("history", None),
    "examination": ("test", "examination"),
    "laboratory": ("test", "laboratory"),
    "imaging": ("test", "imaging"),
    "retrieval": ("retrieval", None),
    "monitoring": ("monitoring", None),
}
"""The words for what can be asked for → its kind in the plan."""


def _names(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


_Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class _Request(_Part):
    kind: str = ""
    text: str
    yes: _Names = ()
    no: _Names = ()


def _readable(requests: Any) -> list[_Request]:
    """The requests that can be read; others are none: nobody has to ask."""
    found = []
    for request in requests if isinstance(requests, list) else [requests]:
        with suppress(ValidationError):
            found.append(_Request.model_validate(request))
    return found


class _Reply(_Part):
    arguments: tuple[_Argument, ...] = ()
    requests: Annotated[tuple[_Request, ...], BeforeValidator(_readable)] = ()
    belief: Annotated[tuple[_Share, ...], BeforeValidator(_listed)] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A debater's answer, read."""

    arguments: tuple[Argument, ...]
    belief: Mapping[str, float] | None
    """``None`` where it is asked for separately."""
    note: str = ""
    """What had to be done to read it."""
    requests: tuple[Inquiry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form of one answer: which outcomes and pieces of evidence may be named, how many arguments."""

    kind: str
    labels: tuple[str, ...]
    pieces: Mapping[str, Span]
    arguments: int
    verbalised: bool
    tolerance: float = 0.1
    ids: tuple[str, ...] = ()
    """Arguments of the others, which may be answered."""
    asks: bool = False
    """Whether there is a place for what the debater would like to know."""
    reasons: bool = False
    """Whether it begins with room to think. What is written there stays in the raw reply."""
    length: Length = FULL

    def schema(self) -> Schema:
        """The JSON Schema of the answer."""
        return _schema(
            self.kind,
            tuple(shown(self.labels).values()),
            tuple(self.pieces),
            self.arguments,
            verbalised=self.verbalised,
            asks=self.asks,
            answers=bool(self.ids),
            reasons=self.reasons,
            length=self.length,
        )

    def read(self, data: Any) -> Said:
        """The answer, or :class:`Unusable` with what is wrong."""
        try:
            reply = _Reply.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(_place(first["loc"], data)) or "the answer"
            raise Unusable(f"{where}: {first['msg'].lower()}") from error
        if not reply.arguments:
            raise Unusable("it has no arguments")
        numbers = {number.casefold(): span.id for number, span in self.pieces.items()}
        arguments = tuple(self._argument(argument, numbers) for argument in reply.arguments[: self.arguments])
        belief, note = self._belief(reply.belief) if self.verbalised else (None, "")
        unknown = {i for argument in reply.arguments for i in argument.answers} - {*self.ids, *map(str.lower, self.ids)}
        if unknown:
            note = "; ".join(filter(None, (note, f"answers nothing in the record: {', '.join(sorted(unknown))[:60]}")))
        return Said(arguments, belief, note, self._requests(reply.requests))

    def _requests(self, asked: Sequence[_Request]) -> tuple[Inquiry, ...]:
        """What is asked for and would tell outcomes apart, each text once."""
        known = {normal(label): label for label in self.labels}
        found: dict[str, Inquiry] = {}
        for request in asked[: self.length.requests]:
            yes, no = (
                {known.get(normal(name)) or self._label(name) for name in names if normal(name)}
                for names in (request.yes, request.no)
            )
            expected = {name: name in yes for name in sorted(yes ^ no)}  # what both favour is not told apart
            kind, subkind = _KINDS.get(normal(request.kind), (None, None))
            text = " ".join(request.text.split())[:300]
            if expected and normal(text):
                found.setdefault(normal(text), Inquiry(text=text, expected=expected, kind=kind, subkind=subkind))
        return tuple(found.values())

    def _argument(self, said: _Argument, numbers: Mapping[str, str]) -> Argument:
        citations = {}
        for c in said.citations:
            quote = c.quote.strip() or None
            if quote is not None and normal(quote.strip("[] ")) in numbers:  # a number again: the whole piece is meant
                quote = None
            span = self._cited(numbers.get(normal(c.span.strip("[] ")), c.span), quote)
            citations[span, quote] = Citation(span, quote)
        return Argument(
            claim=said.claim.strip(),
            reasons=_filled(said.reasons),
            opposing=_filled(said.opposing),
            citations=tuple(citations.values()),
            outcome=self._label(said.outcome or "") or None,
            against=said.effect == "opposes",
            answers=tuple(i for i in self.ids if {i, i.lower()}.intersection(said.answers)),
        )

    def _label(self, name: str) -> str:
        """The outcome that a name stands for, as the case spells it; a name of no outcome stays as it is, an open one without what
        says how sure the model is: its percents do.
        """
        named = bare(name) if self.kind == "open" else name.strip()
        return next((label for label in self.labels if named and normal(label) == normal(named)), named)

    def _cited(self, named: str, quote: str | None) -> str:
        """The piece a citation means: where its words stand in another piece than the one named, that one.

        Small models copy well and number badly. What was written is in the record, word for word.
        """
        text = next((span.text for span in self.pieces.values() if span.id == named), "")
        if quote is None or quote_score(quote, text) >= _MISQUOTED:
            return named
        match = {span.id: quote_score(quote, span.text) for span in self.pieces.values()}
        best = max(match, key=lambda i: match[i], default=named)
        return best if match.get(best, 0.0) >= _QUOTED else named

    def _belief(self, shares: Sequence[_Share]) -> tuple[dict[str, float], str]:
        """The belief and a note. Percents are shares: what they sum to says nothing, unless it is 0."""
        known, belief = _label_of(self.labels), dict[str, float]()
        for share in shares:
            name = known.get(normal(share.outcome)) or self._label(share.outcome)
            if self.kind != "open" and name not in self.labels:
                raise Unusable(f"belief: {share.outcome[:60]!r} is not one of the outcomes")
            if name in belief:
                raise Unusable(f"belief: {name!r} stands there twice")
            if not isfinite(share.percent) or share.percent < 0:
                raise Unusable(f"belief: {share.percent} is not a percentage")
            belief[name] = share.percent
        total = sum(belief.values())
        if not 0 < total < inf:
            raise Unusable(f"belief: the percents sum to {total:.0f}: say how likely each outcome is")
        near = abs(total / 100 - 1) <= self.tolerance  # then the controller rescales it, and says so
        note = "" if near else f"percents sum to {total:.4g}; rescaled to 100"
        return {name: p / (100 if near else total) for name, p in belief.items()}, note


@lru_cache(maxsize=256)
def _label_of(labels: tuple[str, ...]) -> Mapping[str, str]:
    """The outcome for each name that a belief may have for it: its own, and its key in the schema."""
    keys = plain_keys(shown(labels).values()).values()  # some APIs take only such keys
    return {normal(key): label for label, key in zip(labels, keys, strict=True)} | {
        normal(label): label for label in labels
    }


@lru_cache(maxsize=256)
def _schema(
    kind: str,
    labels: tuple[str, ...],
    pieces: tuple[str, ...],
    arguments: int,
    *,
    verbalised: bool,
    asks: bool,
    answers: bool,
    reasons: bool,
    length: Length,
) -> Schema:
    """The same object for the same form: whoever works something out for a schema then does so once."""
    outcome = _text(120) if kind == "open" or not labels else {"type": "string", "enum": list(labels)}
    citation = object_schema(
        quote=_text(length.quote), span={"type": "string", "enum": list(pieces)} if pieces else _text(20)
    )
    argument = object_schema(
        **({"answers": _list(_text(_ID), 0, 4)} if answers else {}),
        outcome=outcome,
        claim=_text(length.claim),
        citations=_list(citation, 1 if pieces else 0, length.citations),
        reasons=_list(_text(length.reason), 1, length.reasons),
        opposing=_list(_text(length.point), 0, length.points),
        effect={"type": "string", "enum": ["supports", "opposes"]},
    )
    fields: dict[str, Any] = {"reasoning": _text(length.thought)} if reasons else {}
    fields["arguments"] = _list(argument, 1, arguments)
    percent = {"type": "integer", "minimum": 0, "maximum": 100}
    if verbalised and names_each(kind, labels):
        fields["belief"] = object_schema(**dict.fromkeys(labels, percent))  # none twice, none left out
    elif verbalised:
        fields["belief"] = _list(object_schema(outcome=outcome, percent=percent), 1, LISTED)
    if asks:
        kind_of_request = {"type": "string", "enum": list(_KINDS)}
        names = _list(outcome, 0, 3)
        request = object_schema(kind=kind_of_request, text=_text(160), yes=names, no=names)
        fields["requests"] = _list(request, 0, length.requests)
    return Schema("turn", object_schema(**fields))


def _place(loc: Sequence[str | int], data: Any) -> list[str]:
    """Where in an answer something is wrong, as the model wrote it."""
    if len(loc) > 1 and loc[0] == "belief" and isinstance(loc[1], int) and isinstance(data["belief"], dict):
        return ["belief", list(data["belief"])[loc[1]]]
    return [str(part) for part in loc]


def _filled(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())


def _list(items: Any, least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": max(least, most)}


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}
