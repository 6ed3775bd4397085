"""A debater that does not write: its model reads every piece of evidence on its own, and it argues with those that moved it most.

Small models argue badly and lose their way among many pieces. So each piece e is put to the model
alone, as the sentences of it that are nearest to the question, and the model names an outcome; what counts is how much more
probable it holds each outcome y than without a source::

    w_e(y) = log p(y | e) - log p(y | no source)    what the piece says of y
    p(y)  ∝  exp(Σ_e w_e(y) / √n)                   n pieces that partly repeat each other

What the model holds without a source is not evidence and is divided out: with nothing to read every outcome is as likely as another.
No piece can crowd another out, a piece is read once however long the debate, and every number of an argument can be checked by
asking again. Others' opinions do not move it; the pieces they bring do. The model is not held to the names: after the quotation
mark that this would take, small models follow the source far less (docs/decisions/008-debaters.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from maci.agents.agent import Agent
from maci.agents.anchor import Question, TurnRequest
from maci.agents.argument import Argument, Turn
from maci.agents.contentiousness import stance
from maci.agents.elicit import measured, together
from maci.agents.prompt import fenced, single_line
from maci.cases.outcomes import shown
from maci.errors import BadReply
from maci.evidence.encode import Encoder, as_query
from maci.evidence.orders import without_orders
from maci.evidence.span import CASE, Citation, Span, sentences
from maci.llm.budget import Call, Purse
from maci.llm.model import Message, Model, Request, fingerprint, load
from maci.llm.usage import Bound
from maci.moderator.belief import Vector, softmax

_WEIGH = load("maci.agents", "weigh")
_SENTENCES = 2
"""Of a piece, that are read."""
_CITED = 3
"""Most pieces under one argument."""
_NAME = 8
"""Tokens that are written: enough to tell names apart, and the answer is in their probabilities."""
_CONFRONT = 0.6
"""From this CL on a rival is answered with what speaks against it; below, with what speaks for it."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a piece did to the model's belief."""

    span: Span
    excerpt: str
    p: Vector
    """With the piece alone before it."""
    weight: Vector
    """w_e."""


class Weigher(Agent):
    """A language model at the table that is only ever asked to read. It may raise; then it sits the round out."""

    def __init__(
        self, name: str, model: Model, encoder: Encoder, *, family: str | None = None, arguments: int = 2
    ) -> None:
        self.name, self.family = name, family or model.family
        self._model, self._encoder, self._arguments = model, encoder, arguments
        self._known: dict[tuple[Question, str], Vector] = {}
        """What was read already; a source of no text is none."""

    prompts = (_WEIGH,)
    """The template it asks with; its hash goes into the record."""

    def redrawn(self, seed: int) -> Weigher:
        """Reading has no chance in it."""
        return self

    def as_copy_of(self, other: Weigher) -> Weigher:
        """The other's model under this one's name."""
        return Weigher(self.name, other._model, self._encoder, family=other.family, arguments=other._arguments)

    def prepare(self, request: TurnRequest) -> Call[Turn]:
        """What is new to read, bounded by the dearest reading; the others ask for more when they come to it."""
        excerpts = self._excerpts(request)
        texts = dict.fromkeys(("", *(text for _, text in excerpts)))
        calls = {text: self._reading(request.question, text) for text in texts}
        bound = max((call.bound for call in calls.values()), key=lambda bound: bound.tokens)
        return Call(bound, partial(self._turn, request, excerpts, calls))

    async def _turn(
        self,
        request: TurnRequest,
        excerpts: Sequence[tuple[Span, str]],
        calls: Mapping[str, Call[Vector]],
        purse: Purse,
    ) -> Turn:
        """Read what is new, and say where that leaves it and why."""
        question, labels = request.question, request.question.labels
        if not labels:
            raise BadReply(
                f"{self.name} reads which outcome a piece speaks for, and this case names none: list outcomes"
            )
        without = await calls[""].make(purse)
        found, failed = await together(calls[text].make(purse) for _, text in excerpts)
        read = [
            _Read(span, excerpt, p, np.log(p) - np.log(without))
            for (span, excerpt), p in zip(excerpts, found, strict=True)
            if p is not None
        ]
        if failed is not None and 2 * len(read) < len(excerpts):
            raise failed
        belief = _weighed(read, len(labels))
        return Turn(
            belief=dict(zip(labels, belief.tolist(), strict=True)),
            arguments=tuple(_arguments(request, belief, without, read))[: self._arguments],
            prompt=fingerprint(self._request(question, "").messages),
            note=f"belief from {len(read)} of {len(excerpts)} pieces ({failed})" if failed is not None else "",
        )

    def _excerpts(self, request: TurnRequest) -> list[tuple[Span, str]]:
        """Every piece that is not the case itself, with the part of it that is read; instructions are not."""
        question = request.question
        texts = ((s, without_orders(s.text, question.labels) if s.order else s.text) for s in request.evidence)
        return [(s, self._nearest(question.question, text)) for s, text in texts if text and s.source != CASE]

    def _nearest(self, question: str, text: str) -> str:
        """The sentences nearest to the question, in their order."""
        parts = [part for _, part in sentences(text)]
        if len(parts) <= _SENTENCES:
            return text.strip()
        rows = self._encoder.encode([as_query(self._encoder, question), *parts])
        best = np.argsort(-(rows[1:] @ rows[0]), kind="stable")[:_SENTENCES]
        return " ".join(parts[i] for i in sorted(best.tolist()))

    def _reading(self, question: Question, text: str) -> Call[Vector]:
        """What the model holds of the outcomes with this before it; what was read already costs nothing."""
        key = replace(question, findings=()), text  # what was found out since comes as pieces
        reading = None
        if key not in self._known:
            reading = measured(self._model, self._request(question, text), question.labels, held=False)

        async def make(purse: Purse) -> Vector:
            if reading is not None and key not in self._known:
                p = await reading.make(purse)
                self._known[key] = np.array([p[label] for label in question.labels])
            return self._known[key]

        return Call(Bound() if reading is None else reading.bound, make)

    def _request(self, question: Question, text: str) -> Request:
        asked = _WEIGH.render(
            source=single_line(text) or "(none)",
            question=fenced(question.question),
            context=f"\n<data>\n{fenced(question.context)}\n</data>\n" if question.context else "",
            outcomes=", ".join(map(single_line, shown(question.labels).values())),
        )
        return Request(messages=(Message("user", asked),), max_tokens=_NAME, temperature=0.0, top_logprobs=20)


