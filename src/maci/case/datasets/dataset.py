"""What is known of a data set before it is opened: what it is for, whose it is, its files, its traps, its options."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from maci.case.datasets.files import count_rows, digest
from maci.case.datasets.task import Task
from maci.errors import InputError

__all__ = ["DataFile", "DataSet", "FileState", "Option"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set, as the figures in the documents were made with it."""

    path: str
    """Below the folder of all data sets."""
    needed_for: str = ""
    """``option=value`` that alone needs it; empty: always needed."""

    @property
    def sha256(self) -> str:
        """Of all its bytes."""
        return _pins()[self.path][0]

    @property
    def bytes(self) -> int:
        """How long it is."""
        return _pins()[self.path][1]


@cache
def _pins() -> Mapping[str, tuple[str, int]]:
    """SHA-256 and length of every file, by path."""
    lines = (Path(__file__).parent / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {path: (sha256, int(length)) for sha256, length, path in (line.split() for line in lines)}


@dataclass(frozen=True, slots=True)
class FileState:
    """How a file compares with the one described."""

    file: DataFile
    here: bool
    sha256: str | None
    """Of the file that is here."""

    @property
    def as_described(self) -> bool:
        """Whether it is the very file."""
        return self.sha256 == self.file.sha256


@dataclass(frozen=True, slots=True)
class Option:
    """Something a user may choose about a data set; its default and type are those of the loader's parameter."""

    about: str
    choices: tuple[str, ...] = ()
    """Empty: any value of the type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A public data set that MACI can load where its files are."""

    name: str
    about: str
    purpose: str
    """What a study may use it for."""
    licence: str
    source: str
    """Where the files come from."""
    files: tuple[DataFile, ...]
    loader: Callable[..., Task]
    """Takes the folder, the seed and the options by name."""
    citation: str = ""
    notes: tuple[str, ...] = ()
    """Traps, which every report must state."""
    options: Mapping[str, Option] = field(default_factory=dict)
    quotable: bool = False
    """Whether whole texts may be shown; otherwise at most a few words."""
    partial: bool = False
    """A part of the set is kept apart for independent checks: the whole file has another checksum and more rows."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What every option is unless chosen."""
        parameters = inspect.signature(self.loader).parameters
        return {name: parameters[name].default for name in self.options}

    def choose(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a run, complete: what is given, checked, and the defaults."""
        chosen = dict(self.defaults)
        for name, value in given.items():
            if name not in self.options:
                near = difflib.get_close_matches(name, self.options, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.options) or 'none'}"
                raise InputError(f"{self.name} has no option {name!r}: {hint} (`maci data show {self.name}`)")
            chosen[name] = self._value(name, value, chosen[name])
        return chosen

    def _value(self, name: str, value: Any, default: Any) -> Any:
        """A value of the type that the option has, also from the text of a command line."""
        wrong = InputError(f"{self.name}: option {name} is {value!r}: {self.valid(name)}")
        if isinstance(default, bool):
            if isinstance(value, str) and value.casefold() in {"true", "yes", "false", "no"}:
                return value.casefold() in {"true", "yes"}
            if not isinstance(value, bool):
                raise wrong
        elif isinstance(default, int):
            try:
                value = int(value) if isinstance(value, str) else value
            except ValueError:
                raise wrong from None
            if not isinstance(value, int) or isinstance(value, bool):
                raise wrong
        else:
            choices = {choice.casefold(): choice for choice in self.options[name].choices}
            value = choices.get(value.casefold(), value) if isinstance(value, str) else value
            if not isinstance(value, str) or (choices and value not in choices.values()):
                raise wrong
        return value

    def valid(self, name: str) -> str:
        """What an option may be, in words."""
        default = self.defaults[name]
        if self.options[name].choices:
            return f"choose {', '.join(self.options[name].choices)}"
        if isinstance(default, bool):
            return "true or false"
        return "a whole number" if isinstance(default, int) else "a name"

    def label(self, chosen: Mapping[str, Any]) -> str:
        """The name of the set with the options that are not its defaults."""
        other = [f"{k}={_text(v)}" for k, v in sorted(chosen.items()) if v != self.defaults[k]]
        return f"{self.name}({', '.join(other)})" if other else self.name

    def needed(self, chosen: Mapping[str, Any]) -> tuple[DataFile, ...]:
        """The files that a run with these options reads."""
        on = {"", *(f"{name}={_text(value)}" for name, value in chosen.items())}
        return tuple(file for file in self.files if file.needed_for in on)

    def rows(self, folder: Path) -> int | None:
        """How many rows its main file has here; ``None``: it is not here."""
        main = folder / self.needed(self.defaults)[0].path
        return count_rows(main) if main.is_file() else None

    def state(self, folder: Path, files: tuple[DataFile, ...] | None = None) -> tuple[FileState, ...]:
        """How the files here compare with those described."""
        found = []
        for file in self.files if files is None else files:
            path = folder / file.path
            found.append(FileState(file, path.is_file(), digest(path) if path.is_file() else None))
        return tuple(found)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
