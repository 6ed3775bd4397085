"""Runs the calls of a debate within its budget of tokens, dollars and seconds.

:class:`Calls` has the calls under way; :class:`Clock` counts the seconds, without pauses and the time a person takes to answer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from time import monotonic
from typing import Any, Literal, cast

from maci.controller.inputs import Exhausted, Input, Intervened, JudgeAbstention, Lost, Pending, Recommended, Sent
from maci.controller.reading import next_question
from maci.controller.recommending import writing_request
from maci.controller.requests import Want, call_seed, score_request, turn_request, wants
from maci.controller.rounds import settled
from maci.controller.state import State
from maci.debating.replies import (
    acquire,
    asking,
    compare,
    failure,
    recommend,
    requested,
    resolve,
    retrieve,
    score,
    scores,
    survey,
    turn,
    uncompared,
    unwritten,
)
from maci.errors import BudgetError, said
from maci.llm.budget import Ledger, Purse, spend
from maci.llm.usage import Bound, Usage
from maci.seating.table import Table, check_seats


class Clock:
    """Runs until the budget's seconds are over; those of a pause, and those a person takes to answer, are not among them."""

    def __init__(self, seconds: float | None) -> None:
        """``None``: without end."""
        self._deadline = None if seconds is None else monotonic() + seconds
        self._stopped_at: float | None = None

    def stop(self, stopped: bool) -> None:
        """Stop it, or let it go on."""
        if stopped and self._stopped_at is None:
            self._stopped_at = monotonic()
        elif not stopped and self._stopped_at is not None:
            if self._deadline is not None:
                self._deadline += monotonic() - self._stopped_at
            self._stopped_at = None

    @property
    def left(self) -> float | None:
        """Seconds until time is up, below 0 after it; ``None`` without an end, and while it is stopped."""
        return None if self._deadline is None or self._stopped_at is not None else self._deadline - monotonic()

    @property
    def over(self) -> bool:
        """Whether time is up."""
        left = self.left
        return left is not None and left <= 0


_Refusal = tuple[Literal["tokens", "usd", "seconds"], str]
"""What a call did not fit into, and the figures."""


@dataclass(slots=True)
class _Call:
    """A call under way, or about to be."""

    want: Want
    bound: Bound
    """The most its first attempt can cost."""
    make: Callable[[Purse], Coroutine[Any, Any, Input | tuple[Input, ...]]]
    free: bool
    """Nobody pays for it."""
    beside: tuple[Want, ...] = ()
    """Other scores that the same call gives; what it costs is counted with the first."""
    purse: Purse = field(init=False)
    task: asyncio.Task[Input | tuple[Input, ...]] | None = None
    asking: tuple[Bound, asyncio.Future[bool], bool] | None = None
    """What another attempt needs beyond what was set aside, the answer, and whether the call does without it."""
    one_asks: asyncio.Lock = field(default_factory=asyncio.Lock)
    """A turn of several draws can have several attempts to ask for."""

    @property
    def wants(self) -> tuple[Want, ...]:
        """All it gives."""
        return (self.want, *self.beside)

    def pending(self, bound: Bound) -> Pending:
        want = self.want
        return Pending(kind=want.kind, who=want.who, argument=want.argument, tokens=bound.tokens, usd=bound.usd)  # type: ignore[arg-type]


