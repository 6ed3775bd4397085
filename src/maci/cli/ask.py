"""``maci ask``: one agent, a vote or a debate, as far as it pays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from maci.cli.options import (  # fmt: skip
    BudgetOptions,
    CaseOptions,
    Corpus,
    Force,
    OutputOptions,
    PanelOptions,
    ReplyOptions,
    Risk,
    RunOptions,
    Seed,
    SettingsOptions,
    chosen,
    grouped,
    redacted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRunOptions(RunOptions):
    """The same, with its own word for what is resumed."""

    resume: Annotated[bool, typer.Option("--resume", help="Continue the broken run in --out.")] = False


@grouped
def ask(
    *,
    case: CaseOptions,
    panel: PanelOptions,
    corpus: Corpus = None,
    settings: SettingsOptions,
    budget: BudgetOptions,
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
    force: Force = False,
    replies: ReplyOptions,
    run: AskRunOptions,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Answer a case by one agent, a vote or a debate: as far as it pays.

    One agent is asked first. The others are asked, and then debate, only while the expected gain in accuracy is worth the tokens
    (--worth). What was asked is never asked again. `maci calibrate` learns the gains from cases of your kind.
    """
    from maci.cli.session import DebateSession

    given = {**budget.given, "triage.worth": worth, "answer.risk": risk, "answer.force": force or None}
    given |= redacted(case.redact)
    choice = chosen(panel, settings, replies, given, seed=seed, quiet=output.silent, corpus=corpus)
    DebateSession(case=case, choice=choice, options=run, output=output, ask=True, explain=explain).hold()
