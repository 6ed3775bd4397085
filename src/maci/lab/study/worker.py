"""Answers keys of a study in one process: loads the data, has the tables set, asks the methods.

In a recorded panel (:class:`RecordedPanel`) every agent gives the recorded answer of its model. A recorded letter is a belief of 1;
an abstention is a turn that failed. Where a debate was recorded, its turns follow the opening; otherwise a model repeats its answer,
since it is not known what it would have answered to others. There are no judges.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

from maci.agents.agent import Agent
from maci.agents.anchor import TurnRequest
from maci.agents.argument import Argument, Turn
from maci.cases.case import Case, redact
from maci.cases.labels import Comparing
from maci.config import Budget, Config, unplanned
from maci.errors import BadReply, BudgetError, ConfigError, InputError, MissingExtra, is_fatal, said
from maci.evidence.encode import Encoder, load_encoder
from maci.evidence.span import CaseEvidence
from maci.lab.datasets import RecordedTurn, Task, TaskItem, find, load, load_own
from maci.lab.datasets.files import digest
from maci.lab.methods import build
from maci.lab.methods.maci import changed
from maci.lab.methods.method import Bench, Method, MethodAnswer, Setting, Unfit
from maci.lab.study.learning import LESSONS, Course, DevLesson, course, learn, learn_stages
from maci.lab.study.spec import Data
from maci.lab.study.study import Meta, PlannedMethod, Row, RowKey, Status, Study, evidence_of, fingerprint, unread
from maci.llm.budget import RunLedger
from maci.llm.catalogue import family, no_price
from maci.llm.offline import staying_here
from maci.llm.usage import Usage
from maci.seating.models import Models
from maci.seating.project import data_folder
from maci.seating.shelf import remembering
from maci.seating.table import Table
from maci.seating.tables import Tables

if TYPE_CHECKING:
    from maci.llm.models import House


_GROUPS = 2
"""Tasks with their panels that are kept: one ends while the next begins."""


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """One task with its panel and methods, shared by all answers on it."""

    task: Task
    items: Mapping[tuple[str, str], TaskItem]
    bench: Bench
    methods: Mapping[str, tuple[PlannedMethod, Method]]
    courses: dict[str, Course | None] = field(default_factory=dict)
    """Of methods that were asked: how their schedule is taught, where it learns."""
    panels: dict[tuple[str, bool], Setting] = field(default_factory=dict)
    """Of methods with an encoder of their own."""


def limited(items: Sequence[TaskItem], limit: int | None, seed: int) -> tuple[TaskItem, ...]:
    """At most ``limit`` items, drawn by their ids alone: more with a higher limit, never others."""
    if limit is None or len(items) <= limit:
        return tuple(items)
    drawn = {i.id for i in sorted(items, key=lambda i: hashlib.sha256(f"{seed}/{i.id}".encode()).digest())[:limit]}
    return tuple(item for item in items if item.id in drawn)


class Worker:
    """Answers keys; nothing it does depends on which, or in what order."""

    def __init__(self, study: Study, ledger: RunLedger | None = None, models: Models | None = None) -> None:
        """``models`` instead of the providers': a rehearsal's."""
        self._given = models
        self.study, self._ledger, self._config = study, ledger, study.config
        self._entries = {entry.name: entry for entry in study.spec.data}
        self._groups: OrderedDict[tuple[str, int], TaskGroup] = OrderedDict()
        self._encoders: dict[str, Encoder] = {}
        self._house: House | None = None

    # --- what there is to do --------------------------------------------------------------------------------------------------

    def plan(self) -> Meta:
        """Everything the study asks for. Data that cannot be had and panels that cannot sit are refused here."""
        spec = self.study.spec
        items: dict[str, dict[int, dict[str, tuple[str, ...]]]] = {}
        methods: dict[str, tuple[PlannedMethod, ...]] = {}
        notes: dict[str, tuple[str, ...]] = {}
        for name, entry in self._entries.items():
            for seed in spec.seeds:
                task = self._task(entry, seed)
                parts = {part: limited(getattr(task, part), spec.limit, seed) for part in spec.parts}
                if not any(parts.values()):
                    raise InputError(
                        f"{name} has no items in {' and '.join(spec.parts)}: choose other `parts` or options"
                    )
                items.setdefault(name, {})[seed] = {part: tuple(i.id for i in some) for part, some in parts.items()}
                notes.setdefault(name, task.notes)
            first = self.group(name, spec.seeds[0])  # a table is set, to see that it can be
            methods[name] = tuple(described for described, _ in first.methods.values())
            notes[name] = (*notes[name], *self._unread(first))
        files = {name: self._files(entry) for name, entry in self._entries.items()}
        identity = {**self.study.identity, "files": files}
        return Meta(
            spec=spec, identity=identity, fingerprint=fingerprint(identity), items=items, methods=methods, notes=notes
        )

    async def check(self) -> None:
        """Refuse methods that cannot use these agents. With an empty purse they come as far as the first call, and make none."""
        broke = self._config.model_copy(update={"budget": Budget(tokens=0)})
        seed = self.study.spec.seeds[0]
        for data in self._entries:
            group = self.group(data, seed)
            case = replace(next(iter(group.items.values())).case, gold=None, hidden={})
            bench = replace(group.bench, config=broke, ledger=None)
            for name, (_, method) in group.methods.items():
                try:
                    await method.answer(case, bench, seed)
                except Unfit as error:
                    raise Unfit(f"{name} cannot be used on {data}: {error}") from error
                except Exception:  # noqa: S112 - it is told when the answer is really asked for
                    continue

    def _task(self, entry: Data, seed: int) -> Task:
        if entry.set is not None:
            task = load(entry.set, self.study.folder, seed=seed, options=entry.options)
        else:
            assert entry.file is not None
            task = load_own(entry.file, columns=entry.map, seed=seed, **entry.options)
        return self._shown(task) if self._config.evidence.redact else task

    def _shown(self, task: Task) -> Task:
        """The task without what the settings keep from everybody; cases keep the ids that rows are found by, and say so."""

        def shown(item: TaskItem) -> TaskItem:
            case = redact(item.case, self._config.evidence.redact)
            gone = tuple(field for field in case.redacted if field != "ids")
            return replace(item, case=replace(case, id=item.case.id, redacted=gone))

        return replace(task, dev=tuple(map(shown, task.dev)), test=tuple(map(shown, task.test)))

    def _unread(self, group: TaskGroup) -> tuple[str, ...]:
        panel, seated = group.bench.panel, self.study.panel
        readers = seated is None or seated.name == "readers"
        return unread(panel, group.items.values()) if isinstance(panel, Tables) and readers else ()

    def _files(self, entry: Data) -> dict[str, str | None]:
        """The files of a data set with their SHA-256."""
        if entry.file is not None:
            return {entry.file.name: digest(entry.file)}
        assert entry.set is not None
        found = find(entry.set)
        if not (needed := found.needed(found.choose(entry.options))):
            return {}
        return {state.file.path: state.sha256 for state in found.state(data_folder(self.study.folder), needed)}

    def group(self, data: str, seed: int) -> TaskGroup:
        """A task with its panel and methods; the last few are kept."""
        if (data, seed) in self._groups:
            self._groups.move_to_end((data, seed))
            return self._groups[(data, seed)]
        task = self._task(self._entries[data], seed)
        items: dict[tuple[str, str], TaskItem] = {
            (part, item.id): item for part in self.study.spec.parts for item in getattr(task, part)
        }
        panel = self._panel(task, self._config)
        agents = self._seated(panel, next(iter(items.values())).case, seed)
        methods = {
            name: (
                PlannedMethod(name=name, use=own.use, of=own.label, each=own.each, options=options),
                build(own.use, options),
            )
            for own in self.study.spec.methods
            for name, options in own.expand(agents).items()
        }
        bench = Bench(panel=panel, config=self._taught(data, seed), ledger=self._ledger)
        group = self._groups[(data, seed)] = TaskGroup(task, items, bench, methods)
        if len(self._groups) > _GROUPS:
            self._groups.popitem(last=False)
        return group

    # --- what is learnt before ------------------------------------------------------------------------------------------------

    async def learn(
        self,
        known: Mapping[str, Mapping[int, DevLesson]],
        told: Callable[[str, int, int], object] = lambda data, seed, openings: None,
    ) -> dict[str, dict[int, DevLesson]]:
        """What dev teaches about the agents of every data set and seed that is not among ``known``; with what is.

        ``told`` hears of each before it begins, with how many openings are asked for.
        """
        found = {data: dict(lessons) for data, lessons in known.items()}
        for data in self._entries:
            for seed in self.study.spec.seeds:
                if seed not in found.setdefault(data, {}):
                    group = self.group(data, seed)
                    items = limited(group.task.dev, self.study.spec.limit, seed)
                    if not items:
                        raise InputError(f"[learn] agents = true, but {data} has no dev items: leave it out")
                    asked = sum(item.case.gold is not None for item in items)
                    told(data, seed, asked * len(self._seated(group.bench.panel, items[0].case, seed)))
                    lesson = await learn(items, group.bench, seed)
                    if self.study.spec.learn.triage:
                        lesson = await learn_stages(lesson, items, group.bench, seed)
                    found[data][seed] = lesson
        return found

    def teach(self, learnt: Mapping[str, Mapping[int, DevLesson]]) -> None:
        """Answer with these settings from now on."""
        self.study = replace(self.study, learnt=learnt)
        for (data, seed), group in self._groups.items():
            bench = replace(group.bench, config=self._taught(data, seed))
            self._groups[(data, seed)] = replace(group, bench=bench, courses={})

    def _taught(self, data: str, seed: int) -> Config:
        lesson = self.study.learnt.get(data, {}).get(seed)
        return self._config if lesson is None else changed(self._config, lesson.taught)

    def _seated(self, panel: Setting, case: Case, seed: int) -> tuple[str, ...]:
        """The agents' names, from a table that is set to see that it can be."""
        return tuple(agent.name for agent in panel.table(case, seed=seed).agents)

    def _bench(self, group: TaskGroup, method: Method) -> Bench:
        """What a method answers with: the group's, or with another φ where its settings name one."""
        own, usual = (c.evidence for c in (changed(group.bench.config, method.settings), group.bench.config))
        phi = own.encoder, own.adapt
        if phi == (usual.encoder, usual.adapt):
            return group.bench
        if phi not in group.panels:
            group.panels[phi] = self._panel(group.task, changed(self._config, {"encoder": phi[0], "adapt": phi[1]}))
        return replace(group.bench, panel=group.panels[phi])

    def _panel(self, task: Task, config: Config) -> Setting:
        name = config.evidence.encoder
        if name not in self._encoders:
            self._encoders[name] = remembering(load_encoder(name, offline=self.study.offline), None)
        phi = self._encoders[name]
        if recorded := self.study.spec.panel.recorded:
            chosen = recorded if isinstance(recorded, tuple) else None
            return RecordedPanel((*task.dev, *task.test), phi, models=chosen)
        panel, shared = self.study.panel or "readers", evidence_of(task.evidence)
        return Tables(panel, phi, unplanned(config), self._models(), shared=shared)

    def _models(self) -> Models | None:
        if self.study.panel is None or self._given is not None:
            return self._given
        if self._house is None:
            from maci.llm.cache import ResponseCache
            from maci.llm.models import House

            cache = None if self.study.cache is None else ResponseCache(self.study.cache)
            self._house = House(cache=cache, options=self.study.panel.models, offline=self.study.offline)
            if self.study.spec.budget.usd is not None:  # can only be kept where prices are known
                for name in self.study.panel.seated:
                    if self._house.model(name).price is None:
                        raise no_price(name)
        return self._house

    # --- answering ------------------------------------------------------------------------------------------------------------

    async def answer(self, key: RowKey) -> Row | None:
        """The row of a key; ``None`` where the run's budget ended it, so that a run with more can answer it in full.

        A method that cannot answer makes a failed row. What would end every answer is raised.
        """
        group = self.group(key.data, key.seed)
        item = group.items[(key.part, key.item)]
        _, method = group.methods[key.method]
        began = monotonic()
        try:
            bench = self._bench(group, method)
            if key.method not in group.courses:
                dev = limited(group.task.dev, LESSONS, key.seed)
                group.courses[key.method] = course(method, bench, dev, key.seed)
            with staying_here(self.study.offline):
                if (taught := group.courses[key.method]) is not None:
                    answer = await taught.answer(item, key.part)
                else:
                    case = replace(item.case, gold=None, hidden={})
                    answer = await method.answer(case, bench, key.seed)
        except Exception as error:
            if is_fatal(error) or isinstance(error, ConfigError | MissingExtra):  # no other answer could do better
                raise
            if isinstance(error, BudgetError):
                answer = MethodAnswer(belief=None, reason=str(error), out_of_budget=True)
            else:
                answer = MethodAnswer(belief=None, reason=said(error))
        await asyncio.sleep(0)  # readers never wait: others get their turn here
        if answer.out_of_budget and self._ledger is not None and self._ledger.reached is not None:
            return None
        phi = self._encoders.get(group.bench.config.evidence.encoder)
        return row_of(key, item, answer, monotonic() - began, phi)

    async def aclose(self) -> None:
        """Let go of the models."""
        if self._house is not None:
            house, self._house = self._house, None
            await house.aclose()


