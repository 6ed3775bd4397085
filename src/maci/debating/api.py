"""A debate in a line of Python: :func:`run`, :func:`arun` and :func:`stream`.

Agents and panels by name take their seats as they do for `maci debate` (:mod:`maci.seating.seating`); agents and judges that are
objects of your own sit down as they are.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from maci.agents.agent import Agent, Judge
from maci.cases.case import Case, Document, is_question, load_case, parse_case, redact
from maci.config import Config, parameters, plugins
from maci.controller.events import Event
from maci.debating.loop import Nowhere, Recorder, debate
from maci.debating.result import FORCE, DebateResult
from maci.errors import InputError, Undecidable
from maci.evidence.corpus import Corpus, is_index
from maci.evidence.encode import Encoder, load_encoder
from maci.evidence.span import CaseEvidence
from maci.files.parse import check_name
from maci.llm.budget import Ledger
from maci.llm.offline import heed_environment, staying_here
from maci.record.transcript import Transcript
from maci.seating.project import with_project
from maci.seating.seating import PanelChoice, Seated, seat_case
from maci.seating.table import Table, opening
from maci.story.outline import forced

Evidence = str | Path | Sequence[str | Path | Document]
"""A file or folder; or a list of texts, documents and paths."""


class Options(TypedDict, total=False):
    """What :func:`run`, :func:`arun` and :func:`stream` take besides the case, its agents and judges."""

    outcomes: Sequence[str] | str
    """What the answer can be, for a question; `open` (the default) leaves it to the agents."""
    context: str
    """What is known, for a question."""
    evidence: Evidence
    """What may be cited, besides what the case brings: a file, a folder, an index of `maci index`, or a list of texts."""
    panel: str
    """A panel by its name, instead of agents."""
    budget: int
    """The most tokens it may spend."""
    budget_usd: float
    """The most dollars it may spend."""
    settings: Mapping[str, Any]
    """Settings by their keys, such as ``{"max_rounds": 3}`` (`maci config` lists them)."""
    profile: str
    config: Config
    """All settings at once, instead of ``settings`` and ``profile``."""
    encoder: Encoder
    """φ, for agents that are objects; others take that of the settings."""
    seed: int
    offline: bool
    """Reach nothing but this machine, and fetch no weights. The rest of the program keeps its connections."""
    ledger: Ledger
    """A ceiling that it shares with other debates, below its own."""
    record: Recorder | str | Path
    """A folder for the transcript, or what takes the events; without it nothing is kept."""


def run(
    case: Case | str | Path,
    agents: Sequence[Agent] | Sequence[str] | None = None,
    judges: Sequence[Judge] | Sequence[str] | None = None,
    *,
    watch: Callable[[Event], object] = lambda event: None,
    **options: Unpack[Options],
) -> DebateResult:
    """Debate a case and return the result, also in a notebook; :func:`arun` says what the parameters are."""
    work = arun(case, agents, judges, watch=watch, **options)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _aside(work)


def _aside(work: Coroutine[Any, Any, DebateResult]) -> DebateResult:
    """Run a coroutine in a thread with an event loop of its own; an interrupt while waiting is an orderly stop."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=_serve, args=(loop, task), name="maci.run", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # Ctrl-C: what is under way is cancelled and on record
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    return task.result()


def _serve(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_settled(task))


async def _settled(task: asyncio.Task[Any]) -> None:
    await asyncio.wait({task})


async def arun(
    case: Case | str | Path,
    agents: Sequence[Agent] | Sequence[str] | None = None,
    judges: Sequence[Judge] | Sequence[str] | None = None,
    *,
    watch: Callable[[Event], object] = lambda event: None,
    **options: Unpack[Options],
) -> DebateResult:
    """Debate a case and return the result; ``watch`` is called with every event.

    ``case`` is a :class:`Case`, a case file, the name of a built-in case, or a question. ``agents`` and ``judges`` are names of models,
    as `maci debate` takes them, or objects of your own; without them the ``panel`` of that name debates, or what the project file says,
    or the embedded readers. ``judges=[]``: nobody scores the arguments. :class:`Options` lists everything else.

    Cancelling the task is an orderly stop: calls under way are cancelled, and what was recorded can be resumed
    (`maci debate --resume --out FOLDER`).
    """
    sat = await _seated(case, agents, judges, options)
    events: list[Event] = []
    async with aclosing(_events(sat, options)) as happened:
        async for event in happened:
            events.append(event)
            watch(event)
    return DebateResult.of(events, _transcript(options.get("record")), sat.skipped)


