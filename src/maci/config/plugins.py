"""Plugins: what installed packages add by entry points. A plugin is loaded when it is named, and never before.

An entry point of the group ``maci.encoders`` adds an encoder, and so on for every kind in :data:`KINDS`. What MACI brings
goes before a plugin of the same name. A plugin is code of a package you installed. A record that names one does not load it
unless your own configuration names it too, or you trust the record (:mod:`maci.seating.trust`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from maci.errors import ConfigError, said

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "providers": "a class as in `OWN_API` of `maci.llm.providers`",
        "agents": "a function of the seat's name that returns an `Agent`",
        "judges": "a function of the seat's name that returns a `Judge`",
        "schedules": "a function of the `Config` that returns a schedule: `first` and `next`, as `PlateauSchedule` has",
        "encoders": "a function without arguments that returns an object with `name` and `encode`",
        "sources": "a function of (rest of the name, case, encoder) that returns a source",
        "methods": "a `MethodEntry` of `maci.lab.methods`",
        "datasets": "a `DataSet` of `maci.lab.datasets`",
    }
)
"""Kind → what its entry point names; the group of a kind is `maci.KIND`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An entry point, and whether it loads."""

    kind: str
    name: str
    package: str
    version: str
    value: str
    error: str = ""
    """Why it does not load; empty where it does."""


@cache
def _found(kind: str) -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=f"maci.{kind}")}


def names(kind: str) -> tuple[str, ...]:
    """The names of the plugins of a kind; none is loaded."""
    return tuple(sorted(_found(kind)))


def load(kind: str, name: str) -> Any:
    """What a plugin adds; ``None`` where no package has one of that name."""
    found = _found(kind).get(name)
    if found is None:
        return None
    try:
        return found.load()
    except Exception as error:  # code of somebody else's: whatever it raises
        package = found.dist.name if found.dist else found.value
        raise ConfigError(
            f"the plugin {name!r} ({kind}) of {package} cannot be loaded ({said(error)}): update or uninstall that package"
        ) from error


def need(kind: str, name: str) -> Any:
    """What a plugin adds; an error where no package has one of that name."""
    if (found := load(kind, name)) is None:
        raise ConfigError(f"no installed package adds {name!r} to {kind}: `maci plugins` lists what there is")
    return found


SCHEDULE = "plugin:"
"""What a schedule's name begins with where a plugin moves the dials."""
_named: set[str] = set()


def name_schedule(schedule: str) -> None:
    """The user names a schedule: from now on this process may load it, if it is a plugin's."""
    if schedule.startswith(SCHEDULE):
        need("schedules", schedule.removeprefix(SCHEDULE))
        _named.add(schedule)


def named_schedule(schedule: str) -> Any:
    """A plugin's schedule, if the user named it. A record is read and folded again without its author's choice of code."""
    if schedule not in _named:
        raise ConfigError(
            f"the schedule {schedule!r} is code of a plugin, and only the record or a panel names it: if you trust it, add "
            f"--set schedule={schedule}"
        )
    return need("schedules", schedule.removeprefix(SCHEDULE))


def listed() -> list[Plugin]:
    """Every plugin that is installed; each is loaded to see whether it loads."""
    rows = []
    for kind in KINDS:
        for name, found in sorted(_found(kind).items()):
            why = ""
            try:
                found.load()
            except Exception as error:
                why = said(error)
            package, version = (found.dist.name, found.dist.version) if found.dist else ("", "")
            rows.append(Plugin(kind=kind, name=name, package=package, version=version, value=found.value, error=why))
    return rows
