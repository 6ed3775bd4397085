"""``maci cases``."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from maci.cli.options import Json, Plain
from maci.cli.output import columns, publish

if TYPE_CHECKING:
    from maci.cases.case import Case


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
    publish(rows, _lines(found, plain), json=json)


def _lines(found: Mapping[str, Case], plain: bool) -> Iterator[str]:
    rows = [
        (name, f"{len(case.outcomes.labels):>3} outcomes", case.title or case.question) for name, case in found.items()
    ]
    yield from columns(rows, right=[1])
    if not plain:
        yield "\nDebate one with: maci debate NAME    (the clinical ones are written for this package; not for medical use)"
