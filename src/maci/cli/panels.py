"""``maci panels``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from maci.cli.options import Json, Plain
from maci.cli.output import publish

if TYPE_CHECKING:
    from maci.seating.file import PanelFiles
    from maci.seating.spec import JudgeSpec


def panels(json: Json = False, plain: Plain = False) -> None:
    """List the panels: built-in ones and those of your panels files."""
    from maci.seating.file import find

    found = find()
    rows = _rows(found)
    models = [
        {"name": name, **model.model_dump(mode="json", exclude_unset=True), "source": str(path)}
        for name, (model, path) in found.models.items()
    ]
    publish({"panels": rows, "models": models}, _lines(rows, found, plain), json=json)


def _lines(rows: Sequence[dict[str, Any]], found: PanelFiles, plain: bool) -> Iterator[str]:
    for row in rows:
        yield f"{row['name']}  [{row['source']}]{'  ' if row['about'] else ''}{row['about']}"
        if row["agents"]:
            judges = row["judges"]
            said = "found when it debates" if judges is None else ", ".join(judges) or "none (CRIT-free)"
            yield f"    agents {', '.join(row['agents'])}\n    judges {said}"
    for name, (model, path) in found.models.items():
        yield f"model {name}  [{path}]" + (f"  at {model.base_url}" if model.base_url else "")
    if not plain:
        yield "\nDebate with one: maci debate CASE --panel NAME    Check it: maci doctor --panel NAME"


def _rows(found: PanelFiles) -> list[dict[str, Any]]:
    """Every panel; judges of ``None`` were not named, so they are found when it debates."""
    from maci.seating.spec import READER_AGENTS, READER_JUDGES, is_reader

    def seat(seat: JudgeSpec) -> str:
        return seat.model if is_reader(seat.model) or not seat.name else f"{seat.name} ({seat.model})"

    def row(name: str, about: str, agents: list[str], judges: list[str] | None, source: str) -> dict[str, Any]:
        return {"name": name, "about": about, "agents": agents, "judges": judges, "source": source}

    readers = "no key, no download: three readers and three judges that compare texts"
    script = "the turns printed in the paper, for the cases paper-dengue and paper-hepatitis"
    rows = [
        row("readers", readers, list(READER_AGENTS), list(READER_JUDGES), "built in"),
        row("paper", script, [], [], "built in"),
    ]
    for name, (panel, path) in found.panels.items():
        spec = found.spec(name)
        judges = None if spec.judges is None else list(map(seat, spec.judges))
        rows.append(row(name, panel.about, list(map(seat, spec.agents)), judges, str(path)))
    return rows
