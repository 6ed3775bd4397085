"""``maci cases``."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer

from maci.cli.options import Json, Plain


def cases(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a case file.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """List the built-in cases."""
    from maci.cases.case import CaseFile, builtin_cases

    if schema:
        typer.echo(jsonlib.dumps(CaseFile.model_json_schema(), indent=None if json else 2))
        return
    found = builtin_cases()
    if json:
        rows = [
            {"id": i, "title": c.title, "question": c.question, "outcomes": list(c.outcomes.labels)}
            for i, c in found.items()
        ]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    width = max((len(name) for name in found), default=0)
    for name, case in found.items():
        typer.echo(f"{name:<{width}}  {len(case.outcomes.labels):>3} outcomes  {case.title or case.question}")
    if not plain:
        typer.echo(
            "\nDebate one with: maci debate NAME    (the clinical ones are written for this package; not for medical use)"
        )
