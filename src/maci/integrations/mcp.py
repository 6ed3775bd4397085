"""``maci mcp``: debates as tools of the Model Context Protocol, over standard input and output.

A client chooses among the configured panels and sends texts, never paths. What it spends is within the ceilings of the server.
A failure is an error that names the next step, and an answer that is withheld is null. A request that is cancelled stops
spending; its record stays and can be resumed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import Resource, ToolAnnotations
from pydantic import BaseModel, Field

from maci import __version__
from maci.calibration.stats.estimate import as_json
from maci.cases.case import Case, check_redactable, parse_case, redact
from maci.controller.decisions import Finished, Initialized, Weighed
from maci.controller.events import Event
from maci.controller.inputs import Opened, TurnTaken
from maci.debating.api import Options, stream
from maci.debating.result import DebateResult
from maci.errors import EnvironmentError_, InputError, MaciError, Undecidable
from maci.evidence.encode import load_encoder
from maci.lab.audit.judges.asking import bench_of, settle
from maci.lab.audit.judges.audit import ProbePlan, audit
from maci.lab.audit.judges.items import builtin, draw, gather
from maci.lab.audit.judges.report import build_report
from maci.llm.budget import Ledger
from maci.llm.models import price_for
from maci.paths import run_dir, slug
from maci.record.replay import telling
from maci.record.transcript import read
from maci.render.markup import plain
from maci.render.text import to_markdown
from maci.seating.project import check_ceilings, with_project
from maci.seating.seating import ASKING, PanelChoice, check_models, open_house
from maci.seating.spec import PanelSpec
from maci.story import Story
from maci.story.log import happened
from maci.story.outline import outline, withheld_words
from maci.story.report import page
from maci.story.result import PlanPage
from maci.story.whatif import replan
from maci.web.forms import panels
from maci.web.history import Summary
from maci.web.index import History

T = TypeVar("T")
_TEXT = 2_000_000
"""Characters of all evidence together."""
_PATIENCE = 5.0
"""Seconds in which it ends after a signal."""
_AT_ONCE = 8
"""Debates and audits under way at once; others wait their turn."""
_LISTED = 50
"""Runs whose transcripts and reports are listed as resources; all others can be read too."""
_INSTRUCTIONS = """MACI answers a question by a debate of several agents and gives a probability for each outcome.
`ask` stops as soon as more debate is not worth its tokens; `debate` always debates. `answer` is null where the answer is withheld:
say so, with the reason in `withheld`, and do not present the best guess as the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What the server may spend while it runs, all requests together; ``None`` is no ceiling of its own."""

    tokens: int | None = None
    usd: float | None = None


class RunResult(BaseModel):
    """The result of a debate."""

    run: str = Field(description="its name: for `plan`, `audit` and the resources")
    answer: str | None = Field(description="null where the answer is withheld")
    guess: str | None = Field(
        description="the most probable outcome, also where the answer is withheld at a risk level; null where it is worth nothing"
    )
    probability: float | None = Field(ge=0, le=1, description="of the answer; null without one")
    withheld: str = Field(description="why no answer is given; empty where there is one")
    distribution: dict[str, float]
    why: list[str]
    against: list[str]
    ask_next: list[str] = Field(description="what to find out next, the most informative first")
    warnings: list[str]
    stop_reason: str
    rounds: int
    tokens: int
    transcript: str = Field(description="the resource with every event")
    report: str


class RunRow(BaseModel):
    """A recorded debate."""

    run: str
    question: str
    state: str = Field(
        description="finished; broken: can be resumed with `maci debate --resume --out RUNS/RUN`; running; unreadable"
    )
    answer: str | None
    probability: float | None
    withheld: bool
    created: str
    panel: str
    tokens: int | None


class RunList(BaseModel):
    """What a search found."""

    runs: list[RunRow]
    fits: int
    total: int


class AuditResult(BaseModel):
    """What an audit of judges found."""

    verdict: str
    arguments: int
    tokens: int
    report: str = Field(description="Markdown")
    figures: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DebateService:
    """The debates of one server."""

    runs: Path
    ceilings: Ceilings = Ceilings()
    redact: tuple[str, ...] = ()
    """Fields taken out of every case before anything is sent or recorded."""
    history: History = field(init=False)
    ledger: Ledger = field(init=False)
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    def __post_init__(self) -> None:
        check_redactable(self.redact)
        object.__setattr__(self, "history", History(self.runs))
        object.__setattr__(self, "ledger", Ledger(self.ceilings.tokens, self.ceilings.usd))

    async def debate(
        self, case: Case, choice: PanelChoice, settings: dict[str, Any], tell: Callable[[str], Any]
    ) -> RunResult:
        """Debate a case within the ceilings; raises where there is no answer and none was withheld."""
        id = run_dir(slug(case.question)).name
        options = self._options(choice) | {"settings": settings, "record": self.runs / id}
        await tell(f"run {id}")
        events: list[Event] = []
        async with self.places, aclosing(stream(redact(case, self.redact), **options)) as debated:
            async for event in debated:
                events.append(event)
                if isinstance(event, _TOLD):
                    await tell(happened(event))
        return _result(id, DebateResult.of(events, self.path(id)))

    def _options(self, choice: PanelChoice) -> Options:
        """What is asked for, within the ceilings; refused where they cannot be kept."""
        choice = with_project(choice)
        check_ceilings(choice)
        panel, config = choice.settled()
        self._check_prices(panel)
        tokens, usd = config.budget.tokens, config.budget.usd
        options = Options(seed=choice.seed, offline=choice.offline)
        if isinstance(panel, PanelSpec) and panel.paid:  # readers cost nothing, and the ceilings are no limit for them
            left = self.ledger.left
            if self.ceilings.tokens is not None:
                tokens = min(tokens, left.tokens)
            if self.ceilings.usd is not None:
                usd = left.usd if usd is None else min(usd, left.usd)
            if tokens <= 0 or (usd is not None and usd <= 0):
                raise EnvironmentError_(_SPENT)
            options["ledger"] = self.ledger
        options["budget"] = tokens
        if usd is not None:
            options["budget_usd"] = usd
        if choice.panel is not None:
            options["panel"] = choice.panel
        return options

    def _check_prices(self, panel: PanelSpec | str) -> None:
        if self.ceilings.usd is None or isinstance(panel, str):
            return
        if unknown := [name for name in panel.seated if price_for(name, panel.options(name)) is None]:
            raise EnvironmentError_(
                f"the price of {', '.join(unknown)} is not known, and this server has a ceiling in dollars: choose another panel, or "
                "give the price in the panels file (models: NAME: price:)"
            )

    def path(self, run: str) -> Path:
        """The transcript of a run; raises where there is none of that name."""
        path = self.history.path(run)
        if not path.is_file():
            raise InputError(f"there is no run {run!r:.80}: `search_runs` lists those of this server")
        return path

    def search(self, query: str, start: int, most: int) -> RunList:
        """Recorded debates in which every word of a query occurs, newest first."""
        found = self.history.search(query, start=start, most=most)
        return RunList(runs=[_row(each) for each in found.rows], fits=found.fits, total=found.total)

    def plan(self, run: str, top: int | None) -> PlanPage:
        """What to find out next after a recorded debate."""
        recording = read(self.path(run))
        with telling(recording.events):
            found, state = replan(recording.events, size=top)
        return PlanPage.of(found, stop_reason="" if state.finished is None else state.finished.stop_reason)

    def report(self, run: str, *, html: bool) -> str:
        """The report of a recorded debate."""
        story = Story.of(read(self.path(run)).events)
        return page.to_html(story) if html else page.to_markdown(story)

    async def audit(
        self, run: str | None, choice: PanelChoice, arguments: int, tell: Callable[[str], Any]
    ) -> AuditResult:
        """Audit the judges of a panel on the arguments of a run, or of debates that the embedded readers hold on built-in cases."""
        bench = settle(choice)
        self._check_prices(bench.spec)
        path = None if run is None else self.path(run)
        encoder = await asyncio.to_thread(load_encoder, bench.config.evidence.encoder)
        made = partial(builtin, max(2, arguments // 3), encoder) if path is None else partial(gather, [path], encoder)
        batches = draw(await asyncio.to_thread(made), arguments, 0)
        await tell(f"{sum(len(batch.items) for batch in batches)} arguments to score")
        budget = bench.config.budget
        ledger = Ledger(budget.tokens, budget.usd, parent=self.ledger) if bench.paid else Ledger()
        house = open_house(bench.spec, choice) if bench.asks_models else None
        async with self.places, house or nullcontext():
            check_models(bench.spec, house, choice.fetch)
            done = await audit(
                batches, bench_of(bench, house), ProbePlan(probed=10, repeats=1, resamples=1000), ledger=ledger
            )
        if not done.asked.answers:
            raise EnvironmentError_(f"no score fits the ceiling: {done.asked.short}; raise budget_tokens, or {_SPENT}")
        found = done.audit
        return AuditResult(
            verdict=found.verdict, arguments=len(done.ratings.items), tokens=ledger.spent.tokens,
            report=to_markdown(build_report(found, done.ratings.plain, [], full=False)), figures=as_json(found),
        )  # fmt: skip


_FIND = " (another `panel`, where there is one)"
"""Where a client finds a language model; the readers' guess it cannot ask for."""
_SPENT = "this server has spent what it may: restart `maci mcp` with a larger --budget-tokens or --budget-usd"
_TOLD = (Opened, TurnTaken, Initialized, Weighed, Finished)
"""What a client is told of while it waits, in the words of the log."""


