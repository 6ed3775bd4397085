"""``maci cases``."""

from __future__ import annotations

import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import Json, Plain
from maci.cli.output import columns, emit, publish

if TYPE_CHECKING:
    from maci.cases.case import Case


def cases(
    name: Annotated[
        str | None, typer.Argument(help="Print this case as a file that can be edited and debated.", metavar="NAME")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of a case file.")] = False,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """List the built-in cases, or print one as a YAML file."""
    from maci.cases.case import CaseFile, builtin_cases, load_case

    if schema:
        typer.echo(jsonlib.dumps(CaseFile.model_json_schema(), indent=None if json else 2))
        return
    if name is not None:
        data = case_data(load_case(name))
        if json:
            emit(data)
        else:
            import yaml

            typer.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100), nl=False)
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


def case_data(case: Case) -> dict[str, Any]:
    """A case as its file says it."""
    space = case.outcomes
    outcomes: Any = list(space.labels)
    table = {
        "positions": list(space.positions),
        "aliases": dict(space.aliases),
        "declared": space.declared,
        "metric": [list(row) for row in space.metric],
    }
    if space.kind != "closed" or any(table.values()):
        outcomes = {"kind": space.kind, "labels": outcomes, **{key: value for key, value in table.items() if value}}
        outcomes = "open" if outcomes == {"kind": "open", "labels": []} else outcomes
    evidence = []
    for document in case.evidence:
        more = {"source": document.source, "id": document.id, "label": document.label}
        given = {key: value for key, value in more.items() if value}
        evidence.append({"text": document.text, **given} if given else document.text)
    data = {
        "id": case.id,
        "title": case.title,
        "question": case.question,
        "context": case.context,
        "context_is": "" if case.context_is == "case" else case.context_is,
        "outcomes": outcomes,
        "evidence": evidence,
        "hidden": dict(case.hidden),
        "gold": case.gold,
    }
    return {key: value for key, value in data.items() if value}
