"""A language model as a judge: one argument, its cited pieces, the question; no names, no opponents, no beliefs.

It first says of every cited piece whether its words support the argument, then how well each reason leads to the claim, and only then
grades. A grade of the evidence holds no more than the pieces do: 0 where none of them supports the claim, at most ½ where one
supports it and another contradicts it. Text comes last in the prompt where it changes: rules, question and case are the same for
every argument of a debate.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from maci.agents.agent import Judge
from maci.agents.anchor import Question
from maci.agents.argument import Argument
from maci.agents.debater.prompt import fenced, numbered, piece, single_line
from maci.agents.judges.crit import CritScore, JudgeAbstained, ScoreRequest
from maci.agents.judges.scrub import scrubbed
from maci.errors import BadReply, ContentRefused
from maci.evidence.span import Span
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, Schema
from maci.llm.prompts import fingerprint, load
from maci.llm.structured import Unusable, ask, object_schema

PROMPTS = tuple(load("maci.agents.judges", name) for name in ("system", "item"))
_SYSTEM, _ITEM = PROMPTS
_GRADER = Message("system", _SYSTEM.text)
_GRADE = {"type": "integer", "minimum": 0, "maximum": 100}
_PIECE = re.compile(r"\bE\d+\b")
_Bearing = Literal["supports", "contradicts", "unrelated", "repeats"]
"""What a cited piece does for the argument."""


class _Grades(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    pieces: tuple[_Bearing, ...] = ()
    links: tuple[float, ...] = ()
    justification: str = ""
    evidence: float = Field(ge=0, le=100)
    logic: float = Field(ge=0, le=100)
    relevance: float = Field(ge=0, le=100)

    @property
    def supported(self) -> float:
        """The grade of the evidence, as far as the pieces carry it."""
        if "supports" not in self.pieces:
            return 0.0
        return min(self.evidence, 50.0) if "contradicts" in self.pieces else self.evidence


class LlmJudge(Judge):
    """A judge on the CRIT panel. What it cannot grade it abstains from."""

    def __init__(
        self,
        name: str,
        model: Model,
        *,
        family: str | None = None,
        temperature: float | None = 0.3,
        max_tokens: int = 600,
    ) -> None:
        self.name, self.family = name, family or model.family
        self._model, self._temperature, self._max_tokens = model, temperature, max_tokens

    prompts = PROMPTS
    stateless = True
    """Every argument is a call of its own: nothing of one reaches another."""

    def prepare(self, request: ScoreRequest) -> Call[CritScore]:
        """The argument to be graded, as a call to make."""
        argument, pieces = request.argument, numbered(request.spans)
        cited, reasons = len(pieces), len(argument.reasons)
        asked = Request(
            messages=(_GRADER, _item(request.question, argument, request.spans, request.unverified)),
            max_tokens=self._max_tokens,
            schema=_schema(cited, reasons),
            temperature=self._temperature,
            seed=request.seed,
            sample=request.sample,
        )
        grading = ask(self._model, asked, lambda data: _read(data, cited, reasons), limit="crit.max_tokens")

        async def make(purse: Purse) -> CritScore:
            try:
                answer = await grading.make(purse)
            except (BadReply, ContentRefused) as error:
                raise JudgeAbstained(str(error)) from error
            grades = answer.value
            return CritScore(
                evidence=grades.supported / 100,
                logic=grades.logic / 100,
                relevance=grades.relevance / 100,
                links=tuple(link / 100 for link in grades.links[:reasons]),
                justification=_PIECE.sub(
                    lambda number: pieces[number[0]].id if number[0] in pieces else number[0],
                    grades.justification.strip()[:600],
                ),
                raw=answer.raw[:4000],
                prompt=fingerprint(asked.messages),
            )

        return Call(grading.bound, make)


@lru_cache(maxsize=256)
def _item(question: Question, argument: Argument, spans: tuple[Span, ...], refused: int) -> Message:
    """What is to be graded; every judge of a panel is shown the same."""
    pieces = numbered(spans)
    side = f" ({'against' if argument.against else 'for'} {argument.outcome})" if argument.outcome else ""
    text = _ITEM.render(
        question=fenced(question.question),
        context=fenced(question.context) or "(nothing more is known)",
        spans="\n".join(("<data>", *(piece(number, span) for number, span in pieces.items()), "</data>"))
        if pieces
        else "(none that could be verified)",
        unverified=f"{refused} more citation(s) name no real piece or misquote it.\n" if refused else "",
        about=single_line(side) and f" {single_line(side)}",
        claim=single_line(scrubbed(argument.claim)),
        reasons="\n".join(
            f"Reason {n}: {single_line(scrubbed(reason))}" for n, reason in enumerate(argument.reasons, 1)
        ),
        opposing="\n".join(f"Against it: {single_line(scrubbed(point))}" for point in argument.opposing),
    )
    return Message("user", text)


@lru_cache(maxsize=64)
def _schema(pieces: int, reasons: int) -> Schema:
    bearing = {"type": "string", "enum": list(get_args(_Bearing))}
    form = object_schema(
        pieces={"type": "array", "items": bearing, "minItems": pieces, "maxItems": pieces},
        links={"type": "array", "items": _GRADE, "minItems": reasons, "maxItems": reasons},
        justification={"type": "string", "maxLength": 400},
        evidence=_GRADE,
        logic=_GRADE,
        relevance=_GRADE,
    )
    return Schema("grades", form)


def _read(data: Any, pieces: int, reasons: int) -> _Grades:
    try:
        grades = _Grades.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the answer"
        raise Unusable(f"{where}: {first['msg'].lower()}") from error
    if len(grades.pieces) != pieces:
        raise Unusable(f"pieces: {pieces} cited pieces need {pieces} words, there are {len(grades.pieces)}")
    if len(grades.links) < reasons:
        raise Unusable(f"links: {reasons} reasons need {reasons} grades, there are {len(grades.links)}")
    if not all(0 <= link <= 100 for link in grades.links):
        raise Unusable("links: a grade is between 0 and 100")
    return grades