def _result(id: str, result: DebateResult) -> RunResult:
    end = result.finished
    if end.answer is None or end.stop_reason == "error":
        more = "; raise budget_tokens or budget_usd" if end.stop_reason == "budget" else ""
        raise EnvironmentError_(f"the debate {id} came to no answer: {end.detail}{more}")
    plan, withheld = result.plan, withheld_words(result.story, outline(result.story), _FIND)
    return RunResult(
        run=id, answer=result.answer, guess=result.guess, probability=result.probability, withheld=plain(withheld),
        distribution={} if end.unfit else result.distribution,
        why=[] if result.guess is None else list(result.why), against=[] if result.guess is None else list(result.against),
        ask_next=[] if plan is None else [item.text for item in plan.items],
        warnings=list(result.warnings), stop_reason=result.stop_reason, rounds=result.rounds, tokens=result.tokens,
        transcript=f"maci://runs/{id}/transcript", report=f"maci://runs/{id}/report",
    )  # fmt: skip


def _row(found: Summary) -> RunRow:
    given = None if found.withheld else found.answer
    return RunRow(
        run=found.id, question=found.question, state=found.state, answer=given, probability=None if given is None else found.p,
        withheld=found.withheld, created=found.created, panel=found.panel, tokens=found.tokens,
    )  # fmt: skip


