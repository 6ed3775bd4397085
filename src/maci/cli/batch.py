"""``maci batch``: many cases, one budget, one folder."""

from __future__ import annotations

import json as jsonlib
import shlex
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import (  # fmt: skip
    BudgetOptions,
    Corpus,
    OutputOptions,
    PanelOptions,
    ReplyOptions,
    Risk,
    Seed,
    SettingsOptions,
    grouped,
)
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.paths import run_dir

if TYPE_CHECKING:
    from maci.cli.progress import Progress
    from maci.debating.batch import Batch, Done
    from maci.llm.models import House


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchBudget(BudgetOptions):
    """Ceilings of the whole run."""

    budget_tokens: Annotated[
        int | None,
        typer.Option(help="Most tokens of the whole run; `--set budget.tokens=` is of one case.", min=0),
    ] = None
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of the whole run.", min=0)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutput(OutputOptions):
    """How the results of many cases are printed."""

    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a case on standard output, in the order of the file.")
    ] = False


@grouped
def batch(
    *,
    cases: Annotated[
        Path, typer.Argument(help="Cases, one JSON object a line.", metavar="CASES.jsonl", dir_okay=False)
    ],
    ask: Annotated[bool, typer.Option("--ask", help="One agent, a vote or a debate, as far as it pays.")] = False,
    panel: PanelOptions,
    corpus: Corpus = None,
    settings: SettingsOptions,
    budget: BatchBudget,
    risk: Risk = None,
    jobs: Annotated[int, typer.Option(help="Cases under way at once.", min=1, max=256)] = 4,
    replies: ReplyOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for each case, and results.json and .csv (default: maci-runs/…).", file_okay=False),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Also cases that ended with an error.")] = False,
    seed: Seed = 0,
    output: BatchOutput,
) -> None:
    """Debate many cases, or ask about them, under one budget.

    The same command with the same --out goes on where a run broke off: finished cases are kept, open ones go on from their record.
    """
    import asyncio

    from maci.cases.case import read_cases
    from maci.cli.batch_results import row, write
    from maci.cli.files import check_folder
    from maci.cli.progress import Progress
    from maci.cli.seating import ASKING, begin, chosen, keep
    from maci.debating.batch import Batch, Done, entries
    from maci.record.owner import owning
    from maci.render.markup import clean
    from maci.seating.project import with_project
    from maci.seating.seating import Seating

    given = {**(ASKING if ask else {}), "answer.risk": risk}
    choice = with_project(chosen(panel, settings, replies, given, seed=seed, quiet=output.silent, corpus=corpus))
    read = list(read_cases(cases))
    if not read:
        raise InputError(f"{cases} holds no case: write one JSON object a line, with `question` and `outcomes`")
    out = out or run_dir("batch")
    check_folder(out)
    todo = entries(read, out)
    told: dict[int, Done] = {}
    seating = Seating(choice)
    run = Batch(
        todo, lambda case: begin(seating.seat(case), None), tokens=budget.budget_tokens, usd=budget.budget_usd,
        jobs=jobs, retry_failed=retry_failed, keep=keep,
    )  # fmt: skip
    broken = ""
    if choice.why and not output.silent:
        typer.echo(clean(seating.who), err=True)
    view = Progress(plain=output.plain, silent=output.silent)
    with owning(out):
        try:
            asyncio.run(_play(run, seating.house, told, view, json=output.json))
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
    if broken:
        raise EnvironmentError_(f"{broken}; what is done is in {out / 'results.json'}. {again}")
    if not output.json:
        _summarise(rows, run, out, asked=seating.config.triage.enabled)
    _conclude(rows, out)


async def _play(run: Batch, house: House | None, told: dict[int, Done], view: Progress, *, json: bool) -> None:
    printed = 0
    try:
        async with aclosing(run.run()) as results:  # type: ignore[type-var]
            async for done in results:
                told[done.entry.number] = done
                _count(view, told, run)
                while json and printed < len(run.entries) and (following := told.get(run.entries[printed].number)):
                    typer.echo(jsonlib.dumps(_full(following), ensure_ascii=False))
                    printed += 1
    finally:
        if house is not None:
            await house.aclose()


def _count(view: Progress, told: Mapping[int, Done], run: Batch) -> None:
    """Another case."""
    failed, kept = sum(done.status == "failed" for done in told.values()), sum(done.kept for done in told.values())
    words = _spent(run) + (f", {failed} failed" if failed else "")
    view.at("cases", len(told), len(run.entries), kept=kept, beside=words)


def _full(done: Done) -> dict[str, Any]:
    """One line of ``--json``: the result's keys, beside which case it is of and what became of it."""
    from maci.cli.batch_results import path_of
    from maci.seating.seating import unpriced
    from maci.story import Story
    from maci.story.result import result_of

    head: dict[str, Any] = {"number": done.entry.number, "case": done.entry.name, "status": done.status}
    if done.error:
        head["error"] = done.error
    if done.result is None:
        return {**head, "answer": None}
    story = Story.of(done.events)
    page = result_of(story, path_of(done), priced=not unpriced(story.opened))
    return {**head, **page.model_dump(mode="json")}


def _summarise(rows: Sequence[Mapping[str, Any]], run: Batch, out: Path, *, asked: bool) -> None:
    """Say how it went."""
    from maci.cli.batch_results import in_words

    typer.echo(f"{in_words(rows)}; {_spent(run)}.")
    if asked:
        stages = [row["stage"] for row in rows if row["status"] == "done"]
        typer.echo("Answered by " + ", ".join(f"{s}: {stages.count(s)}" for s in ("single", "vote", "debate")) + ".")
    typer.echo(f"Results: {out / 'results.json'} and results.csv; a transcript for each case beside them.")


def _spent(run: Batch) -> str:
    from maci.llm.usage import dollars
    from maci.story.words import plural

    return plural(run.spent.tokens, "token") + (f", {dollars(run.spent.usd)}" if run.spent.usd else "")


def _conclude(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Exit as it went."""
    from maci.story.words import plural

    failed, budget, waiting = ([row for row in rows if row["status"] == s] for s in ("failed", "budget", "waiting"))
    for each in failed[:20]:
        typer.echo(f"failed: {each['case']}: {each['error']}", err=True)
    if len(failed) > 20:
        typer.echo(f"and {len(failed) - 20} more, see {out / 'results.csv'}", err=True)
    if failed:
        raise EnvironmentError_(
            f"{plural(len(failed), 'case')} failed, {plural(len(waiting), 'case')} not begun; once that is mended, the "
            f"same command with --out {shlex.quote(str(out))} --retry-failed goes on"
        )
    if budget or waiting:
        raise BudgetError(
            f"the budget ended before {plural(len(budget) + len(waiting), 'case')} had an answer: raise --budget-tokens or "
            f"--budget-usd; with --out {shlex.quote(str(out))} --retry-failed what is answered is kept"
        )
