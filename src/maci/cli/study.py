"""``maci study``: run, list, methods, export."""

from __future__ import annotations

import asyncio
import json as jsonlib
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.lab.methods import registry
from maci.lab.study.parsing import load_spec
from maci.lab.study.run import Outcome, Progress, run_study
from maci.lab.study.spec import Budget, Quick, StudySpec
from maci.lab.study.store import FILE, Meta, SqliteStore, open_store
from maci.lab.study.study import Study, resolve
from maci.seating.seating import key_for

OUT = Path("studies-out")
_FAILURES = 5
"""Failures that are shown; all of them are in the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options as given."""

    spec: Path
    data: Path | None
    limit: int | None
    quick: bool
    engine: str
    jobs: int
    address: str | None
    out: Path | None
    store: str | None
    retry_failed: bool
    budget_tokens: int | None
    budget_usd: float | None
    cache: Path | None
    no_cache: bool
    offline: bool
    dry_run: bool
    json: bool
    plain: bool
    quiet: bool


def run(options: Options) -> None:
    """Run a study, or go on with it."""
    from maci.cli.study_view import StudyView

    spec = _with_budget(load_spec(options.spec, quick=options.quick, limit=options.limit), options)
    if options.engine not in {"local", "ray"}:
        raise InputError(f"--engine {options.engine}: choose local or ray")
    if options.quick and spec.quick == Quick() and not (options.json or options.quiet):
        what = "nothing" if options.out else f"only the results folder, {spec.name}-quick"
        typer.echo(f"{options.spec} has no [quick]: --quick changes {what}", err=True)
    out = options.out or OUT / (f"{spec.name}-quick" if options.quick else spec.name)
    if options.dry_run:
        from maci.cli.study_plan import show

        show(_study(spec, options, ready=False), out, options.store, json=options.json)
        return
    study = _study(spec, options)
    where = out if options.store is None else None
    store = open_store(out, options.store, name=out.name)
    view = StudyView(plain=options.plain, silent=options.json or options.quiet)
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
    _tell(outcome, store.where, where, options, again)


def _with_budget(spec: StudySpec, options: Options) -> StudySpec:
    given = {"tokens": options.budget_tokens, "usd": options.budget_usd}
    chosen = {**spec.budget.model_dump(), **{k: v for k, v in given.items() if v is not None}}
    return spec.model_copy(update={"budget": Budget(**chosen)})


def _study(spec: StudySpec, options: Options, *, ready: bool = True) -> Study:
    """The study with its panel; names, keys and weights of models are looked at before anything is sent, if it is to be ``ready``."""
    from maci.paths import replies_file

    panel = resolve(spec)
    if panel is not None and ready:
        for name in panel.seated:
            key_for(name, panel.options(name))
            _fetch(name, options)
    return Study(
        spec=spec,
        panel=panel,
        folder=None if options.data is None else options.data.resolve(),
        cache=None if options.no_cache else (options.cache or replies_file()).resolve(),
        offline=options.offline,
    )


def _fetch(name: str, options: Options) -> None:
    from maci.llm.local.registry import WEIGHTS
    from maci.llm.local.weights import status

    provider, _, model = name.partition("/")
    if provider == "local" and model in WEIGHTS and not status(model).present:
        from maci.cli.models import fetch

        fetch(model, offline=options.offline, quiet=options.json or options.quiet)


def _tell(outcome: Outcome, where: str, folder: Path | None, options: Options, again: str) -> None:
    """What came of it, and errors where nothing did."""
    progress = outcome.progress
    if options.json:
        typer.echo(jsonlib.dumps(_summary(outcome, where), ensure_ascii=False))
    elif not options.quiet:
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
    if not options.json and not options.quiet and folder is not None:
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


def methods(*, json: bool) -> None:
    """What can be compared."""
    entries = registry.entries()
    if json:
        rows = [{"name": e.name, "about": e.about, "options": list(e.options), "each": e.each} for e in entries]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        options = [*entry.options, *(["each"] if entry.each else [])]
        typer.echo(f"{entry.name:<{width}}  {entry.about}" + (f"  [{', '.join(options)}]" if options else ""))


def listing(folder: Path, *, json: bool) -> None:
    """The studies below a folder, and how far each is."""
    found = []
    for path in sorted(folder.glob(f"*/{FILE}")):
        with SqliteStore(path, make=False) as store:
            meta, keys = store.meta(), store.keys()
        if meta is not None:
            found.append(_state(path, meta, [keys[key] for key in meta.keys() if key in keys]))  # noqa: SIM118
    if json:
        typer.echo(jsonlib.dumps(found, ensure_ascii=False))
        return
    for row in found:
        typer.echo(
            f"{row['out']}  {row['done']} of {row['planned']} answers, {row['failed']} failed  {row['about']}".rstrip()
        )
    if not found:
        typer.echo(f"no studies in {folder}: `maci study run SPEC.toml` makes one", err=True)


def _state(path: Path, meta: Meta, statuses: list[Any]) -> dict[str, Any]:
    return {
        "name": meta.spec.name,
        "about": meta.spec.about,
        "out": str(path.parent),
        "planned": len(list(meta.keys())),
        "done": statuses.count("done"),
        "failed": statuses.count("failed"),
        "created": meta.created,
        "version": meta.version,
    }


def exporting(folder: Path, *, format: str, to: Path | None, store: str | None) -> None:
    """The rows of a study for other programs."""
    from maci.lab.study.exports import FORMATS, export, texts_of

    if format not in FORMATS:
        raise InputError(f"--format {format}: choose one of {', '.join(FORMATS)}")
    path = to or folder / f"rows.{format}"
    kept = open_store(folder, store, name=folder.name, make=False)
    try:
        meta = kept.meta()
        texts, missing = ({}, ()) if meta is None else texts_of(meta)
        n = export(kept.rows(), format, path, texts)
    finally:
        kept.close()
    for why in missing:
        typer.echo(why, err=True)
    typer.echo(f"{path}: {n} rows")
