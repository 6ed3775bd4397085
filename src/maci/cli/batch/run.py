"""The work of ``maci batch``: debates the cases side by side and writes what came of them."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from maci.cases.case import read_cases
from maci.cli.options import BudgetOptions, OutputOptions
from maci.cli.output import echo, emit, interruptible
from maci.cli.session import begin, keep
from maci.cli.terminal import ProgressBars
from maci.debating.batch import Batch, Done, entries, owning
from maci.errors import BudgetError, EnvironmentError_, InputError
from maci.llm.models import House
from maci.llm.usage import dollars
from maci.paths import check_folder, run_dir, writing
from maci.render.markup import percent
from maci.seating.seating import PanelChoice, Seating, unpriced
from maci.story import Story
from maci.story.result import result_of
from maci.story.words import plural, unclear

_COLUMNS = (
    "number", "case", "status", "answer", "guess", "p", "unclear", "abstained", "prediction_set", "gold", "correct", "guess_correct",
    "exact", "stage",
"stop_reason", "rounds", "tokens", "usd", "folder", "warnings", "error",
)  # fmt: skip


def run(
    cases: Path,
    choice: PanelChoice,
    budget: BudgetOptions,
    output: OutputOptions,
    *,
    out: Path | None,
    jobs: int,
    retry_failed: bool,
) -> None:
    """Debate the cases, or go on where a run in the same folder broke off."""
    read = list(read_cases(cases))
    if not read:
        raise InputError(f"{cases} holds no case: write one JSON object a line, with `question` and `outcomes`")
    out = out or run_dir("batch")
    check_folder(out)
    seating = Seating(choice)
    todo = entries([seating.shown(case) for case in read], out)
    told: dict[int, Done] = {}
    rows: list[dict[str, Any]] = []
    batch = Batch(
        todo, lambda case: begin(seating.seat(case), None), tokens=budget.budget_tokens, usd=budget.budget_usd,
        jobs=jobs, retry_failed=retry_failed, keep=keep,
    )  # fmt: skip
    if choice.why and not output.silent:
        echo(seating.who, err=True)
    again = f"Continue with the same command with --out {shlex.quote(str(out))}"
    kept = f"nothing that was recorded is lost, what is done is in {out / 'results.json'}. {again}"
    with interruptible(kept), owning(out):
        try:
            with ProgressBars(plain=output.plain, silent=output.silent) as view:
                asyncio.run(_play(batch, seating.house, told, view, json=output.json))
        finally:
            rows += [row(told.get(entry.number) or Done(entry=entry, status="waiting")) for entry in todo]
            write(out, rows)
    if not output.json:
        if not output.quiet:
            for each in rows:
                echo(_answer(each))
        _summarise(rows, batch, out, asked=seating.config.triage.enabled)
    _conclude(rows, out)


async def _play(run: Batch, house: House | None, told: dict[int, Done], view: ProgressBars, *, json: bool) -> None:
    printed = 0
    async with house or nullcontext(), aclosing(run.run()) as results:  # type: ignore[type-var]
        async for done in results:
            told[done.entry.number] = done
            _count(view, told, run)
            while json and printed < len(run.entries) and (following := told.get(run.entries[printed].number)):
                emit(_full(following))
                printed += 1


def _count(view: ProgressBars, told: Mapping[int, Done], run: Batch) -> None:
    """Another case."""
    failed, kept = sum(done.status == "failed" for done in told.values()), sum(done.kept for done in told.values())
    words = _spent(run) + (f", {failed} failed" if failed else "")
    view.at("cases", len(told), len(run.entries), kept=kept, beside=words)


def _full(done: Done) -> dict[str, Any]:
    """One line of ``--json``: the result's keys, beside which case it is of and what became of it."""
    head: dict[str, Any] = {"number": done.entry.number, "case": done.entry.name, "status": _status(done)}
    if done.error:
        head["error"] = done.error
    if done.result is None:
        return {**head, "answer": None}
    story = Story.of(done.events)
    page = result_of(story, path_of(done), priced=not unpriced(story.opened))
    return {**head, **page.model_dump(mode="json")}


def _status(done: Done) -> str:
    """What became of a case: of those that are done, apart, the ones whose answer is withheld."""
    held = done.status == "done" and done.result is not None and done.result.abstained is not None
    return "withheld" if held else done.status


def _answer(row: Mapping[str, Any]) -> str:
    """The answer to a case on one line; without one, what became of it.

    >>> row = {"case": "a", "status": "done", "answer": "yes", "guess": "yes", "p": 0.83, "unclear": "", "guess_correct": True}
    >>> _answer(row).split(), _answer(row | {"unclear": "yes 31 %, no 30 %", "guess_correct": None})
    (['a:', 'yes,', '83', '%', '(right)'], 'a: no clear answer: yes 31 %, no 30 %')
    >>> _answer(row | {"status": "withheld", "answer": None, "guess": None})
    'a: withheld'
    """
    case = _short(row["case"])
    if row["status"] not in {"done", "withheld"}:
        why = {"failed": "failed", "budget": "no answer: the budget ended first", "waiting": "not debated yet"}
        return f"{case}: {why[row['status']]}"
    held = row["status"] == "withheld"
    if row["guess"] is None:
        return f"{case}: {'withheld' if held else 'no answer'}"
    known = {True: " (right)", False: " (wrong)", None: ""}[row["guess_correct"]]
    if row["unclear"]:
        return f"{case}: no clear answer: {row['unclear']}{known}"
    given = f"{row['guess']}, {percent(row['p'])}{known}"
    return f"{case}: withheld; best guess {given}" if held else f"{case}: {given}"


