"""``maci panels``."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict, dataclass

import typer

from maci.seating.file import Found, find
from maci.seating.spec import READER_AGENTS, READER_JUDGES, JudgeSpec, is_reader


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    about: str
    agents: list[str]
    judges: list[str] | None
    """``None``: not said, so the reader judges where there is evidence for them."""
    source: str


def run(*, json: bool, plain: bool) -> None:
    """List every panel with who sits at it and where it is from."""
    found = find()
    rows = _rows(found)
    if json:
        models = [
            {"name": name, **model.model_dump(mode="json", exclude_unset=True), "source": str(path)}
            for name, (model, path) in found.models.items()
        ]
        typer.echo(jsonlib.dumps({"panels": [asdict(row) for row in rows], "models": models}, ensure_ascii=False))
        return
    for row in rows:
        typer.echo(f"{row.name}  [{row.source}]{'  ' if row.about else ''}{row.about}")
        if row.agents:
            judges = "reader judges by default" if row.judges is None else ", ".join(row.judges) or "none (CRIT-free)"
            typer.echo(f"    agents {', '.join(row.agents)}")
            typer.echo(f"    judges {judges}")
    for name, (model, path) in found.models.items():
        typer.echo(f"model {name}  [{path}]" + (f"  at {model.base_url}" if model.base_url else ""))
    if not plain:
        typer.echo("\nDebate with one: maci debate CASE --panel NAME    Check it: maci doctor --panel NAME")


def _rows(found: Found) -> list[_Row]:
    readers = "no key, no download: three readers and three judges that compare texts"
    script = "the turns printed in the paper, for the cases paper-dengue and paper-hepatitis"
    rows = [
        _Row("readers", readers, list(READER_AGENTS), list(READER_JUDGES), "built in"),
        _Row("paper", script, [], [], "built in"),
    ]
    for name, (panel, path) in found.panels.items():
        spec = found.spec(name)
        judges = None if spec.judges is None else list(map(_seat, spec.judges))
        rows.append(_Row(name, panel.about, list(map(_seat, spec.agents)), judges, str(path)))
    return rows


def _seat(seat: JudgeSpec) -> str:
    return seat.model if is_reader(seat.model) or not seat.name else f"{seat.name} ({seat.model})"
