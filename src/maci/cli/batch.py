"""``maci batch``: many cases, one budget, one folder."""

from __future__ import annotations

import asyncio
import json as jsonlib
import shlex
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from maci.cli.batch_results import in_words, path_of, row, write
from maci.cli.calibrate import read_cases
from maci.cli.learned import begin, keep
from maci.cli.progress import Progress
from maci.cli.seating import seating_of
from maci.cli.writable import check_folder
from maci.debating.batch import Batch, Done, Entry, entries
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.llm.usage import dollars
from maci.paths import run_dir
from maci.seating.seating import Choice, Seating, unpriced
from maci.story import Story
from maci.story.result import result_of
from maci.story.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The command's options as given."""

    cases: Path
    choice: Choice
    tokens: int | None
    usd: float | None
    jobs: int
    out: Path | None
    retry_failed: bool
    json: bool
    plain: bool
    quiet: bool


def run(options: Options) -> None:
    """Debate or ask about every case; print or write what came of it."""
    cases = list(read_cases(options.cases))
    if not cases:
        raise InputError(f"{options.cases} holds no case: write one JSON object a line, with `question` and `outcomes`")
    out = options.out or run_dir("batch")
    check_folder(out)
    todo = entries(cases, out)
    told: dict[int, Done] = {}
    view = Progress(plain=options.plain, silent=options.quiet or options.json)
    batch, broken = None, ""
    try:
        batch = asyncio.run(_play(options, seating_of(options.choice), todo, told, view))
    except KeyboardInterrupt:
        broken = "interrupted"
    except BrokenPipeError:
        broken = "nobody reads the output any more"
    finally:
        view.close()
    rows = [row(told.get(entry.number) or Done(entry=entry, status="waiting")) for entry in todo]
    write(out, rows)
    again = f"Go on with the same command with --out {shlex.quote(str(out))}"
    if broken == "interrupted":
        typer.echo(f"\ninterrupted; nothing that was recorded is lost. {again}", err=True)
        raise typer.Exit(130)
    if batch is None:
        raise EnvironmentError_(f"{broken}; what is done is in {out / 'results.json'}. {again}")
    _conclude(rows, batch, out, options)


async def _play(
    options: Options, seating: Seating, todo: Sequence[Entry], told: dict[int, Done], view: Progress
) -> Batch:
    batch = Batch(
        todo, lambda case: begin(seating.seat(case), None),
        tokens=options.tokens, usd=options.usd, jobs=options.jobs, retry_failed=options.retry_failed,
        keep=keep,
    )  # fmt: skip
    printed = 0
    try:
        async with aclosing(batch.run()) as results:  # type: ignore[type-var]
            async for done in results:
                told[done.entry.number] = done
                _count(view, told, len(todo), batch)
                while options.json and printed < len(todo) and (next_ := told.get(todo[printed].number)) is not None:
                    typer.echo(jsonlib.dumps(_full(next_), ensure_ascii=False))
                    printed += 1
    finally:
        if seating.house is not None:
            await seating.house.aclose()
    return batch


def _count(view: Progress, told: Mapping[int, Done], total: int, batch: Batch) -> None:
    """Another case."""
    failed = sum(done.status == "failed" for done in told.values())
    words = plural(batch.spent.tokens, "token") + (f", {dollars(batch.spent.usd)}" if batch.spent.usd else "")
    kept = sum(done.kept for done in told.values())
    view.at("cases", len(told), total, kept=kept, beside=words + (f", {failed} failed" if failed else ""))


def _full(done: Done) -> dict[str, Any]:
    """One line of ``--json``: the result's keys, beside which case it is of and what became of it."""
    head: dict[str, Any] = {"number": done.entry.number, "case": done.entry.name, "status": done.status}
    if done.error:
        head["error"] = done.error
    if done.result is None:
        return {**head, "answer": None}
    story = Story.of(done.events)
    page = result_of(story, path_of(done), priced=not unpriced(story.opened))
    return {**head, **page.model_dump(mode="json")}


def _conclude(rows: Sequence[Mapping[str, Any]], batch: Batch, out: Path, options: Options) -> None:
    """Say how it went, and exit as it went."""
    by = {
        status: [row for row in rows if row["status"] == status] for status in ("done", "failed", "budget", "waiting")
    }
    if not options.json:
        spent = plural(batch.spent.tokens, "token") + (f", {dollars(batch.spent.usd)}" if batch.spent.usd else "")
        typer.echo(f"{in_words(rows)}; {spent}.")
        stages = [row["stage"] for row in by["done"]]
        if any("triage.enabled" in each for each in options.choice.sets):
            typer.echo(
                "Answered by " + ", ".join(f"{s}: {stages.count(s)}" for s in ("single", "vote", "debate")) + "."
            )
        typer.echo(f"Results: {out / 'results.json'} and results.csv; a transcript for each case beside them.")
    for each in by["failed"][:20]:
        typer.echo(f"failed: {each['case']}: {each['error']}", err=True)
    if len(by["failed"]) > 20:
        typer.echo(f"and {len(by['failed']) - 20} more, see {out / 'results.csv'}", err=True)
    if by["failed"]:
        raise EnvironmentError_(
            f"{plural(len(by['failed']), 'case')} failed, {plural(len(by['waiting']), 'case')} not begun; once that is mended, the "
            f"same command with --out {shlex.quote(str(out))} --retry-failed goes on"
        )
    if by["budget"] or by["waiting"]:
        raise BudgetError(
            f"the budget ended before {plural(len(by['budget']) + len(by['waiting']), 'case')} had an answer: raise --budget-tokens or "
            f"--budget-usd; with --out {shlex.quote(str(out))} --retry-failed what is answered is kept"
        )
