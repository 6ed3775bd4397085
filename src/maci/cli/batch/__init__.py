"""``maci batch``: many cases, one budget, one folder. The work is in :mod:`maci.cli.batch.run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import (  # fmt: skip
    BudgetOptions,
    Corpus,
    Force,
    OutputOptions,
    PanelOptions,
    Redact,
    ReplyOptions,
    Risk,
    Seed,
    SettingsOptions,
    chosen,
    grouped,
    redacted,
)


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
    redact: Redact = None,
    budget: BatchBudget,
    risk: Risk = None,
    force: Force = False,
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

    The same command with the same --out continues where a run broke off: finished cases are kept, open ones go on from their record.
    """
    from maci.cli.batch.run import run
    from maci.seating.project import with_project
    from maci.seating.seating import ASKING

    given = {**(ASKING if ask else {}), "answer.risk": risk, "answer.force": force or None, **redacted(redact)}
    choice = with_project(chosen(panel, settings, replies, given, seed=seed, quiet=output.silent, corpus=corpus))
    run(cases, choice, budget, output, out=out, jobs=jobs, retry_failed=retry_failed)
