"""``maci data``: public data sets."""

from __future__ import annotations

import json as jsonlib
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maci.cli.options import DataDir, Json, Plain, Quiet
from maci.cli.output import columns, publish
from maci.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from maci.lab.datasets import DataSet, TaskItem
    from maci.lab.datasets.dataset import FileState

_SHORT, _LONG = 200, 600
"""Characters of an example: of a text that belongs to somebody else, and of one that may be shown."""

data = typer.Typer()


@data.callback(invoke_without_command=True)
def listing(
    context: typer.Context, data: DataDir = None, json: Json = False, plain: Plain = False, quiet: Quiet = False
) -> None:
    """List, describe and verify data sets: what each is for, its traps, its options, whether it is here."""
    context.obj = data
    if context.invoked_subcommand is not None:
        return
    from maci.lab.datasets import SETS

    folder = _folder(data)
    counts = {entry.name: entry.rows(folder) if folder else None for entry in SETS.values()}
    found = [
        {
            "name": entry.name,
            "about": entry.about,
            "for": entry.purpose,
            "licence": entry.licence,
            "here": counts[entry.name] is not None,
            "rows": counts[entry.name],
        }
        for entry in SETS.values()
    ]
    publish(found, _listed(found, folder, plain or quiet), json=json)


def _listed(found: Iterable[Mapping[str, Any]], folder: Path | None, plain: bool) -> Iterator[str]:
    rows = []
    for entry in found:
        here = "not here" if entry["rows"] is None else f"{entry['rows']:,} rows"
        rows += [(entry["name"], here, entry["about"]), ("", "", f"for {entry['for']}; licence: {entry['licence']}")]
    yield from columns(rows, right=[1])
    if not plain:
        where = f"Looked in {folder}." if folder else "Name their folder with --data DIR or MACI_DATA."
        yield f"\n{where} Traps, options, where to get one: maci data show NAME"
        yield "A file of your own (.csv, .tsv, .jsonl, .parquet) can stand wherever a data set can: docs/data.md"


@data.command("show")
def showing(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="`maci data` lists the names.", metavar="NAME")],
    data: DataDir = None,
    json: Json = False,
    plain: Plain = False,
) -> None:
    """Describe a data set: traps, options, files, licence, where to get it, and the shape of an item."""
    from maci.lab.datasets import find

    entry = find(name)
    folder = _folder(data or context.obj)
    states = entry.state(folder) if folder else ()
    described = _description(entry, states, _example(entry, folder, states) if folder else None)
    publish(described, _described(described, entry, folder, plain), json=json)


def _described(found: Mapping[str, Any], entry: DataSet, folder: Path | None, plain: bool) -> Iterator[str]:
    yield f"{entry.name}: {entry.about}"
    for name in ("for", "licence", "from", "citation"):
        if found[name]:
            yield _field("cite" if name == "citation" else name, found[name])
    if entry.partial:
        yield _field(
            "note", "a part is kept apart for independent checks: the whole files have more rows and other checksums"
        )
    yield "\nTraps, which every report states"
    yield from (_field("", note) for note in entry.notes)
    yield "\nOptions" if entry.options else "\nNo options"
    for option, what in found["options"].items():
        default = what["default"]
        value = str(default).lower() if isinstance(default, bool) else default
        yield _field(f"{option}={value}", f"{what['about']} ({what['valid']})")
    yield f"\nFiles{f' in {folder}' if folder else ', below the folder that --data or MACI_DATA names'}"
    for file in found["files"]:
        needed = f", only with {file['needed_for']}" if file["needed_for"] else ""
        yield f"  {file['path']}  {file['bytes']:,} bytes{needed}  {file['state']}"
        yield f"    sha256 {file['sha256']}"
    if found["example"] is not None:
        yield "\nA development item, as the defaults make it"
        for key, value in found["example"].items():
            yield _field(key, value if isinstance(value, str) else jsonlib.dumps(value, ensure_ascii=False))
    elif not plain:
        yield f"\nNot here: get the files from {entry.source}, and name the folder above them with --data DIR"