async def stream(
    case: Case | str | Path,
    agents: Sequence[Agent] | Sequence[str] | None = None,
    judges: Sequence[Judge] | Sequence[str] | None = None,
    **options: Unpack[Options],
) -> AsyncGenerator[Event, None]:
    """The same, event by event as they are recorded; the last is :class:`Finished`. ``DebateResult.of(events)`` is the result.

    Leaving the loop early stops the debate; ``contextlib.aclosing`` around the iterator does so at once.
    """
    sat = await _seated(case, agents, judges, options)
    async with aclosing(_events(sat, options)) as happened:
        async for event in happened:
            yield event


@dataclass(frozen=True, slots=True)
class _Sat:
    seated: Seated
    skipped: tuple[str, ...] = ()


async def _seated(case: Any, agents: Any, judges: Any, options: Options) -> _Sat:
    """The table, set beside the event loop."""
    heed_environment()  # your own agents may open connections too
    with staying_here(options.get("offline", False)):
        return await asyncio.to_thread(_sit_down, case, agents, judges, options)


async def _events(sat: _Sat, options: Options) -> AsyncGenerator[Event, None]:
    """The debate of a table that is set; its record and its models are closed behind it."""
    seated, record = sat.seated, options.get("record")
    path, ledger = _transcript(record), options.get("ledger")
    async with seated.house or nullcontext():
        with nullcontext() if path is None else Transcript.create(path) as kept:
            keeper = kept or (cast(Recorder, record) if record is not None else Nowhere())
            async with aclosing(debate(seated.opened, seated.table, record=keeper, ledger=ledger)) as events:
                while True:
                    with staying_here(options.get("offline", False)):  # not while the caller has the event
                        event = await anext(events, None)
                    if event is None:
                        break
                    yield event


def _transcript(record: Recorder | str | Path | None) -> Path | None:
    if isinstance(record, str | Path):
        return Path(record) / "transcript.jsonl"
    return record.path if isinstance(record, Transcript) else None


def _sit_down(case: Any, agents: Any, judges: Any, options: Options) -> _Sat:
    """The table, set: by name as `maci debate` does, or with the objects that were given."""
    if unknown := sorted(set(options) - set(Options.__annotations__)):
        raise InputError(f"unknown option {unknown[0]!r}: choose among {', '.join(Options.__annotations__)}")
    found, corpus, skipped = _with_evidence(_case(case, options), options.get("evidence", ()))
    named = {name: _names(of, name) for name, of in (("agents", agents), ("judges", judges))}
    if named["agents"] is None and agents is not None:
        if corpus is not None:
            raise InputError("an index is for agents by name: give objects their texts as a list or a folder")
        return _Sat(_own(found, agents, judges, options), skipped)
    if judges is not None and named["judges"] is None:
        raise InputError("judges that are objects need agents that are objects: name both, or make both")
    if agents is not None and "panel" in options:
        raise InputError("give panel or agents, not both: a panel brings its own agents")
    config = options.get("config")
    choice = PanelChoice(
        panel=options.get("panel"), agents=named["agents"], judges=named["judges"], corpus=corpus,
        profile=options.get("profile") if config is None else config.profile,
        sets=[f"{key}={_written(value)}" for key, value in options.get("settings", {}).items()],
        given={**_changed(config), **_budget(options)},
        seed=options.get("seed", 0), offline=options.get("offline", False),
    )  # fmt: skip
    try:
        return _Sat(seat_case(found, with_project(choice)), skipped)
    except Undecidable as error:
        raise Undecidable(f"{error}.{forced(FORCE)}" if error.guess else str(error)) from error


