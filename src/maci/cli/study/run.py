"""``maci study run``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.status import Status
from rich.table import Table
from rich.text import Text

from maci.cli.models import fetch
from maci.cli.options import BudgetOptions, OutputOptions, ReplyOptions
from maci.cli.output import echo, interruptible, publish, same_command
from maci.cli.study import StudyOptions
from maci.cli.terminal import ProgressBars
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.lab.study.run import REHEARSED, RunOutcome, RunProgress, StudyPlan, planned, run_study
from maci.lab.study.spec import Quick, RunBudget, StudySpec, load_spec
from maci.lab.study.store import open_store
from maci.lab.study.study import NO_EVIDENCE, Meta, Row, Study, resolve
from maci.llm.models import House
from maci.llm.usage import dollars
from maci.paths import replies_file
from maci.seating.seating import check_models
from maci.seating.spec import PanelSpec
from maci.story.words import plural

OUT = Path("studies-out")
_FAILURES = 5
"""Failures that are shown; all of them are in the store."""


def run(options: StudyOptions, budget: BudgetOptions, replies: ReplyOptions, output: OutputOptions) -> None:
    """Run a study, or go on with it."""
    spec = _with_budget(load_spec(options.spec, quick=options.quick, limit=options.limit), budget)
    if options.engine not in {"local", "ray"}:
        raise InputError(f"--engine {options.engine}: choose local or ray")
    if options.quick and spec.quick == Quick() and not output.silent:
        what = "nothing" if options.out else f"only the results folder, {spec.name}-quick"
        echo(f"{options.spec} has no [quick]: --quick changes {what}", err=True)
    out = options.out or OUT / (f"{spec.name}-quick" if options.quick else spec.name)
    if options.dry_run:
        show_plan(asyncio.run(planned(_study(spec, options, replies), out, options.store)), json=output.json)
        return
    study = _study(spec, options, replies)
    if study.panel is not None:
        _ready(study.panel, replies, output)
    where = out if options.store is None else None
    store = open_store(out, options.store, name=out.name)
    view = StudyView(plain=output.plain, silent=output.silent)
    again = same_command("study")
    with (
        interruptible(f"every finished answer is kept in {store.where}. Continue with: {again}"),
        closing(store),
        closing(view),
    ):
        outcome = asyncio.run(
            run_study(
                study,
                store,
                engine="ray" if options.engine == "ray" else "local",
                jobs=options.jobs,
                address=options.address,
                retry_failed=options.retry_failed,
                shared=options.store is not None,
                learning=view.learning,
                begun=view.begin,
                watch=view.row,
            )
        )
    _tell(outcome, store.where, where, output, again)


def _with_budget(spec: StudySpec, budget: BudgetOptions) -> StudySpec:
    given = {"tokens": budget.budget_tokens, "usd": budget.budget_usd}
    chosen = {**spec.budget.model_dump(), **{k: v for k, v in given.items() if v is not None}}
    return spec.model_copy(update={"budget": RunBudget(**chosen)})


def _study(spec: StudySpec, options: StudyOptions, replies: ReplyOptions) -> Study:
    return Study(
        spec=spec,
        panel=resolve(spec),
        folder=None if options.data is None else options.data.resolve(),
        cache=None if replies.no_cache else (replies.cache or replies_file()).resolve(),
        offline=replies.offline,
    )


def _ready(panel: PanelSpec, replies: ReplyOptions, output: OutputOptions) -> None:
    """Names, keys and weights of models are looked at before anything is sent."""
    house = House(options=panel.models, offline=replies.offline)
    check_models(panel, house, partial(fetch, offline=replies.offline, quiet=output.silent))


def _tell(outcome: RunOutcome, where: str, folder: Path | None, output: OutputOptions, again: str) -> None:
    """What came of it, and errors where nothing did."""
    progress = outcome.progress
    publish(_summary(outcome, where), [] if output.quiet else _lines(progress), json=output.json)
    if outcome.stopped == "budget":
        spent = f"{outcome.spent.tokens:,} tokens, ${outcome.spent.usd:.4f} by all runs together"
        said = f"the run's budget is used up ({spent}), {progress.left} of {progress.planned} answers are left"
        more = "the same command with a higher --budget-tokens or --budget-usd continues"
        if not outcome.answered:
            raise BudgetError(f"no answer: {said}; {more}")
        echo(f"Stopped: {said}; {more}.", err=True)
    elif progress.planned and not outcome.answered:
        why = (
            progress.failures[0][1]
            if progress.failures
            else "the ceiling of one answer came first ([set] budget.tokens)"
        )
        raise EnvironmentError_(
            f"none of the {progress.planned} answers came; the first: {why}. Then: {again} --retry-failed"
        )
    if not output.json and not output.quiet and folder is not None:
        echo(f"Rows: {where}. Read them with: maci study report {folder}")


def _summary(outcome: RunOutcome, where: str) -> dict[str, Any]:
    progress = outcome.progress
    return {
        "name": outcome.meta.spec.name,
        "store": where,
        "planned": progress.planned,
        "answered": outcome.answered,
        "new": progress.new,
        "failed": len(progress.failures),
        "unanswered": progress.unanswered,
        "left": progress.left,
        "stopped": outcome.stopped or None,
        "tokens": outcome.spent.tokens,
        "usd": outcome.spent.usd,
        "accuracy": {name: tally.accuracy for name, tally in progress.methods.items()},
        "accuracy_by_data": {
            data: {name: tally.accuracy for name, tally in tallies.items()}
            for data, tallies in progress.by_data.items()
        },
        "failures": [{**key._asdict(), "reason": reason} for key, reason in progress.failures],
    }


def _lines(progress: RunProgress) -> list[str]:
    """A short account; the tables are the report's."""
    found = [f"{progress.planned - progress.left} of {progress.planned} answers, {progress.new} of them new."]
    width = max((len(name) for name in progress.methods), default=0)
    for data, tallies in progress.by_data.items():
        some = {name: tally for name, tally in tallies.items() if tally.accuracy is not None}
        if some:
            found.append(f"Right on the test items of {data}, not calibrated:")
        for name, tally in some.items():
            found.append(f"  {name:<{width}}  {tally.right} of {tally.n} ({100 * tally.right / tally.n:.0f} %)")
    if progress.failures:
        found.append(f"{len(progress.failures)} failed and are not scored (--retry-failed tries them again):")
        found += [f"  {'/'.join(map(str, key))}: {why}" for key, why in progress.failures[:_FAILURES]]
        if len(progress.failures) > _FAILURES:
            found.append(f"  … and {len(progress.failures) - _FAILURES} more")
    if progress.unanswered:
        found.append(f"{progress.unanswered} had no answer within the ceiling of one answer, and are not scored.")
    return found