class Calls:
    """What is under way: sends what is wanted and fits the budget, hands back replies one at a time.

    A call that costs something goes out in two steps: first :meth:`next` returns a :class:`Sent`, which the debate records;
    only the next time round is the call made. So whatever happens, the record knows of every call that may have been charged.
    """

    def __init__(
        self, table: Table, state: State, hand: asyncio.Queue[Intervened] | None, run: Ledger | None = None
    ) -> None:
        check_seats(state.opened, table)
        self._table, self._hand = table, hand
        self._heard: deque[Intervened] = deque()
        self._agents = {agent.name: agent for agent in table.agents}
        self._judges = {judge.name: judge for judge in table.judges}
        self._calls: dict[Want, _Call] = {}
        self._unsent: list[_Call] = []
        """On record as sent; made the next time round."""
        self._writing = False
        """The debate is over, and its recommendation is written."""
        self._granted: list[_Call] = []
        """Further attempts on record as sent."""
        self._replied: deque[Input] = deque()
        """What came of a call whose requests have just been recorded."""
        self._broken_off = bool(state.in_flight)
        self._spent_in_vain, self._ruin = Usage(), cast(_Refusal | None, None)
        budget = state.config.budget
        self._ledger = Ledger(budget.tokens, budget.usd, state.usage, parent=run)
        self._set_aside = Bound()
        """Kept for the recommendation: no other call may use it."""
        self._clock = Clock(budget.seconds)
        self._bell: asyncio.Future[None] | None = None
        self._held = state.paused
        """The debate broke off while it was paused; going on with it ends the pause."""

    async def next(self, state: State) -> Input:
        """The next input: a person's hand, local work, calls about to be sent, a reply, or the end of the budget."""
        if self._replied:
            return self._replied.popleft()
        if self._broken_off:
            self._broken_off = False
            self._ledger.spent = self._ledger.spent + sum(state.in_flight.values(), Usage())
            return Lost(round=state.round)
        if self._held:
            self._held = False
            return Intervened(pause=False, by="going on with it")
        self._clock.stop(state.paused or self._with_a_person())
        if state.closing is not None and not state.acquiring and not self._writing:
            await self._break_off()  # what is under way when a debate ends is not waited for
            if not state.recommending:
                return survey(self._table, state)
            self._writing, self._ruin, self._spent_in_vain = True, None, Usage()
        self._send()
        wanted = tuple(wants(state))
        while True:
            if (reply := self._reply(state)) is not None:
                return reply
            if self._heard:
                return self._heard.popleft()
            if self._hand is not None and not self._hand.empty():
                return self._hand.get_nowait()
            if state.paused:  # nothing new is sent; what is under way may come in
                await self._wait()
                continue
            if self._clock.over:
                return await self._late(state)
            local = self._local(state, wanted)
            if local is not None:
                return local
            if (waived := await self._waive(state, wanted)) is not None:
                return waived
            sent, refused = self._prepare(state, wanted)
            if sent:
                return Sent(round=state.round, calls=tuple(sent))
            if not self._calls:
                resource, detail = self._ruin or refused or ("tokens", "")
                if self._writing:  # a model cost more than was set aside for it: the ceiling is passed
                    return unwritten(wanted[0], "nothing is left of the budget")
                return Exhausted(resource=resource, detail=detail, usage=self._spent_in_vain)
            asking = [call for call in self._calls.values() if call.asking is not None]
            if asking and (self._ruin or len(asking) == len(self._calls)):
                self._answer(asking[0], False)  # nothing under way can make room for it any more
            self._clock.stop(self._with_a_person())
            await self._wait()

    def _with_a_person(self) -> bool:
        """Whether a question lies before a person: how long people think is not the machines' time."""
        source = self._table.source
        asked = (call.want.kind == "acquire" for call in self._calls.values())
        return source is not None and source.person and any(asked)

    def _local(self, state: State, wanted: Sequence[Want]) -> Input | None:
        """What needs no call: retrieval, and looking up what was cited."""
        want = wanted[0] if wanted else None  # local work is always asked for first
        if want is not None and want.kind == "retrieve":
            return retrieve(self._table, state)
        if want is not None and want.kind == "resolve":
            return resolve(self._table, state, want.who)
        return None

    def _prepare(self, state: State, wanted: Sequence[Want]) -> tuple[list[Pending], _Refusal | None]:
        """Set aside what wanted calls and further attempts can cost; what is free goes out at once."""
        sent: list[Pending] = []
        refused: _Refusal | None = None
        if self._ruin:
            return sent, refused
        self._keep(state)
        for call in self._calls.values():
            if call.asking is not None and self._ledger.reserve(call.asking[0], optional=call.asking[2]):
                sent.append(call.pending(call.asking[0]))
                self._granted.append(call)
        taken = {want for call in self._calls.values() for want in call.wants}
        for group in _groups((want for want in wanted if want not in taken), state.config.crit.together):
            call, want = self._scores(state, group) or self._call(state, group[0]), group[0]
            try:
                call.purse = spend(self._ledger, call.bound, partial(self._ask, call))
            except BudgetError as error:
                refused = (error.resource, f"{want.who} {error}")
                break
            self._calls[want] = call
            self._unsent.append(call)
            if not call.free and any(call.bound):
                sent.append(call.pending(call.bound))
        if not sent:
            self._send()
        return sent, refused

    def _keep(self, state: State) -> None:
        """Set the recommendation's cost aside before the first round is bought; give it back when its time has come."""
        if self._writing:
            self._ledger.settle(self._set_aside, Usage())
            self._set_aside = Bound()
        elif state.round and not any(self._set_aside) and self._ledger.reserve(state.opened.set_aside):
            self._set_aside = state.opened.set_aside

    async def _waive(self, state: State, wanted: Sequence[Want]) -> Input | None:
        """A score that can no longer change what is admitted: its call is given up, and counts for what it may have cost."""
        if not state.config.crit.enough:
            return None
        of = {want: call for call in self._calls.values() for want in call.wants}
        missing = [want for want in wanted if want.kind == "score"]
        decided = {argument for argument in {want.argument for want in missing} if settled(state, argument)}
        for want in missing:
            call = of.get(want)
            if want.argument not in decided or (call and any(w.argument not in decided for w in call.wants)):
                continue
            if call is None:
                return _waived((want,), Usage())[0]
            del self._calls[call.want]
            self._unsent = [other for other in self._unsent if other is not call]
            await _give_up([] if call.task is None else [call.task])
            call.purse.close()
            self._replied.extend(_waived(call.wants, call.purse.total()))
            return requested(call.want, call.purse, state) or self._replied.popleft()
        return None

    def _scores(self, state: State, group: tuple[Want, ...]) -> _Call | None:
        """One call that scores several arguments; ``None`` of a judge that takes one at a time, and where that fails."""
        if len(group) < 2:
            return None
        judge = self._judges[group[0].who.rpartition("#")[0]]
        try:
            scoring = judge.prepare_together([score_request(state, want.who, want.argument) for want in group])
        except Exception:  # then each is prepared by itself, and says what is wrong
            return None
        if scoring is None:
            return None
        return _Call(group[0], scoring.bound, partial(scores, group, scoring), judge.free, beside=group[1:])

    def _call(self, state: State, want: Want) -> _Call:
        """The call a want stands for, prepared."""
        try:
            if want.kind == "acquire":
                source = self._table.source
                assert source is not None
                item = next(item for item in state.acquiring if item.id == want.who)
                call = asking(source, item)
                answer = partial(acquire, self._table, want, state, item, call)
                return _Call(want, call.bound, answer, False)
            if want.kind == "compare":
                return self._comparison(state, want)
            if want.kind == "recommend":
                return self._recommendation(state, want)
            if want.kind == "turn":
                agent = self._agents[want.who]
                taking = agent.prepare(turn_request(state, want.who))
                return _Call(want, taking.bound, partial(turn, want, taking), agent.free)
            judge = self._judges[want.who.rpartition("#")[0]]
            scoring = judge.prepare(score_request(state, want.who, want.argument))
            return _Call(want, scoring.bound, partial(score, want, scoring), judge.free)
        except Exception as error:  # of prepare()
            return _unsent(want, failure(want, error, Usage()))

    def _comparison(self, state: State, want: Want) -> _Call:
        """Names to compare; where that does not fit the budget they stay apart, and the debate continues."""
        comparer, question = self._table.comparer, next_question(state)
        assert comparer is not None and question is not None
        try:
            case = state.opened.case
            seed = call_seed(state.opened.seed, "names", question.name, *question.among)
            call = comparer.prepare(case.question, question, seed=seed)
        except Exception as error:
            return _unsent(want, uncompared(question, want, said(error)))
        if self._ledger.lacks(call.bound) is not None:
            return _unsent(want, uncompared(question, want, "asking does not fit what is left of the budget"))
        return _Call(want, call.bound, partial(compare, question, want, call), comparer.free)

    def _recommendation(self, state: State, want: Want) -> _Call:
        """The recommendation; where it does not fit the budget, the template stands in."""
        writer = self._table.writer
        assert writer is not None
        try:
            call = writer.prepare(writing_request(state, call_seed(state.opened.seed, "recommendation")))
        except Exception as error:
            return _unsent(want, unwritten(want, said(error)))
        if self._ledger.lacks(call.bound) is not None:
            return _unsent(want, unwritten(want, "writing it does not fit what is left of the budget"))
        return _Call(want, call.bound, partial(recommend, want, call), writer.free)

    async def _ask(self, call: _Call, more: Bound, *, optional: bool) -> bool:
        """Another attempt needs more than was set aside: wait until it is on record, or refused."""
        async with call.one_asks:
            answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            call.asking = (more, answer, optional)
            self._ring()
            try:
                return await answer
            except (
                asyncio.CancelledError
            ):  # nothing will be sent, but it is on record: it is given back when the call is over
                others = [other for other in self._granted if other is not call]
                if len(others) < len(self._granted) or (answer.done() and not answer.cancelled() and answer.result()):
                    call.purse.granted = call.purse.granted.plus(more)
                self._granted = others
                call.asking = None
                raise

    def _answer(self, call: _Call, yes: bool) -> None:
        if call.asking is None:
            return
        (more, answer, _), call.asking = call.asking, None
        if not answer.done():
            answer.set_result(yes)
        elif yes:  # given up meanwhile
            call.purse.granted = call.purse.granted.plus(more)

    def _send(self) -> None:
        """Make the calls that are on record."""
        for call in self._unsent:
            call.task = asyncio.ensure_future(call.make(call.purse))
            call.task.add_done_callback(self._ring)
        self._unsent = []
        for call in self._granted:
            self._answer(call, True)
        self._granted = []

    def _reply(self, state: State) -> Input | None:
        """A reply that has come in, if any; what was set aside for it becomes what it cost. What it asked of models comes first."""
        for want, call in self._calls.items():
            if call.task is not None and call.task.done():
                del self._calls[want]
                result = call.task.result()
                item, *more = result if isinstance(result, tuple) else (result,)
                call.purse.close()
                asked = requested(want, call.purse, state)
                if isinstance(item, Exhausted):  # the call ran out of budget between two attempts
                    self._ruin = item.resource, item.detail
                    self._spent_in_vain = self._spent_in_vain + item.usage
                    return asked or self._reply(state)
                if asked is None:
                    self._replied.extend(more)
                    return item
                self._replied.extend((item, *more))
                return asked
        return None

    def _ring(self, *_: object) -> None:
        if self._bell is not None and not self._bell.done():
            self._bell.set_result(None)

    async def _wait(self) -> None:
        """Until something happens: a reply, a request for more, a hand on the dials, the end of time."""
        loop = asyncio.get_running_loop()
        bell = self._bell = loop.create_future()
        if any(call.task is not None and call.task.done() for call in self._calls.values()):
            return
        left = self._clock.left
        alarm = None if left is None else loop.call_later(max(0.0, left), self._ring)
        listen = None if self._hand is None else asyncio.ensure_future(self._listen(self._hand))
        if listen is not None:
            listen.add_done_callback(self._ring)
        try:
            await bell
        finally:
            if alarm is not None:
                alarm.cancel()
            if listen is not None:
                listen.remove_done_callback(self._ring)  # its end must not ring the next bell
                listen.cancel()

    async def _listen(self, hand: asyncio.Queue[Intervened]) -> None:
        """Take one item; those behind it stay in their order."""
        self._heard.append(await hand.get())

    async def _late(self, state: State) -> Exhausted | Recommended:
        """Time is up: what is under way is given up, and counts for what it may have cost."""
        under_way = list(self._calls.values())
        await self._break_off()
        usage = sum((call.purse.total() for call in under_way), self._spent_in_vain)
        why = f"{state.config.budget.seconds:g} s are over"
        if self._writing:
            return unwritten(next(wants(state)), why, usage)
        return Exhausted(resource="seconds", detail=why, usage=usage)

    async def close(self) -> None:
        """Cancel what is still under way, and give back what was kept for the end."""
        await self._break_off()
        self._ledger.settle(self._set_aside, Usage())
        self._set_aside = Bound()

    async def _break_off(self) -> None:
        """Cancel what is still under way; what was set aside for it becomes what it may have cost."""
        self._unsent = []
        calls, self._calls = list(self._calls.values()), {}
        await _give_up([call.task for call in calls if call.task is not None])
        for call in calls:
            call.purse.close()
        for call in self._granted:  # whose task would not end
            if call.asking is not None:
                self._ledger.settle(call.asking[0], Usage())
        self._granted = []


