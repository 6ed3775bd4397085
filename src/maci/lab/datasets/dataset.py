"""Data sets: their description, how their texts are split, and the task they become.

:class:`DataSet`  what is known of a data set before its files are opened: purpose, source, licence, files, known problems, options
:func:`deal`      splits labelled texts into evidence, development and test
:class:`Task`     a data set as work for a study: evidence that all agents may read, items to learn from, items to measure on
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

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
class Item:
    """A case of a data set."""

    id: str
    """Stable: whatever the seed and the options."""
    case: Case
    """With its gold outcome, which nobody who answers may see."""
    group: str = ""
    """A stratum: category, outlet, topic."""
    raters: Mapping[str, float] = field(default_factory=dict)
    """On ordered tasks: what each rater, or kind of rater, said, as a position on the scale."""
    recorded: Recorded | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a study works on. No text is in two of evidence, dev and test (of cases that are shown in part: no whole text)."""

    name: str
    """The data set with the options that differ from its own, such as ``kaggle_symptom_disease(shown=3)``."""
    evidence: tuple[Document, ...] = ()
    """The shared corpus, one document a span; labelled where the text is an example of an outcome."""
    dev: tuple[Item, ...]
    """To calibrate and choose on."""
    test: tuple[Item, ...]
    """Only ever measured on."""
    notes: tuple[str, ...] = ()
    """What every report about this task must say."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names → outcome, for answers in free text."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text and what it is an example of."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Dealt:
    """Evidence for the panel, cases to learn from, cases to be measured on."""

    evidence: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]


def deal(
    by_label: Mapping[str, Sequence[str]],
    seed: int,
    per_label: int,
    *,
    tune: bool = False,
    evidence_from: Literal["all", "dev"] = "all",
    key: Callable[[str], str] = str,
) -> Dealt:
    """Take ``per_label`` texts of each label, drawn by seed, as evidence; the others are development or test by :func:`is_dev`.

    ``tune``: only development texts anywhere. ``evidence_from="dev"``: only development texts become evidence, so that the test
    part is the same for every seed. ``key``: what of a text decides its side.
    """
    if per_label < 0:
        raise InputError(f"per_label is {per_label}: it must be 0 or more texts of each label")
    rng = np.random.default_rng(seed)
    evidence: list[Example] = []
    dev: list[Example] = []
    test: list[Example] = []
    for label in sorted(by_label):
        texts = sorted(text for text in by_label[label] if is_dev(key(text)) or not tune)
        texts = [texts[i] for i in rng.permutation(len(texts))]
        mine = [text for text in texts if evidence_from == "all" or is_dev(key(text))][:per_label]
        evidence += [Example(text, label) for text in mine]
        for text in texts:
            if text not in mine:
                (dev if is_dev(key(text)) else test).append(Example(text, label))
    return Dealt(tuple(evidence), tuple(dev), tuple(test))


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
                hint = near(name, self.options, f"it has {', '.join(self.options) or 'none'}")
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