def show_plan(plan: StudyPlan, *, json: bool) -> None:
    """Print what a study would do and cost."""
    parts = [{**asdict(part), "left": part.left} for part in plan.parts]
    total = {"tokens": round(plan.tokens), "usd": plan.usd}
    publish({**asdict(plan), "parts": parts, "expected": total}, _page(plan), json=json)


def _page(plan: StudyPlan) -> Iterator[str]:
    total, there = sum(p.answers for p in plan.parts), sum(p.there for p in plan.parts)
    methods = len({p.method for p in plan.parts})
    sizes = (len(plan.items), "data set"), (methods, "method"), (len(plan.seeds), "seed")
    yield f"{plan.name}: {' × '.join(plural(*size) for size in sizes)}; nothing was sent or written."
    for data, parts in plan.items.items():
        yield f"  {data}: " + ", ".join(f"{n:,} {part}" for part, n in parts.items()) + " items over all seeds"
    yield f"In {plan.store}: {there:,} of {total:,} answers."
    width = max(len(p.method) for p in plan.parts)
    yield "To do, and what one answer takes:"
    for data in plan.items:
        yield f"  {data}"
        for p in (part for part in plan.parts if part.data == data):
            cost = "" if not p.usd else f", {dollars(p.usd)}"
            judges = f" + {p.judge_calls:.0f} of judges" if p.judge_calls else ""
            each = f"{plural(round(p.calls), 'call')}{judges}, {p.tokens:,.0f} tokens{cost}" if p.left else "there"
            yield f"    {p.method:<{width}}  {p.left:>7,}  {p.note or each}"
    if plan.openings:
        yield f"Before that, {plan.openings:,} openings on dev to learn from, about {plan.opening_tokens:,.0f} tokens."
    left = sum(p.left for p in plan.parts)
    calls = sum(p.left * (p.calls + p.judge_calls) for p in plan.parts) + plan.openings
    price = "" if plan.usd is None else f", {dollars(plan.usd)}" if plan.usd else ", free"
    yield f"In all about {calls:,.0f} calls and {plan.tokens:,.0f} tokens{price}."
    yield from _ceilings(plan)
    if plan.unpriced:
        yield f"No price is known for {', '.join(plan.unpriced)}: give one in [panel.models]."
    yield f"No answer takes more than {plan.ceiling:,} tokens ([set] budget.tokens): at most {left * plan.ceiling:,} in all."
    how = (
        " with stand-ins that write filler: real debates end sooner or later, and openings come from the response cache"
    )
    yield f"Each method was rehearsed on {REHEARSED} cases of each data set{how if plan.models else ''}."


