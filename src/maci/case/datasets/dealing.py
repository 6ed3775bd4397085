"""Dealing labelled texts to evidence, development and test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maci.case.datasets.files import is_dev
from maci.errors import InputError

__all__ = ["Dealt", "Example", "deal"]


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
