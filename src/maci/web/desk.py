"""The desk of the server: what is under way, what is on record, and starting, resuming and steering debates.

Transcripts are the truth. A debate that is not under way and has no result broke off, whatever the reason, and can be resumed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from maci.acquisition.plan import Item
from maci.cases.case import REDACTED, Case, redact
from maci.config import Config
from maci.controller.decisions import Finished
from maci.controller.events import Event
from maci.controller.inputs import Intervened, Opened
from maci.errors import EnvironmentError_, InputError, concerning
from maci.llm.models import price_for
from maci.llm.usage import Bound
from maci.paths import run_dir, slug
from maci.record.transcript import Transcript, lock, read
from maci.seating.file import find
from maci.seating.project import project_defaults
from maci.seating.seating import PanelChoice, closing_on_failure, reseat, seat_case
from maci.seating.spec import PanelSpec
from maci.seating.trust import resumed
from maci.story import Story
from maci.web import ServerSettings
from maci.web.allowance import Allowance, Claim, on_record, visitor_of
from maci.web.forms import Kept
from maci.web.history import Summary
from maci.web.index import Found, History
from maci.web.live import Broadcast, Live, Prepared
from maci.web.pages.debate import line
from maci.web.pages.panels import Prices
from maci.web.pages.parts import panels

_RENDER = 0.2
"""Seconds between two drawings of what is true now."""
_KEPT = 8
"""Records kept in memory after they were read."""


class NotHere(InputError):
    """There is no such debate."""


class Busy(EnvironmentError_):
    """As many debates are under way, and wait, as may."""

    retry_after = 5.0


@dataclass(slots=True)
class Run:
    """A debate as it stands."""

    id: str
    events: list[Event]
    live: Live | None = None
    broadcast: Broadcast = field(default_factory=Broadcast)
    error: str = ""
    """Why it broke off, where we know."""
    elsewhere: bool = False
    """Another process is writing it."""
    left: bool = False
    """Who asked for it has left: it breaks off as soon as nothing is under way."""
    asking: Item | None = None
    """What it asks whoever looks at it."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _story: Story | None = None

    @property
    def story(self) -> Story:
        """What there is to tell so far."""
        if self._story is None or self._story.events > len(self.events):
            self._story = Story.of(self.events)
        for event in self.events[self._story.events :]:
            self._story = self._story.follow(event)
        return self._story

    @property
    def finished(self) -> Finished | None:
        """The result, if there is one."""
        return self.story.result

    @property
    def state(self) -> Literal["running", "paused", "finished", "broken"]:
        """Where it stands."""
        if self.finished is not None:
            return "finished"
        if self.live is not None or self.elsewhere:
            return "paused" if self.story.paused else "running"
        return "broken"