def _choice(panel: str | None, tokens: int | None, usd: float | None, seed: int = 0) -> PanelChoice:
    known = [name for name, _ in panels()]
    if panel is not None and panel not in known:
        raise InputError(f"there is no panel {panel!r:.80}: choose among {', '.join(known)}")
    budget = {"budget.tokens": tokens, "budget.usd": usd}
    return PanelChoice(panel=panel, given={key: value for key, value in budget.items() if value is not None}, seed=seed)


def _case(question: str, outcomes: list[str] | None, context: str, evidence: list[str] | None) -> Case:
    if (length := sum(map(len, evidence or ()))) > _TEXT:
        raise InputError(f"the evidence has {length:,} characters, and {_TEXT:,} are allowed: send less of it")
    data = {"question": question, "context": context, "outcomes": outcomes or "open", "evidence": evidence or []}
    return parse_case(data, "the request")


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of ours as the protocol has them; others are crashes, whose text the client is not shown."""
    try:
        yield
    except MaciError as error:
        raise ToolError(f"{error}{_FIND}" if isinstance(error, Undecidable) else str(error)) from error


async def _held(work: Coroutine[Any, Any, T]) -> T:
    """Work in a task of its own: where the request is cancelled it is stopped once, in order, and waited for."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    finally:
        if not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({task})
    return task.result()


