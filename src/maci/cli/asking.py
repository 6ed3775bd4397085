"""``maci ask``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import (
    Agents,
    BudgetTokens,
    BudgetUsd,
    Cache,
    CaseName,
    ConfigFile,
    Context,
    Corpus,
    DryRun,
    Json,
    Judges,
    NoCache,
    Offline,
    Outcomes,
    Panel,
    Plain,
    Profile,
    Question,
    Quiet,
    Seed,
    Sets,
)
from maci.errors import InputError

__all__ = ["ask"]


def ask(
    case: CaseName = None,
    question: Question = None,
    outcomes: Outcomes = None,
    context: Context = "",
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    corpus: Corpus = None,
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: BudgetTokens = None,
    budget_usd: BudgetUsd = None,
    worth: Annotated[
        float | None,
        typer.Option(
            help="Tokens that one percentage point of accuracy is worth (default: triage.worth, 2000).", min=0
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every test with its threshold; what each step was to gain and cost.")
    ] = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    offline: Offline = False,
    dry_run: DryRun = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for transcript.jsonl (default: maci-runs/…).", file_okay=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the broken run in --out.")] = False,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Answer a case by one agent, a vote or a debate: as far as it pays.

    One agent is asked first. The others are asked, and then debate, only while the expected gain in accuracy is worth the tokens
    (--worth). What was asked is never asked again. `maci calibrate` learns the gains from cases of your kind.
    """
    from maci.cli.debate import Options, run
    from maci.cli.seating import Choice

    if cache is not None and no_cache:
        raise InputError("give --cache or --no-cache, not both")
    given = {"budget.tokens": budget_tokens, "budget.usd": budget_usd, "triage.worth": worth}
    choice = Choice(
        panel=panel, agents=agents, judges=judges, corpus=corpus, profile=profile, config=config,
        sets=(*(sets or ()), *(f"{key}={value}" for key, value in given.items() if value is not None)),
        seed=seed, cache=cache, no_cache=no_cache, offline=offline, quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            case=case, question=question, outcomes=outcomes, context=context, choice=choice, ask=True, explain=explain,
            out=out, resume=resume, dry_run=dry_run, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip
