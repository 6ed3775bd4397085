"""How a decision turned out: ``outcome.json`` beside the transcript, for calibration and export. The record itself is not touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from maci.cases.labels import canonical
from maci.controller.events import Event
from maci.controller.inputs import Opened
from maci.errors import BeliefError, EnvironmentError_, InputError, MaciError
from maci.files.parse import read as read_data
from maci.record.transcript import Recording, is_finished, read, read_opened

FILE = "outcome.json"


class KnownOutcome(BaseModel):
    """What is known now that was not known then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    was: str
    """The true outcome, as the case spells it."""
    answer: str | None = None
    """What the debate answered."""
    right: bool | None = None
    """``None`` where the debate gave no answer."""
    note: str = ""
    recorded: str = ""


def judge_outcome(recording: Recording, was: str, note: str = "") -> KnownOutcome:
    """What a label says of a finished debate; a label that is none of the outcomes is refused."""
    last = recording.finished
    if last is None:
        raise InputError("the debate is not finished, so there is no answer to compare with: resume it first")
    case, labels = recording.opened.case, tuple(last.distribution)
    try:
        label = canonical(was, case.outcomes, labels if case.outcomes.kind == "open" else case.outcomes.labels)
    except BeliefError as error:
        raise InputError(f"--was: {error}") from error
    right = None if last.given is None else label == last.given
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return KnownOutcome(was=label, answer=last.given, right=right, note=note, recorded=now)


def read_outcome(folder: Path) -> KnownOutcome | None:
    """What is recorded beside a run; ``None`` where nothing is."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return KnownOutcome.model_validate(read_data(path))
    except ValidationError as error:
        raise InputError(f"{path} is not an outcome that `maci outcome` wrote: {error.errors()[0]['msg']}") from error


def write_outcome(folder: Path, known: KnownOutcome) -> Path:
    """Write it, whole or not at all."""
    path = folder / FILE
    part = path.with_suffix(".part")
    try:
        part.write_text(known.model_dump_json(indent=2) + "\n", encoding="utf-8", newline="\n")
        os.replace(part, path)  # noqa: PTH105
    except OSError as error:
        raise EnvironmentError_(f"cannot write {path}: {error.strerror}") from error
    return path


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A finished debate whose true outcome is known: recorded since, or the `gold` of its case."""

    path: Path
    opened: Opened
    gold: str | None

    @property
    def name(self) -> str:
        """What its case is called."""
        return self.opened.case.id or self.path.parent.name

    def events(self) -> tuple[Event, ...]:
        """The whole record, with what is known now as the gold of its case."""
        first, *rest = read(self.path).events
        assert isinstance(first, Opened)
        return replace(first, case=replace(first.case, gold=self.gold)), *rest


def known_runs(folder: Path) -> Iterator[KnownRun]:
    """The finished debates below a folder whose true outcome is known, by path; what cannot be read is passed over.

    Only first lines are read.
    """
    for path in sorted(folder.rglob("transcript.jsonl")):
        try:
            outcome = read_outcome(path.parent)
            if is_finished(path) and (opened := read_opened(path, known=outcome is None)) is not None:
                yield KnownRun(path, opened, opened.case.gold if outcome is None else outcome.was)
        except (MaciError, OSError):
            continue
