"""A data set as work for a study: evidence all may read, items to learn from, items to be measured on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from maci.case.case import Case, Document

__all__ = ["Item", "Recorded", "RecordedTurn", "Task"]


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
