"""Public data sets, and your own, as tasks: by name, with a seed and options.

The files are not part of the package: name their folder with --data or MACI_DATA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from maci.config import plugins
from maci.errors import InputError, near
from maci.lab.datasets import clinical, news, objective, recorded
from maci.lab.datasets.dataset import DataFile, DataSet, Option, Recorded, RecordedTurn, Task, TaskItem
from maci.lab.datasets.own import OPTIONS, is_own, load_own, parse_map
from maci.seating.project import data_folder

__all__ = [
    "SETS",
    "DataFile",
    "DataSet",
    "Option",
    "Recorded",
    "RecordedTurn",
    "Task",
    "TaskItem",
    "find",
    "load",
    "load_own",
]

SETS: Mapping[str, DataSet] = MappingProxyType(
    {entry.name: entry for family in (clinical, news, objective, recorded) for entry in family.SETS}
)
"""Every data set, by name."""


def find(name: str) -> DataSet:
    """The entry of a data set.

    >>> find("gsm8k").licence
    'MIT'
    """
    if name in SETS:
        return SETS[name]
    if (added := plugins.load("datasets", name)) is not None:
        found: DataSet = added
        return found
    within = [known for known in SETS if name and name.casefold() in known]
    hint = f"did you mean {', '.join(within)}?" if within else "`maci data` lists them"
    raise InputError(f"no data set is named {name!r}: {near(name, SETS, hint, 3)}")


def load(name: str, folder: Path | None = None, *, seed: int = 0, options: Mapping[str, Any] | None = None) -> Task:
    """A data set as a task.

    ``folder`` holds all data sets (default: MACI_DATA). A file other than the one described is read all the same, and a note of
    the task says so. A name that ends in .csv, .tsv, .jsonl or .parquet is a file of your own; its options are ``map`` (field →
    column, or ``field=column`` texts), ``question``, ``outcomes`` and ``per_label``.
    """
    if is_own(name):
        return _own(Path(name), options or {}, seed)
    entry = find(name)
    chosen = entry.choose(options or {})
    needed = entry.needed(chosen)
    where = data_folder(folder) if needed else folder or Path()  # one of a plugin may bring its items along
    states = entry.state(where, needed)
    if missing := [state.file.path for state in states if not state.here]:
        raise InputError(
            f"{name} needs {', '.join(missing)}, not found in {where}: `maci data show {name}` says where to get it"
        )
    task = entry.loader(where, seed, **chosen)
    if not task.dev and not task.test:
        raise InputError(
            f"{entry.label(chosen)} leaves no items in {where}: choose other options (`maci data show {name}`)"
        )
    differ = tuple(
        f"{state.file.path} is not the file our figures were made with (SHA-256 {state.sha256}): do not compare with them."
        for state in states
        if not state.as_described
    )
    return replace(task, name=entry.label(chosen), notes=(*entry.notes, *task.notes, *differ))


def _own(path: Path, options: Mapping[str, Any], seed: int) -> Task:
    if unknown := [name for name in options if name not in {"map", *OPTIONS}]:
        raise InputError(f"a file of your own has no option {unknown[0]!r}: it has map, {', '.join(OPTIONS)}")
    given = options.get("map", {})
    if isinstance(given, str):
        given = given.split(",")
    columns = given if isinstance(given, Mapping) else parse_map(given)
    more = {name: options[name] for name in OPTIONS if name in options}
    return load_own(path, columns=columns, seed=seed, **more)
