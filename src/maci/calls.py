"""Input and output of a debate: what is under way, within the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, cast

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Turn, Usage
from maci.controller.inputs import (
    Exhausted,
    Input,
    Intervened,
    JudgeAbstention,
    Resolved,
    Retrieved,
    Scored,
    TurnFailed,
    TurnTaken,
    pack,
)
from maci.controller.requests import Want, score_request, turn_request, wants
from maci.controller.state import State
from maci.errors import ConfigError, InputError
from maci.evidence.encode import Encoder
from maci.evidence.source import EvidenceSource
from maci.judge.crit import CritScore, Judge, JudgeAbstained, ScoreRequest
from maci.llm.budget import Ledger
from maci.record.events import dump, parse

__all__ = ["Calls", "Table", "usage_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Who debates, on what evidence."""

    agents: Sequence[Agent]
    judges: Sequence[Judge]
    evidence: EvidenceSource
    encoder: Encoder


def usage_of(item: Input) -> Usage:
    """What an input cost."""
    match item:
        case TurnTaken():
            return item.turn.usage
        case TurnFailed() | Scored() | JudgeAbstention():
            return item.usage
        case _:
            return Usage()


class Calls:
    """What is under way: starts what is wanted and fits the budget, hands back replies one at a time."""

    def __init__(self, table: Table, state: State, hand: asyncio.Queue[Intervened] | None) -> None:
        seats = ([seat.name for seat in state.opened.agents], [seat.name for seat in state.opened.judges])
        given = ([agent.name for agent in table.agents], [judge.name for judge in table.judges])
        if seats != given:
            raise ConfigError(
                f"the record is of a debate between {seats[0]} judged by {seats[1]}, this table seats {given}"
            )
        if state.opened.encoder != table.encoder.name:
            raise ConfigError(
                f"the debate was opened with the encoder {state.opened.encoder!r}, this is {table.encoder.name!r}"
            )
        self._table, self._hand = table, hand
        self._agents = {agent.name: agent for agent in table.agents}
        self._judges = {judge.name: judge for judge in table.judges}
        self._tasks: dict[Want, tuple[asyncio.Task[Input], int]] = {}
        self._ledger = Ledger(state.config.budget.tokens, state.usage.tokens)
        seconds = state.config.budget.seconds
        self._deadline = None if seconds is None else monotonic() + seconds

    async def next(self, state: State) -> Input:
        """The next input: a person's hand, local work, a reply, or the end of the budget."""
        if (reply := self._reply()) is not None:
            return reply
        if self._hand is not None and not self._hand.empty():
            return self._hand.get_nowait()
        if self._deadline is not None and monotonic() >= self._deadline:
            return self._late(state)
        refused: str | None = None
        for want in wants(state):
            if want.kind == "retrieve":
                return self._retrieve(state)
            if want.kind == "resolve":
                return self._resolve(state, want.who)
            if want not in self._tasks and refused is None:
                refused = self._launch(state, want)
        if not self._tasks:
            return Exhausted(resource="tokens", detail=refused or "")
        timeout = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        listen = None if self._hand is None else asyncio.ensure_future(self._hand.get())
        waiting: set[asyncio.Future[Any]] = {task for task, _ in self._tasks.values()}
        if listen is not None:
            waiting.add(listen)
        try:
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if listen is not None and not listen.done():
                listen.cancel()
        if listen is not None and listen.done():
            return listen.result()
        return self._reply() or self._late(state)

    def _reply(self) -> Input | None:
        """A reply that has come in, if any; what was set aside for it becomes what it cost."""
        for want, (task, reserved) in self._tasks.items():
            if task.done():
                del self._tasks[want]
                item = task.result()
                self._ledger.settle(reserved, usage_of(item).tokens)
                return item
        return None

    def _launch(self, state: State, want: Want) -> str | None:
        """Send a call if the most it can cost fits; else say why not."""
        call: Callable[[], Coroutine[Any, Any, Input]]
        try:
            if want.kind == "turn":
                agent, ask = self._agents[want.who], turn_request(state, want.who)
                bound, call = max(0, agent.ceiling(ask)), partial(_turn, agent, want, ask)
            else:
                judge, item = self._judges[want.who.rpartition("#")[0]], score_request(state, want.who, want.argument)
                bound, call = max(0, judge.ceiling(item)), partial(_score, judge, want, item)
        except Exception as error:  # of ceiling(): nothing was sent
            bound, call = 0, partial(_unsent, _failure(want, error, _spent(error)))
        if not self._ledger.reserve(bound):
            return f"{want.who} may need {bound} tokens, {self._ledger.left} of {self._ledger.ceiling} are left"
        self._tasks[want] = (asyncio.ensure_future(call()), bound)
        return None

    def _retrieve(self, state: State) -> Retrieved:
        case, limits = state.opened.case, state.config.evidence
        found = self._table.evidence.retrieve(case.query, limits.k_ret, limits.context_tokens)
        rows = self._table.encoder.encode([case.query, *(span.text for span in found.spans)])
        vectors = {span.id: pack(row) for span, row in zip(found.spans, rows[1:], strict=True)}
        return Retrieved(spans=found.spans, core=found.core, vectors=vectors, theta=pack(rows[0]))

    def _resolve(self, state: State, agent: str) -> Resolved:
        turn = state.turns[agent]
        assert turn is not None
        ids, names = state.unresolved(turn)
        found = {i: self._table.evidence.get(i) for i in ids}
        spans = [span for span in found.values() if span is not None]
        rows = self._table.encoder.encode([*(span.text for span in spans), *names])
        return Resolved(
            spans=tuple(spans),
            vectors={span.id: pack(row) for span, row in zip(spans, rows, strict=False)},
            missing=tuple(i for i, span in found.items() if span is None),
            labels={name: pack(row) for name, row in zip(names, rows[len(spans) :], strict=True)},
        )

    def _late(self, state: State) -> Exhausted:
        return Exhausted(resource="seconds", detail=f"{state.config.budget.seconds:g} s are over")

    async def close(self) -> None:
        """Cancel what is still under way."""
        tasks = [task for task, _ in self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _turn(agent: Agent, want: Want, request: TurnRequest) -> Input:
    turn: object = None
    try:
        turn = await agent.turn(request)
        if not isinstance(turn, Turn):
            raise InputError(f"turn() gave {type(turn).__name__}, not a Turn")
        turn = replace(turn, belief={str(label): float(p) for label, p in turn.belief.items()})
        return _recordable(TurnTaken(round=want.round, agent=want.who, turn=turn))
    except (Exception, asyncio.CancelledError) as error:
        return _failure(want, _theirs(error), _spent(error) + _spent(turn))


async def _score(judge: Judge, want: Want, request: ScoreRequest) -> Input:
    usage = Usage()
    try:
        score, usage = await judge.score(request)
        if not isinstance(score, CritScore):
            raise InputError(f"score() gave {type(score).__name__}, not a CritScore")
        return _recordable(Scored(round=want.round, argument=want.argument, slot=want.who, score=score, usage=usage))
    except (Exception, asyncio.CancelledError) as error:
        return _failure(want, _theirs(error), _spent(error) + (usage if isinstance(usage, Usage) else Usage()))


async def _unsent(item: Input) -> Input:
    return item


def _recordable(item: Input) -> Input:
    """The reply as it will be read back; raises where it does not fit the record's format."""
    return cast(Input, parse(dump(item)))


def _failure(want: Want, error: BaseException, usage: Usage) -> Input:
    if want.kind == "turn":
        return TurnFailed(round=want.round, agent=want.who, error=_say(error), usage=usage)
    why = _plain(str(error)) if isinstance(error, JudgeAbstained) else ""
    return JudgeAbstention(
        round=want.round, argument=want.argument, slot=want.who, reason=why or _say(error), usage=usage
    )


def _theirs(error: BaseException) -> BaseException:
    """The error, unless it is the debate itself that was cancelled."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error
    return error


def _spent(source: object) -> Usage:
    """What a call cost, where its reply or its error says so."""
    usage = getattr(source, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _say(error: BaseException) -> str:
    text = _plain(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _plain(text: str) -> str:
    """One line that can be written as UTF-8."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
