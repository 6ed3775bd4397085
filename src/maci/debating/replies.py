"""Makes each call of a debate, and looks up what needs no call.

One call asks an agent, a judge or a source. Its result, including a failure, is an input that can be recorded. Without a call, the
debate retrieves evidence, resolves citations and surveys what could be found out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from time import monotonic
from typing import cast

from maci.acquisition.answers import AnswerSource, SourceReply, asks_which, checked, interpreted
from maci.acquisition.plan import Item
from maci.acquisition.proposals import Surveyor
from maci.agents.argument import Turn
from maci.agents.judges.crit import CritScore, JudgeAbstained
from maci.agents.judges.interpreter import Interpreter, NameComparison
from maci.agents.writer import Draft
from maci.cases.labels import NameQuestion
from maci.controller.acquiring import USED, residual
from maci.controller.events import dump, parse
from maci.controller.inputs import (
    Acquired,
    Compared,
    Exhausted,
    Input,
    JudgeAbstention,
    Recommended,
    Requested,
    Resolved,
    Retrieved,
    Scored,
    Surveyed,
    TurnFailed,
    TurnTaken,
    pack,
)
from maci.controller.requests import Want, call_seed
from maci.controller.state import State
from maci.errors import BudgetError, InputError, is_fatal, one_line, said
from maci.evidence.encode import as_query
from maci.evidence.orders import marked
from maci.evidence.span import ACQUIRED, CASE, Span
from maci.llm.budget import Call, Purse, reported
from maci.llm.usage import Usage
from maci.record.prompts import store
from maci.seating.table import Table


async def turn(want: Want, call: Call[Turn], purse: Purse) -> Input:
    """Ask an agent for its turn."""

    async def make() -> Callable[[Usage], TurnTaken]:
        taken = await call.make(purse)
        belief = {str(label): float(p) for label, p in taken.belief.items()}
        return lambda cost: TurnTaken(round=want.round, agent=want.who, turn=replace(taken, belief=belief, usage=cost))

    return await _made(want, make, purse)


async def score(want: Want, call: Call[CritScore], purse: Purse) -> Input:
    """Ask a judge to score an argument."""

    async def make() -> Callable[[Usage], Scored]:
        given = await call.make(purse)
        if not isinstance(given, CritScore):
            raise InputError(f"score() gave {type(given).__name__}, not a CritScore")
        return lambda cost: Scored(round=want.round, argument=want.argument, slot=want.who, score=given, usage=cost)

    return await _made(want, make, purse)


async def scores(group: Sequence[Want], call: Call[Sequence[CritScore]], purse: Purse) -> tuple[Input, ...]:
    """Ask a judge to score several arguments at once; what that cost is counted with the first of them."""
    first, rest, given = group[0], group[1:], list[CritScore]()

    async def make() -> Callable[[Usage], Scored]:
        given.extend(await call.make(purse))
        if len(given) != len(group) or not all(isinstance(each, CritScore) for each in given):
            raise InputError(f"{len(given)} scores were given for {len(group)} arguments, or not all are a CritScore")
        for want, each in zip(group, given, strict=True):
            recordable(Scored(round=want.round, argument=want.argument, slot=want.who, score=each))
        return lambda cost: Scored(
            round=first.round, argument=first.argument, slot=first.who, score=given[0], usage=cost
        )

    reply = await _made(first, make, purse)
    if isinstance(reply, Scored):
        others = zip(rest, given[1:], strict=True)
        return reply, *(replace(reply, argument=want.argument, score=score, usage=Usage()) for want, score in others)
    if isinstance(reply, JudgeAbstention):
        return reply, *(replace(reply, argument=want.argument, usage=Usage()) for want in rest)
    return (reply,)


async def _made(
    want: Want,
    make: Callable[[], Awaitable[Callable[[Usage], Input]]],
    purse: Purse,
    failed: Callable[[Want, BaseException, Usage], Input] | None = None,
) -> Input:
    """What comes of a call, with what it cost; a failure is an input too, as ``failed`` or :func:`failure` makes it."""
    began = monotonic()
    try:
        reply = await make()
        return recordable(reply(_cost(purse, began)))
    except (Exception, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # it is the debate itself that was cancelled
        return (failed or failure)(want, error, _cost(purse, began))


async def compare(question: NameQuestion, want: Want, call: Call[NameComparison], purse: Purse) -> Input:
    """Ask whether a name is one of those in use; without an answer they stay apart."""

    async def make() -> Callable[[Usage], Compared]:
        found = await call.make(purse)
        return lambda cost: Compared(
            round=want.round, first=question.name, second=found.listed, among=question.among, relation=found.kind, by=want.who,
            raw=found.raw, prompt=found.prompt, usage=cost,
        )  # fmt: skip

    def failed(want: Want, error: BaseException, cost: Usage) -> Input:
        return uncompared(question, want, said(error), cost)

    return await _made(want, make, purse, failed)


def uncompared(question: NameQuestion, want: Want, why: str, usage: Usage = Usage()) -> Compared:
    """Names of which nobody could say how they stand to each other."""
    name, among = question
    return Compared(
        round=want.round, first=name, second="", among=among, relation=None, by=want.who, error=why, usage=usage
    )


async def recommend(want: Want, call: Call[Draft], purse: Purse) -> Input:
    """Ask for the recommendation; without one the template stands in."""

    async def make() -> Callable[[Usage], Recommended]:
        draft = await call.make(purse)
        return lambda cost: Recommended(
            round=want.round, by=want.who, sentences=draft.sentences, raw=draft.raw, prompt=draft.prompt, usage=cost
        )

    def failed(want: Want, error: BaseException, cost: Usage) -> Input:
        return unwritten(want, said(error), cost)

    return await _made(want, make, purse, failed)


def unwritten(want: Want, why: str, usage: Usage = Usage()) -> Recommended:
    """A recommendation that nobody wrote."""
    return Recommended(round=want.round, by=want.who, error=why, usage=usage)


def requested(want: Want, purse: Purse, state: State) -> Requested | None:
    """What a call asked of models, for the record; ``None`` where it asked none."""
    if not purse.exchanges:
        return None
    packed = store(purse.exchanges, state.prompted)
    return Requested(
        round=want.round,
        kind=want.kind,
        who=want.who,
        argument=want.argument,
        requests=packed.requests,
        prompts=packed.prompts,
        texts=packed.texts,
    )


def asking(source: AnswerSource, item: Item) -> Call[SourceReply]:
    """The call that asks a source one item."""

    async def ask() -> tuple[SourceReply, Usage]:
        given = await source.answer(item)
        if not isinstance(given, SourceReply):
            raise InputError(f"answer() gave {type(given).__name__}, not a Reply")
        return given, given.usage

    return reported(source.ceiling(item), False, ask)


async def acquire(table: Table, want: Want, state: State, item: Item, call: Call[SourceReply], purse: Purse) -> Input:
    """Ask the source one item. What comes back is read and checked, and becomes spans; it is data, whatever it says."""
    source, encoder = table.source, table.encoder
    assert source is not None

    async def make() -> Callable[[Usage], Acquired]:
        reply = await call.make(purse)
        if reply.read and table.interpreter is not None and not reply.spans and item.kind != "retrieval":
            reply = await _interpreted(table.interpreter, state, item, reply, purse)
        before = [(asked.subject, answer.verdict) for asked, answer in state.acquired]
        reply = checked(item, reply, encoder, before)
        spans = _marked(_spans_of(item, reply), state)
        rows = encoder.encode([span.text for span in spans]) if spans else ()
        return lambda cost: Acquired(
            round=want.round,
            item=item.id,
            verdict=reply.verdict,
            text=reply.text,
            usage=cost,
            spans=spans,
            vectors={span.id: pack(row) for span, row in zip(spans, rows, strict=True)},
            source=source.name,
            cost=item.cost if reply.cost is None else reply.cost,
            remarks=reply.remarks,
            by=reply.by,
            raw=reply.raw,
            prompt=reply.prompt,
        )

    answer = await _made(want, make, purse)
    return replace(answer, source=source.name) if isinstance(answer, Acquired) else answer


async def _interpreted(reader: Interpreter, state: State, item: Item, reply: SourceReply, purse: Purse) -> SourceReply:
    """The reply as a model reads it; as rules read it where the model fails, or the budget does not allow it."""
    seed = call_seed(state.opened.seed, "answers", item.id)
    try:
        asking = reader.prepare(item.text, reply.text, asks_which(item), outcomes=state.labels, seed=seed)
        found = await asking.make(purse)
    except Exception as error:
        note = f"The answer was read by rules: {reader.name} could not read it ({said(error)})."
        return replace(reply, remarks=(*reply.remarks, note))
    return interpreted(reply, found, reader.name)


def _marked(spans: Iterable[Span], state: State) -> tuple[Span, ...]:
    """The spans as they enter the debate: those that read like instructions say so. The case's own words are its owner's."""
    return tuple(span if span.source == CASE else marked(span, state.labels) for span in spans)


def _spans_of(item: Item, reply: SourceReply) -> tuple[Span, ...]:
    """The spans an answer comes with; without any, question and answer are one."""
    if reply.verdict not in USED:
        return ()
    if reply.spans:
        return reply.spans
    answer = reply.text if reply.verdict == "told" or reply.read else f"{reply.verdict}."
    return (Span.of(f"{item.text} {answer}", ACQUIRED),)


def recordable(item: Input) -> Input:
    """The reply as it will be read back; raises where it does not fit the record's format."""
    return cast(Input, parse(dump(item)))


def _cost(purse: Purse, began: float) -> Usage:
    """What the call cost; with the time it took, where a model drew on the purse."""
    total = purse.total()
    return replace(total, seconds=round(monotonic() - began, 3)) if purse.used else total


def failure(want: Want, error: BaseException, usage: Usage) -> Input:
    """A call that failed, as an input."""
    if want.kind == "acquire":
        remarks = (f"failed: {said(error)}",)
        return Acquired(round=want.round, item=want.who, verdict="failed", usage=usage, remarks=remarks)
    if isinstance(error, BudgetError):
        return Exhausted(resource=error.resource, detail=f"{want.who}: {one_line(str(error))}", usage=usage)
    fatal = is_fatal(error)
    if want.kind == "turn":
        return TurnFailed(round=want.round, agent=want.who, error=said(error), usage=usage, fatal=fatal)
    why = one_line(str(error)) if isinstance(error, JudgeAbstained) else ""
    return JudgeAbstention(
        round=want.round, argument=want.argument, slot=want.who, reason=why or said(error), usage=usage, fatal=fatal
    )


_LONGEST_MENU = 200
"""Sections of a source's menu that are looked at."""


def retrieve(table: Table, state: State) -> Retrieved:
    """The case's evidence, embedded."""
    case, limits = state.opened.case, state.config.evidence
    found = table.evidence.retrieve(case.query, limits.k_ret, limits.context_tokens)
    rows = table.encoder.encode([as_query(table.encoder, case.query), *(span.text for span in found.spans)])
    vectors = {span.id: pack(row) for span, row in zip(found.spans, rows[1:], strict=True)}
    return Retrieved(spans=_marked(found.spans, state), core=found.core, vectors=vectors, theta=pack(rows[0]))


