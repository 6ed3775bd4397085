"""``maci cases``."""

from __future__ import annotations

import json as jsonlib

import typer

from maci.cases.case import CaseFile, builtin_cases


def run(*, schema: bool, json: bool, plain: bool) -> None:
    """List the built-in cases, or print the schema of a case file."""
    if schema:
        typer.echo(jsonlib.dumps(CaseFile.model_json_schema(), indent=None if json else 2))
        return
    cases = builtin_cases()
    if json:
        rows = [
            {"id": i, "title": c.title, "question": c.question, "outcomes": list(c.outcomes.labels)}
            for i, c in cases.items()
        ]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    width = max((len(name) for name in cases), default=0)
    for name, case in cases.items():
        typer.echo(f"{name:<{width}}  {len(case.outcomes.labels):>3} outcomes  {case.title or case.question}")
    if not plain:
        typer.echo(
            "\nDebate one with: maci debate NAME    (the clinical ones are written for this package; not for medical use)"
        )