def _groups(wanted: Iterable[Want], most: int) -> Iterator[tuple[Want, ...]]:
    """Wants by the calls that serve them: up to ``most`` scores of one judge are one call."""
    for (kind, _), same in groupby(wanted, key=lambda want: (want.kind, want.who)):
        while group := tuple(islice(same, most if kind == "score" else 1)):
            yield group


def _waived(given_up: Sequence[Want], usage: Usage) -> list[JudgeAbstention]:
    """Scores that are not waited for; the first has what the call cost."""
    why = "not waited for: the scores given decide its admission"
    costs = (usage, *(Usage() for _ in given_up[1:]))
    return [
        JudgeAbstention(round=w.round, argument=w.argument, slot=w.who, reason=why, usage=cost, waived=True)
        for w, cost in zip(given_up, costs, strict=True)
    ]


def _unsent(want: Want, failed: Input) -> _Call:
    """A call that failed before anything was sent."""

    async def unsent(_: Purse) -> Input:
        return failed

    return _Call(want, Bound(), unsent, True)


async def _give_up(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their end; one that takes a cancellation for something else is asked again, for a while."""
    left = {task for task in tasks if not task.done()}
    for _ in range(25):
        if not left:
            break
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.2)
    await asyncio.gather(*(task for task in tasks if task.done()), return_exceptions=True)
