"""``maci ask`` and ``maci batch``: their options."""

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
    risk: Risk = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    offline: Offline = False,
    dry_run: DryRun = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for transcript.jsonl (default: maci-runs/…).", file_okay=False)
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the broken run in --out.")] = False,
    trust_record: TrustRecord = False,
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
    from maci.seating.seating import Choice

    check_cache(cache, no_cache)
    given = {"budget.tokens": budget_tokens, "budget.usd": budget_usd, "triage.worth": worth, "answer.risk": risk}
    choice = Choice(
        panel=panel, agents=agents, judges=judges, corpus=corpus, profile=profile, config=config, trust_record=trust_record,
        sets=(*(sets or ()), *(f"{key}={value}" for key, value in given.items() if value is not None)),
        seed=seed, cache=cache, no_cache=no_cache, offline=offline, quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            case=case, question=question, outcomes=outcomes, context=context, choice=choice, ask=True, explain=explain,
            out=out, resume=resume, dry_run=dry_run, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip


def batch(
    cases: Annotated[
        Path, typer.Argument(help="Cases, one JSON object a line.", metavar="CASES.jsonl", dir_okay=False)
    ],
    ask: Annotated[bool, typer.Option("--ask", help="One agent, a vote or a debate, as far as it pays.")] = False,
    panel: Panel = None,
    agents: Agents = None,
    judges: Judges = None,
    corpus: Corpus = None,
    profile: Profile = None,
    config: ConfigFile = None,
    sets: Sets = None,
    budget_tokens: Annotated[
        int | None,
        typer.Option(help="Most tokens of the whole run; `--set budget.tokens=` is of one case.", min=0),
    ] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Most dollars of the whole run.", min=0)] = None,
    risk: Risk = None,
    jobs: Annotated[int, typer.Option(help="Cases under way at once.", min=1, max=256)] = 4,
    cache: Cache = None,
    no_cache: NoCache = False,
    offline: Offline = False,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for each case, and results.json and .csv (default: maci-runs/…).", file_okay=False),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Also cases that ended with an error.")] = False,
    seed: Seed = 0,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a case on standard output, in the order of the file.")
    ] = False,
    plain: Plain = False,
    quiet: Quiet = False,
) -> None:
    """Debate many cases, or ask about them, under one budget.

    The same command with the same --out goes on where a run broke off: finished cases are kept, open ones go on from their record.
    """
    from maci.cli.batch import Options, run
    from maci.cli.seating import ASKING
    from maci.seating.seating import Choice

    check_cache(cache, no_cache)
    choice = Choice(
        panel=panel, agents=agents, judges=judges, corpus=corpus, profile=profile, config=config,
        sets=(
            *(sets or ()), *(ASKING if ask else ()), *(() if risk is None else (f"answer.risk={risk}",)),
        ),
        seed=seed, cache=cache, no_cache=no_cache, offline=offline, quiet=json or quiet,
    )  # fmt: skip
    run(
        Options(
            cases=cases, choice=choice, tokens=budget_tokens, usd=budget_usd, jobs=jobs, out=out,
            retry_failed=retry_failed, json=json, plain=plain, quiet=quiet,
        )
    )  # fmt: skip