def _own(case: Case, agents: Sequence[Agent], judges: Sequence[Judge] | None, options: Options) -> Seated:
    """A table of objects."""
    if any(isinstance(judge, str) for judge in judges or ()):
        raise InputError("agents that are objects need judges that are objects: name both, or make both")
    if "panel" in options:
        raise InputError("give panel or agents, not both: a panel brings its own agents")
    config = _own_config(options, scored=bool(judges))
    encoder = options.get("encoder") or load_encoder(config.evidence.encoder, offline=options.get("offline", False))
    case = redact(case, config.evidence.redact)
    table = Table(agents=agents, judges=judges or (), evidence=CaseEvidence(case), encoder=encoder)
    return Seated(opening(case, table, config, seed=options.get("seed", 0)), table)


def _own_config(options: Options, *, scored: bool) -> Config:
    """The settings of a table of objects."""
    config, more = options.get("config"), _budget(options) | ({} if scored else {"crit.enabled": False})
    if config is not None and not more and not options.get("settings"):
        plugins.name_schedule(config.dials.schedule)
        return config
    profile = options.get("profile") if config is None else config.profile
    sets = [f"{key}={_written(value)}" for key, value in options.get("settings", {}).items()]
    return PanelChoice(profile=profile, sets=sets, given={**_changed(config), **more}).settled()[1]


def _changed(config: Config | None) -> dict[str, Any]:
    """The settings of a configuration, by their keys."""
    return {} if config is None else {row.key: row.value for row in parameters(config)}


def _budget(options: Options) -> dict[str, Any]:
    keys = {"budget.tokens": options.get("budget"), "budget.usd": options.get("budget_usd")}
    return {key: value for key, value in keys.items() if value is not None}


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def _names(given: Any, what: str) -> str | None:
    """Names as an option has them; ``None`` where there are none, or objects."""
    if given is None or (not isinstance(given, str) and any(not isinstance(one, str) for one in given)):
        if given is not None and any(isinstance(one, str) for one in given):
            raise InputError(f"{what} are names or objects, not both")
        return None
    named = [given] if isinstance(given, str) else list(given)
    if not named and what == "agents":
        raise InputError("agents is empty: name at least two, or leave it out")
    return ",".join(named) or "none"


def _case(given: Any, options: Options) -> Case:
    """The case: one that is made, a file or a built-in one; other words are a question."""
    asked = {name for name in ("outcomes", "context") if name in options}
    if isinstance(given, str) and (asked or is_question(given)):
        outcomes = options.get("outcomes", "open")
        data = {"question": given, "context": options.get("context", ""), "outcomes": outcomes}
        return parse_case(
            data | {"outcomes": outcomes if isinstance(outcomes, str) else list(outcomes)}, "the question"
        )
    if asked:
        raise InputError(f"{' and '.join(sorted(asked))}: a case brings its own; give them with a question")
    if isinstance(given, Case):
        return given
    if not isinstance(given, str | Path):
        raise InputError(
            f"a case is a Case, a file, a built-in case or a question, not {type(given).__name__}: "
            "write maci.Case(question=…, outcomes=…)"
        )
    return load_case(str(given))


def _with_evidence(case: Case, given: Evidence) -> tuple[Case, Path | None, tuple[str, ...]]:
    """The case with more evidence, or the index it is in; and what was left out."""
    one = isinstance(given, str | Path)
    if one:
        check_name(Path(cast(str, given)))
    if one and not Path(cast(str, given)).exists():
        raise InputError(f"evidence is {str(given)!r:.60}: there is no such file or folder; give texts as a list")
    if one and is_index(Path(cast(str, given))):
        return case, Path(cast(str, given)), ()
    if not one and (isinstance(given, bytes | Mapping) or not isinstance(given, Iterable)):
        raise InputError(f"evidence is {given!r:.60}: give a file, a folder, or a list of texts, documents and paths")
    documents, skipped = list[Document](), list[str]()
    for place, item in enumerate([Path(cast(str, given))] if one else cast(Iterable[Any], given)):
        if not isinstance(item, str | Path | Document):
            raise InputError(f"evidence[{place}] is {item!r:.60}: give a text, a Document or a path")
        if isinstance(item, Path):
            corpus = Corpus.read(item)
            documents += [Document(span.text, source=span.source, label=span.label) for span in corpus.spans]
            skipped += [f"not read: {each}" for each in corpus.skipped]
        else:
            documents.append(item if isinstance(item, Document) else Document(item))
    return replace(case, evidence=(*case.evidence, *documents)), None, tuple(skipped)
