"""``maci study run``."""

from __future__ import annotations

import asyncio
import json as jsonlib
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer

from maci.cli.models import fetch
from maci.cli.options import BudgetOptions, OutputOptions, ReplyOptions
from maci.cli.study import StudyOptions
from maci.cli.study_view import StudyView
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.lab.study.parsing import load_spec
from maci.lab.study.plan import REHEARSED, StudyPlan, planned
from maci.lab.study.run import Outcome, Progress, run_study
from maci.lab.study.spec import Budget, Quick, StudySpec
from maci.lab.study.store import open_store
from maci.lab.study.study import Study, resolve
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
        typer.echo(f"{options.spec} has no [quick]: --quick changes {what}", err=True)
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
    again = "maci " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["study"] else "the same command"
    again = re.sub(r"(postgres(?:ql)?://[^:/@\s]+):[^@\s]+@", r"\1:…@", again)
    try:
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
    except KeyboardInterrupt:
        view.close()
        typer.echo(f"\ninterrupted; every finished answer is kept in {store.where}. Go on with: {again}", err=True)
        raise typer.Exit(130) from None
    finally:
        view.close()
        store.close()
    _tell(outcome, store.where, where, output, again)


def _with_budget(spec: StudySpec, budget: BudgetOptions) -> StudySpec:
    given = {"tokens": budget.budget_tokens, "usd": budget.budget_usd}
    chosen = {**spec.budget.model_dump(), **{k: v for k, v in given.items() if v is not None}}
    return spec.model_copy(update={"budget": Budget(**chosen)})


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


def _tell(outcome: Outcome, where: str, folder: Path | None, output: OutputOptions, again: str) -> None:
    """What came of it, and errors where nothing did."""
    progress = outcome.progress
    if output.json:
        typer.echo(jsonlib.dumps(_summary(outcome, where), ensure_ascii=False))
    elif not output.quiet:
        for line in _lines(progress):
            typer.echo(line)
    if outcome.stopped == "budget":
        spent = f"{outcome.spent.tokens:,} tokens, ${outcome.spent.usd:.4f} by all runs together"
        said = f"the run's budget is used up ({spent}), {progress.left} of {progress.planned} answers are left"
        more = "the same command with a higher --budget-tokens or --budget-usd goes on"
        if not outcome.answered:
            raise BudgetError(f"no answer: {said}; {more}")
        typer.echo(f"Stopped: {said}; {more}.", err=True)
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
        typer.echo(f"Rows: {where}. Read them with: maci study report {folder}")


def _summary(outcome: Outcome, where: str) -> dict[str, Any]:
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


def _lines(progress: Progress) -> list[str]:
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
    if json:
        parts = [{**asdict(part), "left": part.left} for part in plan.parts]
        total = {"tokens": round(plan.tokens), "usd": plan.usd}
        typer.echo(jsonlib.dumps({**asdict(plan), "parts": parts, "expected": total}, ensure_ascii=False))
        return
    for line in _page(plan):
        typer.echo(line)


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
            enough = "reaches for it" if expected <= ceiling else "may end it early; the same command with more goes on"
            yield f"The run's budget, {ceiling:,} {kind}, {enough}."
