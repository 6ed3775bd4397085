"""Public data sets as cases. The files are not part of the package: name their folder with --data or MACI_DATA.

Splits are by distinct text or case, never by row: both sets repeat rows, and a random split of rows leaks.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maci.errors import InputError

__all__ = ["Example", "Split", "data_folder", "masked_kaggle", "symptom2disease"]


@dataclass(frozen=True, slots=True)
class Example:
    """A text and what it is an example of."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Split:
    """Evidence for the panel, cases to learn from, cases to be measured on."""

    labels: tuple[str, ...]
    evidence: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]


def data_folder(given: Path | None = None) -> Path:
    """The folder of the data sets: the one given, or MACI_DATA."""
    folder = given or (Path(os.environ["MACI_DATA"]) if os.environ.get("MACI_DATA") else None)
    if folder is None or not folder.is_dir():
        raise InputError(
            f"no data sets at {folder or 'MACI_DATA (not set)'}: name their folder with --data DIR or MACI_DATA"
        )
    return folder


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _is_dev(key: str) -> bool:
    """A fixed 40 % of everything may be used for development, whatever the seed; the rest is only ever measured on."""
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % 5 < 2


def _deal(by_label: dict[str, list[str]], seed: int, per_label: int, tune: bool) -> Split:
    rng = np.random.default_rng(seed)
    evidence: list[Example] = []
    dev: list[Example] = []
    test: list[Example] = []
    for label in sorted(by_label):
        texts = sorted(text for text in by_label[label] if _is_dev(text) or not tune)
        texts = [texts[i] for i in rng.permutation(len(texts))]
        evidence += [Example(text, label) for text in texts[:per_label]]
        for text in texts[per_label:]:
            (dev if _is_dev(text) else test).append(Example(text, label))
    return Split(tuple(sorted(by_label)), tuple(evidence), tuple(dev), tuple(test))


def symptom2disease(folder: Path, seed: int, *, per_label: int = 9, tune: bool = False) -> Split:
    """Free-text complaints, 24 diseases, exact duplicates removed; ``per_label`` texts of each are evidence.

    ``tune``: only development texts anywhere, for choosing constants.
    """
    by_label: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    for row in _rows(folder / "symptom2disease" / "Symptom2Disease.csv"):
        if row["text"] not in seen:
            seen.add(row["text"])
            by_label[row["label"]].append(row["text"])
    return _deal(by_label, seed, per_label, tune)


def masked_kaggle(folder: Path, seed: int, *, shown: int = 2, per_label: int = 3, tune: bool = False) -> Split:
    """Symptom lists, 41 diseases, distinct cases; evidence shows all symptoms, cases only ``shown`` of them at random."""
    rng = np.random.default_rng(seed)
    by_label: dict[str, list[str]] = defaultdict(list)
    for row in _rows(folder / "kaggle_symptom_disease" / "unique_cases.csv"):
        symptoms = [s.strip().replace("_", " ") for s in row["symptoms"].split(";")]
        by_label[row["disease"].strip()].append(", ".join(symptoms))
    split = _deal(by_label, seed, per_label, tune)

    def mask(example: Example) -> Example:
        symptoms = example.text.split(", ")
        keep = rng.permutation(len(symptoms))[:shown]
        return Example(", ".join(symptoms[i] for i in sorted(keep)), example.label)

    return Split(split.labels, split.evidence, tuple(map(mask, split.dev)), tuple(map(mask, split.test)))