@data.command("verify")
def verifying(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only this one.", metavar="NAME")] = None,
    data: DataDir = None,
    json: Json = False,
) -> None:
    """Read every file that is here and compare its SHA-256; exits 1 where one differs."""
    from maci.lab.datasets import SETS, find
    from maci.seating.project import data_folder

    folder = data_folder(data or context.obj)
    entries = [find(name)] if name else list(SETS.values())
    states = {entry.name: entry.state(folder) for entry in entries}
    if name and not any(state.here for state in states[name]):
        raise InputError(f"{name} is not in {folder}: `maci data show {name}` says where to get it")
    files = {state.file.path: state for found in states.values() for state in found}
    found = [
        {"path": path, "state": _state(state), "sha256": state.file.sha256, "found": state.sha256}
        for path, state in files.items()
    ]
    publish(found, (f"{row['state']:<14}  {row['path']}" for row in found), json=json)
    if wrong := [path for path, state in files.items() if state.here and not state.as_described]:
        parts = [entry.name for entry in entries if entry.partial and {f.path for f in entry.files} & set(wrong)]
        whole = f"; of {', '.join(parts)} our figures use a part, so a whole file differs rightly" if parts else ""
        raise CheckFailed(
            f"{len(wrong)} of {len(files)} files are not those our figures were made with: {', '.join(wrong)}{whole}. "
            "They load all the same, and reports say so"
        )


def _folder(given: Path | None) -> Path | None:
    """The folder of the data sets; none where nobody named one, which a list can live with."""
    from maci.seating.project import data_folder

    try:
        return data_folder(given)
    except InputError:
        if given is not None:
            raise
        return None


def _field(name: str, text: str) -> str:
    head = f"  {name}: " if name else "  - "
    return textwrap.fill(" ".join(text.split()), 110, initial_indent=head, subsequent_indent="    ")


def _state(state: FileState | None) -> str:
    if state is None or not state.here:
        return "not here"
    return "as described" if state.as_described else "DIFFERS"


def _description(entry: DataSet, states: Iterable[FileState], example: dict[str, Any] | None) -> dict[str, Any]:
    known = {state.file.path: state for state in states}
    return {
        "name": entry.name,
        "about": entry.about,
        "for": entry.purpose,
        "licence": entry.licence,
        "from": entry.source,
        "citation": entry.citation,
        "partial": entry.partial,
        "notes": list(entry.notes),
        "options": {
            name: {"default": entry.defaults[name], "about": option.about, "valid": entry.valid(name)}
            for name, option in entry.options.items()
        },
        "files": [
            {
                "path": file.path,
                "bytes": file.bytes,
                "sha256": file.sha256,
                "needed_for": file.needed_for,
                "state": _state(known.get(file.path)),
            }
            for file in entry.files
        ],
        "example": example,
    }


def _example(entry: DataSet, folder: Path, states: Iterable[FileState]) -> dict[str, Any] | None:
    """The shape of the first development item, its texts cut short; nothing where the set is not here."""
    needed = {file.path for file in entry.needed(entry.defaults)}
    if not all(state.here for state in states if state.file.path in needed):
        return None
    from maci.lab.datasets import load

    task = load(entry.name, folder)
    return {
        "items": {"dev": len(task.dev), "test": len(task.test), "evidence": len(task.evidence)},
        **_shape(task.dev[0] if task.dev else task.test[0], _LONG if entry.quotable else _SHORT),
    }


def _shape(item: TaskItem, most: int) -> dict[str, Any]:
    case = item.case
    labels = case.outcomes.labels
    found: dict[str, Any] = {
        "id": item.id,
        "question": textwrap.shorten(case.question, most, placeholder=" …"),
        "context": textwrap.shorten(case.context, most, placeholder=" …"),
        "outcomes": f"{case.outcomes.kind}, {len(labels)} known: {', '.join(labels[:6])}{' …' if len(labels) > 6 else ''}",
        "gold": case.gold,
    }
    more = {
        "evidence": f"{len(case.evidence)} documents come with the case" if case.evidence else "",
        "hidden": list(case.hidden),
        "group": item.group,
        "raters": dict(item.raters),
    }
    found |= {name: value for name, value in more.items() if value}
    if item.recorded:
        found["recorded"] = {model: turn.answer for model, turn in item.recorded.openings.items()}
        found["turns"] = len(item.recorded.turns)
    return found