def row_of(key: RowKey, item: TaskItem, answer: MethodAnswer, seconds: float, encoder: Encoder | None = None) -> Row:
    """The row of an answer that took so many seconds; the truth is looked for as the method compared names, embedded by ``encoder``."""
    space = item.case.outcomes
    by = _with_truth(item.case, answer, encoder)
    status: Status = "done" if answer.belief is not None else "budget" if answer.out_of_budget else "failed"
    return Row(
        **key._asdict(),
        gold=item.case.gold_among(answer.belief or space.start, by),
        exact=_exact(item.case, answer, by),
        group=item.group,
        raters=dict(item.raters),
        positions=dict(zip(space.labels, space.positions, strict=True)) if space.kind == "ordered" else {},
        status=status,
        reason=answer.reason,
        belief=answer.belief,
        agreement=answer.agreement,
        q0=answer.course[0].q if answer.course else None,
        d0=answer.course[0].d if answer.course else None,
        calls=answer.calls,
        judge_calls=answer.judge_calls,
        rounds=answer.rounds,
        usage=answer.usage,
        judge_usage=answer.judge_usage,
        seconds=round(seconds, 6),
        course=answer.course,
        harm=answer.harm,
    )


def _with_truth(case: Case, answer: MethodAnswer, encoder: Encoder | None) -> Comparing:
    """What a method compared names by, with the true outcome embedded as well: whoever answered was never told it."""
    if encoder is None or case.gold is None or case.outcomes.kind != "open" or not answer.naming.vectors:
        return answer.naming
    vectors = {**answer.naming.vectors, case.gold: encoder.encode([case.gold])[0]}
    return replace(answer.naming, vectors=vectors)


