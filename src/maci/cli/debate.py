"""``maci debate``."""

from __future__ import annotations

from pathlib import Path
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


@grouped
def debate(
    *,
    case: CaseOptions,
    panel: PanelOptions,
    corpus: Corpus = None,
    settings: SettingsOptions,
    budget: BudgetOptions,
    acquire: Annotated[
        int | None, typer.Option(help="Find out up to N things during the debate; see --source.", min=0, metavar="N")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Who answers: hidden, hidden:closed, corpus:PATH, ask (you), http://…, python:module:function."
        ),
    ] = None,
    source_header: Annotated[
        list[str] | None,
        typer.Option(
            help="A header for an http source, and the environment variable that holds its value: Authorization=MY_TOKEN.",
            metavar="NAME=VARIABLE",
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
    force: Force = False,
    replies: ReplyOptions,
    run: RunOptions,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --set schedule=ucb or linucb: the task that is learned (default: panel/kind of outcomes)."
        ),
    ] = None,
    seed: Seed = 0,
    output: OutputOptions,
) -> None:
    """Debate one case."""
    from maci.cli.session import DebateSession

    given = {**budget.given, "answer.risk": risk, "answer.force": force or None, "plan.acquire": acquire}
    given |= redacted(case.redact)
    choice = chosen(
        panel,
        settings,
        replies,
        given,
        seed=seed,
        quiet=output.silent,
        corpus=corpus,
        source=source,
        source_headers=source_header or (),
        utilities=utilities,
    )
    DebateSession(case=case, choice=choice, options=run, output=output, task=task).hold()