def _ceilings(plan: StudyPlan) -> Iterator[str]:
    for kind, ceiling, expected in (
        ("tokens", plan.budget_tokens, plan.tokens + plan.spent_tokens),
        ("usd", plan.budget_usd, plan.usd),
    ):
        if ceiling is not None and expected is not None:
            enough = (
                "reaches for it" if expected <= ceiling else "may end it early; the same command with more continues"
            )
            yield f"The run's budget, {ceiling:,} {kind}, {enough}."


_NARROW = 60
"""Columns below which headings are short."""


class StudyView:
    """Follows a run; all of it on standard error."""

    def __init__(self, *, plain: bool, silent: bool) -> None:
        self._progress = ProgressBars(plain=plain, silent=silent, more=self._drawn)
        self._waiting: Status | None = None
        self._tally: RunProgress | None = None

    def learning(self, data: str, seed: int, openings: int) -> None:
        """What dev is asked before the first answer: a spinner on a terminal, a line elsewhere."""
        said = f"{data}, seed {seed}: learning from {openings:,} dev openings"
        if not self._progress.live:
            self._progress.say(said)
        elif self._waiting is None:
            self._waiting = self._progress.console.status(Text(said))
            self._waiting.start()
        else:
            self._waiting.update(Text(said))

    def begin(self, meta: Meta, progress: RunProgress) -> None:
        """What is planned, and what is there already."""
        self._learnt()
        self._tally = progress
        on = f", {progress.there} of them are there" if progress.there else ""
        self._progress.say(f"{meta.spec.name}: {progress.planned} answers{on}")
        for entry in meta.spec.data:  # what is known of a public set is in the report
            for note in meta.notes.get(entry.name, ()):
                if entry.file is not None or note.startswith(NO_EVIDENCE):
                    shown = note.removeprefix(f"{entry.file.name}: " if entry.file else "")
                    self._progress.say(f"  {entry.name}: {shown}")
        if progress.left:
            self._progress.at("answers", progress.there, progress.planned, kept=progress.there, line="")

    def row(self, row: Row) -> None:
        """Another answer."""
        tally = self._tally
        if tally is None:
            return
        best = [f"{name} {own.accuracy:.3f}" for name, own in tally.methods.items() if own.accuracy is not None]
        failed = [f"{len(tally.failures)} failed"] if tally.failures else []
        beside = "" if self._progress.live else " · ".join([self._spent(tally), *failed, *best[:6]])
        self._progress.at("answers", tally.planned - tally.left, tally.planned, kept=tally.there, beside=beside)

    def close(self) -> None:
        """Take the live part away."""
        self._learnt()
        self._progress.close()

    def _learnt(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _spent(self, tally: RunProgress) -> str:
        return f"{tally.spent.tokens:,} tokens" + (f" ${tally.spent.usd:.4f}" if tally.spent.usd else "")

    def _drawn(self) -> Group:
        progress, console = self._tally, self._progress.console
        assert progress is not None
        failed = any(tally.failed for tally in progress.methods.values())
        heads = ["method", "right so far", "test items", *(["failed"] if failed else [])]
        if console.width < _NARROW:
            heads = ["method", "right", "n", *heads[3:]]
        table = Table(*heads, box=None, pad_edge=False)
        shown = list(progress.methods.items())[: max(4, console.height - 8)]
        room = console.width - sum(len(head) + 2 for head in heads[1:]) - 4
        for name, tally in shown:
            right = "" if tally.accuracy is None else f"{tally.accuracy:.3f}"
            table.add_row(_cut(name, room), right, str(tally.n), *([str(tally.failed or "")] if failed else []))
        if len(shown) < len(progress.methods):
            table.add_row(f"… {len(progress.methods) - len(shown)} more", "", "")
        return Group(table, f"{self._spent(progress)}, {len(progress.failures)} failed")


def _cut(name: str, room: int) -> str:
    """A name that fits: its middle left out, since names of one method differ at their ends.

    >>> _cut("self_consistency/lexical", 16), _cut("maci", 16)
    ('self_co…/lexical', 'maci')
    """
    if len(name) <= room or room < 5:
        return name
    return f"{name[: (room - 1) // 2]}…{name[len(name) - room // 2 :]}"