def _exact(case: Case, answer: MethodAnswer, by: Comparing) -> bool | None:
    """Whether an open answer is the true outcome itself."""
    if answer.belief is None or case.outcomes.kind != "open":
        return None
    top = max(answer.belief, key=lambda y: (answer.belief or {})[y])
    return case.gold_is(top, answer.narrower.get(top, {}), by)


# --- recorded answers ----------------------------------------------------------------------------------------------------------


class RecordedAgent(Agent):
    """One model's recorded answers to one case."""

    free = True

    def __init__(self, name: str, said: Sequence[RecordedTurn]) -> None:
        self.name, self.family = name, family(name)
        self._said = said

    def ceiling(self, request: TurnRequest) -> int:
        """What the recorded turn took."""
        return self._usage(self._at(request.round)).tokens

    def _at(self, round: int) -> RecordedTurn:
        return self._said[min(round, len(self._said) - 1)]

    def _usage(self, said: RecordedTurn) -> Usage:
        return Usage(prompt=said.prompt_tokens or 0, generated=said.completion_tokens or 0, free=True)

    async def turn(self, request: TurnRequest) -> Turn:
        """What is on record for this round; the last of it once there is no more."""
        said = self._at(request.round)
        if said.answer is None:
            raise BadReply(f"{self.name} is on record without an answer that could be read")
        reasons = (said.text,) if said.text else ()
        argument = Argument(claim=f"The answer is {said.answer}.", reasons=reasons, outcome=said.answer)
        return Turn(belief={said.answer: 1.0}, arguments=(argument,), usage=self._usage(said))


class RecordedPanel:
    """Sets the table for items of one task; all have the same models."""

    def __init__(self, items: Sequence[TaskItem], encoder: Encoder, *, models: Sequence[str] | None = None) -> None:
        self._items = {item.case.id: item for item in items}
        self._encoder = encoder
        on_record = next((tuple(i.recorded.openings) for i in items if i.recorded is not None), ())
        if not on_record:
            raise ConfigError("panel.recorded: this data set has no recorded answers: name a panel or agents instead")
        if missing := [model for model in models or () if model not in on_record]:
            raise ConfigError(f"panel.recorded names {missing[0]!r}: there are answers of {', '.join(on_record)}")
        self._models = tuple(models or on_record)

    def table(self, case: Case, *, seed: int = 0) -> Table:
        """The recorded models; the seed changes nothing."""
        recorded = self._items[case.id].recorded
        if recorded is None:
            raise ConfigError(f"the case {case.id!r} has no recorded answers")
        absent = RecordedTurn(answer=None)
        agents = [
            RecordedAgent(
                model, (recorded.openings.get(model, absent), *(t for name, t in recorded.turns if name == model))
            )
            for model in self._models
        ]
        return Table(agents=agents, judges=(), evidence=CaseEvidence(case), encoder=self._encoder)