class Desk:
    """All debates of one server."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings, self.history = settings, History(settings.runs)
        self.kept, self.prices = Kept(settings.limits), Prices()
        self._allowance = Allowance(settings.ceilings, settings.runs)
        self._running: dict[str, Run] = {}
        self._recorded = lru_cache(maxsize=_KEPT)(_recorded)
        self._drawing: dict[str, asyncio.TimerHandle] = {}
        self._queue: deque[asyncio.Future[None]] = deque()

    # --- what there is ------------------------------------------------------------------------------------------------

    def search(self, query: str = "", only: str = "", *, start: int = 0, most: int = 50) -> Found:
        """The debates of the folder that fit, those under way as such."""
        live = {id: _state(run) for id, run in self._running.copy().items()}
        found = self.history.search(query, only, start=start, most=most, live=live)
        return replace(found, rows=[self._now(s) for s in found.rows])

    def _now(self, summary: Summary) -> Summary:
        """One that is under way, here or in another process, as such; with what leads so far."""
        run = self._running.get(summary.id)
        if run is None:
            elsewhere = summary.state == "broken" and _locked(self.history.path(summary.id))
            return replace(summary, state="running") if elsewhere else summary
        if not run.events:
            return replace(summary, state="running")
        story = run.story
        last = next((r for r in reversed(story.closed) if r.answer is not None), None)
        return replace(
            summary,
            state=_state(run),
            rounds=story.current.number,
            tokens=story.spent.tokens,
            so_far=True,
            answer=last.answer if last else None,
            p=last.mixture[last.answer] if last and last.answer is not None else None,
        )

    async def run(self, id: str) -> Run:
        """A debate, under way or from its record."""
        run = self._running.get(id)
        if run is not None and run.events:
            return run
        return await asyncio.to_thread(self._from_record, id)

    def _from_record(self, id: str) -> Run:
        path = self.history.path(id)
        try:
            now = path.stat()
        except OSError as error:
            raise NotHere(f"there is no debate {id!r} in {self.settings.runs}") from error
        run = self._recorded(path, now.st_mtime_ns, now.st_size)
        run.elsewhere = run.finished is None and _locked(path)
        return run

    # --- starting and steering ----------------------------------------------------------------------------------------

    async def start(self, case: Case, choice: PanelChoice, visitor: str = "") -> Run:
        """Begin a debate; raises what stands in the way, and then leaves nothing behind. ``visitor`` is the address of who pays."""
        panel, config = choice.settled()  # at once: whoever waited for a place would lose it to another meanwhile
        with concerning("settings"):
            case = redact(redact(case, self.settings.redact), config.evidence.redact)
        id = run_dir(slug(case.id or case.question)).name  # of what is left, since it is in the URL

        def prepare() -> Prepared:
            with self._claimed(id, panel, config, visitor) as claim:
                seated = seat_case(case, choice)
                with closing_on_failure(seated.house):
                    return Prepared(seated, Transcript.create(self.history.path(id)), claim=claim)

        return await self._begin(id, prepare)

    async def resume(self, id: str, visitor: str = "") -> Run:
        """Go on with a debate that broke off."""
        if id in self._running:
            raise InputError("this debate is under way already")
        path = self.history.path(id)
        if not path.is_file():
            raise NotHere(f"there is no debate {id!r} in {self.settings.runs}")

        def prepare() -> Prepared:
            transcript, recording = Transcript.resume(path)
            try:
                if recording.finished:
                    raise InputError("this debate is finished: there is nothing to go on with")
                if not recording.opened.panel:
                    raise InputError("this debate was made in Python: go on with it from there, debate(…, recorded=…)")
                opened = recording.opened
                choice = PanelChoice(corpus=_own_corpus(opened))
                panel = resumed(opened, choice, find())
                with self._claimed(id, panel, opened.config, visitor, recording.events) as claim:
                    return Prepared(reseat(opened, choice), transcript, recording.events, claim)
            except BaseException:
                transcript.close()
                raise

        return await self._begin(id, prepare)

    @contextmanager
    def _claimed(
        self, id: str, panel: PanelSpec | str, config: Config, visitor: str, recorded: Sequence[Event] = ()
    ) -> Iterator[Claim | None]:
        """What a debate may spend of the day, given back if it cannot start; nothing where there is no ceiling, or only readers."""
        ceilings, budget = self.settings.ceilings, config.budget
        if not ceilings or isinstance(panel, str) or not panel.paid:
            yield None
            return
        unknown = [name for name in panel.seated if price_for(name, panel.options(name)) is None]
        if ceilings.in_usd and unknown:
            raise EnvironmentError_(
                f"the price of {', '.join(unknown)} is not known, and this server has a ceiling in dollars: choose another model"
            )
        places = self.settings.limits.debates - len(self._running) + 1
        wanted, before = Bound(budget.tokens, budget.usd or 0.0), on_record(recorded) if recorded else Bound()
        claim = self._allowance.claim(id, visitor_of(visitor), wanted, places=places, before=before)
        try:
            yield claim
        except BaseException:
            self._allowance.settle(claim)
            raise

    async def place(self) -> None:
        """Wait until another debate may begin, first come first served; raises :class:`Busy` where too many wait already."""
        limits = self.settings.limits
        if len(self._running) < limits.debates and not self._queue:
            return
        if len(self._queue) >= limits.queue:
            raise Busy(
                f"{len(self._running)} debates are under way and {len(self._queue)} wait, and more are not allowed: try again later"
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
            while len(self._running) >= limits.debates:  # a debate of the page was faster
                self._queue.remove(turn)
                turn = asyncio.get_running_loop().create_future()
                self._queue.appendleft(turn)
                await turn
        finally:
            self._queue.remove(turn)
            self._next()

    def _next(self) -> None:
        """Call the first of the queue, if there is a place."""
        first = next((turn for turn in self._queue if not turn.done()), None)
        if first is not None and len(self._running) < self.settings.limits.debates:
            first.set_result(None)

    async def _begin(self, id: str, prepare: Callable[[], Prepared]) -> Run:
        if len(self._running) >= self.settings.limits.debates:
            raise EnvironmentError_(
                f"{len(self._running)} debates are under way, and more at once are not allowed: wait for one, or stop one"
            )
        run = Run(id, [])
        self._running[id] = run  # from now on the place is taken
        try:
            run.live = Live(
                prepare,
                begun=lambda prepared: self._begun(run, prepared),
                hear=lambda event: self._hear(run, event),
                asked=lambda item: self._asked(run, item),
                settle=self._allowance.settle,
                over=lambda error: self._over(run, error),
            )
            await run.live.begin()
        except BaseException:
            self._running.pop(id, None)
            self._next()
            raise
        return run

    def frames(self, run: Run) -> Broadcast:
        """What viewers of a debate are sent; of one on record, all of it and then the end."""
        if run.live is None and not len(run.broadcast):
            for seq, event in enumerate(run.events, 1):
                run.broadcast.event(event.type, line(seq, event))
            run.broadcast.end()
        elif run.live is not None:
            self._draw(run)
        return run.broadcast

    def intervene(self, id: str, item: Intervened) -> None:
        """A person's hand on a debate under way."""
        run = self._running.get(id)
        if run is None or run.live is None:
            raise InputError("this debate is not under way here: there is nothing to steer")
        run.live.intervene(item)

    def answer(self, id: str, text: str) -> None:
        """A person's answer to what a debate asks."""
        run = self._running.get(id)
        if run is None or run.live is None or run.asking is None:
            raise InputError("this debate asks nothing now: somebody may have answered already")
        run.live.answer(text)

    def leave(self, run: Run) -> None:
        """Nobody waits for a debate any more: nothing new is sent, what was paid for comes in, and it breaks off. It can be resumed."""
        if run.live is not None:
            run.left = True
            run.live.intervene(Intervened(pause=True, by="the client, who left,"))

    async def close(self) -> None:
        """Break off what is under way; it can be resumed."""
        for run in list(self._running.values()):
            if run.live is not None:
                await run.live.close()
        for timer in self._drawing.values():
            timer.cancel()
        self.history.close()

    # --- what comes back ----------------------------------------------------------------------------------------------

    def _begun(self, run: Run, prepared: Prepared) -> None:
        for event in prepared.recorded or (prepared.seated.opened,):
            self._publish(run, event)
        self._draw(run)

    def _hear(self, run: Run, event: Event) -> None:
        if isinstance(event, Opened) and run.events:
            return  # published already
        self._publish(run, event)
        if run.left and run.live is not None and run.story.paused and not run.story.waiting:
            run.live.break_off("the client left")
        if run.broadcast.viewers and run.id not in self._drawing:  # nobody looks: nothing is drawn
            loop = asyncio.get_running_loop()
            self._drawing[run.id] = loop.call_later(_RENDER, self._draw, run)

    def _asked(self, run: Run, item: Item | None) -> None:
        run.asking = item
        self._draw(run)

    def _publish(self, run: Run, event: Event) -> None:
        run.events.append(event)
        run.broadcast.event(event.type, line(len(run.events), event))

    def _draw(self, run: Run) -> None:
        self._drawing.pop(run.id, None)
        run.broadcast.panels(panels(run.story, run.state, run.asking))

    def _over(self, run: Run, error: str) -> None:
        run.live, run.error, run.asking = None, error, None
        self._running.pop(run.id, None)
        self._next()
        if (timer := self._drawing.pop(run.id, None)) is not None:
            timer.cancel()
        if run.events:
            self._draw(run)
        run.broadcast.end()
        run.over.set()


def _state(run: Run) -> Literal["running", "paused", "asking", "finished", "broken"]:
    """Where a debate of this server stands; one that does not go on without an answer asks."""
    if not run.events:
        return "running"
    return "asking" if run.asking and not run.story.paused else run.state


def _recorded(path: Path, _changed: int, _size: int) -> Run:
    """A debate from its record; read again when that has changed."""
    return Run(path.parent.name, list(read(path).events))


def _own_corpus(opened: Opened) -> Path | None:
    """The index that this server's project file names, for a record that names one. A hidden name may be another's."""
    return None if opened.corpus in {"", REDACTED} else project_defaults().corpus


def _locked(path: Path) -> bool:
    """Whether another process is writing a transcript."""
    try:
        with path.open("rb") as file:
            return not lock(file, shared=True)
    except OSError:
        return False
