"""What a debater answers: the form it is asked for, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from maci.agents.argument import Argument, Request
from maci.cases.outcomes import normal, shown
from maci.evidence.span import Citation, Span, quote_score
from maci.llm.model import Schema
from maci.llm.structured import Unusable, plain_keys

_QUOTED, _MISQUOTED = 0.9, 0.5
"""Share of a quote's words that stand in a piece: it is from there; it is not."""
_EACH = 60
"""Most outcomes of which each is asked for by name; of more, or of unknown ones, the model lists the likeliest."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Citation(_Part):
    span: str
    quote: str = ""


class _Argument(_Part):
    claim: str = Field(min_length=1)
    outcome: str | None = None
    effect: Literal["supports", "opposes"] = "supports"
    reasons: tuple[str, ...] = ()
    opposing: tuple[str, ...] = ()
    citations: tuple[_Citation, ...] = ()


class _Share(_Part):
    outcome: str
    percent: float


def _listed(belief: Any) -> Any:
    """Both forms a belief may have, as one: a percentage under each outcome's name, or a list of outcomes with theirs."""
    return [{"outcome": name, "percent": p} for name, p in belief.items()] if isinstance(belief, dict) else belief


class _Request(_Part):
    question: str = ""
    yes: str = ""
    no: str = ""


def _first(request: Any) -> Any:
    """One request, however it was written; what cannot be read is none: nobody has to ask."""
    if isinstance(request, list):
        request = request[0] if request else None
    if isinstance(request, str):
        return {"question": request}
    known = isinstance(request, dict) and all(isinstance(v, str) for v in request.values())
    return request if known else None


class _Reply(_Part):
    arguments: tuple[_Argument, ...] = ()
    request: Annotated[_Request | None, BeforeValidator(_first)] = None
    belief: Annotated[tuple[_Share, ...], BeforeValidator(_listed)] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A debater's answer, read."""

    arguments: tuple[Argument, ...]
    belief: Mapping[str, float] | None
    """``None`` where it is asked for separately."""
    note: str = ""
    """What had to be done to the belief."""
    requests: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form of one answer: which outcomes and pieces of evidence may be named, how many arguments."""

    kind: str
    labels: tuple[str, ...]
    pieces: Mapping[str, Span]
    arguments: int
    verbalised: bool
    tolerance: float = 0.1
    asks: bool = False
    """Whether there is a place for what the debater would like to know."""

    def schema(self) -> Schema:
        """The JSON Schema of the answer."""
        names = tuple(shown(self.labels).values())
        return _schema(self.kind, names, tuple(self.pieces), self.arguments, self.verbalised, self.asks)

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
        return Said(arguments, belief, note, self._requests(reply.request))

    def _requests(self, asked: _Request | None) -> tuple[Request, ...]:
        if asked is None or not normal(asked.question):
            return ()
        known = {normal(label): label for label in self.labels}
        sides = ((asked.yes, True), (asked.no, False))
        expected = {known.get(normal(name), name.strip()): side for name, side in sides if normal(name)}
        if len(expected) < 2 and normal(asked.yes) == normal(asked.no):  # it favours nothing
            expected = {}
        return (Request(text=asked.question.strip()[:300], expected=expected),) if expected else ()

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
            outcome=self._label((said.outcome or "").strip()) or None,
            against=said.effect == "opposes",
        )

    def _label(self, name: str) -> str:
        """The outcome that is meant, by its own name."""
        return next((label for label in self.labels if normal(label) == normal(name)), name) if name else name

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
        keys = plain_keys(shown(self.labels).values()).values()  # some APIs take only such keys
        known = {normal(key): label for label, key in zip(self.labels, keys, strict=True)}
        known |= {normal(label): label for label in self.labels}
        belief: dict[str, float] = {}
        for share in shares:
            name = known.get(normal(share.outcome), share.outcome.strip())
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
def _schema(
    kind: str, labels: tuple[str, ...], pieces: tuple[str, ...], arguments: int, verbalised: bool, asks: bool = False
) -> Schema:
    """The same object for the same form: whoever works something out for a schema then does so once."""
    outcome = _text(120) if kind == "open" or not labels else {"type": "string", "enum": list(labels)}
    citation = _object(quote=_text(100), span={"type": "string", "enum": list(pieces)} if pieces else _text(20))
    argument = _object(
        outcome=outcome,
        claim=_text(300),
        citations=_list(citation, 1 if pieces else 0, 3),
        reasons=_list(_text(300), 1, 3),
        opposing=_list(_text(200), 0, 2),
        effect={"type": "string", "enum": ["supports", "opposes"]},
    )
    fields: dict[str, Any] = {"arguments": _list(argument, 1, arguments)}
    percent = {"type": "integer", "minimum": 0, "maximum": 100}
    if verbalised and kind != "open" and 0 < len(labels) <= _EACH:
        fields["belief"] = _object(**dict.fromkeys(labels, percent))  # none twice, none left out
    elif verbalised:
        fields["belief"] = _list(_object(outcome=outcome, percent=percent), 1, 6)
    if asks:
        side = {"type": "string", "enum": [*labels, ""]} if "enum" in outcome else _text(120)
        fields["request"] = _object(question=_text(160), yes=side, no=side)
    return Schema("turn", _object(**fields))


def _place(loc: Sequence[str | int], data: Any) -> list[str]:
    """Where in an answer something is wrong, as the model wrote it."""
    if len(loc) > 1 and loc[0] == "belief" and isinstance(loc[1], int) and isinstance(data["belief"], dict):
        return ["belief", list(data["belief"])[loc[1]]]
    return [str(part) for part in loc]


def _filled(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list(items: Any, least: int, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": max(least, most)}


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}