class _Progress:
    """Progress notifications of one request."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context, self._count = context, 0

    async def __call__(self, message: str) -> None:
        self._count += 1
        await self._context.report_progress(self._count, message=message)


Question = Annotated[str, Field(description="the question", min_length=1)]
Outcomes = Annotated[list[str] | None, Field(description="what the answer can be; without it the question is open")]
Known = Annotated[str, Field(description="what is known")]
Texts = Annotated[list[str] | None, Field(description="texts that may be cited")]
Panel = Annotated[str | None, Field(description="a configured panel; without it the server's default debates")]
Tokens = Annotated[int | None, Field(description="most tokens to spend; the server has a ceiling too", ge=1)]
Dollars = Annotated[float | None, Field(description="most dollars to spend; the server has a ceiling too", gt=0)]
Rounds = Annotated[int | None, Field(description="the last round", ge=1, le=20)]
Run = Annotated[str, Field(description="a run, as `search_runs` or a debate names it")]


class _Server(MCPServer[Any]):
    """Lists the resources of the newest runs."""

    def __init__(self, service: DebateService) -> None:
        about = "; ".join(f"{name} ({what})" for name, what in panels())
        super().__init__(
            "maci", version=__version__, instructions=f"{_INSTRUCTIONS}\nPanels: {about}.", log_level="WARNING"
        )
        self._service = service

    async def list_resources(self) -> list[Resource]:
        found = await asyncio.to_thread(self._service.history.search, most=_LISTED)
        return [
            Resource(
                uri=f"maci://runs/{row.id}/{kind}",
                name=f"{row.title or row.question or row.id} ({kind})",
                mime_type=mime,
            )
            for row in found.rows
            for kind, mime in (("report", "text/markdown"), ("transcript", "application/x-ndjson"))
        ]


def server(service: DebateService) -> MCPServer[Any]:
    """The server with its tools and resources."""
    door = _Server(service)
    reading = ToolAnnotations(read_only_hint=True)

    async def hold(
        ctx: Context[Any, Any], case: Callable[[], Case], choice: Callable[[], PanelChoice], settings: Any
    ) -> RunResult:
        with _errors():
            return await _held(service.debate(case(), choice(), settings, _Progress(ctx)))

    @door.tool()
    async def debate(
        ctx: Context[Any, Any], question: Question, outcomes: Outcomes = None, context: Known = "", evidence: Texts = None,
        panel: Panel = None, budget_tokens: Tokens = None, budget_usd: Dollars = None,
        max_rounds: Rounds = None, seed: Annotated[int, Field(ge=0)] = 0,
    ) -> RunResult:  # fmt: skip
        """Have a panel of agents debate a question; the result has a probability for each outcome."""
        return await hold(
            ctx, lambda: _case(question, outcomes, context, evidence), lambda: _choice(panel, budget_tokens, budget_usd, seed),
            {} if max_rounds is None else {"max_rounds": max_rounds},
        )  # fmt: skip

    @door.tool()
    async def ask(
        ctx: Context[Any, Any], question: Question, outcomes: Outcomes = None, context: Known = "", evidence: Texts = None,
        panel: Panel = None, budget_tokens: Tokens = None, budget_usd: Dollars = None, seed: Annotated[int, Field(ge=0)] = 0,
    ) -> RunResult:  # fmt: skip
        """Answer a question by one agent, a vote or a debate: as far as it pays."""
        return await hold(
            ctx, lambda: _case(question, outcomes, context, evidence), lambda: _choice(panel, budget_tokens, budget_usd, seed), ASKING
        )  # fmt: skip

    @door.tool(annotations=reading)
    async def plan(run: Run, top: Annotated[int | None, Field(ge=1, le=50)] = None) -> PlanPage:
        """What to find out next after a debate: questions, tests and queries, by what each is expected to bring."""
        with _errors():
            return await asyncio.to_thread(service.plan, run, top)

    @door.tool(name="audit")
    async def audit_judges(
        ctx: Context[Any, Any], run: Annotated[str | None, Field(description="score the arguments of this run")] = None,
        panel: Annotated[str | None, Field(description="audit the judges of this panel; default: the embedded ones")] = None,
        arguments: Annotated[int, Field(ge=2, le=500)] = 30, budget_tokens: Tokens = None, budget_usd: Dollars = None,
    ) -> AuditResult:  # fmt: skip
        """Audit judges: do they agree, and does anything but the argument move their scores?"""
        with _errors():
            choice = _choice(panel, budget_tokens, budget_usd)
            return await _held(service.audit(run, choice, arguments, _Progress(ctx)))

    @door.tool(annotations=reading)
    async def search_runs(
        query: Annotated[str, Field(description="words that all have to occur; empty finds everything", max_length=1000)] = "",
        start: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0, most: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> RunList:  # fmt: skip
        """Find recorded debates, newest first."""
        with _errors():
            return await asyncio.to_thread(service.search, query, start, most)

    async def resource(made: Callable[[], str]) -> str:
        try:
            return await asyncio.to_thread(made)
        except MaciError as error:
            raise ResourceNotFoundError(str(error)) from error

    @door.resource("maci://runs/{run}/transcript", mime_type="application/x-ndjson")
    async def transcript(run: str) -> str:
        """Every event of a debate, one a line."""
        return await resource(lambda: service.path(run).read_text(encoding="utf-8"))

    @door.resource("maci://runs/{run}/report", mime_type="text/markdown")
    async def report(run: str) -> str:
        """A debate as a note: the verdict first."""
        return await resource(lambda: service.report(run, html=False))

    @door.resource("maci://runs/{run}/report.html", mime_type="text/html")
    async def report_page(run: str) -> str:
        """A debate as a page."""
        return await resource(lambda: service.report(run, html=True))

    @door.resource("maci://panels", mime_type="application/json")
    async def panels_here() -> str:
        """The panels that can be chosen."""
        return json.dumps([{"name": name, "about": about} for name, about in panels()], ensure_ascii=False)

    return door


def serve(service: DebateService) -> None:
    """Serve over standard input and output until the client leaves or a signal ends it; debates under way stop and can be resumed."""
    try:
        with _leaving_on_signals() as left:
            server(service).run("stdio")
    finally:
        service.history.close()
    if left.is_set():
        raise KeyboardInterrupt


@contextmanager
def _leaving_on_signals() -> Iterator[threading.Event]:
    """A signal counts as the client leaving: standard input comes through a pipe, which then ends.

    The server reads in a thread that nothing else can wake, so an interrupt would wait for the client. Where the client does not read
    what it is answered either, the process ends all the same: what is recorded is kept.
    """
    client, (inner, end) = os.dup(0), os.pipe()
    os.dup2(inner, 0)
    os.close(inner)
    outer, left = os.fdopen(end, "wb", buffering=0), threading.Event()

    def pump() -> None:
        with outer, suppress(OSError, ValueError):  # it has been closed
            while data := os.read(client, 1 << 16):
                while data:
                    data = data[outer.write(data) :]

    def leave(*_: object) -> None:
        if not left.is_set():
            left.set()
            last = threading.Timer(_PATIENCE, os._exit, (130,))
            last.daemon = True
            last.start()
        outer.close()

    ours = [each for each in signal.Signals if each.name in ("SIGINT", "SIGTERM", "SIGHUP")]
    ours = [
        each for each in ours if each.name != "SIGHUP" or signal.getsignal(each) != signal.SIG_IGN
    ]  # ignored: `nohup`
    before = {each: signal.signal(each, leave) for each in ours}
    threading.Thread(target=pump, daemon=True).start()
    try:
        yield left
    finally:
        os.dup2(client, 0)
        for each, handler in before.items():
            signal.signal(each, handler)
