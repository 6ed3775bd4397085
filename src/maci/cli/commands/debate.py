"""``maci debate``: its options."""

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
    Risk,
    Seed,
    Sets,
    TrustRecord,
    check_cache,
)


def debate(
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
    acquire: Annotated[
        int | None, typer.Option(help="Find out up to N things during the debate; see --source.", min=0, metavar="N")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Who answers: hidden, hidden:closed, corpus:PATH, ask (you), http://…, python:module:function."
        ),
    ] = None,
    utilities: Annotated[
        Path | None,
        typer.Option(
            help="What actions are worth under each outcome: ask by value, and say what to do. A YAML, TOML or JSON file.",
            dir_okay=False,
        ),
    ] = None,
    risk: Risk = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    offline: Offline = False,
    dry_run: DryRun = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for transcript.jsonl (default: maci-runs/…).", file_okay=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the broken debate in --out.")] = False,
    trust_record: TrustRecord = False,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --set schedule=ucb or linucb: the task that is learned (default: panel/kind of outcomes)."
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Debate one case."""
    from maci.acquisition.utilities import load_stakes
    from maci.cli.debate import Options, run
    from maci.seating.seating import Choice

    check_cache(cache, no_cache)
    own = {"budget.tokens": budget_tokens, "budget.usd": budget_usd, "answer.risk": risk, "plan.acquire": acquire}
    choice = Choice(
        panel=panel, agents=agents, judges=judges, corpus=corpus, profile=profile, config=config,
        sets=(*(sets or ()), *(f"{key}={value}" for key, value in own.items() if value is not None)),
        seed=seed, cache=cache, no_cache=no_cache, offline=offline, trust_record=trust_record, source=source, quiet=json or quiet,
        stakes=None if utilities is None else load_stakes(utilities), stakes_from=str(utilities or ""),
    )  # fmt: skip
    run(
        Options(
            case=case, question=question, outcomes=outcomes, context=context, choice=choice,
            out=out, resume=resume, dry_run=dry_run, json=json, plain=plain, quiet=quiet, task=task,
        )
    )  # fmt: skip