def resolve(table: Table, state: State, agent: str) -> Resolved:
    """The spans and outcomes an agent's turn names that were not known before."""
    turn = state.turns[agent]
    assert turn is not None
    ids, names = state.unresolved(turn)
    case = state.opened.case
    # where the truth is known it is embedded with the names, and enters nothing but the figures of accuracy
    if names and case.gold is not None and case.gold not in (*names, *state.label_vectors):
        names = (*names, case.gold)
    found = {i: table.evidence.get(i) for i in ids}
    spans = [span for span in found.values() if span is not None]
    rows = table.encoder.encode([*(span.text for span in spans), *names])
    return Resolved(
        spans=_marked(spans, state),
        vectors={span.id: pack(row) for span, row in zip(spans, rows, strict=False)},
        missing=tuple(i for i, span in found.items() if span is None),
        labels={name: pack(row) for name, row in zip(names, rows[len(spans) :], strict=True)},
    )


def survey(table: Table, state: State) -> Surveyed:
    """What could be found out; a proposer that fails is on record, and the debate ends without its proposals."""
    proposer = table.proposer or Surveyor(encoder=table.encoder)
    try:
        menu = () if table.source is None else tuple(map(str, table.source.menu()))[:_LONGEST_MENU]  # most have none
        found = proposer.survey(replace(residual(state), menu=menu))
        known = Surveyed(round=state.round, candidates=found.candidates, considered=found.considered)
        return cast(Surveyed, recordable(known))
    except Exception as error:
        return Surveyed(round=state.round, note=f"looking for what to ask failed: {said(error)}")
