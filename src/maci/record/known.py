"""How a decision turned out: ``outcome.json`` beside the transcript, for calibration and export. The record itself is not touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from maci.cases.labels import canonical
from maci.controller.decisions import Finished
from maci.errors import BeliefError, EnvironmentError_, InputError
from maci.files.parse import read as read_data
from maci.record.transcript import Recording

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
    last = recording.events[-1]
    if not isinstance(last, Finished):
        raise InputError("the debate is not finished, so there is no answer to compare with: resume it first")
    case, labels = recording.opened.case, tuple(last.distribution)
    try:
        label = canonical(was, case.outcomes, labels if case.outcomes.kind == "open" else case.outcomes.labels)
    except BeliefError as error:
        raise InputError(f"--was: {error}") from error
    right = None if last.answer is None else label == last.answer
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return KnownOutcome(was=label, answer=last.answer, right=right, note=note, recorded=now)


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
