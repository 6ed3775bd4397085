"""``maci cases``."""

from __future__ import annotations

import json as jsonlib
from typing import Annotated

import typer

from maci.cli.options import Json, Plain
from maci.cli.output import columns, publish


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
    rows = [
        {"id": i, "title": c.title, "question": c.question, "outcomes": list(c.outcomes.labels)}
        for i, c in found.items()
    ]
    table = [(name, f"{len(c.outcomes.labels):>3} outcomes", c.title or c.question) for name, c in found.items()]
    lines = [*columns(table, right=[1])]
    if not plain:
        about = "(the clinical ones are written for this package; not for medical use)"
        lines.append(f"\nDebate one with: maci debate NAME    {about}")
    publish(rows, lines, json=json)
