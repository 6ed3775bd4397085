"""One call each, of an agent, a judge or a source: whatever comes of it is an input that can be recorded, a failure too."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import cast

from maci.acquisition.answers import checked
from maci.acquisition.plan import Item
from maci.acquisition.sources.source import Reply, Source
from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn, Usage
from maci.controller.acquiring import USED
from maci.controller.inputs import Acquired, Exhausted, Input, JudgeAbstention, Scored, TurnFailed, TurnTaken, pack
from maci.controller.requests import Want
from maci.controller.state import State
from maci.errors import BudgetError, InputError, one_line, said
from maci.evidence.encode import Encoder
from maci.evidence.source import ACQUIRED
from maci.evidence.span import Span
from maci.judge.crit import CritScore, Judge, JudgeAbstained, ScoreRequest
from maci.llm.budget import purse
from maci.record.events import read_back

__all__ = ["acquire", "failure", "recordable", "score", "spent", "turn", "unsent"]


async def turn(agent: Agent, want: Want, request: TurnRequest) -> Input:
    """Ask an agent for its turn."""
    taken, began = None, monotonic()
    try:
        taken = await agent.turn(request)
        if not isinstance(taken, Turn):
            raise InputError(f"turn() gave {type(taken).__name__}, not a Turn")
        belief = {str(label): float(p) for label, p in taken.belief.items()}
        taken = replace(taken, belief=belief, usage=_drawn(began) or taken.usage)
        return recordable(TurnTaken(round=want.round, agent=want.who, turn=taken))
    except (Exception, asyncio.CancelledError) as error:
        return failure(want, _theirs(error), _drawn(began) or spent(error) + spent(taken))


async def score(judge: Judge, want: Want, request: ScoreRequest) -> Input:
    """Ask a judge to score an argument."""
    usage, began = Usage(), monotonic()
    try:
        given, usage = await judge.score(request)
        if not isinstance(given, CritScore):
            raise InputError(f"score() gave {type(given).__name__}, not a CritScore")
        usage = _drawn(began) or usage
        return recordable(Scored(round=want.round, argument=want.argument, slot=want.who, score=given, usage=usage))
    except (Exception, asyncio.CancelledError) as error:
        known = usage if isinstance(usage, Usage) else Usage()
        return failure(want, _theirs(error), _drawn(began) or spent(error) + known)


async def acquire(source: Source, encoder: Encoder, want: Want, state: State) -> Input:
    """Ask the source one item. What comes back is checked and becomes spans; it is data, whatever it says."""
    item = next(item for item in state.acquiring if item.id == want.who)
    reply, began = None, monotonic()
    try:
        reply = await source.answer(item)
        if not isinstance(reply, Reply):
            raise InputError(f"answer() gave {type(reply).__name__}, not a Reply")
        before = [(asked.subject, answer.verdict) for asked, answer in state.acquired]
        reply = checked(item, reply, encoder, before)
        spans = _spans_of(item, reply)
        rows = encoder.encode([span.text for span in spans]) if spans else ()
        answer = Acquired(
            round=want.round,
            item=item.id,
            verdict=reply.verdict,
            text=reply.text,
            spans=spans,
            vectors={span.id: pack(row) for span, row in zip(spans, rows, strict=True)},
            source=source.name,
            usage=_drawn(began) or reply.usage,
            cost=item.cost if reply.cost is None else reply.cost,
            remarks=reply.remarks,
        )
        return recordable(answer)
    except (Exception, asyncio.CancelledError) as error:
        why = said(_theirs(error))
        usage = _drawn(began) or spent(error) + spent(reply)
        return Acquired(
            round=want.round,
            item=item.id,
            verdict="failed",
            source=source.name,
            usage=usage,
            remarks=(f"failed: {why}",),
        )


def _spans_of(item: Item, reply: Reply) -> tuple[Span, ...]:
    """The spans an answer comes with; without any, question and answer are one."""
    if reply.verdict not in USED:
        return ()
    if reply.spans:
        return reply.spans
    answer = reply.text if reply.verdict == "told" else f"{reply.verdict}."
    return (Span.of(f"{item.text} {answer}", ACQUIRED),)


async def unsent(item: Input) -> Input:
    """No call is made: it failed before."""
    return item


def recordable(item: Input) -> Input:
    """The reply as it will be read back; raises where it does not fit the record's format."""
    return cast(Input, read_back(item))


def _drawn(began: float) -> Usage | None:
    """What the call drew on its purse, if it is one that does."""
    own = purse()
    return replace(own.total(), seconds=round(monotonic() - began, 3)) if own is not None and own.used else None


def failure(want: Want, error: BaseException, usage: Usage) -> Input:
    """A call that failed, as an input."""
    if isinstance(error, BudgetError):
        return Exhausted(resource=error.resource, detail=f"{want.who}: {one_line(str(error))}", usage=usage)
    fatal = bool(getattr(error, "fatal", False))
    if want.kind == "turn":
        return TurnFailed(round=want.round, agent=want.who, error=said(error), usage=usage, fatal=fatal)
    why = one_line(str(error)) if isinstance(error, JudgeAbstained) else ""
    return JudgeAbstention(
        round=want.round, argument=want.argument, slot=want.who, reason=why or said(error), usage=usage, fatal=fatal
    )


def _theirs(error: BaseException) -> BaseException:
    """The error, unless it is the debate itself that was cancelled."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error
    return error


def spent(source: object) -> Usage:
    """What a call cost, where its reply or its error says so."""
    usage = getattr(source, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()
