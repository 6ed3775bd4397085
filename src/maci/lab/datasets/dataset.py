"""Data sets: their description, how their texts are split, and the task they become.

:class:`DataSet`  what is known of a data set before its files are opened: purpose, source, licence, files, known problems, options
:func:`deal`      splits labelled texts into evidence, development and test
:class:`Task`     a data set as work for a study: evidence that all agents may read, items to learn from, items to measure on
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin, get_type_hints

import numpy as np

from maci.cases.case import Case, Document
from maci.errors import InputError, near
from maci.lab.datasets.files import count_rows, digest, is_dev


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTurn:
    """What a model said, as somebody wrote it down."""

    answer: str | None
    """An outcome of the item's case; ``None`` is an abstention: nothing, or nothing that could be read as an outcome."""
    text: str = ""
    """Its reasons, where they were kept."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Answers of real models to one item, for replay."""

    openings: Mapping[str, RecordedTurn]
    """The first answer of each model, by model; given without knowledge of the others'."""
    turns: tuple[tuple[str, RecordedTurn], ...] = ()
    """What was said after the openings in a real debate, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskItem:
    """A case of a data set."""

    case: Case
    """With its gold outcome, which nobody who answers may see."""
    group: str = ""
    """A stratum: category, outlet, topic."""
    raters: Mapping[str, float] = field(default_factory=dict)
    """On ordered tasks: what each rater, or kind of rater, said, as a position on the scale."""
    recorded: Recorded | None = None

    @property
    def id(self) -> str:
        """That of the case. Stable: whatever the seed and the options."""
        return self.case.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a study works on. No text is in two of evidence, dev and test (of cases that are shown in part: no whole text)."""

    name: str = ""
    """The data set with the options that differ from its own, such as ``kaggle_symptom_disease(shown=3)``: whoever loads it says."""
    evidence: tuple[Document, ...] = ()
    """The shared corpus, one document a span; labelled where the text is an example of an outcome."""
    dev: tuple[TaskItem, ...]
    """To calibrate and choose on."""
    test: tuple[TaskItem, ...]
    """Only ever measured on."""
    notes: tuple[str, ...] = ()
    """What every report about this task must say."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names → outcome, for answers in free text."""

    @classmethod
    def split(cls, items: Iterable[tuple[str, TaskItem]], **more: Any) -> Task:
        """Items that go to development or test by :func:`is_dev` of what stands before each."""
        sides: dict[bool, list[TaskItem]] = {True: [], False: []}
        for key, item in items:
            sides[is_dev(key)].append(item)
        return cls(dev=tuple(sides[True]), test=tuple(sides[False]), **more)


@dataclass(frozen=True, slots=True)
class Example:
    """A text and what it is an example of."""

    text: str
    label: str


def deal(
    examples: Iterable[Example],
    seed: int,
    per_label: int,
    *,
    tune: bool = False,
    evidence_from: Literal["all", "dev"] = "all",
    key: Callable[[str], str] = str,
) -> tuple[list[Example], list[Example], list[Example]]:
    """Evidence, development and test: ``per_label`` texts of each label, drawn by seed, are evidence, the others by :func:`is_dev`.

    ``tune``: only development texts anywhere. ``evidence_from="dev"``: only development texts become evidence, so that the test
    part is the same for every seed. ``key``: what of a text decides its side.
    """
    if per_label < 0:
        raise InputError(f"per_label is {per_label}: it must be 0 or more texts of each label")
    rng = np.random.default_rng(seed)
    evidence: list[Example] = []
    rest: dict[bool, list[Example]] = {True: [], False: []}
    ordered = sorted(examples, key=lambda e: (e.label, e.text))
    for _, some in groupby(ordered, key=lambda e: e.label):
        known = [e for e in some if is_dev(key(e.text)) or not tune]
        drawn = [known[i] for i in rng.permutation(len(known))]
        mine = [e for e in drawn if evidence_from == "all" or is_dev(key(e.text))][:per_label]
        evidence += mine
        for e in drawn:
            if e not in mine:
                rest[is_dev(key(e.text))].append(e)
    return evidence, rest[True], rest[False]


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
    """Something a user may choose about a data set: ``Annotated[int, Option("…")]`` as the type of a loader's parameter."""

    about: str
    choices: tuple[str, ...] = ()
    """Empty: any value of the type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A public data set that MACI can load where its files are."""

    about: str
    purpose: str
    """What a study may use it for."""
    licence: str
    source: str
    """Where the files come from."""
    files: tuple[DataFile, ...]
    loader: Callable[..., Task]
    """Takes the folder, the seed and the options by name; an option's type says what it is for (:class:`Option`)."""
    citation: str = ""
    notes: tuple[str, ...] = ()
    """Traps, which every report must state."""
    quotable: bool = False
    """Whether whole texts may be shown; otherwise at most a few words."""
    partial: bool = False
    """A part of the set is kept apart for independent checks: the whole file has another checksum and more rows."""

    @property
    def name(self) -> str:
        """That of the loader."""
        return self.loader.__name__

    @property
    def options(self) -> Mapping[str, Option]:
        """What may be chosen, from the signature of the loader."""
        hints = get_type_hints(self.loader, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}

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
                hint = near(name, self.options, f"it has {', '.join(self.options) or 'none'}")
                raise InputError(f"{self.name} has no option {name!r}: {hint} (`maci data show {self.name}`)")
            chosen[name] = self._value(name, value, chosen[name])
        return chosen

    def _value(self, name: str, value: Any, default: Any) -> Any:
        """A value of the type that the option has, also from the text of a command line."""
        choices = self.options[name].choices
        if isinstance(value, str):
            if isinstance(default, bool):
                value = _TRUTH.get(value.casefold(), value)
            elif isinstance(default, int):
                value = int(value) if re.fullmatch(r"\s*[+-]?\d+\s*", value) else value
            else:
                value = next((choice for choice in choices if choice.casefold() == value.casefold()), value)
        if type(value) is not type(default) or (choices and value not in choices):
            raise InputError(f"{self.name}: option {name} is {value!r}: {self.valid(name)}")
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
        files = self.needed(self.defaults)  # none where one of a plugin brings its items along
        return count_rows(main) if files and (main := folder / files[0].path).is_file() else None

    def state(self, folder: Path, files: tuple[DataFile, ...] | None = None) -> tuple[FileState, ...]:
        """How the files here compare with those described."""
        paths = [(file, folder / file.path) for file in (self.files if files is None else files)]
        return tuple(FileState(f, path.is_file(), digest(path) if path.is_file() else None) for f, path in paths)


_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