def _weighed(read: Sequence[_Read], outcomes: int) -> Vector:
    """The belief that all pieces together make."""
    moved = np.zeros(outcomes)
    if read:
        moved = np.sum([one.weight for one in read], axis=0) / np.sqrt(len(read))
    return softmax(moved)


def _arguments(request: TurnRequest, belief: Vector, without: Vector, read: Sequence[_Read]) -> list[Argument]:
    """For the leading outcome, from what moved it there; and about the rivals, as the contentiousness has it."""
    labels, cl = request.question.labels, request.anchor.cl
    words = stance(cl)
    lead = int(belief.argmax())
    mine = labels[lead]
    said = [_argument(words.support.format(mine=mine), lead, labels, without, _best(read, lead, 1.0))]
    rivals = dict.fromkeys(labels.index(y) for y in request.leading.values() if y in labels and y != mine)
    for rival in sorted(rivals, key=lambda y: -belief[y]):
        other = labels[rival]
        if cl >= _CONFRONT:
            claim, pieces = words.counter.format(mine=mine, other=other), _best(read, rival, -1.0)
            about = _argument(claim, rival, labels, without, pieces, against=True)
        else:
            about = _argument(words.concede.format(other=other), rival, labels, without, _best(read, rival, 1.0))
        said.append(about and replace(about, answers=request.argued_for(other)))
    return [argument for argument in said if argument is not None]


def _best(read: Sequence[_Read], outcome: int, sign: float) -> list[_Read]:
    """The pieces that moved an outcome most, up or down."""
    moved = [(sign * one.weight[outcome], n) for n, one in enumerate(read)]
    return [read[n] for by, n in sorted(moved, key=lambda entry: (-entry[0], entry[1]))[:_CITED] if by > 0]


def _argument(
    claim: str, outcome: int, labels: Sequence[str], without: Vector, pieces: Sequence[_Read], *, against: bool = False
) -> Argument | None:
    """A claim with the pieces behind it; none without a piece."""
    if not pieces:
        return None
    name, before = labels[outcome], without[outcome]
    reasons = tuple(
        f"With this alone {name} is {one.p[outcome]:.0%} likely, without it {before:.0%}: {one.excerpt}"
        for one in pieces
    )
    cited = tuple(Citation(one.span.id, next(text for _, text in sentences(one.excerpt))) for one in pieces)
    return Argument(claim=claim, reasons=reasons, citations=cited, outcome=name, against=against)