def _short(name: str) -> str:
    """The name of a case as a line has room for it.

    >>> len(_short("i" * 5000))
    60
    """
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


_NAME = 60


def _summarise(rows: Sequence[Mapping[str, Any]], run: Batch, out: Path, *, asked: bool) -> None:
    """Say how it went."""
    typer.echo(f"{in_words(rows)}; {_spent(run)}.")
    if asked:
        stages = [row["stage"] for row in rows if row["answer"] is not None]
        typer.echo("Answered by " + ", ".join(f"{s}: {stages.count(s)}" for s in ("single", "vote", "debate")) + ".")
    echo(f"Results: {out / 'results.json'} and results.csv; a transcript for each case beside them.")


def _spent(run: Batch) -> str:
    return plural(run.spent.tokens, "token") + (f", {dollars(run.spent.usd)}" if run.spent.usd else "")


def _conclude(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Exit as it went."""
    failed, budget, waiting = ([row for row in rows if row["status"] == s] for s in ("failed", "budget", "waiting"))
    for each in failed[:20]:
        echo(f"failed: {_short(each['case'])}: {each['error']}", err=True)
    if len(failed) > 20:
        echo(f"and {len(failed) - 20} more, see {out / 'results.csv'}", err=True)
    if failed:
        raise EnvironmentError_(
            f"{plural(len(failed), 'case')} failed, {plural(len(waiting), 'case')} not begun; once that is mended, the "
            f"same command with --out {shlex.quote(str(out))} --retry-failed continues"
        )
    if budget or waiting:
        raise BudgetError(
            f"the budget ended before {plural(len(budget) + len(waiting), 'case')} had an answer: raise --budget-tokens or "
            f"--budget-usd; with --out {shlex.quote(str(out))} --retry-failed what is answered is kept"
        )


def path_of(done: Done) -> Path:
    """Where a case is recorded, or would be."""
    return done.entry.folder / "transcript.jsonl" if done.path is None else done.path


def row(done: Done) -> dict[str, Any]:
    """One case of results.json; where the answer is withheld, `answer` and `correct` are null.

    `guess`, `p` and `guess_correct` are of the best guess, and null where word statistics cannot decide the case.
    """
    result, case = done.result, done.entry.case
    story = None if result is None else Story.of(done.events)
    answer, guess = (None, None) if result is None else (result.answered, result.given)
    right = None
    if result is not None and guess is not None and story is not None and case.gold is not None:
        right = guess == story.gold_among(result.raw)
    held = None if result is None else result.prediction_set
    return {
        "number": done.entry.number,
        "case": done.entry.name,
        "status": _status(done),
        "answer": answer,
        "guess": guess,
        "p": None if result is None or guess is None else result.distribution[guess],
        "unclear": unclear(result),
        "abstained": None if result is None else result.abstained,
        "prediction_set": None if held is None else asdict(held),
        "gold": case.gold,
        "correct": None if answer is None else right,
        "guess_correct": right,
        "exact": None if story is None else story.exact,
        "stage": None if story is None else story.stage,
        "stop_reason": None if result is None else result.stop_reason,
        "rounds": None if result is None else result.rounds,
        "tokens": None if result is None else result.tokens,
        "usd": None if result is None else result.usd,
        "folder": path_of(done).parent.name,
        "warnings": [] if result is None else list(result.warnings),
        "error": done.error,
    }


def write(out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """results.json and results.csv, each whole or as it was before."""
    page = io.StringIO()
    table = csv.DictWriter(page, _COLUMNS)
    table.writeheader()
    table.writerows(map(_flat, rows))
    summary = {
        status: sum(row["status"] == status for row in rows)
        for status in ("done", "failed", "budget", "waiting", "withheld")
    }
    texts = {
        "results.csv": page.getvalue(),
        "results.json": json.dumps({**summary, "results": list(rows)}, ensure_ascii=False, indent=1) + "\n",
    }
    with writing(out, "the transcripts are kept"):
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            part = out / f".{name}.{os.getpid()}"
            try:
                part.write_text(text, encoding="utf-8")
                part.replace(out / name)
            finally:
                part.unlink(missing_ok=True)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a cell of a table each: outcomes and warnings as JSON lists."""
    held = row["prediction_set"]
    outcomes = None if held is None else json.dumps(held["outcomes"], ensure_ascii=False)
    warnings = json.dumps(row["warnings"], ensure_ascii=False) if row["warnings"] else None
    return {**row, "prediction_set": outcomes, "warnings": warnings}


def in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many cases have an answer, how many of those are right, and how many answers were withheld."""
    given, withheld = ([row for row in rows if row["status"] == status] for status in ("done", "withheld"))
    said = f"{plural(len(given), 'answer')} to {plural(len(rows), 'case')}"
    if known := _known(given):
        said += f", {sum(known)} of {len(known)} with a known answer right"
    undecided, risky = ([row for row in withheld if (row["guess"] is None) is none] for none in (True, False))
    if undecided:
        said += f", {len(undecided)} withheld because word statistics cannot decide them"
    if risky:
        known = _known(risky)
        guesses = f" (of their best guesses {sum(known)} of {len(known)} would be right)" if known else ""
        said += f", {len(risky)} withheld at this risk level{guesses}"
    return said


def _known(rows: Sequence[Mapping[str, Any]]) -> list[bool]:
    return [row["guess_correct"] for row in rows if row["guess_correct"] is not None]
