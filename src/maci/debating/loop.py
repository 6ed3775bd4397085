"""Algorithm 1, and nothing else: ask for what the fold wants, record what comes back, fold, yield.

Everything that decides is in :mod:`maci.controller`; this file only does input and output. All that is wanted is under way at
once, so agents speak in parallel and an argument is judged while others still think.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol

from maci.controller.events import Event
from maci.controller.fold import start, step
from maci.controller.inputs import Intervened, Opened, Requested, Sent, usage_of
from maci.controller.reading import check_made_for, check_served
from maci.debating.calls import Calls
from maci.llm.budget import Ledger
from maci.record.replay import replay
from maci.seating.table import Table


class Recorder(Protocol):
    """Where events go; :class:`maci.record.transcript.Transcript` is one."""

    def append(self, event: Event, *, sync: bool = False) -> None:
        """Keep one event; ``sync`` returns only when it cannot be lost any more."""

    def flush(self, *, now: bool = False) -> None:
        """Hand on what was kept so far, at once or before long."""


class Nowhere:
    """Keeps nothing: a debate nobody will ask about again."""

    def append(self, event: Event, *, sync: bool = False) -> None:
        """Forget the event."""

    def flush(self, *, now: bool = False) -> None:
        """Nothing to hand on."""


P = ParamSpec("P")
Events = AsyncGenerator[Event, None]
observe: Callable[[Opened, Events], Events] | None = None
"""What is put around the events of every debate of this process, if anything is (:mod:`maci.integrations.otel`)."""


def _observed(debate: Callable[Concatenate[Opened, P], Events]) -> Callable[Concatenate[Opened, P], Events]:
    @wraps(debate)
    def observed(opened: Opened, /, *args: P.args, **kwargs: P.kwargs) -> Events:
        events = debate(opened, *args, **kwargs)
        return events if observe is None else observe(opened, events)

    return observed


@_observed
async def debate(
    opened: Opened,
    table: Table,
    *,
    record: Recorder = Nowhere(),
    recorded: Sequence[Event] = (),
    hand: asyncio.Queue[Intervened] | None = None,
    ledger: Ledger | None = None,
) -> Events:
    """Run a debate and yield its events, each recorded first; with ``recorded`` events of a broken one, go on where it stopped.

    ``hand`` carries a person's interventions; ``ledger`` is a ceiling shared with other debates of a run. Stopping the
    iteration (or Ctrl-C) cancels calls in flight; everything yielded before has been recorded.
    """
    events: tuple[Event, ...]
    if recorded:
        before = replay(recorded)
        state, events = before.state, before.owed
    else:
        check_made_for(opened)
        state, events = start(opened), (opened,)
    calls = Calls(table, state, hand, ledger)
    try:
        while True:
            for event in events:
                record.append(event)
                yield event
            if state.finished:
                return
            record.flush()
            item = await calls.next(state)
            record.append(item, sync=usage_of(item).paid)
            if isinstance(item, Sent):
                record.flush(now=True)  # a call is on record before it is made
            yield item
            if isinstance(item, Requested):
                check_served(opened, item.requests)
            state, events = step(state, item)
    finally:
        await calls.close()
