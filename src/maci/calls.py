"""Input and output of a debate: what is under way, within the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Usage
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
from maci.errors import ConfigError
from maci.evidence.encode import Encoder
from maci.evidence.source import EvidenceSource
from maci.judge.crit import Judge, JudgeAbstained, ScoreRequest
from maci.llm.budget import Ledger

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
        self._table, self._hand = table, hand
        self._agents = {agent.name: agent for agent in table.agents}
        self._judges = {judge.name: judge for judge in table.judges}
        self._tasks: dict[Want, tuple[asyncio.Task[Input], int]] = {}
        self._ledger = Ledger(state.config.budget.tokens, state.usage.tokens)
        seconds = state.config.budget.seconds
        self._deadline = None if seconds is None else monotonic() + seconds

    async def next(self, state: State) -> Input:
        """The next input: a person's hand, local work, a reply, or the end of the budget."""
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
        done, _ = await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if listen is not None:
            if listen in done:
                return listen.result()
            listen.cancel()
        if not done:
            return self._late(state)
        want = next(want for want, (task, _) in self._tasks.items() if task in done)
        task, reserved = self._tasks.pop(want)
        item = task.result()
        self._ledger.settle(reserved, usage_of(item).tokens)
        return item

    def _launch(self, state: State, want: Want) -> str | None:
        """Send a call if the most it can cost fits; else say why not."""
        call: Callable[[], Coroutine[Any, Any, Input]]
        if want.kind == "turn":
            agent, ask = self._agents[want.who], turn_request(state, want.who)
            bound, call = agent.ceiling(ask), partial(_turn, agent, want, ask)
        else:
            judge, item = self._judges[want.who.rpartition("#")[0]], score_request(state, want.who, want.argument)
            bound, call = judge.ceiling(item), partial(_score, judge, want, item)
        if not self._ledger.reserve(bound):
            return f"{want.who} may need {bound} tokens, {self._ledger.left} of {self._ledger.ceiling} are left"
        self._tasks[want] = (asyncio.ensure_future(call()), bound)
        return None

    def _retrieve(self, state: State) -> Retrieved:
        case, limits = state.opened.case, state.config.evidence
        spans = tuple(self._table.evidence.retrieve(case.query, limits.k_ret, limits.context_tokens))
        rows = self._table.encoder.encode([case.query, *(span.text for span in spans)])
        vectors = {span.id: pack(row) for span, row in zip(spans, rows[1:], strict=True)}
        return Retrieved(spans=spans, vectors=vectors, theta=pack(rows[0]))

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
    try:
        turn = await agent.turn(request)
    except Exception as error:
        return TurnFailed(round=want.round, agent=want.who, error=_say(error), usage=_spent(error))
    return TurnTaken(round=want.round, agent=want.who, turn=turn)


async def _score(judge: Judge, want: Want, request: ScoreRequest) -> Input:
    try:
        score, usage = await judge.score(request)
    except Exception as error:
        why = str(error) if isinstance(error, JudgeAbstained) else _say(error)
        return JudgeAbstention(round=want.round, argument=want.argument, slot=want.who, reason=why, usage=_spent(error))
    return Scored(round=want.round, argument=want.argument, slot=want.who, score=score, usage=usage)


def _spent(error: Exception) -> Usage:
    """What a failed call cost, where the error says so."""
    usage = getattr(error, "usage", None)
    return usage if isinstance(usage, Usage) else Usage()


def _say(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
